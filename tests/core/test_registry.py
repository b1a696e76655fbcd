"""Discovery of same-shaped modules."""

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from app.core.registry import discover


@pytest.fixture
def make_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[dict[str, str]], ModuleType]]:
    folder = tmp_path / "entries_for_test"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))

    def make(files: dict[str, str]) -> ModuleType:
        for name, source in files.items():
            (folder / f"{name}.py").write_text(source)
        return importlib.import_module("entries_for_test")

    yield make
    for name in [name for name in sys.modules if name.startswith("entries_for_test")]:
        del sys.modules[name]


def test_files_become_entries_in_file_order_under_their_slug(make_package: Callable[..., ModuleType]) -> None:
    package = make_package({"b_two": "ENTRY = 'b'", "a_one": "ENTRY = 'a'", "helper": "x = 1"})

    assert list(discover(package, "ENTRY", str).items()) == [("a-one", "a"), ("b-two", "b")]


def test_entry_of_another_type_is_refused(make_package: Callable[..., ModuleType]) -> None:
    package = make_package({"one": "ENTRY = 1"})

    with pytest.raises(TypeError, match="ENTRY is not a str"):
        discover(package, "ENTRY", str)


def test_slug_that_is_not_the_file_name_is_refused(make_package: Callable[..., ModuleType]) -> None:
    package = make_package({"one": "class Entry:\n    slug = 'two'\nENTRY = Entry()"})

    with pytest.raises(ValueError, match="'one'"):
        discover(package, "ENTRY", object)
