"""Every number that the two question pages state as plain text follows from an engine or from a formula of the page.

`cases/question_numbers.yaml` holds the sentences of both languages with a figure where each number stands; the
figures are computed here. A sentence filled with them has to stand in its page: an edit of the text breaks it, and
so does a change of an engine. What no sentence, source, computed number or input accounts for, the last test finds.
"""

import math
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from app.calculators import catalog as calculators
from app.calculators.gtp_inputs import PADDING
from app.content.dialect.math import end as math_end
from app.core.units import GIGA, KIB, MIB, TERA
from app.hardware.presets import presets
from app.timelines import catalog as timelines

CONTENT = Path(__file__).parents[2] / "content"
PAGES = {"gtp": CONTENT / "parallelism/gtp", "tp-communication": CONTENT / "communication/tp-communication"}
SENTENCES: dict[str, list[dict[str, str]]] = yaml.safe_load(
    (Path(__file__).parent / "cases/question_numbers.yaml").read_text(encoding="utf-8")
)
FIGURE = re.compile(r"«(\w+):([^»]+)»")
WORDS = {
    "w": dict(enumerate(("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"))),
    "o": {2: "twice", 4: "quarter", 8: "eighth", 9: "ninth"},
    "z": dict(enumerate("零一两三四五六七八九")),
}


def calc(slug: str, result: str, **inputs: object) -> float:
    """A result of a calculator, in the unit of the result."""
    _, outcome = calculators.run(slug, {name: str(value) for name, value in inputs.items()})
    return outcome.results[result].value


def tp(result: str, *, t: int = 8, **inputs: object) -> float:
    return calc("tp-communication", result, tensor_parallel_size=t, **inputs)


def gtp(result: str, **inputs: object) -> float:
    return calc("gtp-memory", result, **inputs)


def timeline(slug: str, **inputs: object) -> timelines.Run:
    """`part` is the input `pass`; durations in ms."""
    return timelines.run(slug, {"pass" if name == "part" else name: str(value) for name, value in inputs.items()})


def waited(slug: str, kind: str, **inputs: object) -> int:
    """How many collectives of a kind (ag, rs, ar) compute stands still for."""
    return sum(f"-{kind}-" in (gap.waits_for or "") for gap in timeline(slug, **inputs).gaps if gap.exposed)


def near(value: float, step: float) -> float:
    """`value` rounded to a multiple of `step`."""
    return round(round(value / step) * step, 9)


H100, B200, GB200 = (presets()[key].sheet for key in ("h100-sxm", "b200-sxm", "gb200"))
H, S, B = 8192, 4096, 2  # hidden size, tokens of a micro-batch, bytes of a bf16 element
T, TP, REMAT = 8, 4, 8
F, NVLINK, NETWORK = H100.bf16_tflops * TERA, H100.nvlink_gb_per_s * GIGA, (H100.network_gb_per_s or 0) * GIGA
UNIT = S * H * (T - 1) / T  # elements: bsh(t - 1)/t
DRAWN = {"layers": 4, "gemm": 3, "backward": 6, "all_gather": 2, "reduce_scatter": 5}
CHAIN = {"layers": 4, "gemm": 0.139, "backward": 0.278, "all_gather": 0.065, "reduce_scatter": 0.065}
LAYER = {"attention_gemm": 0.28, "mlp_gemm": 0.56, "weight_grad": 0.21, "all_reduce": 0.26}


def hardware() -> dict[str, float]:
    """Rates in GB/s, Gb/s and TFLOP/s, and counts of GPUs, of the datasheet presets."""
    return {
        "nvlink": NVLINK / GIGA,
        "nvlink_both": 2 * NVLINK / GIGA,
        "network": NETWORK / GIGA,
        "network_gbit": 8 * NETWORK / GIGA,
        "node_network": H100.nvlink_domain * NETWORK / GIGA,
        "links": NVLINK / NETWORK,
        "peak": F / TERA,
        "fp8_gain": (B200.fp8_tflops or 0) / B200.bf16_tflops,
        "gb200_peak": GB200.bf16_tflops,
        "gb200_nvlink": GB200.nvlink_gb_per_s,
        "domain": GB200.nvlink_domain,
    }


