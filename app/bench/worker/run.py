"""A run as one rank sees it: meet, measure, report, leave.

Only rank 0's events go out; the others measure along. Start here to see the order of things, then read `sweep`.
"""

import gc
import os
import socket
import time
from collections.abc import Callable

from app.bench.events import Done, Event, Hello, Phase
from app.bench.spec import RunSpec
from app.bench.worker.environment import environment
from app.bench.worker.extras import measure_extras
from app.bench.worker.gemm import gemm, throttling
from app.bench.worker.group import Group, join
from app.bench.worker.life import Failure, Line, fail
from app.bench.worker.sweep import Sweep

_PATIENCE_SECONDS = 60.0


def run(spec: RunSpec, *, line: Line) -> None:
    """Measure all of `spec`; on an error report it and exit."""
    begin = time.monotonic()
    if "RANK" not in os.environ:
        _be_alone()
    rank = int(os.environ["RANK"])
    send = line.send if rank == 0 else _nowhere
    group: Group | None = None
    try:
        send(Phase(name="starting", patience_seconds=_PATIENCE_SECONDS + spec.timeout_seconds))
        group = _meet(spec, rank=rank)
        _measure(group, spec, send=send, begin=begin)
        group.barrier()
        group.leave()
    except BaseException as error:  # noqa: BLE001 - the last line of a rank: everything is reported
        fail(line, error=error, rank=rank, lost=group.lost if group else None)


def _meet(spec: RunSpec, *, rank: int) -> Group:
    ranks = int(os.environ["WORLD_SIZE"])
    if ranks != spec.ranks:
        raise Failure("world-size", f"{ranks} ranks were started, {spec.ranks} were asked for")
    return join(
        rank=rank,
        ranks=ranks,
        local_rank=int(os.environ.get("LOCAL_RANK", "0")),
        choice=spec.backend,
        timeout_seconds=spec.timeout_seconds,
        emulated=spec.emulated,
        listens="topology" in spec.extras,
    )


def _measure(group: Group, spec: RunSpec, *, send: Callable[[Event], None], begin: float) -> None:
    send(Hello(world_size=group.ranks, environment=environment(group, hide_host=spec.hide_host)))
    gc.collect()
    gc.disable()
    send(Phase(name="measuring", patience_seconds=_PATIENCE_SECONDS))
    sweep = Sweep(group, spec, send, started=begin)
    rows, drift = sweep.run()
    if "latency" in spec.extras:
        send(Phase(name="latency", patience_seconds=_PATIENCE_SECONDS + 3 * spec.extra_seconds))
        sweep.latencies()
    send(Phase(name="gemm", patience_seconds=_PATIENCE_SECONDS + 3 * spec.gemm_seconds))
    rates = gemm(group, seconds=spec.gemm_seconds, seed=spec.seed, beat=sweep.beat)
    if rates is not None:
        send(rates)
        slowed = throttling(rates)
        if slowed is not None:
            send(slowed)
    measure_extras(group, spec, send=send, beat=sweep.beat)
    send(Phase(name="ending", patience_seconds=_PATIENCE_SECONDS))
    send(Done(rows=rows, seconds=round(time.monotonic() - begin, 1), drift_percent=drift))


def _be_alone() -> None:
    """Without torchrun this process is the only rank."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    os.environ.update(RANK="0", WORLD_SIZE="1", LOCAL_WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))


def _nowhere(event: Event) -> None:
    del event
