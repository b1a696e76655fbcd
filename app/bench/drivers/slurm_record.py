"""What a driver remembers of its job, in the run's folder, for whoever has to clean up after it was killed."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

RECORD = "job.json"


@dataclass(slots=True, kw_only=True)
class Record:
    """One job: its name is fixed before it is handed in, its number is known after; `folder` is the run's own over there."""

    name: str
    folder: str
    job: str | None = None
    is_over: bool = False
    """Whether nothing of it runs or lies about any more."""

    def write(self, folder: Path) -> None:
        """Keep it in `folder`, in one piece."""
        draft = folder / f".{RECORD}"
        draft.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")
        draft.replace(folder / RECORD)

    @classmethod
    def read(cls, folder: Path) -> Self | None:
        """What `folder` keeps; None when no driver came so far."""
        try:
            raw = json.loads((folder / RECORD).read_text(encoding="utf-8"))
            return cls(
                name=str(raw["name"]),
                folder=str(raw["folder"]),
                job=None if raw["job"] is None else str(raw["job"]),
                is_over=bool(raw["is_over"]),
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None
