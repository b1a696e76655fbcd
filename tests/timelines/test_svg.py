"""The picture: well-formed, inside its lanes, labelled only where a label fits, the same data as the run."""

import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest

from app.core.i18n import LANGUAGES, Language, Text
from app.timelines import catalog, svg
from app.timelines.catalog import Run
from app.timelines.layout import arrange, text_width, ticks

NAMESPACE = "{http://www.w3.org/2000/svg}"
TITLE = Text("A <test> & more", "一个 <测试>")
CASES = [
    ("gtp-chain", {}),
    ("gtp-chain", {"pass": "step", "layers": "12"}),
    ("gtp-chain", {"gemm": "0", "all_gather": "0"}),
    ("tp-layer", {"sequence_parallel": "true"}),
    ("ring-all-reduce", {"ranks": "2"}),
    ("ring-all-reduce", {"ranks": "8"}),
    ("ring-all-reduce", {"ranks": "20"}),
]


def draw(*runs: Run, language: Language = "en", zoom: float = 1.0) -> ET.Element:
    titled = [
        (Text(f"run {place}", f"第 {place} 个") if len(runs) > 1 else None, run) for place, run in enumerate(runs)
    ]
    return ET.fromstring(svg.draw(titled, language, embed_id="test", title=TITLE, zoom=zoom))


def blocks(root: ET.Element) -> list[ET.Element]:
    return [node for node in root.iter(f"{NAMESPACE}g") if "data-op" in node.attrib]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("slug", "raw"), CASES)
def test_every_picture_is_well_formed_and_has_every_block(slug: str, raw: dict[str, str], language: Language) -> None:
    run = catalog.run(slug, raw)
    root = draw(run, language=language)

    assert [int(block.attrib["data-op"]) for block in blocks(root)] == list(range(len(run.operations)))
    assert root.findtext(f"{NAMESPACE}title") == TITLE[language]


@pytest.mark.parametrize(("slug", "raw"), CASES)
def test_nothing_is_styled_inline(slug: str, raw: dict[str, str]) -> None:
    text = svg.draw([(None, catalog.run(slug, raw))], "en", embed_id="test", title=TITLE)

    assert not re.search(r"style\s*=|<style|<script|\son\w+=", text)


@pytest.mark.parametrize(("slug", "raw"), CASES)
def test_labels_stay_inside_their_blocks(slug: str, raw: dict[str, str]) -> None:
    for block in blocks(draw(catalog.run(slug, raw))):
        label, area = block.find(f"{NAMESPACE}text"), block.find(f"{NAMESPACE}rect")
        if label is not None:
            assert area is not None
            assert text_width(label.text or "") <= float(area.attrib["width"])


@pytest.mark.parametrize(("slug", "raw"), CASES)
def test_all_ids_begin_with_the_one_given(slug: str, raw: dict[str, str]) -> None:
    root = draw(catalog.run(slug, raw))
    ids = [node.attrib["id"] for node in root.iter() if "id" in node.attrib]

    assert len(ids) == len(set(ids))
    assert all(name.startswith("test-") for name in ids)


def test_exposed_time_is_hatched_named_and_reachable() -> None:
    root = draw(catalog.run("gtp-chain", {}))
    gaps = [node for node in root.iter(f"{NAMESPACE}g") if "tl-gap-exposed" in node.attrib.get("class", "")]

    assert len(gaps) == 1
    assert gaps[0].attrib["tabindex"] == "0"
    assert "waits for AG W1" in gaps[0].attrib["aria-label"]
    assert (gaps[0].findtext(f"{NAMESPACE}text") or "").startswith("exposed")
    area = gaps[0].find(f"{NAMESPACE}rect")
    assert area is not None
    assert area.attrib["fill"] == "url(#test-exposed)"


def test_the_critical_path_is_marked() -> None:
    run = catalog.run("gtp-chain", {})
    marked = {int(block.attrib["data-op"]) for block in blocks(draw(run)) if "data-critical" in block.attrib}

    assert marked == {place for place, operation in enumerate(run.operations) if operation.critical}
    assert len(marked) == 5


def test_two_runs_share_one_axis_and_state_their_difference() -> None:
    root = draw(catalog.run("gtp-chain", {}), catalog.run("gtp-chain", {"pass": "cold_start"}))
    gemms = [block for block in blocks(root) if (block.findtext(f"{NAMESPACE}title") or "").startswith("GEMM 1")]
    widths = {block.find(f"{NAMESPACE}rect").attrib["width"] for block in gemms}  # type: ignore[union-attr]

    assert len(gemms) == 2
    assert len(widths) == 1
    labels = [node.text for node in root.iter(f"{NAMESPACE}text") if node.attrib.get("class") == "tl-span-label"]
    assert labels == ["6\u2009ms"]


def test_compute_stands_above_communication() -> None:
    layout = arrange([(None, catalog.run("gtp-chain", {"pass": "step"}))], "en")

    assert [lane.stream for lane in layout.tracks[0].lanes] == ["compute", "all-gather", "reduce-scatter"]


def test_zoom_widens_the_plot_only() -> None:
    run = catalog.run("tp-layer", {})
    one, two = arrange([(None, run)], "en"), arrange([(None, run)], "en", zoom=2)

    assert (two.plot, two.left, two.height) == (2 * one.plot, one.left, one.height)
    assert one.fits
    assert not two.fits


@pytest.mark.parametrize("makespan", [0.003, 0.0999, 1, 7, 14, 47, 1234, 9e9])
def test_ticks_are_round_and_few(makespan: float) -> None:
    found = ticks(makespan, most=8)
    steps = {round((other - one) / (found[1] - found[0]), 6) for one, other in pairwise(found)}

    assert found[0] == 0
    assert found[-1] <= makespan * (1 + 1e-9)
    assert 2 <= len(found) <= 9
    assert steps == {1}


def test_chinese_is_measured_wider_than_latin() -> None:
    assert text_width("计算") > text_width("ab") * 1.3


def test_a_thumbnail_has_no_words() -> None:
    root = ET.fromstring(svg.thumbnail(catalog.run("ring-all-reduce", {}), embed_id="small"))

    assert root.attrib["aria-hidden"] == "true"
    assert not list(root.iter(f"{NAMESPACE}text"))


def test_the_buffers_of_a_ring_are_drawn_for_each_step() -> None:
    root = draw(catalog.run("ring-all-reduce", {"ranks": "2"}))
    frames = [node for node in root.iter(f"{NAMESPACE}g") if node.attrib.get("class") == "tl-frame"]
    last = [node.text for node in frames[-1].iter(f"{NAMESPACE}text")]

    assert len(frames) == 3
    assert last == ["done", "1+3=4", "2+4=6", "1+3=4", "2+4=6"]
