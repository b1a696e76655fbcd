"""The study pages over a small content folder."""

import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.cards.cut import cards_of
from app.web.sections import SECTIONS

RING = "/study/parallelism/ring"


def test_question_has_all_its_sections_in_order(site: TestClient) -> None:
    text = site.get(RING).text

    places = [text.find(f'<h2 id="{section.slug}"') for section in SECTIONS]
    there = [section.slug for section, place in zip(SECTIONS, places, strict=True) if place >= 0]
    assert there == ["asked", "concepts", "answer", "must", "followups", "wrong", "sources"]
    assert [place for place in places if place >= 0] == sorted(place for place in places if place >= 0)


def test_answer_is_english_on_both_pages_and_glossed_on_the_chinese_one(site: TestClient) -> None:
    spoken = "It takes two times n minus one steps."

    assert spoken in site.get(RING + "?lang=en").text
    chinese = site.get(RING + "?lang=zh").text
    assert '<div class="say-text" lang="en"><p>' + spoken in chinese
    assert "中文释义" in chinese


def test_provenance_says_who_asked_and_what_was_checked(site: TestClient) -> None:
    text = site.get(RING).text

    assert "asked: Example Corp" in text
    assert "ring 要几步？" in text
    assert "2026-08-22" in text
    assert "2026-11-29" in text


def test_citation_leads_to_its_source(site: TestClient) -> None:
    text = site.get(RING).text

    assert 'href="#source-notes"' in text
    assert '<li id="source-notes">' in text
    assert 'href="https://example.org/rings"' in text


def test_every_part_with_an_id_can_be_linked_to(site: TestClient) -> None:
    text = site.get(RING).text

    for anchor in ("concept-step", "must-steps", "must-chunk", "followup-one", "wrong-n-steps"):
        assert f'id="{anchor}"' in text


def test_neighbours_and_prerequisites_are_linked(site: TestClient) -> None:
    ring, tree = site.get(RING).text, site.get("/study/parallelism/tree").text

    assert 'rel="next" href="/study/parallelism/tree"' in ring
    assert "TP linear layers" in ring
    assert '<a class="chip" href="/study/parallelism/ring">How many steps does a ring take?</a>' in tree


def test_question_without_this_language_is_shown_in_the_other(site: TestClient) -> None:
    text = site.get("/study/parallelism/tree?lang=zh").text

    assert "When the message is small." in text
    assert "这道题还没有中文页" in text


@pytest.mark.parametrize(
    ("name", "language", "said"),
    [("en.md", "en", "The English page of this question has mistakes"), ("zh.md", "zh", "这道题的中文页有错误")],
)
def test_a_page_with_mistakes_is_not_said_to_be_missing(
    site: TestClient, shelf: Path, name: str, language: str, said: str
) -> None:
    (shelf / "parallelism" / "ring" / name).write_text("## nowhere\n\ntext\n", encoding="utf-8")
    refresh(site)

    text = site.get(f"{RING}?lang={language}").text

    assert said in text
    assert f"parallelism/ring/{name}:" in text
    assert "There is no English page" not in text
    assert "还没有中文页" not in text


def test_question_under_the_wrong_topic_moves_to_its_own(site: TestClient) -> None:
    answer = site.get("/study/elsewhere/ring", follow_redirects=False)

    assert answer.status_code == 308
    assert answer.headers["Location"] == RING


@pytest.mark.parametrize("path", ["/study/parallelism/nothing", "/study/nothing", "/study/nothing/nothing"])
def test_unknown_topics_and_questions_are_missing_pages(site: TestClient, path: str) -> None:
    assert site.get(path).status_code == 404


def test_topic_page_lists_written_and_planned_questions(site: TestClient) -> None:
    text = site.get("/study/parallelism").text

    assert "How many steps does a ring take?" in text
    assert "TP linear layers" in text


