"""Checks that need all questions at once: slugs that collide, prerequisites that lead nowhere or in a circle."""

from collections.abc import Mapping
from pathlib import Path

from app.content.model import Problem, Topic
from app.content.parse import QUESTION_FILE, TOPIC_FILE, ReadQuestion

Across = dict[Path, tuple[Problem, ...]]


def check(topics: tuple[Topic, ...], questions: Mapping[Path, ReadQuestion], *, root: Path) -> Across:
    """Problems by the folder they belong to: a question's or a topic's."""
    found: dict[Path, list[Problem]] = {}
    if not topics:
        what = "No content was found in this folder."
        remedy = "Set RINGSIDE_CONTENT, or add a topic; content/README.md says how."
        found[root] = [Problem(path=root, line=1, what=what, remedy=remedy)]
    first: dict[str, Path] = {}
    for folder, read in sorted(questions.items()):
        taken = first.setdefault(read.slug, folder)
        if taken != folder:
            what = f"The slug `{read.slug}` is taken by {taken.parent.name}/{taken.name}."
            _add(found, folder, QUESTION_FILE, 1, what, "Rename one of the folders, and its slug.")
    planned = _planned(topics, first, root, found)
    for folder, read in questions.items():
        for slug, line in read.prerequisites:
            if slug == read.slug:
                what, remedy = "The question is its own prerequisite.", "Remove it from `prerequisites`."
                _add(found, folder, QUESTION_FILE, line, what, remedy)
            elif slug not in first and slug not in planned:
                remedy = "Mend the slug, or list it under `planned:` in a topic.yaml."
                _add(found, folder, QUESTION_FILE, line, f"There is no question `{slug}`.", remedy)
    _circles(questions, first, found)
    return {folder: tuple(problems) for folder, problems in found.items()}


def _add(found: dict[Path, list[Problem]], folder: Path, name: str, line: int, what: str, remedy: str) -> None:
    found.setdefault(folder, []).append(Problem(path=folder / name, line=line, what=what, remedy=remedy))


def _planned(
    topics: tuple[Topic, ...], written: Mapping[str, Path], root: Path, found: dict[Path, list[Problem]]
) -> set[str]:
    slugs: set[str] = set()
    for topic in topics:
        for entry in topic.planned:
            if entry.slug in written:
                what, remedy = f"`{entry.slug}` is planned but already written.", "Remove it from `planned:`."
                _add(found, root / topic.slug, TOPIC_FILE, 1, what, remedy)
            elif entry.slug in slugs:
                what, remedy = f"`{entry.slug}` is planned twice.", "Keep one of them."
                _add(found, root / topic.slug, TOPIC_FILE, 1, what, remedy)
            slugs.add(entry.slug)
    return slugs


def _circles(
    questions: Mapping[Path, ReadQuestion], first: Mapping[str, Path], found: dict[Path, list[Problem]]
) -> None:
    """Note each question whose prerequisites lead back to itself."""
    needs = {read.slug: {slug for slug, _ in read.prerequisites if slug in first} for read in questions.values()}
    for slug, folder in first.items():
        waiting = [need for need in needs[slug] if need != slug]
        seen: set[str] = set()
        while waiting:
            need = waiting.pop()
            if need == slug:
                line = min((line for _, line in questions[folder].prerequisites), default=1)
                what = "The prerequisites lead back to this question."
                _add(found, folder, QUESTION_FILE, line, what, "Remove one of them.")
                break
            if need not in seen:
                seen.add(need)
                waiting += needs[need]
