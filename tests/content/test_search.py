"""Search as a reader uses it: two Chinese characters, a part of a name, any case and width."""

from typing import Any

import pytest

from app.content.library import Library
from app.content.search import Hit, fold, plain
from app.core.i18n import Text


@pytest.fixture
def library(folder: Any) -> Library:
    folder.question(
        "kv-cache",
        en="# How big is the KV cache?\n\n## answer\n\nIt grows with the *sequence*; see `kv_bytes` and busbw.\n",
        zh="# KV cache显存占用怎么估算？\n\n## answer\n\n和序列长度成正比，GPU 显存不够时先看它。\n",
    )
    folder.question(
        "ring",
        en="# Ring all-reduce\n\n## concepts\n\n### busbw {#busbw}\n\nWhat the links carry.\n",
        zh="# Ring all-reduce 怎么算\n\n## concepts\n\n### busbw {#busbw}\n\n链路上实际跑的带宽。\n",
    )
    return Library(folder.root)


def shown(hit: Hit) -> str:
    return "".join(f"[{segment.text}]" if segment.marked else segment.text for segment in hit.snippet)


def test_finds_a_chinese_word_of_two_characters(library: Library) -> None:
    (hit,) = library.search("显存", "zh")

    assert (hit.slug, hit.topic, hit.section) == ("kv-cache", "parallelism", "title")
    assert hit.title == Text("How big is the KV cache?", "KV cache显存占用怎么估算？")
    assert shown(hit) == "KV cache[显存]占用怎么估算？"


@pytest.mark.parametrize("query", ["busbw", "BUSBW", "ｂｕｓｂｗ", " busbw ", "usb"])
def test_finds_a_part_of_a_name_in_any_case_and_width(query: str, library: Library) -> None:
    assert [hit.slug for hit in library.search(query, "en")] == ["ring", "kv-cache"]


def test_a_heading_ranks_above_text_and_a_title_above_both(library: Library) -> None:
    assert [(hit.slug, hit.section) for hit in library.search("busbw", "en")] == [
        ("ring", "concepts"),
        ("kv-cache", "answer"),
    ]
    assert [hit.slug for hit in library.search("cache", "en")] == ["kv-cache"]


def test_a_reader_of_either_language_finds_the_other_and_sees_their_own(library: Library) -> None:
    (hit,) = library.search("显存", "en")
    assert shown(hit) == "KV cache[显存]占用怎么估算？"

    (hit,) = library.search("KV", "en")
    assert shown(hit) == "How big is the [KV] cache?"
    (hit,) = library.search("KV", "zh")
    assert shown(hit) == "[KV] cache显存占用怎么估算？"


@pytest.mark.parametrize("query", ["GPU显存", "GPU 显存", "cache 显存", "cache显存"])
def test_spaces_between_chinese_and_latin_do_not_matter(query: str, library: Library) -> None:
    assert [hit.slug for hit in library.search(query, "zh")] == ["kv-cache"]


def test_a_tag_is_found_and_a_sentence_shown_where_there_is_one(folder: Any) -> None:
    head = "slug: one\norder: 1\nstatus: inferred\ntags: [显存, 重计算]\n"
    folder.question("one", yaml=head, zh="# 标题\n\n## answer\n\n先看显存。\n")
    library = Library(folder.root)

    (hit,) = library.search("显存", "zh")
    assert (hit.section, shown(hit)) == ("answer", "先看[显存]。")
    (hit,) = library.search("重计算", "zh")
    assert (hit.section, shown(hit)) == ("tags", "one 显存 [重计算]")


def test_every_word_must_be_there(library: Library) -> None:
    assert [hit.slug for hit in library.search("sequence busbw", "en")] == ["kv-cache"]
    assert library.search("sequence nowhere", "en") == ()


@pytest.mark.parametrize("query", ["", "   ", "\u3000", "\ufdd0", "'; drop table", "[", "\\", "*" * 10_000])
def test_odd_queries_find_nothing_and_break_nothing(query: str, library: Library) -> None:
    assert library.search(query, "en") == ()


def test_no_more_hits_than_the_limit(library: Library) -> None:
    assert len(library.search("busbw", "en", limit=1)) == 1


def test_marks_and_addresses_are_not_text() -> None:
    text = "A **bold** `code_x` [link](https://x.org/y)[^key] ==four=={#id} {{calc:a:b}} $\\alpha_1$\n\n- item\n\n| a | b |\n|---|---|"

    assert plain(text) == "A bold code_x link four  \\alpha_1 item a b".replace("  ", " ")


def test_a_snippet_shows_the_surroundings_of_the_word(folder: Any) -> None:
    words = " ".join(f"word{number}" for number in range(100))
    folder.question("long", en=f"# T\n\n## answer\n\n{words} needle {words}\n", zh="# T\n\n## answer\n\nX\n")

    (hit,) = Library(folder.root).search("Needle", "en")
    text = shown(hit)
    assert "word99 [needle] word0" in text
    assert text.startswith("…")
    assert text.endswith("…")
    assert len(text) < 160


def test_folding_is_the_same_for_characters_that_grow() -> None:
    assert fold("ﬁ Straße ㎞ İ") == "fi strasse km i̇"
