"""The review over HTTP: what a form sends, what is stored, what a second tab is told. Every page works without htmx."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path
from zoneinfo import ZoneInfo

import httpx2
import pytest
from fastapi.testclient import TestClient

from app.cards.day import StudyCalendar
from app.cards.log import Entry
from app.cards.model import CardState, Grade
from app.cards.store import CardStore
from app.core.db import Database
from app.settings import Settings

CONTENT = Path(__file__).parent.parent / "cards" / "content"
START = datetime(2026, 3, 1, 12, tzinfo=UTC)
EVER = datetime(2020, 1, 1, tzinfo=UTC)
ZONE = ZoneInfo("UTC")

MakeClient = Callable[..., TestClient]


class Watch:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **by: float) -> None:
        self.now += timedelta(**by)


@dataclass
class Form:
    """A form as a browser would send it: where to, its hidden fields."""

    action: str
    method: str
    fields: dict[str, str]


class _Forms(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append(Form(values["action"], values.get("method", "get"), {}))
        elif tag == "input" and values.get("type") == "hidden" and self.forms:
            self.forms[-1].fields[values["name"]] = values["value"]


def form(html: str, action: str, *, method: str = "post") -> Form:
    parser = _Forms()
    parser.feed(html)
    found = [item for item in parser.forms if item.action == action and item.method == method]
    assert len(found) == 1, (action, method, [(item.action, item.method) for item in parser.forms])
    return found[0]


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def quiz_settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"content": CONTENT})


@pytest.fixture
def client(quiz_settings: Settings, make_client: MakeClient, watch: Watch) -> TestClient:
    return make_client(quiz_settings, clock=watch)


@pytest.fixture
def store(client: TestClient, quiz_settings: Settings) -> CardStore:
    """The same database, seen from beside the server."""
    return CardStore(Database(quiz_settings.database))


def entries(store: CardStore) -> list[Entry]:
    return store.entries("local", since=EVER)


def front(client: TestClient, **query: str) -> Form:
    """The reveal form of the card in front."""
    answer = client.get("/quiz/card", params=query)
    assert answer.status_code == 200
    return form(answer.text, "/quiz/card", method="get")


def reveal(client: TestClient, shown: Form, **more: str) -> str:
    answer = client.get("/quiz/card", params={**shown.fields, "skip": "1", **more})
    assert answer.status_code == 200
    return answer.text


def grades(client: TestClient, card: str = "", **query: str) -> Form:
    """The grade form of a card, or of the next one, revealed."""
    return form(reveal(client, front(client, card=card, **query)), "/quiz/card")


def send(client: TestClient, filled: Form, *, follow: bool = True, **more: str) -> httpx2.Response:
    return client.post(filled.action, data={**filled.fields, **more}, follow_redirects=follow)


def undo_form(client: TestClient) -> Form:
    return form(client.get("/quiz/card").text, "/quiz/undo")


def test_an_answer_is_stored_before_the_next_card_is_shown(client: TestClient, store: CardStore) -> None:
    shown = grades(client)

    answer = send(client, shown, grade="3", follow=False)

    assert answer.status_code == 303
    assert [(entry.card, entry.grade) for entry in entries(store)] == [("ring/answer", Grade.GOOD)]
    following = client.get(answer.headers["location"])
    assert front(client).fields["card"] != "ring/answer"
    assert following.status_code == 200


def test_with_htmx_the_card_alone_is_sent(client: TestClient) -> None:
    shown = front(client)

    part = client.get("/quiz/card", params={**shown.fields, "skip": "1"}, headers={"HX-Request": "true"}).text

    assert part.lstrip().startswith("<div")
    assert "<html" not in part
    assert 'id="quiz-card"' in part
    assert "<html" in client.get("/quiz/card").text


def test_a_reload_shows_what_was_shown(client: TestClient) -> None:
    """htmx swaps the card; the address follows it, so that a reload asks for no older state."""
    htmx = {"HX-Request": "true"}
    shown = front(client)

    back = client.get("/quiz/card", params={**shown.fields, "skip": "1"}, headers=htmx)
    assert 'data-state="back"' in client.get(back.headers["HX-Replace-Url"]).text

    filled = form(back.text, "/quiz/card")
    following = client.post("/quiz/card", data={**filled.fields, "grade": "3"}, headers=htmx)
    assert 'data-state="front"' in client.get(following.headers["HX-Replace-Url"]).text

    refused = client.post("/quiz/card", data={**filled.fields, "grade": "3"}, headers=htmx)
    assert refused.status_code == 409
    assert client.get(refused.headers["HX-Replace-Url"]).status_code == 200

    undone = client.post("/quiz/undo", data=form(following.text, "/quiz/undo").fields, headers=htmx)
    again = client.get(undone.headers["HX-Replace-Url"])
    assert again.status_code == 200
    assert form(again.text, "/quiz/card", method="get").fields["card"] == shown.fields["card"]


def test_an_answer_with_htmx_ends_in_the_next_card(client: TestClient, store: CardStore) -> None:
    shown = grades(client)

    answer = client.post(
        "/quiz/card", data={**shown.fields, "grade": "3"}, headers={"HX-Request": "true"}, follow_redirects=True
    )

    assert answer.text.lstrip().startswith("<div")
    assert len(entries(store)) == 1


def test_the_interval_on_the_button_is_the_interval_stored(client: TestClient, store: CardStore, watch: Watch) -> None:
    days = []
    for _ in range(4):
        html = reveal(client, front(client, card="ring/answer"))
        said = re.search(r'data-grade="4".*?<small>(\d+)\W*d</small>', html, re.DOTALL)
        assert said is not None
        watch.advance(seconds=20)
        send(client, form(html, "/quiz/card"), grade="4")

        due = store.state("local", "ring/answer").memory.due_at
        assert due is not None
        calendar = StudyCalendar(ZONE)
        assert (calendar.day(due) - calendar.day(watch.now)).days == int(said[1])
        days.append(int(said[1]))
        watch.now = due + timedelta(hours=2)
    assert days == sorted(days)


def test_two_tabs_one_answer_counts_and_the_other_is_told(
    quiz_settings: Settings, make_client: MakeClient, watch: Watch
) -> None:
    one, two = (make_client(quiz_settings, clock=watch) for _ in range(2))
    store = CardStore(Database(quiz_settings.database))
    first, second = grades(one), grades(two)
    assert first.fields["card"] == second.fields["card"]

    accepted = send(one, first, grade="3")
    refused = send(two, second, grade="1")

    assert accepted.status_code == 200
    assert refused.status_code == 409
    assert "answered already" in refused.text
    assert [(entry.card, entry.grade) for entry in entries(store)] == [("ring/answer", Grade.GOOD)]
    current = form(refused.text, "/quiz/card", method="get")
    assert current.fields["card"] == front(one).fields["card"], "the refusal shows the card that is next"
    assert send(two, undo_form(two)).status_code == 200
    assert entries(store) == []


def test_a_double_click_records_one_answer_and_grades_no_other_card(client: TestClient, store: CardStore) -> None:
    shown = grades(client)

    first, second = (send(client, shown, grade="3", follow=False) for _ in range(2))

    assert (first.status_code, second.status_code) == (303, 409)
    assert len(entries(store)) == 1
    assert set(store.states("local")) == {"ring/answer"}


def test_a_stale_reveal_shows_the_card_of_now(client: TestClient) -> None:
    shown = front(client)
    send(client, grades(client), grade="3")

    late = client.get("/quiz/card", params={**shown.fields})

    assert late.status_code == 409
    assert "answered already" in late.text
    assert form(late.text, "/quiz/card", method="get").fields["card"] != shown.fields["card"]


def test_undo_brings_the_card_back_as_it_was(client: TestClient, store: CardStore) -> None:
    send(client, grades(client), grade="3")

    answer = send(client, undo_form(client))

    assert form(answer.text, "/quiz/card", method="get").fields["card"] == "ring/answer"
    assert entries(store) == []
    assert store.state("local", "ring/answer").memory == CardState().memory


def test_undo_works_after_a_restart(quiz_settings: Settings, make_client: MakeClient, watch: Watch) -> None:
    before = make_client(quiz_settings, clock=watch)
    send(before, grades(before), grade="3")
    restarted = make_client(quiz_settings, clock=watch)

    answer = send(restarted, undo_form(restarted))

    assert form(answer.text, "/quiz/card", method="get").fields["card"] == "ring/answer"


def test_undo_works_after_the_last_card_and_twice(client: TestClient, store: CardStore) -> None:
    done = answer_all(client)
    assert "Done for now" in client.get("/quiz/card").text

    send(client, undo_form(client))
    send(client, undo_form(client))

    assert len(entries(store)) == done - 2
    assert "Done for now" not in client.get("/quiz/card").text


def test_a_double_click_on_undo_is_told(client: TestClient, store: CardStore) -> None:
    send(client, grades(client), grade="3")
    send(client, grades(client), grade="3")
    shown = undo_form(client)

    first, second = send(client, shown, follow=False), send(client, shown, follow=False)

    assert (first.status_code, second.status_code) == (303, 409)
    assert len(entries(store)) == 1


def test_with_nothing_to_undo_there_is_no_button(client: TestClient) -> None:
    assert 'action="/quiz/undo"' not in client.get("/quiz/card").text
    assert client.post("/quiz/undo", data={"entry": "1"}).status_code == 404


def test_undo_keeps_an_edit_of_the_text(
    settings: Settings, make_client: MakeClient, watch: Watch, tmp_path: Path
) -> None:
    content = copy_of_content(tmp_path)
    client = make_client(settings.model_copy(update={"content": content}), clock=watch)
    send(client, grades(client), grade="3")
    edit(content, "How does a ring add up?", "How does a ring sum?")
    refresh(client)

    answer = send(client, undo_form(client))

    assert "How does a ring sum?" in answer.text


def test_progress_survives_an_edit_and_a_removed_card_comes_back(
    settings: Settings, make_client: MakeClient, watch: Watch, tmp_path: Path
) -> None:
    content = copy_of_content(tmp_path)
    changed = settings.model_copy(update={"content": content})
    client = make_client(changed, clock=watch)
    store = CardStore(Database(changed.database))
    send(client, grades(client, card="ring/wrong/once"), grade="4")
    before = store.state("local", "ring/wrong/once")

    edit(content, "A ring sends the buffer once. {#once}", "The buffer goes round once. {#once}")
    refresh(client)
    assert store.state("local", "ring/wrong/once") == before

    for name, section in (("en.md", "## wrong\n\n### The buffer"), ("zh.md", "## wrong\n\n### 环只")):
        page = content / "rings" / "ring" / name
        page.write_text(page.read_text().split(section)[0])
    refresh(client)
    assert "no longer in the content" in client.get("/progress").text
    assert store.state("local", "ring/wrong/once") == before


def test_old_buttons_are_not_believed(client: TestClient, store: CardStore, watch: Watch) -> None:
    """Left open over night, the intervals on the buttons are yesterday's."""
    shown = grades(client)
    watch.advance(hours=13)

    answer = send(client, shown, grade="3")

    assert answer.status_code == 409
    assert "earlier day" in answer.text
    assert entries(store) == []


