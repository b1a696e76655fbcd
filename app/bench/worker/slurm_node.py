"""One node's task in a Slurm job: `worker.pyz slurm-node [options] SPEC` starts torchrun there under a guard.

Several nodes meet by c10d at the address Slurm has for the job's first node, on the port the batch script chose; there is no way back
to localhost, because then every node would measure itself alone. `slurm-node --free-port` is how the script chooses. When the
port was taken since, the first node leaves a file beside the worker, and the script tries another. Before the ranks, the node says what it
offers, so that the driver can name what stands in their way.
"""

import argparse
import os
import re
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from app.bench import machine
from app.bench.worker import guard

PORT = "RINGSIDE_PORT"
PORT_TAKEN = "port-taken"
JOIN_SECONDS = 120
"""How long nodes wait for each other; Slurm starts them at about the same time."""
_ANSWER_SECONDS = 60
_ADDRESS = re.compile(r"\bNodeAddr=(\S+)")


def main(arguments: Sequence[str]) -> int:
    """Start this node's ranks and wait for their end; the guard's exit code."""
    options = _parse(arguments)
    if options.free_port:
        sys.stdout.write(f"{machine.free_port()}\n")
        sys.stdout.flush()
        return 0
    rendezvous = _alone() if options.nodes == 1 else _together(options, os.environ)
    # In a process of its own: what importing torch takes stays out of the guard.
    subprocess.run([sys.executable, sys.argv[0], "probe"], stdin=subprocess.DEVNULL, check=False)
    torchrun = [
        *(sys.executable, "-m", "torch.distributed.run"),
        *rendezvous,
        *("--nproc-per-node", str(options.ranks_per_node)),
        *(sys.argv[0], options.spec),
    ]
    limits = ["--memory", str(options.memory)] if options.memory else []
    return guard.main(["--no-stdin", "--mark", options.mark, *limits, "--", *torchrun])


def meeting(*, nodes: int, head: str, own: str, port: int, job: str, is_head: bool) -> tuple[str, ...]:
    """Torchrun's options to meet `nodes` nodes at `head`; `own` is the address under which the others reach this one.

    `is_host` is said to every node: torchrun's own guess goes by names and fails where Slurm's addresses are not theirs.
    """
    return (
        *("--nnodes", str(nodes)),
        *("--rdzv-backend", "c10d"),
        *("--rdzv-endpoint", f"[{head}]:{port}" if ":" in head else f"{head}:{port}"),
        *("--rdzv-id", job),
        *("--rdzv-conf", f"is_host={int(is_head)},read_timeout=60,join_timeout={JOIN_SECONDS}"),
        *("--local-addr", own),
    )


def _alone() -> tuple[str, ...]:
    return ("--standalone", "--local-addr", "127.0.0.1")


def _together(options: argparse.Namespace, environment: Mapping[str, str]) -> tuple[str, ...]:
    port = int(environment.get(PORT, "0"))
    is_head = environment.get("SLURM_NODEID") == "0"
    if is_head and not _is_free(port):
        (Path(sys.argv[0]).parent / PORT_TAKEN).touch()
        _leave(f"port {port} of this node was taken meanwhile")
    names = _ask([options.scontrol, "show", "hostnames", environment.get("SLURM_JOB_NODELIST", "")]).split()
    name = environment.get("SLURMD_NODENAME", "")
    if not names or not name:
        _leave("Slurm does not say which nodes this job has: SLURM_JOB_NODELIST and SLURMD_NODENAME are not set")
    head = _address(options.scontrol, names[0])
    own = head if name == names[0] else _address(options.scontrol, name)
    job = environment.get("SLURM_JOB_ID", "0")
    return meeting(nodes=options.nodes, head=head, own=own, port=port, job=job, is_head=is_head)


def _address(scontrol: str, name: str) -> str:
    """Slurm's address of a node, which need not be its name."""
    found = _ADDRESS.search(_ask([scontrol, "--oneliner", "show", "node", name]))
    return found[1] if found else name


def _ask(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_ANSWER_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        _leave(f"{command[0]} cannot be asked: {error}")
    if done.returncode:
        _leave(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def _is_free(port: int) -> bool:
    try:
        socket.create_server(("", port)).close()
    except OSError:
        return False
    return True


def _leave(message: str) -> NoReturn:
    sys.stderr.write(f"slurm-node: {message}\n")
    raise SystemExit(1)


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="worker.pyz slurm-node", allow_abbrev=False)
    parser.add_argument("--free-port", action="store_true", help="print a free TCP port and end")
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--ranks-per-node", type=int, default=1)
    parser.add_argument("--mark", default="", help="what RINGSIDE_RUN is set to")
    parser.add_argument("--memory", type=int, default=0, metavar="BYTES", help="end the ranks of this node above this")
    parser.add_argument("--scontrol", default="scontrol", help="where Slurm's scontrol is")
    parser.add_argument("spec", nargs="?", default="spec.json")
    return parser.parse_args(arguments)
