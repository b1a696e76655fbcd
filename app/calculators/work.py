"""The sheet of paper on which a calculator works: known quantities first, then one line after the other.

Each line is a formula template (see `latex.py`) and the value that `compute` got. A line that defines a
symbol can be used by the lines below it.
"""

from app.calculators import latex
from app.calculators.latex import Symbol
from app.calculators.model import Outcome, Result, Step, WrongAnswer
from app.core.i18n import Text


class Work:
    """Collects the derivation, the results and the remarks of one computation."""

    def __init__(self) -> None:
        self._symbols: dict[str, Symbol] = {}
        self._results: dict[str, Result] = {}
        self._steps: list[Step] = []
        self._assumptions: list[Text] = []
        self._warnings: list[Text] = []
        self._wrong: list[WrongAnswer] = []

    def given(self, key: str, value: float, unit: str = "", *, symbol: str | None = None) -> None:
        """An input: `key` is its name in templates and, unless `symbol` says otherwise, its symbol."""
        self._symbols[key] = Symbol(symbol or key, latex.with_unit(value, unit))

    def step(
        self,
        key: str,
        title: Text,
        value: float,
        unit: str,
        *,
        formula: str,
        symbol: str | None = None,
        why: Text | None = None,
        numbers: str | None = None,
    ) -> float:
        """A line on the way; gives `value` back. `numbers` replaces the filled-in formula where that has no value."""
        self._write(key, title, value, unit, formula=formula, symbol=symbol, why=why, numbers=numbers, result=None)
        return value

    def result(
        self,
        name: str,
        title: Text,
        value: float,
        unit: str,
        *,
        key: str,
        formula: str,
        source: str,
        symbol: str | None = None,
        why: Text | None = None,
        numbers: str | None = None,
    ) -> float:
        """A line that yields the result `name`; gives `value` back. `source` is where the formula stands."""
        step = self._write(
            key, title, value, unit, formula=formula, symbol=symbol, why=why, numbers=numbers, result=name
        )
        self._results[name] = Result(title, value, unit, step.formula, step.substituted, source)
        return value

    def assume(self, english: str, chinese: str) -> None:
        """Something the formulas take for granted."""
        self._assumptions.append(Text(english, chinese))

    def warn(self, english: str, chinese: str) -> None:
        """Something about these very inputs the reader should know."""
        self._warnings.append(Text(english, chinese))

    def wrong(self, result: str, title: Text, value: float, why: Text) -> None:
        """A common mistake; left out where it happens to give the right value, as at the edges."""
        right = self._results[result]
        if value != right.value:
            self._wrong.append(WrongAnswer(result=result, title=title, value=value, unit=right.unit, why=why))

    def outcome(self) -> Outcome:
        """All that was written."""
        return Outcome(
            results=self._results,
            steps=tuple(self._steps),
            assumptions=tuple(self._assumptions),
            warnings=tuple(self._warnings),
            wrong_answers=tuple(self._wrong),
        )

    def _write(
        self,
        key: str,
        title: Text,
        value: float,
        unit: str,
        *,
        formula: str,
        symbol: str | None,
        why: Text | None,
        numbers: str | None,
        result: str | None,
    ) -> Step:
        left = symbol or key
        filled = numbers if numbers is not None else latex.substituted(formula, self._symbols)
        end = latex.equals(value, unit)
        shown = latex.duration(value) if unit == "s" else latex.with_unit(value, "B" if unit == "bytes" else unit)
        step = Step(
            title=title,
            formula=f"{left} = {latex.symbolic(formula, self._symbols)}",
            substituted=f"{left} {end}" if filled in {latex.number(value), shown} else f"{left} = {filled} {end}",
            why=why,
            result=result,
        )
        self._steps.append(step)
        self._symbols[key] = Symbol(left, shown)
        return step
