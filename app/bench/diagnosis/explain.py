"""What a problem of a run means to a person, and what to do about it.

Workers, drivers and runner report a `Problem` with a kind; an exception's text, or the launcher's log, often says more. `explain`
looks for known wording first (`causes.py`), then goes by the kind. Kinds stand in files by what they are about (`ranks.py`, ...): to
teach it a new one, add it to `KINDS` of the fitting file, and a piece of real output to its test.
"""

from collections.abc import Mapping, Sequence
from functools import cache

from app.bench import diagnosis
from app.bench.diagnosis.causes import CAUSES
from app.bench.diagnosis.model import SEE_LOG, Explanation
from app.bench.events import Problem
from app.core.i18n import Text
from app.core.registry import discover


@cache
def kinds() -> Mapping[str, Explanation]:
    """The explanation of every kind of problem, from all files of this package."""
    return {kind: found for family in discover(diagnosis, "KINDS", dict).values() for kind, found in family.items()}


def explain(problem: Problem, *, log: Sequence[str] = ()) -> Explanation:
    """What `problem` means; `log` is the tail of what the launcher and the ranks printed."""
    if problem.fatal and problem.kind not in {"rank-killed", "launcher-killed"}:
        evidence = "\n".join([problem.text, *log])
        for cause in CAUSES:
            match = cause.pattern.search(evidence)
            if match is not None:
                fields = match.groupdict()
                message = cause.explanation.message
                return Explanation(message.format(**fields) if fields else message, cause.explanation.remedy)
    known = kinds().get(problem.kind)
    if known is None:
        return Explanation(Text(f"The run failed: {problem.text}", f"运行失败：{problem.text}"), SEE_LOG)
    rank = "?" if problem.rank is None else problem.rank
    return Explanation(known.message.format(rank=rank, text=problem.text), known.remedy)
