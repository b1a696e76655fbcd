"""How the launchers of several hosts find each other: torchrun's options for c10d's rendezvous on the first one.

For drivers that know every address beforehand. In a Slurm job the nodes ask Slurm, so `app/bench/worker/slurm_node.py` says it there.
"""

JOIN_SECONDS = 60
"""How long a host waits for the others, and for an answer of the first one."""


def meeting(*, hosts: int, number: int, own: str, first: str, port: int | str, mark: str) -> tuple[str, ...]:
    """For host `number`, whose address is `own`, to meet the others at `first`; `mark` keeps two runs apart.

    One host needs to meet nobody and picks a free port by itself.
    """
    if hosts == 1:
        return ("--standalone", "--local-addr", own)
    # Unasked, c10d guesses who hosts the meeting by comparing host names, which fails where two machines share one.
    conf = f"is_host={int(number == 0)},join_timeout={JOIN_SECONDS},read_timeout={JOIN_SECONDS}"
    endpoint = f"[{first}]:{port}" if ":" in first else f"{first}:{port}"
    return (
        *("--nnodes", str(hosts), "--rdzv-backend", "c10d", "--rdzv-endpoint", endpoint),
        *("--rdzv-id", mark, "--rdzv-conf", conf, "--local-addr", own),
    )
