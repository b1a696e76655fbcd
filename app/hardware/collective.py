"""How many bytes a collective puts on the slowest link: the bus factors of nccl-tests.

Bus bandwidth is algorithm bandwidth (message over time) times this factor; it makes runs with different
rank counts comparable. Source: nccl-tests `doc/PERFORMANCE.md`, section "Bus bandwidth"; the ping-pong, which nccl-tests does not have, is timed
one way, so a message crosses its link once.
"""

from fractions import Fraction

_FACTORS = {
    "all_reduce": lambda n: Fraction(2 * (n - 1), n),
    "all_gather": lambda n: Fraction(n - 1, n),
    "reduce_scatter": lambda n: Fraction(n - 1, n),
    "all_to_all": lambda n: Fraction(n - 1, n),
    "gather": lambda n: Fraction(n - 1, n),
    "scatter": lambda n: Fraction(n - 1, n),
    "broadcast": lambda n: Fraction(min(n - 1, 1)),
    "reduce": lambda n: Fraction(min(n - 1, 1)),
    "send_recv": lambda n: Fraction(min(n - 1, 1)),
    "ping_pong": lambda n: Fraction(min(n - 1, 1)),
}

OPERATIONS = tuple(_FACTORS)


def bus_factor(operation: str, *, ranks: int) -> Fraction:
    """Bytes per byte of message on the busiest link of a ring; 0 for a single rank.

    `operation` is written as in nccl-tests with underscores. Raises ValueError for an unknown one.

    >>> bus_factor("all_reduce", ranks=8), bus_factor("all_gather", ranks=8)
    (Fraction(7, 4), Fraction(7, 8))
    """
    if operation not in _FACTORS:
        raise ValueError(f"unknown collective {operation!r}")
    if ranks < 1:
        raise ValueError(f"{ranks} ranks")
    return _FACTORS[operation](ranks)
