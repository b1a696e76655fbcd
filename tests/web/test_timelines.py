"""The timelines over HTTP: golden rows through the JSON API, page, fragments, errors at their fields, study figure."""

import html
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml
from fastapi import Request
from fastapi.testclient import TestClient

from app.core.inputs import describe
from app.hardware.presets import DatasheetProfile, presets
from app.main import create_app
from app.settings import Settings
from app.timelines import catalog
from app.web import timeline_view
from app.web.pages import timelines as pages
from app.web.timeline_query import Query

GOLDEN: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parent.parent / "golden" / "timelines.yaml").read_text(encoding="utf-8")
)
SLUGS = [scenario.slug for scenario in catalog.scenarios()]
HTMX = {"HX-Request": "true"}


@pytest.fixture(scope="module")
def shared_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """One app for the module: nothing here writes."""
    data = tmp_path_factory.mktemp("timelines")
    settings = Settings(data=data, host="127.0.0.1", port=0, database_url="", watch_content=False)
    with TestClient(create_app(settings), base_url="http://127.0.0.1", headers={"Accept-Language": "en"}) as client:
        yield client


@pytest.fixture
def site(shared_site: TestClient) -> TestClient:
    """The app without the language that another test chose."""
    shared_site.cookies.clear()
    return shared_site


def query(inputs: Mapping[str, object]) -> dict[str, str]:
    def text(value: object) -> str:
        if isinstance(value, list):
            return ",".join(str(item) for item in value)
        return str(value).lower() if isinstance(value, bool) else str(value)

    return {name: text(value) for name, value in inputs.items()}


@pytest.mark.parametrize("row", GOLDEN, ids=lambda row: row["id"])
def test_the_api_answers_the_golden_rows(site: TestClient, row: dict[str, Any]) -> None:
    response = site.get(f"/api/timelines/{row['scenario']}", params=query(row["inputs"]))

    assert response.status_code == 200, response.text
    summary = response.json()["summary"]
    for name, expected in row["expect"].items():
        assert summary[name] == pytest.approx(expected, abs=row["tolerance"]["abs"], rel=0), name


@pytest.mark.parametrize("slug", SLUGS)
def test_the_api_gives_every_operation_as_promised(site: TestClient, slug: str) -> None:
    answer = site.get(f"/api/timelines/{slug}").json()
    ids = {operation["id"] for operation in answer["operations"]}

    assert set(answer) == {"scenario", "inputs", "summary", "operations"}
    for operation in answer["operations"]:
        assert set(operation) == {
            "id", "device", "stream", "kind", "start", "end", "label", "detail", "waits_for", "critical"
        }  # fmt: skip
        assert operation["start"] <= operation["end"]
        assert set(operation["waits_for"]) <= ids
    assert max(operation["end"] for operation in answer["operations"]) == answer["summary"]["makespan"]


def test_each_step_of_the_ring_says_which_chunk_goes_where_and_its_sum(site: TestClient) -> None:
    """Two ranks start with 1, 2 and 3, 4: they end with 1+3 = 4 and 2+4 = 6."""
    english, chinese = (
        {
            operation["id"]: operation["detail"]
            for operation in site.get(f"/api/timelines/ring-all-reduce?ranks=2&lang={language}").json()["operations"]
        }
        for language in ("en", "zh")
    )

    assert "rank 0 sends chunk 0 (1) to rank 1" in english["s1-r0"]
    assert "1+3=4" in english["s1-r0"]
    assert "2+4=6" in english["s1-r1"]
    assert "rank 1 sends chunk 0 (4) to rank 0" in english["s2-r1"]
    assert "第 0 块（1）发给 rank 1" in chinese["s1-r0"]
    assert "1+3=4" in chinese["s1-r0"]


def test_the_api_names_the_wrong_field_in_the_readers_language(site: TestClient) -> None:
    response = site.get("/api/timelines/gtp-chain?gemm=fast&lang=zh")

    assert response.status_code == 422
    assert "数字" in response.json()["fields"]["gemm"]


def test_the_api_lists_the_timelines(site: TestClient) -> None:
    answer = site.get("/api/timelines").json()

    assert [entry["scenario"] for entry in answer] == SLUGS
    assert all(entry["inputs"] for entry in answer)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("slug", SLUGS)
