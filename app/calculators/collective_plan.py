"""What a cost model returns: the steps and bytes of an algorithm, and the formulas they come from."""

from dataclasses import dataclass

from app.core.i18n import Text


@dataclass(frozen=True, slots=True)
class Plan:
    """What an algorithm does, without latency: the formulas are templates over the symbols on the sheet."""

    steps: int
    steps_formula: str
    sent_bytes: float
    sent_formula: str
    transfer_s: float
    transfer_formula: str
    source: str
    steps_why: Text | None = None
    sent_why: Text | None = None
    time_why: Text | None = None
    assumptions: tuple[Text, ...] = ()
    warnings: tuple[Text, ...] = ()


def nothing() -> Plan:
    """What a group of one does."""
    return Plan(
        steps=0, steps_formula="0", sent_bytes=0.0, sent_formula="0",
        transfer_s=0.0, transfer_formula="0", source="Definition",
    )  # fmt: skip