@pytest.mark.parametrize(
    "change",
    [
        {"grade": "0"},
        {"grade": "5"},
        {"shown": ""},
        {"shown": "99999999999999999999"},
        {"shown": "-1"},
        {"shown": "１２３"},
    ],
)
def test_a_form_that_was_tampered_with_stores_nothing(
    client: TestClient, store: CardStore, change: dict[str, str]
) -> None:
    shown = grades(client)

    shown.fields |= {"grade": "3"} | change
    answer = send(client, shown)

    assert answer.status_code == 409
    assert entries(store) == []


def test_a_grade_that_is_no_number_is_refused(client: TestClient, store: CardStore) -> None:
    answer = send(client, grades(client), grade="good")

    assert answer.status_code == 422
    assert entries(store) == []


def test_a_card_that_is_gone_is_said_to_be_gone(client: TestClient, store: CardStore) -> None:
    shown = grades(client)

    answer = send(client, shown, grade="3", card="ring/no-such-card")

    assert answer.status_code == 404
    assert "removed" in answer.text
    assert entries(store) == []


def test_another_site_cannot_grade(client: TestClient, store: CardStore) -> None:
    shown = grades(client)

    answer = client.post("/quiz/card", data={**shown.fields, "grade": "1"}, headers={"Sec-Fetch-Site": "cross-site"})

    assert answer.status_code == 403
    assert entries(store) == []