def test_a_page_holds_picture_numbers_table_and_form(site: TestClient, slug: str, language: str) -> None:
    scenario = catalog.find(slug)
    text = site.get(f"/timelines/{slug}?lang={language}").text

    assert "<svg" in text
    assert "<table>" in text
    assert html.escape(scenario.title[language]) in html.unescape(text)  # type: ignore[index]
    for doc in describe(scenario.inputs):
        assert f'name="{doc.name}"' in text
    assert not re.search(r"\sstyle=|<style|\son\w+=", text)


def test_the_list_links_to_every_timeline(site: TestClient) -> None:
    text = site.get("/timelines").text

    for slug in SLUGS:
        assert f'href="/timelines/{slug}"' in text
    assert text.count("tl-thumbnail") == len(SLUGS)


def test_a_change_brings_the_figure_and_clears_the_messages(site: TestClient) -> None:
    response = site.get("/timelines/gtp-chain?gemm=2&layers=4", headers=HTMX)

    assert response.status_code == 200
    assert "<html" not in response.text
    assert 'id="timeline-gtp-chain"' in response.text
    assert '<p class="field-error" id="error-gemm" hx-swap-oob="true"></p>' in response.text
    assert response.headers["HX-Replace-Url"] == "/timelines/gtp-chain?gemm=2"


def test_a_wrong_value_keeps_the_figure_and_says_why_at_the_field(site: TestClient) -> None:
    response = site.get("/timelines/gtp-chain?gemm=fast", headers=HTMX)

    assert response.status_code == 422
    assert response.headers["HX-Reswap"] == "none"
    assert "<figure" not in response.text
    assert 'id="error-gemm" hx-swap-oob="true">Enter a number' in response.text


def test_a_wrong_value_without_a_script_shows_the_form_with_the_message(site: TestClient) -> None:
    response = site.get("/timelines/tp-layer?weight_grad=9")

    assert response.status_code == 422
    assert 'value="9"' in response.text
    assert "at most the forward time" in response.text


def test_an_unknown_input_is_told_above_the_form(site: TestClient) -> None:
    response = site.get("/timelines/gtp-chain?lairs=9")

    assert response.status_code == 422
    assert "<code>lairs</code>" in response.text


def test_an_unknown_timeline_is_not_found(site: TestClient) -> None:
    assert site.get("/timelines/perpetual-motion").status_code == 404
    assert site.get("/api/timelines/perpetual-motion").status_code == 404


def test_two_schedules_are_compared_on_one_axis(site: TestClient) -> None:
    text = html.unescape(site.get("/timelines/gtp-chain?vs.pass=cold_start").text)

    assert 'data-track="1"' in text
    assert "takes 20\u2009ms: 6\u2009ms longer" in text
    assert "Pass: cold start (first forward)" in text


def test_a_wrong_value_of_the_second_schedule_is_told_at_its_own_field(site: TestClient) -> None:
    text = site.get("/timelines/gtp-chain?vs.gemm=fast").text

    assert re.search(r'id="error-vs-gemm">Enter a number', text)
    assert 'id="error-gemm"></p>' in text


def test_a_profile_fills_in_and_says_where_each_duration_is_from(site: TestClient) -> None:
    text = html.unescape(site.get("/timelines/gtp-chain?profile=h100-sxm&gemm=3").text)
    origins = text[text.index("timeline-origins") : text.index("timeline-reasons")]

    assert "H100 SXM" in origins
    assert origins.count(">datasheet<") == 3
    assert origins.count(">typed<") == 1


def test_choosing_a_profile_forgets_defaults_but_keeps_what_was_typed(site: TestClient) -> None:
    """The form sends every field; without `was` the shown defaults would count as typed."""
    response = site.get(
        "/timelines/gtp-chain?was=&profile=h100-sxm&gemm=3&backward=7&all_gather=2&reduce_scatter=5&layers=6",
        headers={**HTMX, "HX-Trigger-Name": "profile"},
    )
    address = urlsplit(response.headers["HX-Replace-Url"])

    assert 'id="workbench"' in response.text
    assert parse_qs(address.query) == {"profile": ["h100-sxm"], "backward": ["7"], "layers": ["6"]}


def test_an_unknown_profile_is_told_at_the_choice(site: TestClient) -> None:
    response = site.get("/timelines/gtp-chain?profile=abacus")

    assert response.status_code == 422
    assert 'id="error-profile">There is no such hardware' in response.text


