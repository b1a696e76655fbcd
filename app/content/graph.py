"""Checks that need all questions at once: slugs that collide, prerequisites that lead nowhere or in a circle."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from app.content.model import Problem, Topic
from app.content.parse import QUESTION_FILE, TOPIC_FILE, ReadQuestion

Across = dict[Path, tuple[Problem, ...]]


def check(topics: tuple[Topic, ...], questions: Mapping[Path, ReadQuestion], *, root: Path) -> Across:
    """Problems by the folder they belong to: a question's or a topic's."""
    notes = _Notes({})
    if not topics:
        remedy = "Set RINGSIDE_CONTENT, or add a topic; content/README.md says how."
        notes.add(root, "", 1, "No content was found in this folder.", remedy=remedy)
    first: dict[str, Path] = {}
    for folder, read in sorted(questions.items()):
        taken = first.setdefault(read.slug, folder)
        if taken != folder:
            what = f"The slug `{read.slug}` is taken by {taken.parent.name}/{taken.name}."
            notes.add(folder, QUESTION_FILE, 1, what, remedy="Rename one of the folders, and its slug.")
    planned = _planned(topics, first, root, notes)
    for folder, read in questions.items():
        for slug, line in read.prerequisites:
            if slug == read.slug:
                what = "The question is its own prerequisite."
                notes.add(folder, QUESTION_FILE, line, what, remedy="Remove it from `prerequisites`.")
            elif slug not in first and slug not in planned:
                remedy = "Mend the slug, or list it under `planned:` in a topic.yaml."
                notes.add(folder, QUESTION_FILE, line, f"There is no question `{slug}`.", remedy=remedy)
    _circles(questions, first, notes)
    return {folder: tuple(problems) for folder, problems in notes.found.items()}


@dataclass(frozen=True, slots=True)
class _Notes:
    found: dict[Path, list[Problem]]

    def add(self, folder: Path, name: str, line: int, what: str, *, remedy: str) -> None:
        """Note a problem in the file `name` of `folder`."""
        self.found.setdefault(folder, []).append(Problem(path=folder / name, line=line, what=what, remedy=remedy))


def _planned(topics: tuple[Topic, ...], written: Mapping[str, Path], root: Path, notes: _Notes) -> set[str]:
    slugs: set[str] = set()
    for topic in topics:
        for entry in topic.planned:
            if entry.slug in written:
                what = f"`{entry.slug}` is planned but already written."
                notes.add(root / topic.slug, TOPIC_FILE, 1, what, remedy="Remove it from `planned:`.")
            elif entry.slug in slugs:
                notes.add(root / topic.slug, TOPIC_FILE, 1, f"`{entry.slug}` is planned twice.", remedy="Keep one.")
            slugs.add(entry.slug)
    return slugs


def _circles(questions: Mapping[Path, ReadQuestion], first: Mapping[str, Path], notes: _Notes) -> None:
    """Note each question whose prerequisites lead back to itself."""
    needs = {
        slug: {need for need, _ in questions[folder].prerequisites if need in first} for slug, folder in first.items()
    }
    for slug, folder in first.items():
        waiting = [need for need in needs[slug] if need != slug]
        seen: set[str] = set()
        while waiting:
            need = waiting.pop()
            if need == slug:
                line = questions[folder].prerequisites[0][1]
                what = "The prerequisites lead back to this question."
                notes.add(folder, QUESTION_FILE, line, what, remedy="Remove one of them.")
                break
            if need not in seen:
                seen.add(need)
                waiting += needs[need]
