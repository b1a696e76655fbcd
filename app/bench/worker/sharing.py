"""Which GPU a rank gets, and how two ranks may share one when the run is `emulated`.

NCCL refuses two ranks on one GPU. From 2.30 a variable allows it, as an experiment. From 2.5 on, ranks that claim to be on
different hosts and keep to sockets pass the check; they then talk over loopback TCP and take turns on the GPU. Either
way it shows that things work, never how fast they are. None of this has run on a GPU yet; the tests cover the choice.
"""

from collections.abc import Mapping

from app.bench.worker.life import Failure

RANKS_PER_GPU = 2
"""More would need fewer thread blocks each (NCCL_MAX_CTAS): all kernels must be resident at once, or they hang."""
_ALLOWED_SINCE = (2, 30)
_CHECKED_SINCE = (2, 5)


def place(*, local_rank: int, local_ranks: int, gpus: int, emulated: bool) -> int:
    """The index of this rank's GPU. Raises Failure when there are too few."""
    if local_ranks > gpus * (RANKS_PER_GPU if emulated else 1):
        text = f"{local_ranks} ranks were asked for but this node shows {gpus} GPUs"
        raise Failure("too-few-gpus", f"{text}; at most {RANKS_PER_GPU} ranks may share one" if emulated else text)
    return local_rank % gpus


def variables(*, nccl: tuple[int, ...], rank: int, local_ranks: int, gpus: int) -> Mapping[str, str]:
    """What to set before NCCL starts, by its version; nothing where every rank has a GPU. Raises Failure."""
    if local_ranks <= gpus:
        return {}
    if nccl < _CHECKED_SINCE:
        version = ".".join(map(str, nccl))
        raise Failure("sharing-unsupported", f"NCCL {version} hangs when two ranks share a GPU; 2.5 or newer is needed")
    if nccl >= _ALLOWED_SINCE:
        return {"NCCL_MULTI_RANK_GPU_ENABLE": "1"}
    return {
        "NCCL_HOSTID": f"ringside-{rank}",
        "NCCL_P2P_DISABLE": "1",
        "NCCL_SHM_DISABLE": "1",
        "NCCL_NET": "Socket",
    }
