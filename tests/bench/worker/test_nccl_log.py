"""What is kept of NCCL's own words, and that no address or host name is among it."""

import subprocess
import sys

import pytest

from app.bench.worker.nccl_log import mask, summary

# Lines as NCCL 2.2x prints them; hosts and addresses are made up.
LOG = """\
gpu-a:983:983 [0] NCCL INFO Bootstrap: Using eth0:192.0.2.14<0>
gpu-a:983:983 [0] NCCL INFO NET/Plugin: Could not find: libnccl-net.so. Using internal net plugin.
NCCL version 2.27.3+cuda12.9
gpu-a:983:1261 [0] NCCL INFO NET/IB : No device found.
gpu-a:983:1261 [0] NCCL INFO NET/Socket : Using [0]eth0:192.0.2.14<0> [1]ib0:fe80::a00:27ff:fe4e:66a1%ib0<0>
gpu-a:983:1261 [0] NCCL INFO Using network Socket
gpu-a:983:1261 [0] NCCL INFO ncclTopoGetCpuAffinity: Affinity for GPU 0 is 0-23. (GPU affinity = ; CPU affinity = 0-23).
gpu-a:983:1261 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read
gpu-a:983:1261 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[1] via P2P/CUMEM/read
gpu-a:983:1261 [0] NCCL INFO Channel 00/0 : 4[0] -> 0[0] [receive] via NET/IB/0/GDRDMA
gpu-a:983:1261 [0] NCCL INFO Connected all rings
gpu-a:983:1261 [0] NCCL INFO 24 coll channels, 0 collnet channels, 16 nvls channels, 32 p2p channels, 32 per peer
gpu-a:983:1261 [0] NCCL INFO comm 0x557fe785f7a0 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 9b000 - Init COMPLETE
gpu-a:983:1261 [0] NCCL INFO comm 0x557fe785f7a0 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 9b000 - Init COMPLETE

gpu-a:983:1261 [0] transport/net_ib.cc:201 NCCL WARN NET/IB : Got completion from peer gpu-b.example<55921> status 12
"""


def test_paths_channels_and_completion_are_kept_once() -> None:
    assert summary(LOG, names={"gpu-a": "node-0", "gpu-b.example": "node-1", "gpu-b": "node-1"}) == [
        "Bootstrap: Using eth0:<address><0>",
        "NCCL version 2.27.3+cuda12.9",
        "NET/IB : No device found.",
        "NET/Socket : Using [0]eth0:<address><0> [1]ib0:<address>%ib0<0>",
        "Using network Socket",
        "Connected all rings",
        "24 coll channels, 0 collnet channels, 16 nvls channels, 32 p2p channels, 32 per peer",
        "comm 0x557fe785f7a0 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 9b000 - Init COMPLETE",
        "WARN NET/IB : Got completion from peer node-1<55921> status 12",
        "0[0] -> 1[1] via P2P/CUMEM/read (2 channels)",
        "4[0] -> 0[0] [receive] via NET/IB/0/GDRDMA (1 channels)",
    ]


def test_nothing_said_is_nothing_kept() -> None:
    assert summary("", names={}) == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ens1f0:198.51.100.7<0>", "ens1f0:<address><0>"),
        ("listening on 198.51.100.7:29500", "listening on <address>:29500"),
        ("peer 2001:db8::5 left", "peer <address> left"),
        ("localGid ::ffff:203.0.113.4 remoteGid fe80:0:0:0:0:0:0:9", "localGid <address> remoteGid <address>"),
        ("link/ether 02:42:ac:11:00:02 up", "link/ether <address> up"),
        ("busId 0000:1b:00.0 version 12.9.41 at 10:20:30", "busId 0000:1b:00.0 version 12.9.41 at 10:20:30"),
        ("GPU0 to GPU1: NV18", "GPU0 to GPU1: NV18"),
        ("gpu-a:1 and my-gpu-a and gpu-a.example", "node-0:1 and my-gpu-a and node-0.example"),
    ],
)
def test_addresses_and_hosts_are_masked_and_nothing_else(line: str, expected: str) -> None:
    assert mask(line, names={"gpu-a": "node-0"}) == expected


def test_what_is_written_to_the_nameless_file_is_heard() -> None:
    """In a process of its own, because listening changes the environment; opened by name, as NCCL does."""
    script = """
import os
from app.bench.worker import nccl_log
descriptor = nccl_log.listen()
assert os.environ["NCCL_DEBUG"] == "INFO"
with open(os.environ["NCCL_DEBUG_FILE"], "w") as log:
    log.write("h:1:1 [0] NCCL INFO Using network IB\\n")
    log.flush()
    print(nccl_log.heard(descriptor), end="")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    assert (done.stdout, done.stderr) == ("h:1:1 [0] NCCL INFO Using network IB\n", "")
