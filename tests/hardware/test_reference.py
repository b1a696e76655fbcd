"""Published figures: the file holds together, and nothing is compared that does not compare."""

import re

import pytest

from app.hardware.comparability import EMULATED, LARGE_BYTES
from app.hardware.presets import presets
from app.hardware.reference import (
    comparable,
    copies,
    figures,
    gemm,
    latencies,
    range_of,
    range_text,
    system_of,
)
from app.hardware.reference_file import BadReference, Reference, load, reference

H100 = "NVIDIA H100 80GB HBM3"
GIB = 1024**3

SMALL = """\
sources:
  opened: {title: A post, url: https://example.org/post, checked: 2026-11-29}
  heard: {title: A rumour, second_hand: true}
systems:
  box: {name: Box, devices: [Box 9000]}
collectives:
  - {system: box, operation: all_reduce, nodes: 1, ranks: 8, size: 1 GiB, busbw_gb_per_s: 100, link: nvlink, source: opened, locator: a}
  - {system: box, operation: all_reduce, nodes: 1, ranks: 8, size: 1 GiB, busbw_gb_per_s: 90, link: nvlink, source: heard, locator: b}
  - {system: box, operation: all_reduce, nodes: 1, ranks: 8, size: 64 MiB, busbw_gb_per_s: 50, link: nvlink, source: opened, locator: c}
  - {system: box, operation: all_reduce, nodes: 1, ranks: 8, busbw_gb_per_s: 95, dtype: int8, link: nvlink, source: opened, locator: d}
  - {system: box, operation: all_reduce, nodes: 2, ranks: 8, size: 1 GiB, busbw_gb_per_s: 20, link: efa, source: opened, locator: e}
  - {system: box, operation: all_reduce, nodes: 2, ranks: 16, size: 1 GiB, busbw_gb_per_s: 30, link: efa, source: opened, locator: f}
  - {system: box, operation: all_reduce, nodes: 1, ranks: 8, size: 1 GiB, busbw_gb_per_s: 1, emulated: true, link: loopback, source: opened, locator: g}
  - {system: box, operation: all_reduce, nodes: 1, ranks: 8, size: 8 B, latency_us: 12, link: nvlink, source: opened, locator: h}
gemm: []
copies: []
"""


@pytest.fixture(scope="module")
def small() -> Reference:
    return load(SMALL, name="small.yaml")


def verdicts(known: Reference, **question: object) -> dict[str, bool]:
    asked = {"device": "Box 9000", "size_bytes": GIB, "hosts": 1, **question}
    found = figures("all_reduce", 8, known=known, **asked)  # type: ignore[arg-type] # the values are checked by the signature's names
    return {figure.posted.locator: figure.comparable for figure in found}


def test_only_like_is_compared_with_like(small: Reference) -> None:
    assert verdicts(small) == {"a": True, "b": True, "c": False, "d": False, "e": False, "f": False, "g": False}


def test_a_small_run_compares_with_a_post_of_about_its_size(small: Reference) -> None:
    found = verdicts(small, size_bytes=48 * 1024**2)

    assert [locator for locator, fits in found.items() if fits] == ["c"]


def test_a_post_without_a_size_stands_for_a_large_one(small: Reference) -> None:
    assert verdicts(small, dtype="int8")["d"]
    assert not verdicts(small, dtype="int8", size_bytes=1024**2)["d"]


def test_what_is_not_asked_is_not_held_against_a_figure(small: Reference) -> None:
    found = verdicts(small, size_bytes=None, hosts=None)

    assert {locator for locator, fits in found.items() if fits} == {"a", "b", "c", "e"}


def test_comparable_figures_come_first_and_then_the_nearest_rank_counts(small: Reference) -> None:
    order = list(verdicts(small))

    assert order[:2] == ["a", "b"]
    assert order[-1] == "f"
    assert next(iter(verdicts(small, size_bytes=48 * 1024**2))) == "c"


