"""One run of three real ranks with every extra, for all tests that look at what it brought; and guards under test."""

import pytest

from app.bench.result import RunResult
from tests.bench.ranks import small_spec, start
from tests.bench.worker.guarded import guarded, worker_zip

__all__ = ["extras_run", "guarded", "worker_zip"]


@pytest.fixture(scope="session")
def extras_run(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    """All-reduce, all-gather, reduce-scatter and broadcast at two sizes, then everything but the latency pass."""
    spec = small_spec(
        operations=("all_reduce", "all_gather", "reduce_scatter", "broadcast"),
        sizes=(4096, 1 << 18),
        ranks=3,
        extras=("overlap", "copies", "links", "topology"),
        extra_seconds=1.0,
        gemm_seconds=0.3,
        hide_host=True,
    )
    with start(spec, tmp_path_factory.mktemp("extras")) as session:
        list(session)
    assert session.result.finished, session.judge()
    return session.result
