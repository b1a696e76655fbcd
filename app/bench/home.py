"""The data folder of the runner: its id, and where a run's files and the runner's own lie."""

import os
import uuid
from contextlib import suppress
from pathlib import Path


def home_id(data: Path) -> str:
    """The id of this data folder, made at first use. Runs carry it, so that only its own runner touches them."""
    path = data / "home-id"
    if not path.exists():
        data.mkdir(parents=True, exist_ok=True)
        # The link appears whole or not at all, and only once: two processes may be first at the same time.
        draft = data / f".home-id.{uuid.uuid4().hex}"
        draft.write_text(uuid.uuid4().hex, encoding="ascii")
        with suppress(FileExistsError):
            os.link(draft, path)
        draft.unlink()
    return path.read_text(encoding="ascii").strip()


def run_folder(data: Path, run_id: int) -> Path:
    """The folder of one run: `spec.json`, `events.log`, `launcher.log`."""
    return data / "runs" / str(run_id)


def lock_path(data: Path) -> Path:
    """The file whose lock the runner holds while it lives."""
    return data / "runner.lock"


def nodes_path(data: Path) -> Path:
    """The nodes of this installation, for people to edit too."""
    return data / "nodes.toml"


def log_path(data: Path) -> Path:
    """What the runner has to say."""
    return data / "runner.log"
