"""What a person chose for a run, as text: the names of the Bench page's form, of its address, and of `ringside bench`.

`app/bench/plan.py` makes them a specification; `to_query` is the inverse, for "run again".
"""

from pydantic import BaseModel, ConfigDict

from app.bench.catalog import DEFAULT_RANKS, PRESETS
from app.bench.size_text import write_bytes
from app.bench.spec import RunSpec


class Choices(BaseModel):
    """The choices as text. An empty text means the default, `extra` None the extras of the preset."""

    model_config = ConfigDict(frozen=True)

    node: str = "local"
    preset: str = "quick"
    ranks: str = str(DEFAULT_RANKS)
    hosts: str = ""
    """Of the node's hosts; empty takes all that its section names."""
    operation: list[str] | None = None
    backend: str = "auto"
    dtype: str = "float"
    redop: str = "sum"
    root: str = ""
    min_size: str = ""
    max_size: str = ""
    extras: str = ""
    """`chosen` when the extras are those of `extra`, otherwise they are the preset's."""
    extra: list[str] | None = None
    env: str = ""
    """Variables, one NAME=VALUE a line."""
    memory: str = ""
    emulated: str = ""
    hide_host: str = ""


def to_query(spec: RunSpec, *, node: str) -> list[tuple[str, str]]:
    """The choices that lead to `spec`, as the query of the Bench page; what is as by default is left out.

    Nothing for a specification that no preset makes.
    """
    preset = PRESETS.get(spec.preset)
    if preset is None:
        return []
    found = [("node", node), ("preset", spec.preset), ("ranks", str(spec.ranks))]
    found += [("operation", name) for name in spec.operations]
    chosen = {
        "hosts": (str(spec.hosts), "1" if node == "local" else ""),
        "backend": (spec.backend, "auto"),
        "dtype": (spec.dtype, "float"),
        "redop": (spec.redop, "sum"),
        "root": (str(spec.root), "0"),
        "min_size": (write_bytes(spec.sizes[0]), write_bytes(preset.minimum_size)),
        "max_size": (write_bytes(spec.sizes[-1]), write_bytes(preset.maximum_size)),
        "env": ("\n".join(f"{name}={value}" for name, value in spec.variables.items()), ""),
        "memory": (write_bytes(spec.memory_bytes), "0"),
        "emulated": (str(spec.emulated).lower(), "false"),
        "hide_host": (str(spec.hide_host).lower(), "false"),
    }
    found += [(name, value) for name, (value, default) in chosen.items() if value != default]
    if spec.extras != preset.extras:
        found += [("extras", "chosen"), *(("extra", name) for name in spec.extras)]
    return found
