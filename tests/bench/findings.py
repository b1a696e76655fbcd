"""What a run may bring besides rows, one of each kind, for tests that show or export it."""

from app.bench.events import Copy, Finding, Latency, Link, Overlap, Report

OVERLAP = Overlap(
    operation="all_reduce",
    size_bytes=1 << 20,
    dtype="float",
    ranks=2,
    communication_us=200.0,
    compute_us=300.0,
    both_us=350.0,
    hidden=0.75,
    communication_slowdown=1.25,
    compute_slowdown=None,
    repeats=9,
    label="shares the CPU cores",
)
FINDINGS: tuple[Finding, ...] = (
    OVERLAP,
    Copy(kind="host_to_device", size_bytes=1 << 26, gb_per_s=52.5, pinned=True, repeats=7),
    Link(source=0, target=1, size_bytes=1 << 24, one_way_gb_per_s=381.0, both_ways_gb_per_s=702.0, latency_us=6.25),
    Link(source=1, target=0, size_bytes=1 << 24, one_way_gb_per_s=24.5, both_ways_gb_per_s=702.0, latency_us=6.25),
    Latency(
        operation="all_reduce",
        size_bytes=64,
        dtype="float",
        ranks=2,
        p50_us=41.5,
        p99_us=120.0,
        minimum_us=30.5,
        cv_percent=22.0,
        calls=500,
    ),
    Report(title="cpu", host="here", lines=("2 sockets <b>", "NV18")),
)
