"""Asking a node: what it answers, what goes wrong, and what is kept of it. The programs that answer are real processes."""

import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.bench import process
from app.bench.checkup import Checkups, ask
from app.bench.diagnosis.explain import kinds
from tests.bench.stub_node import Behaviour, StubSettings, launcher, node

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def test_a_node_that_is_ready_says_what_it_has() -> None:
    checkup = ask(node(), clock=lambda: NOON)

    assert checkup.is_ready
    assert checkup.asked_at == "2026-03-01T12:00:00+00:00"
    assert [(host.host, host.torch, len(host.gpus)) for host in checkup.hosts] == [("gpu1", "2.13.0", 2)]
    assert [report.lines for report in checkup.reports] == [("gpu up 2 nodes idle",)]
    assert checkup.log == ()


@pytest.mark.parametrize(
    ("behaviour", "kind"),
    [
        ("no-torch", "no-torch"),
        ("denied", "exception"),
        ("crash", "probe-failed"),
        ("quiet", "probe-failed"),
    ],
)
def test_what_is_wrong_has_a_kind_that_is_explained(behaviour: Behaviour, kind: str) -> None:
    checkup = ask(node(behaviour), clock=lambda: NOON)

    assert not checkup.is_ready
    assert [problem.kind for problem in checkup.problems] == [kind]
    assert kind in kinds()


def test_a_probe_that_fails_without_a_word_leaves_its_last_line() -> None:
    checkup = ask(node("crash"), clock=lambda: NOON)

    assert checkup.problems[0].text == "cannot open the door"
    assert checkup.log == ("cannot open the door",)


def test_a_node_that_never_answers_is_given_up_and_leaves_no_process() -> None:
    checkup = ask(node("hang"), clock=lambda: NOON, seconds=3)

    assert [problem.kind for problem in checkup.problems] == ["node-silent"]
    (line,) = [line for line in checkup.log if line.startswith("child ")]
    assert process.start_time(int(line.removeprefix("child "))) is None


def test_a_probe_that_prints_without_end_is_ended() -> None:
    began = time.monotonic()

    checkup = ask(node("flood"), clock=lambda: NOON, seconds=300)

    assert time.monotonic() - began < 200
    assert not checkup.is_ready


def test_the_last_answer_is_kept_for_the_node_as_it_is_now(tmp_path: Path) -> None:
    checkups = Checkups(tmp_path)
    assert checkups.last(node()) is None

    made = checkups.ask(node(), clock=lambda: NOON)

    assert made is not None
    assert Checkups(tmp_path).last(node()) == made
    assert checkups.last(node("crash")) is None
    checkups.forget("away")
    assert checkups.last(node()) is None


def test_a_file_that_is_damaged_counts_as_no_answer(tmp_path: Path) -> None:
    checkups = Checkups(tmp_path)
    checkups.ask(node(), clock=lambda: NOON)
    tmp_path.joinpath("away.json").write_text('{"node": {')

    assert checkups.last(node()) is None


def test_only_one_asks_at_a_time(tmp_path: Path) -> None:
    checkups = Checkups(tmp_path)
    asking = threading.Thread(target=checkups.ask, args=(node("hang"),), kwargs={"clock": lambda: NOON, "seconds": 5})
    asking.start()
    while not checkups.is_asking("away"):
        time.sleep(0.01)

    assert checkups.ask(node("hang"), clock=lambda: NOON, seconds=5) is None
    asking.join()
    assert not checkups.is_asking("away")


def test_a_probe_that_cannot_be_started_is_a_problem(tmp_path: Path) -> None:
    from dataclasses import replace

    from app.bench.launchers.model import Launch, Node

    gone = replace(launcher, probe=lambda _settings: Launch((str(tmp_path / "gone"),)))

    checkup = ask(Node("away", gone, StubSettings(hosts=["gpu1"])), clock=lambda: NOON)

    assert [problem.kind for problem in checkup.problems] == ["probe-failed"]
