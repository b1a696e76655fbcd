"""Discovery of same-shaped modules: one file in a folder is one entry, with no list to edit.

`calculators/`, `timelines/scenarios/`, `bench/worker/collectives/`, `bench/launchers/` and
`web/pages/` grow this way. The slug of an entry is its file name with dashes.
"""

import importlib
import pkgutil
from types import ModuleType
from typing import TypeVar

T = TypeVar("T")


def discover(package: ModuleType, attribute: str, kind: type[T]) -> dict[str, T]:
    """Map slug to the module-level `attribute` of every module in `package` that defines it, by file name.

    Modules without the attribute are helpers and are passed over. Raises TypeError when the
    attribute is not a `kind`, and ValueError when its own `slug` is not the file's.
    """
    found: dict[str, T] = {}
    for info in sorted(pkgutil.iter_modules(package.__path__), key=lambda info: info.name):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        entry = getattr(module, attribute, None)
        if entry is None:
            continue
        if not isinstance(entry, kind):
            raise TypeError(f"{module.__name__}.{attribute} is not a {kind.__name__}")
        slug = info.name.replace("_", "-")
        if getattr(entry, "slug", slug) != slug:
            raise ValueError(f"{module.__name__}.{attribute} must have the slug {slug!r}, like its file")
        found[slug] = entry
    return found