def test_every_refusal_gives_its_reason(small: Reference) -> None:
    found = figures("all_reduce", 8, device="Box 9000", size_bytes=GIB, hosts=1, known=small)
    reasons = {figure.posted.locator: figure.why_not for figure in found}

    for locator, words in {"c": "64", "d": "int8", "e": "2 machines", "f": "16 ranks"}.items():
        reason = reasons[locator]
        assert reason is not None
        assert words in reason.en
    assert reasons["g"] == EMULATED


def test_a_range_spans_what_is_comparable(small: Reference) -> None:
    found = comparable(figures("all_reduce", 8, device="Box 9000", size_bytes=GIB, hosts=1, known=small))

    assert range_of(found) == (90, 100)
    text = range_text(found, unit="GB/s")
    assert text is not None
    assert text.en == "90 to 100 GB/s in 2 posts"


def test_nothing_posted_has_no_range() -> None:
    assert range_of(()) is None
    assert range_text((), unit="GB/s") is None


def test_latency_is_compared_at_small_sizes_only(small: Reference) -> None:
    tiny, big = (latencies("all_reduce", 8, size_bytes=size, known=small) for size in (64, 65536))

    assert [(figure.value, figure.comparable) for figure in tiny] == [(12, True)]
    assert [figure.comparable for figure in big] == [False]


def test_hearsay_is_called_hearsay(small: Reference) -> None:
    found = {figure.posted.locator: figure for figure in figures("all_reduce", 8, known=small)}

    assert any("notes" in note.en for note in found["b"].notes)
    assert not found["a"].notes


@pytest.mark.parametrize(
    ("line", "old", "new", "words"),
    [
        (2, "checked: 2026-11-29", "second_hand: false", "second_hand"),
        (3, "second_hand: true", "second_hand: true, checked: 2026-11-29", "not both"),
        (2, "https://example.org/post", "example.org", "pattern"),
        (7, "system: box, operation", "system: cube, operation", "no system `cube`"),
        (8, "source: heard", "source: nobody", "no source `nobody`"),
        (7, "all_reduce", "all_dance", "all_dance"),
        (7, "size: 1 GiB", "size: 1 GB", "pattern"),
        (7, "busbw_gb_per_s: 100", "busbw_gb_per_s: fast", "number"),
        (7, "busbw_gb_per_s: 100", "busbw_gb_per_s: 100, latency_us: 3", "either"),
        (7, "busbw_gb_per_s: 100", "bandwidth: 100", "bandwidth"),
        (11, "ranks: 8", "ranks: 9", "evenly"),
        (14, "size: 8 B, ", "", "size"),
        (7, "link: nvlink", "link: string", "link"),
        (7, "nodes: 1", "nodes: 1, nodes: 2", "twice"),
        (5, "[Box 9000]", "[]", "devices"),
        (8, "locator: b}", "locator: b", "YAML"),
    ],
)
def test_a_mistake_is_reported_with_file_and_line(line: int, old: str, new: str, words: str) -> None:
    lines = SMALL.split("\n")
    assert old in lines[line - 1]
    lines[line - 1] = lines[line - 1].replace(old, new, 1)

    with pytest.raises(BadReference, match=re.escape(words)) as caught:
        load("\n".join(lines), name="small.yaml")

    # A bracket that is not closed is noticed where the next line begins.
    assert re.match(rf"small\.yaml:({line}|{line + 1 if words == 'YAML' else line}): ", str(caught.value))


def test_a_device_belongs_to_one_system() -> None:
    text = SMALL.replace("systems:\n", "systems:\n  other: {name: Other, devices: [Box 9000]}\n")

    with pytest.raises(BadReference, match=r"^small.yaml:6: `Box 9000` also belongs to `other`"):
        load(text, name="small.yaml")


@pytest.mark.parametrize(
    ("device", "system"),
    [
        (H100, "h100-sxm"),
        ("  nvidia h100  80GB hbm3 ", "h100-sxm"),
        ("NVIDIA A100-SXM4-40GB", "a100-sxm"),
        ("NVIDIA H100 NVL", None),
        ("NVIDIA H200 NVL", None),
        ("cpu", None),
        ("", None),
    ],
)
def test_a_device_is_recognised_by_its_exact_name(device: str, system: str | None) -> None:
    assert system_of(device) == system


