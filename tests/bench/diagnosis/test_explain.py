"""Real wording of failures, and what is made of it."""

import pytest

from app.bench.diagnosis.causes import CAUSES
from app.bench.diagnosis.explain import explain, kinds
from app.bench.events import Problem

SEEN = [
    ("exception", "ModuleNotFoundError: No module named 'torch'", "PyTorch is not installed"),
    (
        "launcher-failed",
        "/usr/bin/python3: Error while finding module specification: No module named 'torch'",
        "PyTorch",
    ),
    ("exception", "RuntimeError: [enforce fail] Unable to find address for: eth99", "interface eth99 does not exist"),
    ("exception", "RuntimeError: server socket has failed (port: 29500, errno: 98 - EADDRINUSE)", "port"),
    ("exception", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 8.00 GiB", "GPU has too little"),
    ("exception", "RuntimeError: DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes", "memory"),
    ("exception", "NCCL WARN Error: failed to extend /dev/shm/nccl-Ab12 to 9637892 bytes", "Shared memory"),
    ("launcher-failed", "OSError: [Errno 28] No space left on device", "disk is full"),
    ("exception", "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000", "same GPU"),
    ("exception", "RuntimeError: CUDA error: invalid device ordinal", "More ranks"),
    ("exception", "RuntimeError: The NVIDIA driver on your system is too old (found version 11040)", "driver"),
    (
        "exception",
        "ncclInternalError: Internal check failed. Last error: Bootstrap : no socket interface found",
        "NCCL found",
    ),
    ("exception", "ncclRemoteError: A call failed possibly due to a network error", "lost its connection"),
    ("exception", "DistBackendError: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=3)", "time limit"),
    ("launcher-failed", "torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError", "meeting point"),
]


@pytest.mark.parametrize(("kind", "text", "expected"), SEEN, ids=[expected for _, _, expected in SEEN])
def test_known_wording_is_explained(kind: str, text: str, expected: str) -> None:
    explanation = explain(Problem(kind=kind, text=text, rank=0))

    assert expected in explanation.message.en


def test_wording_of_the_log_counts_too() -> None:
    explanation = explain(Problem(kind="launcher-failed", text="exit code 1"), log=["...", "No module named torch", ""])

    assert "pip install" in explanation.remedy.en


def test_every_cause_has_wording_in_this_test() -> None:
    for cause in CAUSES:
        assert any(cause.pattern.search(text) for _, text, _ in SEEN), cause.pattern.pattern


@pytest.mark.parametrize("kind", kinds())
@pytest.mark.parametrize("rank", [None, 3])
def test_every_kind_gives_a_message_without_loose_ends(kind: str, rank: int | None) -> None:
    explanation = explain(Problem(kind=kind, text="what was {seen}", rank=rank))

    for text in (explanation.message.en, explanation.message.zh, explanation.remedy.en, explanation.remedy.zh):
        assert "{rank}" not in text
        assert "{text}" not in text


def test_a_killed_rank_is_named() -> None:
    problem = Problem(kind="rank-killed", text="rank 5 ended by signal 9 (SIGKILL)", rank=5)

    assert "Rank 5 was killed" in explain(problem, log=["No space left on device"]).message.en


def test_an_unknown_kind_shows_its_text() -> None:
    assert "odd thing {x}" in explain(Problem(kind="never-seen", text="odd thing {x}")).message.en


def test_a_note_is_not_taken_for_a_failure() -> None:
    note = Problem(kind="drift", text="all_reduce took +40 %", fatal=False)

    assert "changed its speed" in explain(note, log=["No space left on device"]).message.en