def tokens_needed(bytes_per_second: float) -> float:
    """n = (N - 1)/N · q/2 · F/B, in tokens."""
    return (REMAT - 1) / REMAT * B / 2 * F / bytes_per_second


def gather_s(bandwidth: float) -> float:
    """Seconds to gather the TP slice of the worked example; `bandwidth` in bytes/s."""
    inputs = {"operation": "all_gather", "ranks": REMAT, "message_bytes": H * H * B // TP}
    return calc("collective-time", "time_s", **inputs, bandwidth_gb_per_s=bandwidth / GIGA)


GEMM_S = 2 * S * (H * H / TP) / F  # g = 2 n W_s / F


def gtp_figures() -> dict[str, float]:
    shape = {"out_features": H, "in_features": H, "tensor_parallel_size": TP, "gtp_remat_size": REMAT}
    shards, gather = gtp("memory_reduction", **shape), gtp("wire_bytes_per_element_gather", weight_format="nvfp4")
    mxfp8 = gtp("wire_bytes_per_element_gather", weight_format="mxfp8")
    return {
        "waited_forward": waited("gtp-chain", "ag", part="forward", **DRAWN),
        "waited_cold": waited("gtp-chain", "ag", part="cold_start", **DRAWN),
        "waited_gathers_backward": waited("gtp-chain", "ag", part="backward", **DRAWN),
        "waited_scatters_backward": waited("gtp-chain", "rs", part="backward", **DRAWN),
        "waited_gathers_step": waited("gtp-chain", "ag", part="step", **CHAIN),
        "waited_scatters_step": waited("gtp-chain", "rs", part="step", **CHAIN),
        "tokens_nvlink": near(tokens_needed(NVLINK), 100),
        "tokens_network": near(tokens_needed(NETWORK), 100),
        "scatter_bytes": gtp("wire_bytes_per_element_total") - 2 * gtp("wire_bytes_per_element_gather"),
        "mxfp8_total": gtp("wire_bytes_per_element_total", weight_format="mxfp8"),
        "mxfp8_product": near(100 * (mxfp8 / B * (B200.fp8_tflops or 0) / B200.bf16_tflops - 1), 1),
        "shards": shards,
        "bits_ratio": 16 / 4,
        "quoted_wire": shards * 16 / 4,
        "nvfp4_gather": gather,
        "nvfp4_wire": shards * B / gather,
        "full_mib": gtp("full_weight_bytes", **shape) / MIB,
        "slice_mib": gtp("gathered_bytes", **shape) / MIB,
        "stored_mib": gtp("stored_bytes", **shape) / MIB,
        **{f"{name}_us": near(1e6 * value, 1) for name, value in (("gather", gather_s(NVLINK)), ("gemm", GEMM_S))},
        "gather_ms": near(1e3 * gather_s(NVLINK), 0.001),
        "slow_gather_ms": near(1e3 * gather_s(NETWORK), 0.001),
        "gemm_ms": near(1e3 * GEMM_S, 0.001),
        "backward_ms": near(1e3 * 2 * GEMM_S, 0.001),
        "gather_saved": near(100 * (1 - gtp("gather_ratio_to_bf16", weight_format="nvfp4")), 1),
        "total_saved": near(100 * (1 - gtp("wire_ratio_to_bf16", weight_format="nvfp4")), 1),
        "scatter_share": near(100 * gtp("reduce_scatter_share", weight_format="nvfp4"), 1),
        "scatter_share_fp32": near(100 * gtp("reduce_scatter_share", weight_format="nvfp4", gradient_format="fp32"), 1),
        **{f"padding_{name}": PADDING[name] for name in ("bf16", "mxfp8")},
        "remat_of_eight": 8 / 2,
    }


def largest(flop_per_second: float, bytes_per_second: float, hidden: int = H) -> int:
    """t_max = 1 + 3hB/F, in whole GPUs."""
    return math.floor(1 + 3 * hidden * bytes_per_second / flop_per_second)


def wgrad_ms(outputs: int) -> float:
    """The weight gradient of a column-parallel linear, h to `outputs`: 2 · bs · h · outputs / t FLOP."""
    return 1e3 * 2 * S * H * outputs / T / F


def two_ranks_s(message_bytes: int) -> float:
    """An all-reduce of two GPUs at 40 GB/s, in seconds."""
    return calc("collective-time", "time_s", ranks=2, message_bytes=message_bytes, bandwidth_gb_per_s=40)


def ring_cells() -> tuple[list[float], list[float]]:
    """What two ranks hold before and after a ring all-reduce, rank by rank; a cell reads `4` or `1+3=4`."""
    frames = timeline("ring-all-reduce", ranks=2, chunk_time=1).frames
    before, after = (
        [float(text.rpartition("=")[2]) for cells in frame.cells for text, *_ in cells]
        for frame in (frames[0], frames[-1])
    )
    return before, after


def tp_figures() -> dict[str, float]:
    ratio, each_s = tp("communication_over_compute"), tp("time_per_all_reduce_s")
    gemms_s = 2 * each_s / ratio
    before, after = ring_cells()
    busbw = calc("busbw", "bus_bandwidth_gb_per_s", ranks=8, message_bytes=64 * MIB, time_us=338.9)
    return {
        "element": tp("message_bytes") / (S * H),
        "one_way": waited("tp-layer", "ar", part="forward", **LAYER),
        "both_ways": tp("all_reduces_per_layer"),
        "with_recompute": tp("all_reduces_per_layer", recompute="full"),
        "attention_ms": near(1e3 * 8 * S * H**2 / T / F, 0.01),  # QKV and projection: 8bsh²/t
        "mlp_ms": near(1e3 * 16 * S * H**2 / T / F, 0.01),  # FC1 and FC2: 16bsh²/t
        "qkv_ms": near(wgrad_ms(3 * H), 0.01),
        "fc1_ms": near(wgrad_ms(4 * H), 0.01),
        "reduce_ms": near(1e3 * each_s, 0.01),
        **{f"start_{place}": value for place, value in enumerate(before)},
        **{f"end_{place}": value for place, value in enumerate(after[:2])},
        "ring_steps": float(str(timeline("ring-all-reduce", ranks=2).summary["sent_chunks_per_rank"])),
        "message_mib": tp("message_bytes") / MIB,
        "sent_mib": tp("traffic_per_all_reduce_bytes") / MIB,
        "reduce_part": near(1 / (1e3 * each_s), 1),
        "gemms_ms": 1e3 * gemms_s,
        "gemm_flops": near(gemms_s * F * T / (S * H**2), 1e-6),
        "core_share": 100 * S / (6 * H),
        "elements_plain": tp("traffic_per_layer_elements") / UNIT,
        "elements_recompute": tp("traffic_per_layer_elements", recompute="full") / UNIT,
        "elements_sp": tp("traffic_per_layer_elements", sequence_parallel="true") / UNIT,
        "extra_gathers": tp("all_gathers_per_layer", sequence_parallel="true")
        - tp("reduce_scatters_per_layer", sequence_parallel="true"),
        "extra_traffic_part": 1
        / (tp("traffic_per_layer_elements", sequence_parallel="true") / tp("traffic_per_layer_elements") - 1),
        "forward_bytes": 2 * tp("traffic_per_all_reduce_bytes") / UNIT,
        "intensity": tp("intensity_flop_per_byte") * (T - 1) / H,
        "limit": largest(F, NVLINK),
        "limit_half": largest(F, NVLINK, 4096),
        "limit_gb200": largest(GB200.bf16_tflops * TERA, GB200.nvlink_gb_per_s * GIGA),
        "ratio": ratio,
        "ratio_percent": 100 * ratio,
        "ratio_one_card": tp("communication_over_compute", t=16, bandwidth_gb_per_s=50),
        "ratio_all_cards": tp("communication_over_compute", t=16, bandwidth_gb_per_s=400),
        "ratio_measured": tp("communication_over_compute", t=16, bandwidth_gb_per_s=156.74),
        "measured_b200": 156.74,
        "measured_ranks": 4 * 8,
        "measured_us": 1e6 * 64 * MIB / (198.01 * GIGA),  # from the algorithm bandwidth that the source prints
        "measured_h200": busbw,
        "measured_h200_about": near(busbw, 10),
        "two_ranks_factor": calc("collective-time", "bus_factor", ranks=2),
        "two_ranks_mb": 1e3 * two_ranks_s(80 * 10**6),
        "two_ranks_mib": 1e3 * two_ranks_s(80 * MIB),
        "eighty_layers_part": near(1 / tp("time_per_step_s", layers=80, recompute="full"), 1),
        "nvls_gain": 473.1 / 365.6,
        "decode_kib": tp("message_bytes", micro_batch_size=32, sequence_length=1) / KIB,
    }


GIVEN = hardware() | {"tp": TP, "remat": REMAT, "tokens": S, "hidden": H}
FIGURES = {"gtp": GIVEN | gtp_figures(), "tp-communication": GIVEN | tp_figures()}


def filled(page: str, sentence: str) -> str:
    """The sentence with its figures as text."""

    def written(match: re.Match[str]) -> str:
        value, spec = FIGURES[page][match[1]], match[2]
        if spec.lower() not in WORDS:
            return format(value, spec)
        assert value == pytest.approx(round(value))
        word = WORDS[spec.lower()][round(value)]
        return word.capitalize() if spec == "W" else word

    return FIGURE.sub(written, sentence)


def standing(page: str, sentence: str) -> re.Pattern[str]:
    """The filled sentence, not as the end or the beginning of other numbers."""
    return re.compile(rf"(?<![\d.,]){re.escape(filled(page, sentence))}(?!\d)")


def source(page: str, language: str) -> str:
    return (PAGES[page] / f"{language}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    ("page", "sentence"),
    [pytest.param(page, row, id=row["en"][:50]) for page, rows in SENTENCES.items() for row in rows],
)
def test_page_states_the_computed_number(page: str, sentence: dict[str, str], language: str) -> None:
    assert len(standing(page, sentence[language]).findall(source(page, language))) == 1


NUMERAL = re.compile(
    r"(?<![A-Za-z0-9_.-])(?P<number>\d[\d,]*(?:\.\d+)?)(?P<unit> ?(?:[%×倍]|times|[KMG]i?B|[GT][Bb]|TFLOP|[mµ]?s\b)|)"
)


def rest(page: str, language: str) -> Iterator[str]:
    """Numerals, with the words around them, that no case and no source accounts for; bare counts up to 16 may stand."""
    text = source(page, language).partition("## concepts")[2]
    for sentence in SENTENCES[page]:
        dollars = "x".join(["", *re.findall(r"\$+", sentence[language]), ""])  # math may begin or end in it
        text = standing(page, sentence[language]).sub(dollars, text)
    text = re.sub(r"```.*?```", lambda block: "".join(re.findall("caption:.*", block[0])), text, flags=re.DOTALL)
    text = re.sub(r"\{\{.*?\}\}|\{#.*?\}|`[^`]*`", " ", text)
    while (start := text.find("$")) >= 0:
        text = f"{text[:start]} {text[math_end(text, start) :]}"
    for paragraph in re.split(r"\n\n|\n(?=[-|])", text):
        for match in NUMERAL.finditer("" if "[^" in paragraph else paragraph):
            counts = match["number"].isdecimal() and int(match["number"]) <= 16
            if match["unit"] or not counts:
                yield paragraph[max(0, match.start() - 20) : match.end() + 10]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("page", PAGES)
def test_no_number_stands_unaccounted_for(page: str, language: str) -> None:
    assert list(rest(page, language)) == []


@pytest.mark.parametrize("page", PAGES)
def test_every_figure_is_stated_in_both_languages(page: str) -> None:
    for language in ("en", "zh"):
        stated = {name for row in SENTENCES[page] for name, _ in FIGURE.findall(row[language])}
        assert stated <= FIGURES[page].keys()
        assert FIGURES[page].keys() - stated - GIVEN.keys() == set()


def test_sentences_about_what_is_hidden_hold() -> None:
    assert timeline("tp-layer", part="forward", **LAYER).summary["all_reduces"] == 2
    assert gather_s(NVLINK) < GEMM_S < gather_s(NETWORK)
    assert tokens_needed(NVLINK) < S < tokens_needed(NETWORK)
    assert wgrad_ms(3 * H) < 1e3 * tp("time_per_all_reduce_s") < wgrad_ms(4 * H)
    assert ring_cells()[1][:2] == ring_cells()[1][2:]