def test_nothing_is_offered_for_a_device_nobody_posted_about() -> None:
    assert figures("all_reduce", 2, device="cpu") == ()
    assert gemm("cpu") == ()
    assert copies("cpu") == ()


def test_an_operation_without_posts_has_none() -> None:
    assert figures("ping_pong", 2) == ()


def test_eight_h100_have_figures_with_and_without_adding_in_the_switch() -> None:
    found = comparable(figures("all_reduce", 8, device=H100, size_bytes=16 * GIB, hosts=1))

    link = presets()["h100-sxm"].sheet.nvlink_gb_per_s
    above = {figure.posted.algorithm for figure in found if figure.value > link}
    below = {figure.posted.algorithm for figure in found if figure.value <= link}
    assert above == {"nvls"}
    assert "ring" in below


def test_no_ring_is_faster_than_its_link() -> None:
    """A figure typed in the wrong column (algorithm instead of bus bandwidth, Gbps instead of GB/s) would be."""
    for entry in reference().collectives:
        sheet = presets().get(entry.system)
        if sheet and entry.busbw_gb_per_s and entry.algorithm in (None, "ring") and entry.nodes == 1:
            assert entry.busbw_gb_per_s < sheet.sheet.nvlink_gb_per_s, entry.locator


def test_no_multiplication_is_faster_than_the_datasheet() -> None:
    peaks = {"bfloat16": "bf16_tflops", "half": "bf16_tflops", "f8e4m3": "fp8_tflops", "fp4": "fp4_tflops"}
    for entry in reference().gemm:
        if profile := presets().get(entry.system):
            assert entry.tflop_per_s < getattr(profile.sheet, peaks[entry.dtype]), entry.locator


def test_the_measured_rates_beside_the_datasheets_are_among_the_figures() -> None:
    posted = {(entry.system, entry.tflop_per_s) for entry in reference().gemm if entry.dtype == "bfloat16"}

    for key, profile in presets().items():
        if (measured := profile.sheet.measured_bf16_tflops) is not None:
            assert (key, measured) in posted


def test_no_copy_is_faster_than_its_link() -> None:
    for entry in reference().copies:
        limit = 64 if entry.link == "pcie" else 900
        assert entry.gb_per_s < limit, entry.locator


def test_latencies_were_read_at_latency_sizes() -> None:
    for entry in reference().collectives:
        if entry.latency_us is not None:
            assert entry.size_bytes is not None
            assert entry.size_bytes <= 1024


def test_large_figures_are_large_or_say_what_they_are() -> None:
    below = [
        entry
        for entry in reference().collectives
        if entry.busbw_gb_per_s and (entry.size_bytes or LARGE_BYTES) < LARGE_BYTES
    ]

    assert {(entry.system, entry.size) for entry in below} == {("a100-sxm", "127 MiB"), ("rtx-5090", "128 MiB")}


def test_most_figures_were_seen_at_their_source() -> None:
    known = reference()
    seen = [entry for entry in known.collectives if known.sources[entry.source].checked]

    assert len(seen) > 0.9 * len(known.collectives)
    assert {entry.source for kind in (known.collectives, known.gemm, known.copies) for entry in kind} == set(
        known.sources
    )


def test_chinese_notes_use_full_width_punctuation() -> None:
    for operation in ("all_reduce", "all_gather", "send_recv", "broadcast"):
        for figure in figures(operation, 8, device=None, size_bytes=1024, hosts=1):
            texts = [figure.title, *figure.notes, *([figure.why_not] if figure.why_not else [])]
            for text in texts:
                assert not re.search(r"[\u4e00-\u9fff][,;:.]|[,;:][\u4e00-\u9fff]", text.zh), text.zh
                assert not re.search(r"[\u4e00-\u9fff][A-Za-z0-9]|[A-Za-z0-9][\u4e00-\u9fff]", text.zh), text.zh
