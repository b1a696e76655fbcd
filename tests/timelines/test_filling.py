"""Durations filled in from a model shape and a hardware profile."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from app.core.errors import InvalidInput
from app.core.i18n import Text, same
from app.hardware.model import Basis, Estimate, Kind, Profile
from app.hardware.presets import presets
from app.timelines import catalog
from app.timelines.catalog import milliseconds

TITLE = same("Run 7")


@dataclass(frozen=True)
class Bench:
    """A measured profile with round numbers: 1 ms per MiB, 100 GFLOP/s."""

    key: str = "run-7"
    title: Text = TITLE
    kind: Kind = "measured"
    source: Text = TITLE
    ranks: int | None = 2
    flop_per_second: float | None = 1e11
    bytes_per_second: float | None = 1e9
    known: tuple[str, ...] = ("all_gather", "reduce_scatter", "all_reduce")
    overlap: Mapping[str, float] = field(default_factory=dict)

    def collective(self, operation: str, message_bytes: float, ranks: int) -> Estimate:
        if operation not in self.known:
            raise InvalidInput({"operation": Text("This run has no such collective.", "这次运行没有这种通信。")})
        basis: Basis = "interpolated" if ranks == self.ranks else "extrapolated"
        return Estimate(message_bytes / 2**20 / 1e3, basis, same(f"{ranks} ranks"))


def profiles(*many: Profile) -> dict[str, Profile]:
    return {profile.key: profile for profile in many}


def test_a_datasheet_fills_in_every_duration_of_the_chain() -> None:
    """8192² bf16, TP 4, remat 8 on H100: 2·4096·8192²/4 FLOPs at 989 TFLOP/s; 32 MiB · 7/8 at 450 GB/s."""
    run = catalog.run("gtp-chain", {"profile": "h100-sxm"}, profiles=presets())
    values = run.values()

    assert float(values["gemm"]) == pytest.approx(2 * 4096 * 8192**2 / 4 / 989e12 * 1e3, rel=1e-3)
    assert float(values["backward"]) == pytest.approx(2 * float(values["gemm"]), rel=1e-5)
    assert float(values["all_gather"]) == pytest.approx(32 * 2**20 * 7 / 8 / 450e9 * 1e3, rel=1e-5)
    assert set(run.filled) == {"gemm", "backward", "all_gather", "reduce_scatter"}


def test_a_typed_duration_wins_over_a_filled_one() -> None:
    run = catalog.run("gtp-chain", {"profile": "h100-sxm", "gemm": "3"}, profiles=presets())

    assert run.values()["gemm"] == "3"
    assert "gemm" not in run.filled


def test_the_time_of_the_h100_all_reduce_is_the_one_of_the_calculator() -> None:
    """64 MiB over 8 ranks at 450 GB/s: 0.261 ms."""
    run = catalog.run("tp-layer", {"profile": "h100-sxm"}, profiles=presets())

    assert float(run.values()["all_reduce"]) == pytest.approx(0.261, abs=0.0005)


def test_a_measured_profile_starts_from_its_own_ranks_and_a_shape_it_can_run() -> None:
    run = catalog.run("gtp-chain", {"profile": "run-7"}, profiles=profiles(Bench()))

    assert run.shape is not None
    assert getattr(run.shape, "gtp_remat_size") == 2  # noqa: B009 - the field of this scenario's shape
    assert float(run.values()["all_gather"]) == 2
    assert float(run.values()["gemm"]) == pytest.approx(2 * 4096 * 1024**2 / 1e11 * 1e3, rel=1e-5)
    assert run.filled["all_gather"].basis == "interpolated"


def test_asking_a_run_for_other_ranks_is_told_as_extrapolated() -> None:
    run = catalog.run("gtp-chain", {"profile": "run-7", "gtp_remat_size": "4"}, profiles=profiles(Bench()))

    assert run.filled["all_gather"].basis == "extrapolated"


def test_a_ring_is_cut_into_the_steps_of_the_whole_all_reduce() -> None:
    run = catalog.run("ring-all-reduce", {"profile": "run-7"}, profiles=profiles(Bench()))

    assert run.values()["ranks"] == "2"
    assert float(run.trace.makespan) == pytest.approx(4)


def test_what_a_run_did_not_measure_is_told_at_the_profile() -> None:
    with pytest.raises(InvalidInput) as caught:
        catalog.run("tp-layer", {"profile": "run-7"}, profiles=profiles(Bench(known=("all_gather",))))
    assert list(caught.value.fields) == ["profile"]


def test_a_run_without_a_gemm_rate_leaves_gemms_to_the_reader() -> None:
    run = catalog.run("gtp-chain", {"profile": "run-7"}, profiles=profiles(Bench(flop_per_second=None)))

    assert set(run.filled) == {"all_gather", "reduce_scatter"}
    assert run.values()["gemm"] == "3"


def test_an_unknown_profile_is_told_at_the_profile() -> None:
    with pytest.raises(InvalidInput) as caught:
        catalog.run("gtp-chain", {"profile": "abacus"}, profiles=presets())
    assert list(caught.value.fields) == ["profile"]


def test_wrong_dimensions_and_wrong_inputs_are_told_together() -> None:
    with pytest.raises(InvalidInput) as caught:
        catalog.run("gtp-chain", {"profile": "h100-sxm", "hidden_size": "wide", "layers": "some"}, profiles=presets())
    assert set(caught.value.fields) == {"hidden_size", "layers"}


def test_a_filled_value_that_breaks_a_rule_is_told() -> None:
    """A tiny MLP beside a typed weight gradient: the rule holds for filled values as well."""
    with pytest.raises(InvalidInput) as caught:
        catalog.run("tp-layer", {"profile": "h100-sxm", "weight_grad": "100"}, profiles=presets())
    assert list(caught.value.fields) == ["weight_grad"]


def test_filled_milliseconds_are_exact_decimals_of_six_digits() -> None:
    assert str(milliseconds(0.0002609813234)) == "260981/1000000"
