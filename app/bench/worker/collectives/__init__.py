"""One file per collective; each defines `collective`. `model.py` says what that is.

A new file here needs its name in `app/bench/spec.py` and its title in `app/bench/catalog.py`; a test holds the three together.
"""

import importlib
import pkgutil

from app.bench.worker.collectives.model import Collective


def collectives() -> dict[str, Collective]:
    """Every collective by name; found by file, also inside a zip."""
    modules = (importlib.import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__))
    found = [getattr(module, "collective", None) for module in modules]
    return {entry.name: entry for entry in found if entry is not None}
