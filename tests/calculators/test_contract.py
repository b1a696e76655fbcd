"""What every calculator owes its page, its drill and its API, checked for each that is discovered."""

import contextlib
import itertools
import math
import random
import re

import pytest

from app.calculators import catalog
from app.calculators.model import Calculator
from app.calculators.shapes import SHAPES
from app.core.errors import InvalidInput
from app.core.i18n import Text
from app.core.inputs import FieldDoc, describe, parse, to_query, to_text
from app.hardware.presets import presets

CALCULATORS = list(catalog.calculators().values())
UNIT_OF_SUFFIX = {
    "_bytes": "bytes",
    "_gb_per_s": "GB/s",
    "_flop_per_byte": "FLOP/B",
    "_elements": "elements",
    "_s": "s",
}


@pytest.fixture(params=CALCULATORS, ids=lambda entry: entry.slug)
def calculator(request: pytest.FixtureRequest) -> Calculator:
    entry: Calculator = request.param
    return entry


def is_translated(text: Text) -> bool:
    """Two languages, the second in Chinese unless it is a bare name or symbol."""
    has_chinese = re.search(r"[\u4e00-\u9fff]", text.zh) is not None
    return has_chinese or text.zh.lower() == text.en.lower()


def test_the_four_of_the_first_release_are_there() -> None:
    assert {"busbw", "collective-time", "gtp-memory", "tp-communication"} <= catalog.calculators().keys()


def test_every_input_has_a_help_sentence_and_a_unit_that_fits_its_name(calculator: Calculator) -> None:
    for doc in describe(calculator.inputs):
        assert doc.help.en.endswith("."), doc.name
        assert doc.help.zh.endswith("。"), doc.name
        assert is_translated(doc.title), doc.name
        suffixes = {"_us": "µs", "_gb_per_s": "GB/s", "_tflops": "TFLOP/s", "_bytes": "B"}
        for suffix, unit in suffixes.items():
            if doc.name.endswith(suffix):
                assert doc.unit == unit, doc.name


def test_a_switch_is_off_unless_chosen_because_a_form_sends_nothing_for_it(calculator: Calculator) -> None:
    switches = [doc for doc in describe(calculator.inputs) if doc.kind == "switch"]

    assert [doc.default for doc in switches] == ["false"] * len(switches)


def test_the_defaults_compute_finite_numbers_with_titles_formulas_and_sources(calculator: Calculator) -> None:
    outcome = calculator.compute(calculator.inputs())

    assert outcome.results
    for name, result in outcome.results.items():
        assert math.isfinite(result.value), name
        assert is_translated(result.title), name
        assert result.source, name
        assert "<" not in result.formula + result.substituted, name
        assert result.formula.split(" = ")[0] == result.substituted.split(" = ")[0], name
    assert all(is_translated(text) for text in (*outcome.assumptions, *outcome.warnings))


def test_the_unit_of_a_result_is_the_one_its_name_states(calculator: Calculator) -> None:
    for name, result in calculator.compute(calculator.inputs()).results.items():
        suffix = next((suffix for suffix in UNIT_OF_SUFFIX if name.endswith(suffix)), None)
        if suffix:
            assert result.unit == UNIT_OF_SUFFIX[suffix], name


def test_each_result_is_one_step_of_the_derivation(calculator: Calculator) -> None:
    outcome = calculator.compute(calculator.inputs())

    assert [step.result for step in outcome.steps if step.result] == list(outcome.results)


def test_wrong_answers_can_be_told_from_the_right_one(calculator: Calculator) -> None:
    outcome = calculator.compute(calculator.inputs())

    assert len(outcome.wrong_answers) >= 3
    for wrong in outcome.wrong_answers:
        right = outcome.results[wrong.result].value
        assert abs(wrong.value - right) > 0.02 * abs(right), wrong.title.en
        assert is_translated(wrong.title), wrong.title.en
        assert is_translated(wrong.why), wrong.why.en


def test_what_the_page_shows_at_first_exists(calculator: Calculator) -> None:
    results = calculator.compute(calculator.inputs()).results

    assert calculator.sweep in calculator.inputs.model_fields
    assert calculator.sweep_result in results
    assert set(calculator.headline) <= results.keys()
    assert calculator.thresholds.keys() <= results.keys()
    assert is_translated(calculator.title)
    assert is_translated(calculator.question)


def test_every_drawn_combination_of_a_drill_computes(calculator: Calculator) -> None:
    names = list(calculator.drill.draws)
    combinations = list(itertools.product(*calculator.drill.draws.values()))
    chosen = random.Random(1).sample(combinations, min(300, len(combinations)))

    for values in chosen:
        _, outcome = catalog.run(calculator.slug, dict(zip(names, values, strict=True)))
        for name in calculator.drill.results:
            assert outcome.results[name].value > 0, values


def test_every_choice_gives_finite_numbers_or_is_refused(calculator: Calculator) -> None:
    def values(doc: FieldDoc) -> list[str]:
        return [name for name, _ in doc.choices] if doc.kind == "choice" else ["false", "true"]

    docs = [doc for doc in describe(calculator.inputs) if doc.kind in {"choice", "switch"}]
    computed = 0
    for combination in itertools.product(*(values(doc) for doc in docs)):
        raw = dict(zip((doc.name for doc in docs), combination, strict=True))
        with contextlib.suppress(InvalidInput):
            _, outcome = catalog.run(calculator.slug, raw)
            computed += 1
            assert all(math.isfinite(result.value) for result in outcome.results.values()), raw

    assert computed > 0


def test_profiles_and_shapes_fill_in_legal_inputs(calculator: Calculator) -> None:
    inputs = calculator.inputs()
    filled = []
    if calculator.from_profile:
        filled += [calculator.from_profile(profile, inputs) for profile in presets().values()]
    if calculator.from_shape:
        filled += [calculator.from_shape(shape) for shape in SHAPES]

    for changes in filled:
        assert changes
        parsed = parse(calculator.inputs, changes)
        assert {name: to_text(getattr(parsed, name)) for name in changes} == changes


def test_the_query_of_the_defaults_is_empty(calculator: Calculator) -> None:
    assert to_query(calculator.inputs()) == {}