def test_broken_question_shows_place_and_remedy_and_leaves_the_others(site: TestClient, shelf: Path) -> None:
    (shelf / "parallelism" / "ring" / "question.yaml").write_text("slug: ring\norder: [\n")
    site.get("/healthz")
    refresh(site)

    broken = site.get(RING)
    assert broken.status_code == 503
    assert "parallelism/ring/question.yaml:" in broken.text
    assert site.get("/study/parallelism/tree").status_code == 200
    assert "has errors" in site.get("/study").text


def test_a_changed_file_changes_the_page(site: TestClient, shelf: Path) -> None:
    before = site.get(RING)
    page = shelf / "parallelism" / "ring" / "en.md"
    page.write_text(page.read_text(encoding="utf-8").replace("a ring take?", "a ring need?"), encoding="utf-8")
    refresh(site)

    after = site.get(RING, headers={"If-None-Match": before.headers["ETag"]})

    assert after.status_code == 200
    assert "a ring need?" in after.text


def refresh(site: TestClient) -> None:
    assert site.app.state.services.library.refresh()  # type: ignore[attr-defined]


def test_page_known_to_the_browser_is_not_sent_again(site: TestClient) -> None:
    first = site.get(RING)

    again = site.get(RING, headers={"If-None-Match": first.headers["ETag"]})

    assert again.status_code == 304
    assert again.content == b""
    assert again.headers["ETag"] == first.headers["ETag"]


def test_each_encoding_has_its_own_strong_etag(site: TestClient) -> None:
    zipped = site.get(RING, headers={"Accept-Encoding": "gzip"})
    plain = site.get(RING, headers={"Accept-Encoding": "identity"})

    assert zipped.headers["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in plain.headers
    assert zipped.text == plain.text
    assert zipped.headers["ETag"] != plain.headers["ETag"]
    assert "Accept-Encoding" in plain.headers["Vary"]


def test_kept_pages_do_not_mix_languages_or_themes(site: TestClient) -> None:
    english = site.get(RING + "?lang=en").text
    chinese = site.get(RING + "?lang=zh").text
    site.post("/theme", data={"theme": "dark"})
    dark = site.get(RING + "?lang=en").text

    assert "How many steps" in english
    assert "要走几步" in chinese
    assert 'data-theme="dark"' in dark
    assert site.get(RING + "?lang=zh").text == chinese.replace(
        'lang="zh-Hans">', 'lang="zh-Hans" data-theme="dark">', 1
    ).replace('value="system" aria-pressed="true"', 'value="system" aria-pressed="false"').replace(
        'value="dark" aria-pressed="false"', 'value="dark" aria-pressed="true"'
    )


def test_kept_page_does_not_carry_the_query_of_its_first_reader(site: TestClient) -> None:
    site.get(RING + "?lang=en&note=private")

    assert "private" not in site.get(RING).text


def test_last_question_is_offered_on_the_home_page(site: TestClient) -> None:
    site.get(RING)

    assert "Continue reading" in site.get("/").text


def test_the_same_question_sets_its_cookie_once(site: TestClient) -> None:
    assert "last=parallelism/ring" in site.get(RING).headers["set-cookie"]
    assert "set-cookie" not in site.get(RING).headers


@pytest.mark.parametrize("language", ["en", "zh"])
def test_shipped_questions_have_unique_ids_and_no_dead_anchors(client: TestClient, language: str) -> None:
    for question in client.app.state.services.library.questions():  # type: ignore[attr-defined]
        text = client.get(f"/study/{question.topic}/{question.slug}", headers={"Accept-Language": language}).text
        ids = re.findall(r'\sid="([^"]+)"', text)
        anchors = set(re.findall(r'href="#([^"]+)"', text))

        assert len(ids) == len(set(ids)), sorted(name for name in set(ids) if ids.count(name) > 1)
        assert anchors <= set(ids), anchors - set(ids)
        assert "cannot be shown here" not in text
        assert "无法在此显示" not in text


def test_every_card_leads_to_the_place_it_was_cut_from(client: TestClient) -> None:
    for question in client.app.state.services.library.questions():  # type: ignore[attr-defined]
        text = client.get(f"/study/{question.topic}/{question.slug}").text
        cards = cards_of(question)

        assert cards
        assert [card.id for card in cards if f'id="{card.anchor}"' not in text] == []
