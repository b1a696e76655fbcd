"""Hosts that cannot do a run are told apart from those that can, before anything is started."""

from pathlib import Path
from typing import Any

import pytest

from app.bench import machine
from app.bench.diagnosis.explain import kinds as explained
from app.bench.events import HostReady, Problem
from app.bench.preflight import RANK_BYTES, SHARED_RANKS, check, fits, needed_bytes, pool_bytes
from app.bench.spec import RunSpec
from app.bench.worker import sharing
from app.core.units import GIB, KIB, MIB

H100 = "NVIDIA H100 80GB HBM3"


def host(name: str = "gpu-1", **changes: Any) -> HostReady:
    """A host with two GPUs and room for everything."""
    return HostReady(
        **{
            "host": name,
            "python": "3.12.3",
            "torch": "2.13.0+cu126",
            "nccl": "2.27.5",
            "cuda": "12.6",
            "gpus": (H100, H100),
            "cores": 32,
            "memory_bytes": 256 * GIB,
            "shm_bytes": 128 * GIB,
            "disk_bytes": 100 * GIB,
            "interfaces": {"lo": "127.0.0.1", "eth0": "10.0.0.1", "ib0": "10.1.0.1"},
            "free_port": 29500,
            "gpu_free_bytes": (79 * GIB, 79 * GIB),
            **changes,
        }
    )


def spec(**changes: Any) -> RunSpec:
    return RunSpec(**{"operations": ("all_reduce",), "sizes": (KIB, GIB), "ranks": 2, "backend": "nccl", **changes})


def kinds(problems: tuple[Problem, ...]) -> list[tuple[str, bool]]:
    return [(problem.kind, problem.fatal) for problem in problems]


def test_hosts_with_room_for_everything_have_no_problem() -> None:
    two = spec(ranks=4, hosts=2)

    assert check(two, [host("gpu-1"), host("gpu-2")], interface="eth0,ib0") == ()
    assert fits(spec(backend="gloo"), host()) == ()


def test_needed_memory_is_two_buffers_and_pytorch_per_rank() -> None:
    assert needed_bytes(spec()) == 2 * (2 * GIB + 250 * MIB)
    assert needed_bytes(spec(ranks=8, hosts=4)) == needed_bytes(spec())
    assert needed_bytes(spec(sizes=(KIB,), ranks=1)) == 2 * 64 * MIB + RANK_BYTES, "never less than flushes a cache"
    assert needed_bytes(spec(), on_gpu=True) == 2 * RANK_BYTES


# What a host lacks, the run that needs it, and the problem: its kind, whether it is fatal, and its text.
LACKS: list[tuple[dict[str, Any], RunSpec, str, bool, str]] = [
    ({"torch": None, "gpus": ()}, spec(backend="gloo"), "no-torch", True, "gpu-1"),
    ({"python": "3.9.18"}, spec(), "old-python", True, "gpu-1: Python 3.9.18"),
    ({"gpus": (), "gpu_free_bytes": ()}, spec(), "no-gpu", True, "gpu-1"),
    ({"gpus": (H100,)}, spec(), "too-few-gpus", True, "gpu-1: 1 < 2"),
    ({"gpu_free_bytes": (79 * GIB, GIB)}, spec(), "too-little-gpu-memory", True, "gpu-1, GPU 1: 2 GiB > 1 GiB"),
    ({"memory_bytes": GIB}, spec(backend="gloo"), "too-little-memory", True, "gpu-1: 4.488 GiB > 1 GiB"),
    ({"shm_bytes": 64 * MIB}, spec(), "shm-small", False, "gpu-1: 64 MiB < 2 × 64 MiB"),
    ({"shm_bytes": 31 * MIB}, spec(), "shm-small", True, "gpu-1: 31 MiB < 2 × 64 MiB"),
    ({"disk_bytes": 10 * MIB}, spec(), "disk-small", False, "gpu-1: 10 MiB"),
    ({"disk_bytes": 0}, spec(), "disk-small", True, "gpu-1: 0 B"),
]


@pytest.mark.parametrize(("changes", "wanted", "kind", "is_fatal", "text"), LACKS)
def test_what_a_host_lacks_is_named(
    changes: dict[str, Any], wanted: RunSpec, kind: str, *, is_fatal: bool, text: str
) -> None:
    found = check(wanted, [host(**changes)])

    assert kinds(found) == [(kind, is_fatal)]
    assert found[0].text.replace("\u2009", " ") == text


@pytest.mark.parametrize("shm_bytes", [128 * MIB, None])
def test_enough_or_unknown_shared_memory_is_no_problem(shm_bytes: int | None) -> None:
    assert check(spec(), [host(shm_bytes=shm_bytes)]) == ()


