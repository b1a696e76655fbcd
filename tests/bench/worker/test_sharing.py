"""Which GPU a rank gets and what NCCL is told; that NCCL then does it needs a GPU and is not shown here."""

import pytest

from app.bench.diagnosis.explain import explain
from app.bench.worker.life import Failure
from app.bench.worker.sharing import place, variables


@pytest.mark.parametrize(
    ("local_rank", "local_ranks", "gpus", "emulated", "expected"),
    [
        (0, 8, 8, False, 0),
        (7, 8, 8, False, 7),
        (0, 2, 1, True, 0),
        (1, 2, 1, True, 0),
        (5, 8, 4, True, 1),
        (2, 4, 8, True, 2),
    ],
)
def test_ranks_are_spread_over_the_gpus(
    local_rank: int, local_ranks: int, gpus: int, *, emulated: bool, expected: int
) -> None:
    assert place(local_rank=local_rank, local_ranks=local_ranks, gpus=gpus, emulated=emulated) == expected


@pytest.mark.parametrize(("local_ranks", "gpus", "emulated"), [(2, 1, False), (3, 1, True), (9, 4, True), (1, 0, True)])
def test_more_ranks_than_the_gpus_hold_is_refused(local_ranks: int, gpus: int, *, emulated: bool) -> None:
    with pytest.raises(Failure) as caught:
        place(local_rank=0, local_ranks=local_ranks, gpus=gpus, emulated=emulated)

    assert caught.value.problem.kind == "too-few-gpus"
    assert f"{local_ranks} ranks" in caught.value.problem.text
    assert f"{gpus} GPUs" in caught.value.problem.text


@pytest.mark.parametrize("version", [(2, 4, 8), (2, 27, 3), (2, 30, 7)])
def test_a_gpu_per_rank_needs_no_variables(version: tuple[int, ...]) -> None:
    assert variables(nccl=version, rank=1, local_ranks=2, gpus=2) == {}


@pytest.mark.parametrize("version", [(2, 30, 0), (2, 30, 7), (3, 0, 0)])
def test_a_new_nccl_is_asked_to_allow_it(version: tuple[int, ...]) -> None:
    assert variables(nccl=version, rank=1, local_ranks=2, gpus=1) == {"NCCL_MULTI_RANK_GPU_ENABLE": "1"}


def test_an_older_nccl_is_made_to_see_a_host_per_rank() -> None:
    first, second = (variables(nccl=(2, 29, 2), rank=rank, local_ranks=2, gpus=1) for rank in range(2))

    assert first["NCCL_HOSTID"] != second["NCCL_HOSTID"]
    for chosen in (first, second):
        assert {name: value for name, value in chosen.items() if name != "NCCL_HOSTID"} == {
            "NCCL_P2P_DISABLE": "1",
            "NCCL_SHM_DISABLE": "1",
            "NCCL_NET": "Socket",
        }


def test_an_nccl_that_would_hang_is_refused() -> None:
    with pytest.raises(Failure) as caught:
        variables(nccl=(2, 4, 8), rank=0, local_ranks=2, gpus=1)

    assert "NCCL 2.4.8" in explain(caught.value.problem).message.en
