"""Every number that the two question pages state as plain text follows from the engines or from a formula of the page.

A claim holds the sentence of each language with holes in it. The holes are filled with what is computed here,
rounded as the text rounds, and the filled sentence has to stand in the page: an edit of the text breaks it, and so
does a change of an engine. Whatever numeral no claim, no citation, no computed number and no `expect:` accounts
for is found by the last test. Formulas are in bytes, seconds and FLOP.
"""

import math
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from app.calculators import catalog as calculators
from app.content.dialect.math import end as math_end
from app.core.units import GIGA, KIB, MIB, TERA
from app.hardware.presets import presets
from app.timelines import catalog as timelines

CONTENT = Path(__file__).parents[2] / "content"
PAGES = {"gtp": CONTENT / "parallelism/gtp", "tp": CONTENT / "communication/tp-communication"}
WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


class Figure(float):
    """A computed number; the format `w` writes it as a word, `W` with a capital."""

    def __format__(self, spec: str) -> str:
        if spec not in {"w", "W"}:
            return super().__format__(spec)
        word = WORDS[int(self)] if self.is_integer() else f"{self:g}"
        return word.capitalize() if spec == "W" else word


@dataclass(frozen=True)
class Claim:
    """A sentence of page `page` in both languages, and the numbers it states."""

    page: str
    figures: tuple[float, ...]
    en: str
    zh: str

    def sentence(self, language: str) -> str:
        template = self.en if language == "en" else self.zh
        return template.format(*map(Figure, self.figures))


def calc(slug: str, result: str, **inputs: object) -> float:
    """A result of a calculator, in the unit of the result."""
    _, outcome = calculators.run(slug, {name: str(value) for name, value in inputs.items()})
    return outcome.results[result].value


def tp(result: str, t: int = 8, **inputs: object) -> float:
    return calc("tp-communication", result, tensor_parallel_size=t, **inputs)


def timeline(slug: str, result: str, **inputs: object) -> float:
    """A summary value of a timeline; durations in ms. `part` is the input `pass`."""
    raw = {"pass" if name == "part" else name: str(value) for name, value in inputs.items()}
    value = timelines.run(slug, raw).summary[result]
    assert not isinstance(value, list)
    return value


def exposed(slug: str, **inputs: object) -> list[str]:
    """The operations that compute waits for."""
    raw = {"pass" if name == "part" else name: str(value) for name, value in inputs.items()}
    return [gap.waits_for or "" for gap in timelines.run(slug, raw).gaps if gap.exposed]


def near(value: float, step: float = 1) -> float:
    """`value` rounded to a multiple of `step`; the product is cut to what a reader can see."""
    return float(f"{round(value / step) * step:.9g}")


H100, B200, GB200 = (presets()[key].sheet for key in ("h100-sxm", "b200-sxm", "gb200"))
F, NVLINK = H100.bf16_tflops * TERA, H100.nvlink_gb_per_s * GIGA  # FLOP/s, bytes/s
assert H100.network_gb_per_s is not None
NETWORK = H100.network_gb_per_s * GIGA
GBPS = (H100.nvlink_gb_per_s, H100.network_gb_per_s, H100.bf16_tflops)

# One square weight, h x h in bf16, cut by TP 4 and by GTP_remat 8; 4096 tokens.
H, S, TP, REMAT = 8192, 4096, 4, 8
SLICE = calc("gtp-memory", "tp_slice_bytes", out_features=H, in_features=H, tensor_parallel_size=TP)
GATHER_S = calc("collective-time", "time_s", operation="all_gather", ranks=REMAT, message_bytes=int(SLICE))
SLOW_S = calc(
    *("collective-time", "time_s"), operation="all_gather", ranks=REMAT, message_bytes=int(SLICE), bandwidth_gb_per_s=50
)
GEMM_S = 2 * S * (SLICE / 2) / F  # 2 n W_s / F
CHAIN = {"layers": 4, "gemm": 0.139, "backward": 0.278, "all_gather": 0.065, "reduce_scatter": 0.065}
DRAWN = {"layers": 4, "gemm": 3, "backward": 6, "all_gather": 2, "reduce_scatter": 5}
NVFP4 = {"weight_format": "nvfp4"}


def gtp(result: str, **inputs: object) -> float:
    return calc("gtp-memory", result, **{"tensor_parallel_size": TP, "gtp_remat_size": REMAT, **inputs})


def tokens(bytes_per_second: float) -> float:
    """(N - 1)/N * q/2 * F/B, with q = 2 bytes."""
    return (REMAT - 1) / REMAT * 2 / 2 * F / bytes_per_second


# One layer, t = 8: forward FLOPs per GPU of attention 8bsh²/t (core left out) and MLP 16bsh²/t.
T = 8
ATTENTION_MS, MLP_MS = (1e3 * count * S * H**2 / T / F for count in (8, 16))
QKV_MS, FC1_MS = (1e3 * 2 * width * S * H**2 / T / F for width in (3, 4))  # wgrad: 2 · tokens · in · out / t
REDUCE_MS = 1e3 * tp("time_per_all_reduce_s")
LAYER = {"attention_gemm": 0.28, "mlp_gemm": 0.56, "weight_grad": 0.21, "all_reduce": 0.26}
RATIO = tp("communication_over_compute")
FORWARD_GEMMS_S = 2 * tp("time_per_all_reduce_s") / RATIO
ONE_CARD, ALL_CARDS, MEASURED = (
    tp("communication_over_compute", 16, bandwidth_gb_per_s=rate) for rate in (50, 400, 156.74)
)
UNIT = S * H * 7 / 8  # bsh(t - 1)/t
BUSBW = calc("busbw", "bus_bandwidth_gb_per_s", operation="all_reduce", ranks=8, message_bytes=64 * MIB, time_us=338.9)


def largest(flop_per_second: float, bytes_per_second: float, hidden: int = H) -> int:
    """t_max = 1 + 3hB/F, a whole number of GPUs."""
    return math.floor(1 + 3 * hidden * bytes_per_second / flop_per_second)


def two_ranks(message: int) -> float:
    """ms for one all-reduce between two GPUs at 40 GB/s."""
    return 1e3 * calc("collective-time", "time_s", ranks=2, message_bytes=message, bandwidth_gb_per_s=40)


CLAIMS = (
    # GTP: the picture and what stays synchronous
    Claim(
        "gtp",
        (
            timeline("gtp-chain", "synchronous_gathers", part="forward", **DRAWN),
            len(exposed("gtp-chain", part="cold_start", **DRAWN)),
        ),
        "Above: prefetched forward, {:w} gather exposed. Below: cold start, all {:w} exposed.",
        "上：有预取，只露一次 gather。下：cold start，四次全露。",
    ),
)