def test_a_suspended_card_is_gone_until_it_is_put_back(client: TestClient) -> None:
    send(client, form(client.get("/quiz/card").text, "/quiz/suspend"))
    assert front(client).fields["card"] != "ring/answer"

    page = client.get("/progress").text
    send(client, form(page, "/quiz/resume"))

    assert front(client).fields["card"] == "ring/answer"


def test_suspending_by_mistake_can_be_undone(client: TestClient) -> None:
    send(client, form(client.get("/quiz/card").text, "/quiz/suspend"))

    send(client, undo_form(client))

    assert front(client).fields["card"] == "ring/answer"


def test_a_flag_stays_on_the_card(client: TestClient, store: CardStore) -> None:
    flagged = send(client, form(client.get("/quiz/card").text, "/quiz/flag"))

    assert "flagged" in flagged.text
    assert store.state("local", "ring/answer").flagged
    send(client, form(flagged.text, "/quiz/flag"))
    assert not store.state("local", "ring/answer").flagged


def test_time_looked_at_a_card_is_capped(client: TestClient, store: CardStore, watch: Watch) -> None:
    """A phone call in between is no review time."""
    shown = front(client)
    watch.advance(minutes=50)
    send(client, form(reveal(client, shown), "/quiz/card"), grade="3")

    assert [entry.duration_ms for entry in entries(store)] == [60_000]


