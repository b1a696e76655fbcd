"""The calculators over HTTP: golden rows through the JSON API, pages, fragments, presets and the study panel."""

import html
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from fastapi import Request
from fastapi.testclient import TestClient

from app.calculators import catalog
from app.main import create_app
from app.settings import Settings
from app.web.pages import calculators as pages

GOLDEN: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parent.parent / "golden" / "calculators.yaml").read_text(encoding="utf-8")
)
SLUGS = list(catalog.calculators())
HTMX = {"HX-Request": "true"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """One app for the module: nothing here writes."""
    data = tmp_path_factory.mktemp("calculators")
    settings = Settings(data=data, host="127.0.0.1", port=0, database_url="", watch_content=False)
    with TestClient(create_app(settings), base_url="http://127.0.0.1", headers={"Accept-Language": "en"}) as client:
        yield client


def query(inputs: Mapping[str, object]) -> dict[str, str]:
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in inputs.items()}


@pytest.mark.parametrize("row", GOLDEN, ids=lambda row: row["id"])
def test_golden_row(site: TestClient, row: dict[str, Any]) -> None:
    answer = site.get(f"/api/calculators/{row['calculator']}", params=query(row["inputs"]))

    assert answer.status_code == 200, answer.text
    results = answer.json()["results"]
    for name, expected in row["expect"].items():
        tolerance = row["tolerance"]
        allowed = tolerance["abs"] if "abs" in tolerance else tolerance["rel"] * abs(expected)
        assert abs(results[name]["value"] - expected) <= allowed, (name, results[name]["value"])


def test_golden_rows_have_unique_names() -> None:
    names = [row["id"] for row in GOLDEN]

    assert len(names) == len(set(names))


def test_json_has_the_documented_shape(site: TestClient) -> None:
    body = site.get("/api/calculators/tp-communication?hidden_size=4096").json()

    assert body["calculator"] == "tp-communication"
    assert body["inputs"]["hidden_size"] == 4096
    assert body["inputs"]["recompute"] == "none"
    assert body["results"]["message_bytes"] == {
        "title": "Message",
        "value": 33554432,
        "unit": "bytes",
        "formula": r"S = b \, s \, h \, e",
        "substituted": r"S = 1 \cdot 4{,}096 \cdot 4{,}096 \cdot 2\,\text{B} "
        r"= 33{,}554{,}432\,\text{B} = 32\,\text{MiB} \approx 33.55\,\text{MB}",
        "source": "Narayanan et al. 2021, §3.2",
    }
    assert {"steps", "assumptions", "warnings", "wrong_answers"} <= body.keys()


def test_json_names_every_bad_field_and_computes_nothing(site: TestClient) -> None:
    answer = site.get("/api/calculators/busbw?ranks=0&time_us=fast&color=red")

    assert answer.status_code == 422
    assert answer.json()["fields"] == {
        "ranks": "Must be at least 1.",
        "time_us": "Enter a number, such as 2.5 or 1e9.",
        "color": "There is no such input.",
    }
    assert "results" not in answer.json()


@pytest.mark.parametrize("text", ["nan", "inf", "-1", "1e400", "0x10", "1;2", "9" * 60])
def test_odd_numbers_are_refused_kindly(site: TestClient, text: str) -> None:
    answer = site.get("/api/calculators/collective-time", params={"message_bytes": text})

    assert answer.status_code == 422
    assert list(answer.json()["fields"]) == ["message_bytes"]


@pytest.mark.parametrize("text", ["67,108,864", "2^26", "６７１０８８６４", " 67108864 ", "6.7108864e7", "67_108_864"])
def test_the_same_number_may_be_written_in_many_ways(site: TestClient, text: str) -> None:
    answer = site.get("/api/calculators/collective-time", params={"message_bytes": text})

    assert answer.json()["inputs"]["message_bytes"] == 67108864


def test_json_speaks_the_language_asked_for(site: TestClient) -> None:
    body = site.get("/api/calculators/busbw?lang=zh&ranks=0").json()

    assert body["fields"]["ranks"] == "不能小于 1。"
    site.cookies.clear()


def test_unknown_calculator_is_not_found_and_the_others_are_named(site: TestClient) -> None:
    page, data = site.get("/calculators/nope"), site.get("/api/calculators/nope")

    assert (page.status_code, data.status_code) == (404, 404)
    assert "tp-communication" in data.json()["remedy"]


