"""Every kind that GPUs and the extras of a run report is explained."""

import pytest

from app.bench.diagnosis.explain import explain
from app.bench.events import Problem


@pytest.mark.parametrize(
    ("kind", "fatal", "text"),
    [
        ("throttled", False, "HW thermal slowdown"),
        ("sharing-unsupported", True, "NCCL 2.4.8 hangs"),
        ("extra-skipped", False, "overlap: one rank has nothing to communicate"),
        ("overlap-unbalanced", False, "all_reduce at 1024 bytes: product 4.5 times as long as the collective"),
        ("copies-cached", False, "8 ranks with two blocks of 1 MiB beside a cache of 32 MiB"),
        ("links-left-out", False, "500 of 2016 pairs were measured"),
    ],
)
def test_the_message_says_what_was_seen(kind: str, text: str, *, fatal: bool) -> None:
    explanation = explain(Problem(kind=kind, text=text, fatal=fatal))

    assert text in explanation.message.en
    assert text in explanation.message.zh
    assert "The run failed" not in explanation.message.en
