"""The data of the plot: around the current value, inside the bounds, without what does not compute."""

import pytest

from app.calculators import catalog, plot
from app.calculators.sweep import Sweep, sweep
from app.core.inputs import parse


def swept(slug: str, field: str, result: str, **raw: str) -> Sweep:
    calculator = catalog.calculator(slug)
    return sweep(calculator, parse(calculator.inputs, raw), field=field, result=result)


def test_whole_numbers_vary_by_powers_of_two_and_the_current_one_is_marked() -> None:
    data = swept("tp-communication", "tensor_parallel_size", "communication_over_compute", tensor_parallel_size="6")

    assert [point.x for point in data.points] == ["1", "2", "4", "6", "8", "16", "32", "64"]
    assert [point.x for point in data.points if point.is_current] == ["6"]


def test_a_point_is_what_the_calculator_gives_there() -> None:
    data = swept("tp-communication", "tensor_parallel_size", "communication_over_compute", bandwidth_gb_per_s="50")

    _, outcome = catalog.run("tp-communication", {"tensor_parallel_size": "16", "bandwidth_gb_per_s": "50"})
    there = next(point.y for point in data.points if point.x == "16")
    assert there == outcome.results["communication_over_compute"].value


def test_values_that_do_not_fit_are_left_out() -> None:
    data = swept("collective-time", "ranks", "time_s", algorithm="hierarchical", ranks="32")

    assert [point.x for point in data.points] == ["1", "2", "4", "8", "16", "32", "64", "128", "256"]
    assert all(int(point.x) <= 8 or int(point.x) % 8 == 0 for point in data.points)


def test_algorithms_that_do_not_offer_the_operation_are_left_out() -> None:
    data = swept("collective-time", "algorithm", "time_s", operation="all_gather")

    assert [point.x for point in data.points] == ["ring", "halving_doubling"]


def test_a_latency_of_zero_can_be_varied() -> None:
    data = swept("collective-time", "latency_us", "time_s")

    assert data.points[0].x == "0"
    assert data.points[0].is_current
    assert data.points[-1].y > data.points[0].y


@pytest.mark.parametrize("slug", list(catalog.calculators()))
def test_every_result_over_every_input_can_be_drawn(slug: str) -> None:
    calculator = catalog.calculator(slug)
    inputs = calculator.inputs()
    for field in calculator.inputs.model_fields:
        data = sweep(calculator, inputs, field=field, result=calculator.sweep_result)
        traces, layout = plot.traces(data, calculator, "zh")
        assert traces[0]["y"], field
        assert len(traces[0]["x"]) == len(traces[0]["y"]), field
        assert sum(point.is_current for point in data.points) == 1, field
        assert layout["yaxis"]["title"]["text"], field


def test_a_wide_range_is_drawn_on_a_logarithmic_axis_with_ticks_written_out() -> None:
    calculator = catalog.calculator("collective-time")
    data = sweep(calculator, calculator.inputs(), field="message_bytes", result="time_s")

    _, layout = plot.traces(data, calculator, "en")

    assert layout["yaxis"]["type"] == "log"
    assert "1 MiB".replace(" ", "\u2009") in layout["xaxis"]["ticktext"]