def test_the_api_lists_calculators_with_their_inputs(site: TestClient) -> None:
    listed = site.get("/api/calculators").json()["calculators"]

    assert [entry["calculator"] for entry in listed] == SLUGS
    assert listed[0]["inputs"][0]["choices"][0] == "all_reduce"


def test_the_index_links_every_calculator_with_an_example(site: TestClient) -> None:
    page = site.get("/calculators").text

    for slug in SLUGS:
        assert f'href="/calculators/{slug}"' in page
    assert "437.5" in page


@pytest.mark.parametrize("slug", SLUGS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_page_opens_whole_in_both_languages(site: TestClient, slug: str, language: str) -> None:
    answer = site.get(f"/calculators/{slug}", headers={"Accept-Language": language})

    assert answer.status_code == 200
    assert answer.text.startswith("<!doctype html>")
    assert catalog.calculator(slug).title[language].split()[0] in answer.text  # type: ignore[index]
    assert " style=" not in answer.text
    assert "<script>" not in answer.text


@pytest.mark.parametrize("slug", SLUGS)
def test_htmx_gets_the_regions_that_change_and_a_short_address(site: TestClient, slug: str) -> None:
    calculator = catalog.calculator(slug)
    everything = {
        name: site.get(f"/api/calculators/{slug}").json()["inputs"][name] for name in calculator.inputs.model_fields
    }

    answer = site.get(f"/calculators/{slug}", params=query(everything), headers=HTMX)

    assert answer.status_code == 200
    assert "<html" not in answer.text
    assert answer.text.count('id="calculator-work"') == 1
    assert 'id="calculator-headline" hx-swap-oob="true"' in answer.text
    assert answer.headers["HX-Replace-Url"] == f"/calculators/{slug}"
    assert "HX-Request" in answer.headers["Vary"]


def test_a_changed_input_stands_in_the_address(site: TestClient) -> None:
    answer = site.get("/calculators/busbw?ranks=4&time_us=4000&sweep=time_us&plot=bus_factor", headers=HTMX)

    assert answer.headers["HX-Replace-Url"] == "/calculators/busbw?ranks=4&sweep=time_us&plot=bus_factor"


def test_a_wrong_input_is_explained_at_its_field_and_keeps_what_was_typed(site: TestClient) -> None:
    answer = site.get("/calculators/busbw?ranks=zero")

    assert answer.status_code == 422
    assert 'value="zero"' in answer.text
    assert 'id="calculator-ranks-error">Enter a whole number, such as 4096.</p>' in answer.text
    assert "calculator-steps" not in answer.text


def test_a_wrong_input_sends_htmx_only_the_messages(site: TestClient) -> None:
    answer = site.get("/calculators/busbw?ranks=0", headers=HTMX)

    assert answer.status_code == 422
    assert answer.headers["HX-Reswap"] == "none"
    assert 'id="calculator-ranks-error" hx-swap-oob="true">Must be at least 1.</p>' in answer.text
    assert 'id="calculator-time_us-error" hx-swap-oob="true"></p>' in answer.text
    assert "calculator-work" not in answer.text


def test_history_restore_gets_the_whole_page(site: TestClient) -> None:
    answer = site.get("/calculators/busbw", headers={**HTMX, "HX-History-Restore-Request": "true"})

    assert answer.text.startswith("<!doctype html>")


def test_typed_text_cannot_become_markup(site: TestClient) -> None:
    answer = site.get("/calculators/busbw", params={"ranks": '"><script>alert(1)</script>', "<b>": "x"})

    assert answer.status_code == 422
    assert "<script>alert" not in answer.text
    assert "<code><b>" not in answer.text


def test_the_plot_stands_as_data_and_as_a_table(site: TestClient) -> None:
    page = site.get("/calculators/tp-communication?tensor_parallel_size=4").text
    found = re.search(r'<script type="application/json" id="calculator-data">(.*?)</script>', page, re.DOTALL)

    assert found
    figure = json.loads(found[1])
    assert figure["data"][0]["x"] == [1, 2, 4, 8, 16, 32]
    assert figure["data"][0]["line"]["color"] == "var(--compute)"
    assert figure["data"][1]["x"] == [4]
    assert '<tr aria-current="true"><td>4</td>' in page


def test_a_model_fills_in_its_shape_and_keeps_the_rest(site: TestClient) -> None:
    answer = site.get("/calculators/tp-communication?bandwidth_gb_per_s=400&model=gpt-3-175b", follow_redirects=False)

    assert answer.status_code == 303
    assert answer.headers["Location"] == (
        "/calculators/tp-communication?sequence_length=2048&hidden_size=12288&bandwidth_gb_per_s=400&layers=96"
    )


def test_a_machine_fills_in_its_rates(site: TestClient) -> None:
    answer = site.get("/calculators/tp-communication?profile=a100-sxm", headers=HTMX)

    assert answer.headers["HX-Push-Url"] == "/calculators/tp-communication?bandwidth_gb_per_s=300&peak_tflops=312"
    assert answer.headers["HX-Retarget"] == "#calculator"
    assert 'id="calculator-bandwidth_gb_per_s" name="bandwidth_gb_per_s" value="300"' in answer.text


def test_a_preset_works_while_another_field_is_wrong(site: TestClient) -> None:
    answer = site.get("/calculators/tp-communication?hidden_size=abc&layers=3&profile=a100-sxm", follow_redirects=False)

    assert answer.headers["Location"].endswith("?bandwidth_gb_per_s=300&peak_tflops=312&layers=3")


@pytest.mark.parametrize("name", ["profile", "model"])
def test_an_unknown_preset_is_not_found(site: TestClient, name: str) -> None:
    answer = site.get(f"/calculators/tp-communication?{name}=abacus")

    assert answer.status_code == 404


def test_markdown_carries_the_inputs_and_the_address(site: TestClient) -> None:
    page = site.get("/calculators/busbw?ranks=4").text
    found = re.search(r"<textarea[^>]*>(.*?)</textarea>", page, re.DOTALL)

    assert found
    text = html.unescape(found[1])
    assert "](http://127.0.0.1/calculators/busbw?ranks=4)" in text
    assert "| Ranks n | 4 |" in text
    assert r"$$\mathrm{busbw} = 1.5 \cdot 250\,\text{GB/s} = 375\,\text{GB/s}$$" in text


def panel(site: TestClient, slug: str, raw: dict[str, str], *, embed_id: str = "t8", caption: str = "") -> str:
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/study/x",
        "query_string": b"lang=en",
        "headers": [],
        "app": site.app,
    }
    return str(pages.panel(Request(scope), slug, raw, embed_id=embed_id, caption=caption))


