"""Sessions with programs that misbehave in place of torchrun, and one real run."""

import sys
import time
from pathlib import Path

from app.bench import events, wire
from app.bench.launchers.model import Launch
from app.bench.launchers.session import Session
from app.bench.result import RunResult
from tests.bench.ranks import small_spec

PRELUDE = "import os, sys, time\nfrom app.bench.events import *\nfrom app.bench.wire import *\n"
HEARTBEAT = "emit(Heartbeat(seconds=1.0), descriptor=1)\n"


def session(code: str, folder: Path) -> Session:
    launch = Launch(arguments=(sys.executable, "-c", PRELUDE + code), environment={})
    return Session(launch, folder=folder, result=RunResult(spec=small_spec()))


def test_rubbish_on_the_stream_is_kept_as_log(tmp_path: Path) -> None:
    code = "os.write(1, b'\\xff\\xfe{\"ringside\":1, broken\\n')\n" + HEARTBEAT + "print('bye', file=sys.stderr)"
    with session(code, tmp_path) as running:
        heard = list(running)

    assert heard == [wire.LogText('\ufffd\ufffd{"ringside":1, broken'), events.Heartbeat(seconds=1.0)]
    assert set(running.log) == {'\ufffd\ufffd{"ringside":1, broken', "bye"}


def test_a_launcher_that_fails_is_a_problem_with_its_exit_code(tmp_path: Path) -> None:
    with session("print('no such thing', file=sys.stderr); sys.exit(3)", tmp_path) as running:
        list(running)

    assert [(problem.kind, problem.text) for problem in running.judge()[1]] == [
        ("launcher-failed", "the launcher ended with exit code 3")
    ]
    assert "no such thing" in running.log


def test_silence_beyond_the_promise_ends_the_run(tmp_path: Path) -> None:
    code = "emit(Phase(name='starting', patience_seconds=-4.5), descriptor=1)\ntime.sleep(600)"
    with session(code, tmp_path) as running:
        list(running)
        begin = time.monotonic()

    assert time.monotonic() - begin < 60
    assert running.judge()[1][0].kind == "ranks-missing"


def test_leaving_early_ends_the_launcher(tmp_path: Path) -> None:
    with session(HEARTBEAT + "time.sleep(600)", tmp_path) as running:
        assert next(iter(running)) == events.Heartbeat(seconds=1.0)
        pid = running.launcher.pid

    assert not Path(f"/proc/{pid}").exists()