def test_a_switch_can_be_turned_off_by_a_plain_form(site: TestClient) -> None:
    on = site.get("/timelines/tp-layer?async_backward=false&async_backward=true&pass=backward").text
    off = site.get("/timelines/tp-layer?async_backward=false&pass=backward").text

    assert "22\u2009ms" in on
    assert "26\u2009ms" in off


def test_the_picture_is_a_file_to_save(site: TestClient) -> None:
    response = site.get("/timelines/tp-layer/figure.svg?pass=forward&vs.sequence_parallel=true")

    assert response.headers["content-type"].startswith("image/svg+xml")
    assert 'filename="tp-layer.svg"' in response.headers["content-disposition"]
    assert response.text.startswith("<?xml")


def test_another_zoom_brings_only_the_stage(site: TestClient) -> None:
    text = site.get("/timelines/tp-layer/figure?zoom=4&embed=here-1", headers=HTMX).text

    assert "<figure" not in text
    assert 'id="here-1-svg"' in text
    assert re.search(r'aria-current="true">4×', text)


def test_an_embed_id_that_is_not_one_is_left_out(site: TestClient) -> None:
    text = site.get("/timelines/tp-layer/figure", params={"embed": '"><script>'}, headers=HTMX).text

    assert "<script>" not in text
    assert 'id="timeline-tp-layer-svg"' in text


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", '" onmouseover="x'])
def test_typed_text_is_never_markup(site: TestClient, text: str) -> None:
    response = site.get("/timelines/gtp-chain", params={"gemm": text, text: "1"})

    assert response.status_code == 422
    assert text not in response.text


def test_data_for_the_script_is_the_run(site: TestClient) -> None:
    text = site.get("/timelines/gtp-chain").text
    found = re.search(r"data-timeline-data>(.*?)</script>", text, re.DOTALL)
    assert found is not None
    track = json.loads(found[1])["tracks"][0]
    run = catalog.run("gtp-chain", {})

    assert [entry[0] for entry in track["operations"]] == [operation.label for operation in run.operations]
    assert [entry[3] for entry in track["gaps"]] == [gap.why.en for gap in run.gaps]


def test_a_study_page_holds_several_figures_with_ids_of_their_own(site: TestClient) -> None:
    request = Request({"type": "http", "app": site.app, "path": "/study", "query_string": b"", "headers": []})
    one = pages.figure(request, "gtp-chain", {"layers": "3"}, embed_id="a", caption="Three <layers>.")
    two = pages.figure(request, "gtp-chain", {}, embed_id="b", compare={"pass": "cold_start"})
    ids = re.findall(r'\sid="([^"]+)"', one + two)

    assert len(ids) == len(set(ids))
    assert "<figcaption>Three &lt;layers&gt;.</figcaption>" in one
    assert 'href="/timelines/gtp-chain?layers=3"' in one
    assert 'data-track="1"' in two


def test_a_large_schedule_says_how_much_its_table_leaves_out(site: TestClient) -> None:
    text = site.get("/timelines/gtp-chain?layers=300&pass=step").text

    assert "Further blocks: 1200" in text


class Silent(DatasheetProfile):
    """Hardware that knows how fast its links are and nothing of matrix multiplication."""

    @property
    def flop_per_second(self) -> float | None:
        return None


def test_a_duration_the_hardware_is_silent_about_is_not_called_typed() -> None:
    silent = Silent(presets()["h100-sxm"].sheet)

    def word(raw: dict[str, str]) -> str:
        run = catalog.run("gtp-chain", {"profile": silent.key, **raw}, profiles={silent.key: silent})
        shown = timeline_view.view((run,), Query(raw={"profile": silent.key, **raw}), "en")
        origins: list[timeline_view.Origin] = shown["origins"]
        return next(origin.word.en for origin in origins if origin.title.en == "Forward GEMM")

    assert word({}) == "default"
    assert word({"gemm": "2"}) == "typed"


def test_chinese_reasons_are_written_as_chinese(site: TestClient) -> None:
    """What is read aloud and shown on hover, the seen word once; a Chinese lane stands right behind 的."""
    text = site.get("/timelines/tp-layer?lang=zh").text

    assert "暴露 3。GPU 0 的计算：4 到 7" in text
    assert "GPU 0 的 TP 通信：" in text
    assert "。 " not in re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