def test_a_panel_names_its_parts_by_its_id_and_puts_its_inputs_in_front(site: TestClient) -> None:
    text = panel(site, "tp-communication", {"tensor_parallel_size": "16"}, caption="Across <nodes>")

    ids = re.findall(r'\bid="([^"]+)"', text)
    assert ids
    assert all(name == "t8" or name.startswith("t8-") for name in ids)
    assert len(ids) == len(set(ids))
    assert text.index('name="tensor_parallel_size"') < text.index("<details") < text.index('name="hidden_size"')
    assert 'href="/calculators/tp-communication?tensor_parallel_size=16"' in text
    assert "Across &lt;nodes&gt;" in text
    assert "120" in text


def test_a_panel_updates_itself_in_place(site: TestClient) -> None:
    answer = site.get("/calculators/tp-communication?tensor_parallel_size=2&embed=t8", headers=HTMX)

    assert answer.status_code == 200
    assert 'id="t8-work"' in answer.text
    assert 'id="t8-headline" hx-swap-oob="true"' in answer.text
    assert "HX-Replace-Url" not in answer.headers


def test_a_panel_shows_a_wrong_input_in_its_place(site: TestClient) -> None:
    answer = site.get("/calculators/tp-communication?tensor_parallel_size=0&embed=t8", headers=HTMX)

    assert answer.status_code == 422
    assert 'id="t8-tensor_parallel_size-error" hx-swap-oob="true">Must be at least 1.</p>' in answer.text


def test_a_panel_of_an_unknown_calculator_is_a_notice_not_a_failure(site: TestClient) -> None:
    text = panel(site, "nope", {})

    assert "There is no calculator" in text


def test_an_embed_id_cannot_carry_markup(site: TestClient) -> None:
    answer = site.get("/calculators/busbw", params={"embed": '"><b>'}, headers=HTMX)

    assert "<b>" not in answer.text


@pytest.mark.parametrize("slug", ["tp-communication", "gtp-memory"])
def test_chinese_tables_count_in_chinese(client: TestClient, slug: str) -> None:
    text = client.get(f"/calculators/{slug}?lang=zh").text

    without_math = re.sub(r"\\\(.*?\\\)|\$\$.*?\$\$", "", text, flags=re.DOTALL)
    assert "元素" in without_math
    assert not re.search(r"\d\s(elements|B/element)\b", without_math)
