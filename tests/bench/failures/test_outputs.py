"""Failures that need GPUs or several machines, by what they printed where they happened: issues people have filed, as data.

Each goes the way it goes in a run: a rank reports its exception, the log has the lines around it, the verdict finds the cause and
the explanation its words. Addresses and host names were replaced.
"""

from dataclasses import dataclass

import pytest

from app.bench.account import Account
from app.bench.diagnosis.explain import explain
from app.bench.diagnosis.model import Explanation
from app.bench.events import Problem, RankStarted
from app.bench.result import RunResult
from app.bench.runs import Status
from app.bench.verdict import judge
from app.bench.wire import LogText
from tests.bench.ranks import small_spec


@dataclass(frozen=True)
class Seen:
    """What one rank reported, what the log held, and what is to be told: words of the message and of the remedy."""

    name: str
    text: str
    message: str
    remedy: str
    log: str = ""


SEEN = [
    Seen(
        name="more ranks than GPUs",  # NVIDIA/nccl-tests 289, in PyTorch's words
        text="AcceleratorError: CUDA error: invalid device ordinal\nCUDA kernel errors might be asynchronously reported",
        message="More ranks were started than this node shows GPUs",
        remedy="one rank per GPU",
    ),
    Seen(
        name="two ranks on a GPU",  # verl-project/verl 161
        text=(
            "DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:275, invalid usage (run with"
            " NCCL_DEBUG=WARN for details), NCCL version 2.20.5\nncclInvalidUsage: This usually reflects invalid usage of"
            " NCCL library.\nLast error:\nDuplicate GPU detected : rank 1 and rank 0 both on CUDA device 10"
        ),
        message="Two ranks use the same GPU",
        remedy="one rank per GPU",
    ),
    Seen(
        name="driver too old",
        text=(
            "RuntimeError: The NVIDIA driver on your system is too old (found version 11040). Please update your GPU driver"
            " by downloading and installing a new version"
        ),
        message="does not support this driver or GPU",
        remedy="fits the driver",
    ),
    Seen(
        name="GPU too new",
        text="RuntimeError: CUDA error: no kernel image is available for execution on the device",
        message="does not support this driver or GPU",
        remedy="PyTorch build",
    ),
    Seen(
        name="shared memory full",  # pytorch/ci-infra 490
        text="DistBackendError: NCCL error in: NCCLUtils.cpp:94, unhandled system error, NCCL version 2.27.5",
        log=(
            "node:202016:202235 [0] misc/shmutils.cc:88 NCCL WARN Error: failed to extend /dev/shm/nccl-WU88OE to 9637892"
            " bytes, error: No space left on device (28)"
        ),
        message="Shared memory (/dev/shm) is full or too small",
        remedy="--shm-size=1g",
    ),
    Seen(
        name="shared memory full, NCCL 2.7",  # NVIDIA/nccl 290
        text="RuntimeError: NCCL error in: ProcessGroupNCCL.cpp:784, unhandled system error, NCCL version 2.7.3",
        log="node:2143:2561 [1] include/shm.h:28 NCCL WARN Call to posix_fallocate failed : No space left on device",
        message="Shared memory (/dev/shm) is full or too small",
        remedy="--shm-size=1g",
    ),
    Seen(
        name="GPU memory",
        text=(
            "OutOfMemoryError: CUDA out of memory. Tried to allocate 8.00 GiB. GPU 0 has a total capacity of 79.15 GiB of"
            " which 3.06 GiB is free."
        ),
        message="too little free memory for the largest size",
        remedy="lower the maximum size",
    ),
    Seen(
        name="no interface for NCCL",  # EasonXiao-888/MambaTree 14
        text=(
            "RuntimeError: NCCL error in: ProcessGroupNCCL.cpp:1201, internal error, NCCL version 2.14.3\nncclInternalError:"
            " Internal check failed.\nLast error:\nBootstrap : no socket interface found"
        ),
        message="NCCL found no network interface",
        remedy="NCCL_SOCKET_IFNAME",
    ),
    Seen(
        name="an interface that NCCL does not find",  # NVIDIA/nccl 1837
        text=(
            "DistBackendError: ncclInternalError: Internal check failed.\nLast error:\nncclSocketInit: connecting to address "
            " with family 59936 is neither AF_INET(2) nor AF_INET6(10)"
        ),
        message="NCCL found no network interface",
        remedy="NCCL_SOCKET_IFNAME",
    ),
    Seen(
        name="a collective that hangs",
        text=(
            "DistBackendError: [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=3, OpType=ALLREDUCE,"
            " NumelIn=1, NumelOut=1, Timeout(ms)=60000) ran for 60029 milliseconds before timing out."
        ),
        message="A collective did not finish",
        remedy="NCCL_P2P_DISABLE=1",
    ),
    Seen(
        name="a peer that is gone",  # NVIDIA/nccl 2076
        text=(
            "DistBackendError: NCCL error in: NCCLUtils.hpp:268, remote process exited or there was a network error, NCCL"
            " version 2.21.5\nncclRemoteError: A call failed possibly due to a network error or a remote process exiting"
            " prematurely.\nLast error:\nsocketProgressOpt: Call to recv from 10.0.0.2<33759> failed : Connection reset by peer"
        ),
        message="lost its connection to another one",
        remedy="earliest error",
    ),
]


def end(*problems: Problem, log: str = "") -> tuple[Status, Problem, Explanation]:
    """A run whose ranks reported `problems` in that order, then ended with 1."""
    account = Account(RunResult(spec=small_spec()), is_here=False)
    for rank in range(2):
        account.take(RankStarted(rank=rank, pid=1000 + rank, start_ticks=1, host="node"))
    for problem in problems:
        account.take(problem)
    for line in log.splitlines():
        account.take(LogText(line))
    status, found = judge(account.ending("exited", exit_code=1, free_bytes=1 << 40))
    return status, found[0], explain(found[0], log=account.log)


@pytest.mark.parametrize("seen", SEEN, ids=[seen.name for seen in SEEN])
def test_what_was_printed_is_told_plainly(seen: Seen) -> None:
    status, cause, told = end(Problem(kind="exception", rank=1, text=seen.text), log=seen.log)

    assert (status, cause.rank) == ("init_failed", 1)
    assert seen.message in told.message.en
    assert seen.remedy in told.remedy.en
    for text in (told.message.zh, told.remedy.zh):
        assert any("\u4e00" <= letter <= "\u9fff" for letter in text)


def test_the_rank_that_failed_comes_before_the_one_that_noticed() -> None:
    """NCCL's survivors report an exception of their own, and often sooner."""
    noticed = Problem(kind="exception", rank=0, text=SEEN[-1].text)
    failed = Problem(kind="exception", rank=1, text="ValueError: no")

    _, cause, told = end(noticed, failed)

    assert cause == failed
    assert "Rank 1" in told.message.en
