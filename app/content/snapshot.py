"""Everything a reader of the library can ask for, at one moment. Never changed once made.

`assemble` puts the folders together: order, look-ups by slug, and the problems that only show
when all questions are seen at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from app.content import graph
from app.content.folder import Loaded
from app.content.model import Problem, Question, Topic
from app.content.parse import PlacedNumber
from app.content.search import Searchable


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything a reader can ask for."""

    revision: int = 0
    loaded: Mapping[Path, Loaded] = field(default_factory=dict)
    topics: tuple[Topic, ...] = ()
    questions: tuple[Question, ...] = ()
    by_slug: Mapping[str, Question] = field(default_factory=dict)
    broken: Mapping[str, str] = field(default_factory=dict)
    by_topic: Mapping[str, tuple[Question, ...]] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    problems_by_slug: Mapping[str, tuple[Problem, ...]] = field(default_factory=dict)
    numbers: tuple[PlacedNumber, ...] = ()
    searchables: tuple[Searchable, ...] = ()


def assemble(root: Path, loaded: Mapping[Path, Loaded], revision: int) -> Snapshot:
    """The snapshot of what was read, with the checks that need all questions at once."""
    entries = [entry for entry in loaded.values() if entry.topic is not None]
    topics = tuple(sorted((e.topic for e in entries if e.topic), key=lambda topic: (topic.order, topic.slug)))
    order = {topic.slug: position for position, topic in enumerate(topics)}
    reads = {folder: entry.question for folder, entry in loaded.items() if entry.question is not None}
    own = {folder: entry.problems for folder, entry in loaded.items()}
    across = graph.check(topics, reads, root=root)
    by_slug: dict[str, Question] = {}
    broken: dict[str, str] = {}
    problems_by_slug: dict[str, tuple[Problem, ...]] = {}
    for folder, read in sorted(reads.items()):
        problems_by_slug[read.slug] = (*problems_by_slug.get(read.slug, ()), *own[folder], *across.get(folder, ()))
        if read.question is None:
            broken.setdefault(read.slug, folder.parent.name)
        else:
            by_slug.setdefault(read.slug, read.question)
    questions = tuple(
        sorted(by_slug.values(), key=lambda question: (order[question.topic], question.order, question.slug))
    )
    index = {entry.searchable.slug: entry.searchable for entry in loaded.values() if entry.searchable is not None}
    everything = [problem for found in (*own.values(), *across.values()) for problem in found]
    return Snapshot(
        revision=revision,
        loaded=loaded,
        topics=topics,
        questions=questions,
        by_slug=by_slug,
        broken={slug: topic for slug, topic in broken.items() if slug not in by_slug},
        by_topic={topic.slug: tuple(q for q in questions if q.topic == topic.slug) for topic in topics},
        problems=tuple(sorted(everything, key=lambda problem: (str(problem.path), problem.line))),
        problems_by_slug=problems_by_slug,
        numbers=tuple(number for read in reads.values() for number in read.numbers),
        searchables=tuple(index[question.slug] for question in questions if question.slug in index),
    )