def test_shared_memory_is_nothing_to_gloo_or_to_one_rank() -> None:
    assert check(spec(backend="gloo"), [host(shm_bytes=0)]) == ()
    assert check(spec(ranks=1), [host(shm_bytes=0)]) == ()


def test_ranks_may_share_a_gpu_when_that_was_asked_for() -> None:
    shared = spec(ranks=4, emulated=True)

    assert check(shared, [host()]) == ()
    assert kinds(check(spec(ranks=5, emulated=True), [host()])) == [("too-few-gpus", True)]
    assert kinds(check(shared, [host(gpu_free_bytes=(3 * GIB, 5 * GIB))])) == [("too-little-gpu-memory", True)]
    assert kinds(check(shared, [host(gpus=())])) == [("no-gpu", True)]


def test_as_many_ranks_may_share_a_gpu_as_the_worker_lets() -> None:
    assert SHARED_RANKS == sharing.RANKS_PER_GPU


def test_without_enough_gpus_an_automatic_run_is_held_against_the_hosts_memory() -> None:
    """The worker takes Gloo then, whose buffers are in the host's memory."""
    auto = spec(backend="auto")

    assert check(auto, [host(memory_bytes=GIB)]) == ()
    assert kinds(check(auto, [host(memory_bytes=GIB, gpus=(H100,))])) == [("too-little-memory", True)]


def test_a_missing_interface_is_shown_beside_those_that_have_an_address() -> None:
    found = check(spec(ranks=4, hosts=2), [host(), host("gpu-2", interfaces={"lo": "127.0.0.1"})], interface="eth0")

    assert kinds(found) == [("no-interface", True)]
    assert found[0].text == "gpu-2: eth0 ∉ lo"


def test_an_interface_is_not_looked_for_where_the_system_tells_of_none() -> None:
    assert check(spec(), [host(interfaces={})], interface="eth0") == ()


@pytest.mark.parametrize(
    ("other", "is_fatal", "text"),
    [
        ({"torch": "2.12.1"}, True, "PyTorch 2.13.0+cu126 (gpu-1), 2.12.1 (gpu-2)"),
        ({"torch": "2.13.1+cu126"}, False, "PyTorch 2.13.0+cu126 (gpu-1), 2.13.1+cu126 (gpu-2)"),
        ({"torch": "2.13.0+cu128"}, False, "PyTorch 2.13.0+cu126 (gpu-1), 2.13.0+cu128 (gpu-2)"),
        ({"nccl": "2.26.2"}, True, "NCCL 2.27.5 (gpu-1), 2.26.2 (gpu-2)"),
    ],
)
def test_hosts_of_different_versions_are_told_apart(other: dict[str, Any], *, is_fatal: bool, text: str) -> None:
    found = check(spec(ranks=4, hosts=2), [host(), host("gpu-2", **other)])

    assert kinds(found) == [("versions-differ", is_fatal)]
    assert found[0].text == text


def test_the_nccl_version_does_not_matter_to_gloo() -> None:
    assert check(spec(ranks=4, hosts=2, backend="gloo"), [host(), host("gpu-2", nccl=None)]) == ()


def test_little_pinnable_memory_is_a_warning_between_hosts_only() -> None:
    poor = host(memlock_bytes=64 * KIB)

    assert kinds(check(spec(ranks=4, hosts=2), [poor, host()])) == [("memlock-low", False)]
    assert check(spec(), [poor]) == ()


def test_what_stops_the_run_comes_first_and_hidden_hosts_stay_hidden() -> None:
    found = check(spec(hide_host=True), [host("secret", disk_bytes=2 * MIB, gpus=())])

    assert kinds(found) == [("no-gpu", True), ("disk-small", False)]
    assert not any("secret" in problem.text for problem in found)


@pytest.mark.parametrize(
    "kind", [*sorted({kind for *_, kind, _, _ in LACKS}), "no-interface", "versions-differ", "memlock-low"]
)
def test_every_kind_is_explained(kind: str) -> None:
    assert kind in explained()


def test_this_machine_fits_a_small_run_and_no_gigantic_one(tmp_path: Path) -> None:
    here = machine.ready(tmp_path)
    gigantic = spec(backend="gloo", sizes=(16 * GIB,), ranks=1024)

    assert not any(problem.fatal for problem in fits(spec(backend="gloo", sizes=(KIB,), ranks=1), here))
    assert kinds(fits(gigantic, here))[0] == ("too-little-memory", True)
    assert pool_bytes(gigantic) == 32 * GIB
