"""A run that goes wrong, seen through the real runner: real torchrun, real Gloo, the real worker with a defect of `bad_rank.py`."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from app.bench import process
from app.bench.diagnosis.explain import explain
from app.bench.diagnosis.model import Explanation
from app.bench.home import home_id
from app.bench.launchers import local
from app.bench.launchers.model import Launch, Node
from app.bench.process import ProcessId
from app.bench.runner import Runner
from app.bench.runs import Run, process_of
from app.bench.spec import RunSpec
from app.bench.store import RunStore
from app.bench.supervise import MARK, Limits
from app.core.clock import utc_now
from tests.bench.ranks import long_spec

ROOT = Path(__file__).parent.parent.parent.parent
BAD_RANK = Path(__file__).parent / "bad_rank.py"
SECONDS = 240.0
"""For anything that has to happen at all: the machine may be busy, and PyTorch is read from disk three times."""
QUICK = Limits(margin_seconds=2.0, grace_seconds=1.0)


def wait_for(happened: Callable[[], bool], *, what: str = "it") -> None:
    deadline = time.monotonic() + SECONDS
    while not happened():
        assert time.monotonic() < deadline, f"{what} did not happen in {SECONDS:g} s"
        time.sleep(0.05)


def torchrun(behaviour: str, *, options: Sequence[str] = ("--standalone",), ranks: int | None = None) -> Node:
    """This machine, where ranks have a defect; `options` say how they meet, `ranks` how many really start."""

    def commands(spec: RunSpec, folder: Path, settings: object) -> Launch:
        del settings
        arguments = [sys.executable, "-m", "torch.distributed.run", *options, "--local-addr=127.0.0.1"]
        number = f"--nproc-per-node={ranks or spec.ranks}"
        environment = {"PYTHONPATH": os.fspath(ROOT), "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
        return Launch((*arguments, number, str(BAD_RANK), behaviour, str(folder / "spec.json")), environment)

    return node_of(commands)


def command(*arguments: str) -> Node:
    """This machine, where a run is that command."""
    return node_of(lambda _spec, _folder, _settings: Launch(arguments, {"PYTHONPATH": os.fspath(ROOT)}))


def node_of(commands: Callable[[RunSpec, Path, object], Launch]) -> Node:
    return replace(local.node, launcher=replace(local.launcher, commands=commands))


@dataclass(frozen=True)
class Scene:
    """An installation, and what may be done in it."""

    store: RunStore
    data: Path
    locks: Path

    def runner(self, node: Node | None, *, limits: Limits = QUICK) -> Runner:
        nodes = {} if node is None else {"local": node}
        return Runner(
            self.store,
            data=self.data,
            nodes=lambda: nodes,
            clock=utc_now,
            idle_seconds=0.05,
            locks=self.locks,
            limits=limits,
        )

    def run(
        self,
        node: Node,
        spec: RunSpec | None = None,
        *,
        meanwhile: Callable[[int], object] = lambda _run_id: None,
        limits: Limits = QUICK,
    ) -> "Outcome":
        """One run to its end; `meanwhile(run id)` is called in this thread while it goes."""
        run_id = self.store.enqueue(spec or long_spec(), node="local", now=utc_now())
        worker = threading.Thread(target=self.runner(node, limits=limits).work, daemon=True)
        worker.start()
        try:
            meanwhile(run_id)
        except BaseException:
            self.store.request_stop(run_id, now=utc_now())
            raise
        finally:
            worker.join(SECONDS)
        assert not worker.is_alive(), "the runner does not come to an end"
        return self.outcome(run_id)

    def outcome(self, run_id: int) -> "Outcome":
        run = self.store.get(run_id)
        assert not run.is_active
        assert process.marked(MARK, f"{home_id(self.data)}/{run_id}") == set()
        assert not any(map(process.is_alive, map(process_of, run.started)))
        told = explain(run.problems[0], log=run.log) if run.problems else None
        return Outcome(run, told)

    def rank(self, run_id: int, rank: int = 1) -> ProcessId:
        """The process of a rank, once a row has been measured."""
        wait_for(lambda: self.store.get(run_id).rows > 0 or not self.store.get(run_id).is_active, what="a first row")
        run = self.store.get(run_id)
        assert run.is_active, (run.status, run.problems, run.log)
        return next(process_of(each) for each in run.started if each.rank == rank)

    def set_off(self, rank: int = 1) -> Callable[[int], None]:
        """What to do meanwhile: let the defect show in `rank` after the first row."""
        return self.signal(signal.SIGUSR1, rank=rank)

    def signal(self, number: signal.Signals, *, rank: int = 1) -> Callable[[int], None]:
        return lambda run_id: process.send(self.rank(run_id, rank), number)


@dataclass(frozen=True)
class Outcome:
    """How a run ended and what is told of it."""

    run: Run
    told: Explanation | None

    @property
    def kind(self) -> str:
        return self.run.problems[0].kind if self.run.problems else ""

    def says(self, message: str, *, remedy: str) -> bool:
        """Whether the cause is told so, in English, with what to do; and whether it is told in Chinese as well."""
        assert self.told is not None
        for text in (self.told.message, self.told.remedy):
            assert any("\u4e00" <= letter <= "\u9fff" for letter in text.zh), text.zh
        assert message in self.told.message.en, (self.told.message.en, self.run.problems, self.run.log)
        assert remedy in self.told.remedy.en, self.told.remedy.en
        return True
