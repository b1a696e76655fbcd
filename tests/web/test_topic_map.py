"""The layout of the map of topics."""

from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.content.library import Library
from app.web.topic_map import Node, TopicMap, fit, topic_map


@pytest.fixture
def drawn(shelf: Path) -> TopicMap:
    library = Library(shelf)
    return topic_map(library.topics, library.questions(), language="en")


def nodes(drawn: TopicMap) -> dict[str, Node]:
    return {node.slug: node for lane in drawn.lanes for node in lane.nodes}


def test_question_stands_right_of_what_it_needs(drawn: TopicMap) -> None:
    by_slug = nodes(drawn)

    assert by_slug["tp-linear"].x < by_slug["ring"].x < by_slug["tree"].x


def test_lines_join_prerequisites_to_questions(drawn: TopicMap) -> None:
    assert {(edge.source, edge.target) for edge in drawn.edges} == {("tp-linear", "ring"), ("ring", "tree")}


def test_planned_questions_have_no_address(drawn: TopicMap) -> None:
    assert nodes(drawn)["tp-linear"].href == ""
    assert nodes(drawn)["ring"].href == "/study/parallelism/ring"


def test_shipped_content_fits_without_overlap() -> None:
    library = Library(Path(__file__).parents[2] / "content")
    drawn = topic_map(library.topics, library.questions(), language="zh")

    boxes = list(nodes(drawn).values())
    assert all(n.x >= 0 and n.x + n.width <= drawn.width and n.y + n.height <= drawn.height for n in boxes)
    for a, b in combinations(boxes, 2):
        apart = a.x + a.width <= b.x or b.x + b.width <= a.x or a.y + a.height <= b.y or b.y + b.height <= a.y
        assert apart, (a.slug, b.slug)


def test_prerequisites_in_a_circle_still_give_a_map(shelf: Path) -> None:
    page = shelf / "parallelism" / "ring" / "question.yaml"
    page.write_text(page.read_text(encoding="utf-8").replace("[tp-linear]", "[tree]"), encoding="utf-8")
    library = Library(shelf)

    drawn = topic_map(library.topics, library.questions(), language="en")

    assert drawn.height > 0


@given(st.text(alphabet="ab ,，行切与 GEMM", max_size=120))
def test_fitted_text_keeps_its_order_and_its_lines(text: str) -> None:
    lines = fit(text, width=100, lines=3)

    assert len(lines) <= 3
    joined = "".join(lines).replace(" ", "").removesuffix("…")
    assert text.replace(" ", "").startswith(joined)
