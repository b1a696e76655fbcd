"""Pairs of ranks: their order, who sends to whom, and what is left out when the time is up."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.bench.result import RunResult
from app.bench.worker.links import MAXIMUM_PAIRS, MAXIMUM_RANKS, fitting, pairs
from tests.bench.ranks import small_spec, start


@given(st.integers(1, 300))
def test_each_pair_comes_once_and_neighbours_first(ranks: int) -> None:
    found = pairs(ranks)
    known = min(ranks, MAXIMUM_RANKS)

    assert len(found) == len(set(found)) == min(known * (known - 1) // 2, MAXIMUM_PAIRS)
    assert all(0 <= low < high < known for low, high in found)
    apart = [high - low for low, high in found]
    assert apart == sorted(apart)


@pytest.mark.parametrize(
    ("trial_seconds", "seconds", "expected"),
    [
        (1e-6, 1.0, 16 << 20),  # fast: the most
        (1.0, 0.1, 1 << 16),  # slow: the least
        (1e-3, 0.1, 64 << 16),  # 64 times the trial's bytes take 64 ms, 128 times would take 128 ms
    ],
)
def test_a_transfer_is_as_large_as_its_time_allows(trial_seconds: float, seconds: float, expected: int) -> None:
    assert fitting(trial_seconds, seconds=seconds, largest=16 << 20) == expected


@pytest.mark.gloo
def test_what_is_sent_arrives_at_the_right_rank(tmp_path: Path) -> None:
    script = Path(__file__).with_name("link_ranks.py")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--local-addr=127.0.0.1"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.fspath(Path.cwd())}
    done = subprocess.run(
        [*command, "--nproc-per-node=3", script], cwd=tmp_path, env=environment, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
    held = {
        (told["form"], told["rank"]): told["received"]
        for told in (json.loads(line) for line in done.stdout.splitlines() if line.startswith(b"{"))
    }

    nothing, of_first, of_second = [0] * 16, [10] * 8 + [0] * 8, [12] * 8 + [0] * 8
    assert held == {
        ("to", 0): nothing,
        ("to", 1): nothing,
        ("to", 2): of_first,
        ("fro", 0): of_second,
        ("fro", 1): nothing,
        ("fro", 2): nothing,
        ("both", 0): of_second,
        ("both", 1): nothing,
        ("both", 2): of_first,
    }


@pytest.mark.gloo
def test_every_pair_has_a_link_in_each_direction(extras_run: RunResult) -> None:
    found = {(link.source, link.target): link for link in extras_run.links}

    left_out = [problem.text for problem in extras_run.problems if problem.kind == "links-left-out"]
    expected = [(0, 1), (1, 0), (1, 2), (2, 1), (0, 2), (2, 0)]
    assert [*found] == (expected if not left_out else expected[: len(found)])
    assert left_out in ([], [f"{len(found) // 2} of 3 pairs were measured"])
    for (source, target), link in found.items():
        back = found[target, source]
        assert (link.both_ways_gb_per_s, link.latency_us) == (back.both_ways_gb_per_s, back.latency_us)
        assert link.size_bytes >= 65536
        assert min(link.one_way_gb_per_s, link.both_ways_gb_per_s, link.latency_us) > 0


@pytest.mark.gloo
def test_without_time_one_pair_is_measured_and_the_rest_is_said(tmp_path: Path) -> None:
    spec = small_spec(
        ranks=3, operations=("broadcast",), sizes=(1024,), gemm_seconds=0, extras=("links",), extra_seconds=0
    )
    with start(spec, tmp_path) as session:
        list(session)

    assert session.result.finished
    assert [(link.source, link.target) for link in session.result.links] == [(0, 1), (1, 0)]
    assert [problem.text for problem in session.result.problems if problem.kind == "links-left-out"] == [
        "1 of 3 pairs were measured"
    ]
