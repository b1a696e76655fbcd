"""One folder of content as it was last read from the disk.

A folder whose files keep their sizes and time stamps is not read again, and one whose bytes are
the same is not parsed again. A file that cannot be read is a problem, not an exception.
"""

import contextlib
import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from app.content.model import Problem, Topic
from app.content.parse import TOPIC_FILE, ReadQuestion, parse_question, parse_topic
from app.content.search import Searchable, searchable
from app.core.i18n import same

SETTLED_NS = 100_000_000
"""A file changed less than this before it was read may change again within the same time stamp."""

LAST = 1_000_000
"""The order of a topic whose `topic.yaml` cannot be read."""

Stamp = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, slots=True)
class Loaded:
    """A folder as it was last read."""

    stamp: Stamp
    settled: bool
    digest: bytes
    topic: Topic | None = None
    question: ReadQuestion | None = None
    searchable: Searchable | None = None
    problems: tuple[Problem, ...] = ()


def folders(parent: Path) -> list[Path]:
    try:
        return sorted(path for path in parent.iterdir() if path.is_dir() and not path.name.startswith((".", "_")))
    except FileNotFoundError:
        return []


def read_folder(folder: Path, names: tuple[str, ...], known: Loaded | None, *, is_topic: bool) -> Loaded:
    """The folder's files, parsed again only when their bytes are not those of `known`."""
    now = time.time_ns()
    stamp = _stamp(folder, names)
    settled = all(now - modified > SETTLED_NS for _, modified, _ in stamp)
    if known is not None and known.settled and known.stamp == stamp:
        return known
    files, problems = _bytes(folder, names)
    digest = hashlib.sha256()
    for name, raw in files.items():
        digest.update(f"{name}:{len(raw)}:".encode() + raw)
    digest.update(repr(problems).encode())
    if known is not None and known.digest == digest.digest():
        return replace(known, stamp=stamp, settled=settled)
    if is_topic:
        topic, found = _topic(folder, files)
        return Loaded(stamp, settled, digest.digest(), topic=topic, problems=(*problems, *found))
    if not files and not problems:
        return Loaded(stamp, settled, digest.digest())
    read = parse_question(folder, files)
    index = searchable(read.question) if read.question is not None else None
    unreadable = {problem.path for problem in problems}
    found = tuple(problem for problem in read.problems if problem.path not in unreadable)
    return Loaded(stamp, settled, digest.digest(), None, read, index, (*problems, *found))


def _stamp(folder: Path, names: tuple[str, ...]) -> Stamp:
    found = []
    for name in names:
        with contextlib.suppress(OSError):
            status = (folder / name).stat()
            found.append((name, status.st_mtime_ns, status.st_size))
    return tuple(found)


def _bytes(folder: Path, names: tuple[str, ...]) -> tuple[dict[str, bytes], tuple[Problem, ...]]:
    files, problems = {}, []
    for name in names:
        try:
            files[name] = (folder / name).read_bytes()
        except FileNotFoundError:
            continue
        except OSError as error:
            what = f"The file cannot be read: {error.strerror}."
            problems.append(Problem(path=folder / name, line=1, what=what, remedy="Check what it is and its rights."))
    return files, tuple(problems)


def _topic(folder: Path, files: Mapping[str, bytes]) -> tuple[Topic, tuple[Problem, ...]]:
    """The topic; one that cannot be read is stood in for, so that its questions stay reachable."""
    name = same(folder.name)
    stand_in = Topic(slug=folder.name, order=LAST, title=name, summary=name)
    if TOPIC_FILE not in files:
        remedy = "Add it; content/README.md has an example."
        return stand_in, (Problem(path=folder / TOPIC_FILE, line=1, what="This file is missing.", remedy=remedy),)
    topic, problems = parse_topic(files[TOPIC_FILE], path=folder / TOPIC_FILE)
    return topic or stand_in, problems