DRILL = "ring/drill/eight"


def drill(client: TestClient, typed: str) -> httpx2.Response:
    shown = front(client, card=DRILL, question="ring")
    return client.get("/quiz/card", params={**shown.fields, "typed": typed})


def test_a_right_answer_to_a_drill_suggests_good(client: TestClient) -> None:
    solution = re.search(r"quiz-result.*?<strong>(.*?)</strong>", drill_answer(client), re.DOTALL)
    assert solution is not None

    answer = drill(client, solution[1].split(" (")[0])

    assert answer.status_code == 200
    assert 'data-kind="right"' in answer.text
    assert suggested(answer.text) == "3"


def drill_answer(client: TestClient) -> str:
    return reveal(client, front(client, card=DRILL, question="ring"))


def suggested(html: str) -> str:
    found = re.findall(r'class="button button-primary"[^>]*data-grade="(\d)"', html)
    assert len(found) == 1
    return str(found[0])


def test_a_wrong_answer_to_a_drill_suggests_again_and_shows_the_steps(client: TestClient) -> None:
    answer = drill(client, "3 PB")

    assert 'data-kind="wrong"' in answer.text
    assert suggested(answer.text) == "1"
    assert 'class="math"' in answer.text


@pytest.mark.parametrize("typed", ["", "  ", "64", "nan", "80 G", "<b>1</b>"])
def test_what_cannot_be_read_is_asked_for_again(client: TestClient, store: CardStore, typed: str) -> None:
    answer = drill(client, typed)

    assert answer.status_code == 422
    assert "data-grade" not in answer.text
    assert 'role="alert"' in answer.text
    assert "<b>1" not in answer.text
    assert entries(store) == []


def test_a_drill_shows_the_same_numbers_after_a_reload_and_others_next_time(client: TestClient, watch: Watch) -> None:
    def given() -> list[str]:
        return re.findall(r"<td>(.*?)</td>", client.get("/quiz/card", params={"card": DRILL, "question": "ring"}).text)

    first = given()
    assert given() == first
    seen = [first]
    for _ in range(4):
        send(client, grades(client, card=DRILL, question="ring"), grade="1")
        watch.advance(minutes=2)
        seen.append(given())
    assert len({tuple(numbers) for numbers in seen}) > 1


def test_the_exposed_blocks_picked_are_right(client: TestClient) -> None:
    shown = front(client, card="ring/timeline/chain", question="ring")

    right = client.get("/quiz/card", params={**shown.fields, "pick": ["f-ag-1"]})
    wrong = client.get("/quiz/card", params={**shown.fields, "pick": ["f-ag-1", "f-ag-2"]})

    assert 'data-kind="right"' in right.text
    assert 'data-kind="wrong"' in wrong.text


def test_the_day_is_the_browsers(client: TestClient, watch: Watch) -> None:
    """21:30 UTC is tomorrow morning in Shanghai: what was answered before is not today's any more."""
    client.cookies.set("tz", "Asia%2FShanghai")
    watch.now = datetime(2026, 3, 1, 19, 30, tzinfo=UTC)
    send(client, grades(client), grade="3")
    assert numbers(client)["answered today"] == "1"

    watch.now = datetime(2026, 3, 1, 20, 30, tzinfo=UTC)

    assert numbers(client)["answered today"] == "0"
    assert numbers(client)["days in a row"] == "1"


@pytest.mark.parametrize("zone", ["", "Mars/Olympus", "..%2F..%2Fetc%2Fpasswd", "%00", "%FF", "America"])
def test_a_zone_that_is_none_is_ignored(client: TestClient, zone: str) -> None:
    client.cookies.set("tz", zone)

    assert client.get("/quiz").status_code == 200


def numbers(client: TestClient) -> dict[str, str]:
    found = re.findall(r"<dt>([^<]*)</dt><dd>([^<&]*)", client.get("/quiz").text)
    return dict(found)


