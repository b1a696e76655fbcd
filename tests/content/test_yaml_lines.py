"""YAML as text with lines, and everything refused that YAML would guess or expand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.content.yaml_lines import YamlProblem, read


def test_scalars_stay_as_written() -> None:
    document = read("a: no\nb: 1.10\nc: 2026-11-29\nd: 2^30\ne: '007'\nf: 0x1F\ng: |\n  two\n  lines\n")

    assert document.value == {
        "a": "no",
        "b": "1.10",
        "c": "2026-11-29",
        "d": "2^30",
        "e": "007",
        "f": "0x1F",
        "g": "two\nlines\n",
    }


def test_keys_without_a_value_are_left_out_but_quoted_emptiness_stays() -> None:
    assert read("a:\nb: ~\nc: null\nd: ''\ne: 'null'\n").value == {"d": "", "e": "null"}


def test_every_place_has_its_line() -> None:
    document = read("a: 1\nb:\n  - x\n  - {y: 2,\n     z: 3}\n", first_line=10)

    assert document.line(("a",)) == 10
    assert document.line(("b", 0)) == 12
    assert document.line(("b", 1, "z")) == 14
    assert document.line(("b", 1, "missing")) == 13
    assert document.line(("nowhere",)) == 10


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("a: [1\nb: 2\n", 2, "This is not valid YAML: did not find expected ',' or ']'."),
        ("a: 1\n\tb: 2\n", 2, "This is not valid YAML: found a tab character that violates indentation."),
        ("a: 'x\u2028y'\nb: 1\nb: 2\n", 3, "The key `b` stands here twice."),
        ("a: one: two\n", 1, "This is not valid YAML: mapping values are not allowed in this context."),
        ("a: 1\nb: 2\na: 3\n", 3, "The key `a` stands here twice."),
        ("a:\na:\n", 2, "The key `a` stands here twice."),
        ("a: &x 1\n", 1, "Anchors (&x) are not read here."),
        ("a: 1\nb: *x\n", 2, "Aliases (*x) are not read here."),
        ("a: !!python/object:os.system x\n", 1, "Tags (tag:yaml.org,2002:python/object:os.system) are not read here."),
        ("a: 1\n---\nb: 2\n", 2, "A second document begins here."),
        ("[a]: 1\n", 1, "A key must be a word."),
        ("? {a: 1}\n: 2\n", 1, "A key must be a word."),
        ("a: 1\nb: \x07\n", 2, "There is a character YAML does not allow."),
    ],
)
def test_says_what_is_wrong_and_where(text: str, line: int, what: str) -> None:
    with pytest.raises(YamlProblem) as caught:
        read(text)

    assert (caught.value.line, caught.value.what) == (line, what)
    assert caught.value.remedy


def test_a_tab_is_answered_with_spaces() -> None:
    with pytest.raises(YamlProblem) as caught:
        read("a:\n\t- 1\n")

    assert caught.value.remedy == "Indent with spaces."


@pytest.mark.parametrize("text", ["[" * 5000, "{a: " * 5000, "- " * 5000, "? " * 5000])
def test_deep_nesting_is_refused_without_deep_recursion(text: str) -> None:
    with pytest.raises(YamlProblem):
        read(text)


@given(st.text(alphabet=st.sampled_from("ab:-[]{}&*!|>'\"#?%@,~ \n\t\\01\u0085é中\x00"), max_size=40))
def test_any_text_is_read_or_refused_with_a_line_it_has(text: str) -> None:
    lines = outcome(text)

    assert lines
    assert all(1 <= line <= text.count("\n") + 1 for line in lines)


def outcome(text: str) -> list[int]:
    """The lines that reading `text` names."""
    try:
        return list(read(text).lines.values())
    except YamlProblem as problem:
        return [problem.line]
