"""Hot reload with real files and the real watcher."""

import asyncio
import contextlib
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from app.content.library import Library
from app.content.watching import follow as follow_folder

PATIENCE_S = 20.0


async def until_title(library: Library, slug: str, title: str) -> float:
    """Seconds until the library answers with `title`."""
    begin = time.perf_counter()
    while library.question(slug).page("en").title != title:
        if time.perf_counter() - begin > PATIENCE_S:
            raise AssertionError(f"{title!r} was never seen")
        await asyncio.sleep(0.002)
    return time.perf_counter() - begin


async def follow(library: Library, path: Path, slug: str) -> list[float]:
    times = []
    async with library.watching(enabled=True):
        await asyncio.sleep(0.3)
        for number in range(5):
            path.write_text(f"# Title {number}\n")  # noqa: ASYNC240 - a small file, and nothing else runs
            times.append(await until_title(library, slug, f"Title {number}"))
            await asyncio.sleep(0.05)
    return times


def test_a_changed_file_is_live_at_once(folder: Any) -> None:
    place = folder.question("one")
    library = Library(folder.root)

    times = asyncio.run(follow(library, place / "en.md", "one"))

    assert sorted(times)[len(times) // 2] < 2.0  # 0.07 s on an idle machine; the benchmark holds the real bound


def test_a_change_made_between_loading_and_watching_is_seen(folder: Any) -> None:
    place = folder.question("one")
    library = Library(folder.root)
    (place / "en.md").write_text("# Meanwhile\n")

    async def watch() -> None:
        async with library.watching(enabled=True):
            await until_title(library, "one", "Meanwhile")

    asyncio.run(watch())


def test_an_editor_that_replaces_the_file_is_followed(folder: Any) -> None:
    place = folder.question("one")
    library = Library(folder.root)

    async def watch() -> None:
        async with library.watching(enabled=True):
            await asyncio.sleep(0.3)
            (place / ".en.md.swp").write_text("# Replaced\n")
            (place / ".en.md.swp").replace(place / "en.md")
            await until_title(library, "one", "Replaced")

    asyncio.run(watch())


def test_another_folder_in_the_same_place_is_followed(folder: Any, tmp_path: Path) -> None:
    """A checkout or a deployment replaces the whole folder; the system's watcher stays with the old one."""
    folder.question("one")
    library = Library(folder.root)

    async def watch() -> None:
        async with library.watching(enabled=True):
            await asyncio.sleep(0.3)
            shutil.copytree(folder.root, tmp_path / "next")
            folder.root.rename(tmp_path / "before")
            (tmp_path / "next").rename(folder.root)
            page = next(folder.root.rglob("en.md"))
            page.write_text("# Checked out\n")
            await until_title(library, "one", "Checked out")
            page.write_text("# Edited\n")
            await until_title(library, "one", "Edited")

    asyncio.run(watch())


def test_a_failure_to_read_does_not_end_the_watching(folder: Any, caplog: pytest.LogCaptureFixture) -> None:
    place = folder.question("one")
    again = threading.Event()
    calls: list[int] = []

    def refresh() -> None:
        calls.append(len(calls))
        if len(calls) == 1:
            raise RuntimeError("a mistake of ours")
        again.set()

    async def watch() -> None:
        task = asyncio.create_task(follow_folder(folder.root, refresh))
        await asyncio.sleep(0.3)
        (place / "en.md").write_text("# Again\n")
        await asyncio.to_thread(again.wait, PATIENCE_S)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    asyncio.run(watch())

    assert again.is_set()
    assert "the next change tries again" in caplog.text


def test_watching_stops_promptly(folder: Any) -> None:
    folder.question("one")
    library = Library(folder.root)

    async def watch() -> float:
        async with library.watching(enabled=True):
            await asyncio.sleep(0.2)
            begin = time.perf_counter()
        return time.perf_counter() - begin

    assert asyncio.run(watch()) < 5


def test_without_watching_or_folder_nothing_runs(tmp_path: Path, folder: Any) -> None:
    async def tasks(library: Library, *, enabled: bool) -> int:
        async with library.watching(enabled=enabled):
            return len(asyncio.all_tasks())

    folder.topic()
    assert asyncio.run(tasks(Library(folder.root), enabled=False)) == 1
    assert asyncio.run(tasks(Library(tmp_path / "nowhere"), enabled=True)) == 1