def answer_all(client: TestClient, *, grade: str = "4") -> int:
    """Answer whatever is due until the summary comes; how many answers that took."""
    for count in range(60):
        html = client.get("/quiz/card").text
        if 'method="get"' not in html.split('id="quiz-card"')[1].split("quiz-tools")[0]:
            return count
        send(client, grades(client), grade=grade)
    raise AssertionError("the queue never ends")


def test_the_end_sums_the_session_up_and_says_when_the_next_card_comes(client: TestClient) -> None:
    send(client, grades(client), grade="1")
    count = 1 + answer_all(client)

    page = client.get("/quiz/card").text

    assert "Done for now" in page
    assert f"<dt>answers</dt><dd>{count}</dd>" in page
    assert "Worth reading again" in page
    assert "tomorrow" in page


def test_the_start_page_says_when_nothing_is_due(client: TestClient) -> None:
    assert "cards to go" in client.get("/quiz").text

    answer_all(client)

    page = client.get("/quiz").text
    assert "Nothing is due" in page
    assert "tomorrow" in page


def test_without_questions_the_page_says_what_to_do(
    settings: Settings, make_client: MakeClient, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    client = make_client(settings.model_copy(update={"content": tmp_path / "empty"}))

    for address in ("/quiz", "/quiz/card", "/quiz/today", "/progress"):
        assert client.get(address).status_code == 200
    assert "no cards yet" in client.get("/quiz").text


def test_today_counts_what_was_done(client: TestClient) -> None:
    before = client.get("/quiz/today", headers={"HX-Request": "true"}).text

    answer_all(client)

    after = client.get("/quiz/today", headers={"HX-Request": "true"}).text
    assert "<html" not in before
    assert "cards to go" in before
    assert "All done for now" in after
    assert "1 day" in after


def test_progress_counts_answers_and_not_undone_ones(client: TestClient) -> None:
    assert "Nothing to show yet" in client.get("/progress").text
    send(client, grades(client), grade="3")
    send(client, grades(client), grade="3")
    send(client, undo_form(client))

    page = client.get("/progress").text

    assert "<dt>answered today</dt><dd>1</dd>" in page
    assert '<th scope="row">2026-03-01</th><td>1</td>' in page


@pytest.mark.parametrize("address", ["/quiz", "/quiz/card", "/quiz/today", "/progress"])
def test_pages_read_chinese(client: TestClient, address: str) -> None:
    send(client, grades(client), grade="3")

    page = client.get(address, headers={"Accept-Language": "zh"}).text

    body = re.sub(r"<[^>]*>", "", page.split("<main")[1].split("</main>")[0])
    assert not re.search(r"\b(Show|cards|Answer|Start|left|due|Undo)\b", body)
    assert re.search(r"[\u4e00-\u9fff]", body)


@pytest.mark.parametrize("address", ["/quiz", "/quiz/card", "/quiz/today"])
def test_when_all_is_done_chinese_sentences_end_in_chinese(client: TestClient, address: str) -> None:
    answer_all(client)

    page = client.get(address, headers={"Accept-Language": "zh"}).text

    body = re.sub(r"<[^>]*>", "", page.split("<main")[1].split("</main>")[0])
    assert "起" in body
    assert not re.search(r"[\u4e00-\u9fff][.,:;]|： ", body)


def test_a_local_server_gives_no_learner_cookie(client: TestClient) -> None:
    answer = send(client, grades(client), grade="3", follow=False)

    assert "learner" not in answer.headers.get("set-cookie", "")


def test_a_review_is_not_brought_forward_by_its_address(client: TestClient) -> None:
    send(client, grades(client), grade="4")

    assert front(client, card="ring/answer").fields["card"] != "ring/answer"


def copy_of_content(tmp_path: Path) -> Path:
    import shutil

    return Path(shutil.copytree(CONTENT, tmp_path / "content"))


def edit(content: Path, old: str, new: str) -> None:
    page = content / "rings" / "ring" / "en.md"
    text = page.read_text()
    assert old in text
    page.write_text(text.replace(old, new))


def refresh(client: TestClient) -> None:
    assert client.app.state.services.library.refresh()  # type: ignore[attr-defined]


@pytest.mark.parametrize("address", ["/quiz?question=typo", "/quiz/card?question=typo", "/quiz/card?topic=typo"])
def test_a_question_or_topic_that_does_not_exist_is_said_so(client: TestClient, address: str) -> None:
    answer = client.get(address)

    assert answer.status_code == 404
    assert "typo" in answer.text
