"""The renderer beyond single cases: attacks, clozes, languages, every thread."""

import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.content.model import MustHit, Question
from app.content.page import parse_page
from app.content.render import Renderer
from app.core.units import THIN_SPACE

ALLOWED = {
    *("a", "blockquote", "br", "code", "div", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "mark", "ol", "p"),
    *("pre", "span", "strong", "sup", "table", "tbody", "td", "th", "thead", "tr", "ul"),
}
ATTACKS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "$<img src=x onerror=alert(1)>%$",
    "$$</div><script>alert(1)</script>$$",
    "`<script>`",
    "```<script>alert(1)</script>\ncode\n```",
    '```"onmouseover=alert(1)\ncode\n```',
    "[a](javascript:alert(1))",
    "[a](JaVaScRiPt:alert(1))",
    "[a](java&#115;cript:alert(1))",
    "[a](data:text/html;base64,PHNjcmlwdD4=)",
    "[a](vbscript:x)",
    '[a](https://x.org "onclick=alert(1)")',
    "<javascript:alert(1)>",
    '[a](<https://x.org" onclick="alert(1)>)',
    "![a](x onerror=alert(1))",
    '==<b style="color:red">==',
    "{{calc:known:<script>}}",
    "{{calc:known:x?value=<script>alert(1)</script>}}",
    "{{calc:known:x?value=%3Cscript%3E}}",
    "{{calc:known:x?value=%22%20onclick=%22alert(1)}}",
    "[^<script>]",
    "| <script> |\n|---|\n| style=x |",
    "&lt;script&gt;&#60;script&#62;",
    "<!--><script>alert(1)</script>-->",
    "<svg/onload=alert(1)>",
    "<math><mtext></mtext><script>",
    "\ufdd0<script>\x00</script>",
)


class Audit(HTMLParser):
    """Notes every tag, attribute and address of some HTML."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.addresses: set[str] = set()
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            self.attributes.add(name)
            if name == "href":
                self.addresses.add(value or "")


def assert_safe(html: str) -> None:
    audit = Audit(html)
    assert audit.tags <= ALLOWED
    assert audit.attributes <= {
        *("aria-label", "class", "data-display", "href", "rel", "role", "start", "tabindex", "title"),
    }
    assert all(re.match(r"https?:|mailto:|#|[^:]*$", address) for address in audit.addresses)


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_attack_leaves_a_mark(attack: str, html: Callable[..., str]) -> None:
    for language in ("en", "zh"):
        assert_safe(html(attack, language))
        assert_safe(html(f"- 中文{attack}", language))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    pieces=st.lists(
        st.sampled_from([*ATTACKS, "$", "`", "==", "**", "|", "\n", "\n\n", "- ", "> ", "中", "a", "\\"]), max_size=12
    )
)
def test_no_mixture_of_attacks_leaves_a_mark(pieces: list[str], html: Callable[..., str]) -> None:
    assert_safe(html("".join(pieces)))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=200))
def test_any_text_renders(text: str, html: Callable[..., str]) -> None:
    assert_safe(html(text, "zh"))


def test_numbers_and_labels_speak_the_language(html: Callable[..., str]) -> None:
    assert html("{{calc:known:x}}", "zh") == '<p><span class="number">64 兆</span></p>'
    assert 'aria-label="表格"' in html("| a |\n|---|\n| b |", "zh")
    assert 'aria-label="来源 2"' in html("x[^code]", "zh")


def test_inline_has_no_paragraph(renderer: Renderer, question: Question) -> None:
    assert renderer.inline("A **title**\n\nwith more", question=question, language="en") == (
        "A <strong>title</strong>\n\nwith more"
    )


def point(text: str) -> MustHit:
    page = parse_page(f"# T\n\n## must\n\n- {text}\n".encode(), path=Path("en.md"), language="en").page
    assert page is not None
    return page.must[0]


HIDDEN = '<mark class="cloze cloze-hidden">[…]</mark>'
MATH = '<strong><span class="math" data-display="false">\\(a==b\\)</span></strong>'


def answer(text: str) -> str:
    return f'<mark class="cloze cloze-answer">{text}</mark>'


@pytest.mark.parametrize(
    ("text", "key", "before", "hidden", "after"),
    [
        ("It takes ==four== calls. {#count}", "count", "It takes ", "four", " calls."),
        ("==2=={#f} forward, ==**$a==b$**=={#b} backward. {#s}", "b", "2 forward, ", MATH, " backward."),
        ("==2=={#f} forward, ==2=={#b} backward. {#s}", "f", "", "2", " forward, 2 backward."),
        ("A [link ==inside== it](#x) here. {#l}", "l", 'A <a href="#x">link ', "inside", " it</a> here."),
    ],
)
def test_a_cloze_card_hides_one_part(  # noqa: PLR0917 - a case has this many parts
    text: str, key: str, before: str, hidden: str, after: str, renderer: Renderer, question: Question
) -> None:
    must = point(text)

    front = renderer.cloze_front(must, key, question=question, language="en")
    back = renderer.cloze_back(must, key, question=question, language="en")
    assert front == before + HIDDEN + after
    assert back == before + answer(hidden) + after


def test_the_hidden_text_is_nowhere_in_the_front(renderer: Renderer, question: Question) -> None:
    must = point("Between ranks==`secret` **secret** $secret$ {{calc:known:secret}} secret==that. {#x}")

    assert "secret" not in renderer.cloze_front(must, "x", question=question, language="en")
    assert "secret" in renderer.cloze_back(must, "x", question=question, language="en")


def test_chinese_clozes_keep_their_spaces(renderer: Renderer, question: Question) -> None:
    must = point("每层==4 次==all-reduce。 {#x}")

    assert renderer.cloze_back(must, "x", question=question, language="zh") == (
        f'每层{THIN_SPACE}<mark class="cloze cloze-answer">4 次</mark>{THIN_SPACE}all-reduce。'
    )


def test_threads_share_one_renderer(renderer: Renderer, question: Question) -> None:
    text = "**这是**的$x$值 `a|b` ==c==\n\n| a |\n|---|\n| $P(A|B)$ |\n" * 20

    def render(_: int) -> str:
        return renderer.block(text, question=question, language="zh")

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(render, range(16))) == {render(0)}


@pytest.mark.parametrize(
    "unit",
    ["$", "`", "*", "**a ", "[", "[^", "{{", "==", "==a", "![", "<", "\\", "$$", "> ", "- ", "|", "_a", "$a\\", "]("],
)
def test_long_runs_of_marks_take_no_time(unit: str, html: Callable[..., str]) -> None:
    """Five thousand repetitions must not explode: a quadratic rule would need minutes on a megabyte."""
    begin = time.process_time()
    html(unit * 5000)

    assert time.process_time() - begin < 5
