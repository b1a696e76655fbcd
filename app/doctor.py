"""What this installation has and what it lacks, each with the remedy. Printed by `ringside doctor`.

A check returns one `Finding`; it never raises, because a broken part is what it is there to report.
"""

import importlib.metadata
import importlib.util
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from app.core.db import Database
from app.settings import Settings
from app.web.assets import PACKAGES

if TYPE_CHECKING:
    from app.bench.launchers.model import Node

State = Literal["ok", "missing", "broken"]

TORCH_PROBE = (
    "import json, torch, torch.distributed as d;"
    "print(json.dumps({'version': torch.__version__, 'gpus': torch.cuda.device_count(),"
    "'gloo': d.is_available() and d.is_gloo_available(), 'nccl': d.is_available() and d.is_nccl_available()}))"
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report. `required` findings that are not ok make the command fail."""

    name: str
    state: State
    detail: str
    remedy: str = ""
    required: bool = True


def examine(settings: Settings) -> list[Finding]:
    """Every finding, in the order a newcomer would mend them."""
    checks: tuple[Callable[[Settings], Finding], ...] = (
        _python,
        _front_end,
        _data_folder,
        _database,
        _content,
        _port,
        _torch,
        nodes,
        _chromium,
    )
    return [_guarded(check, settings) for check in checks]


def _guarded(check: Callable[[Settings], Finding], settings: Settings) -> Finding:
    try:
        return check(settings)
    except Exception as error:  # noqa: BLE001 - whatever is wrong belongs in the report
        return Finding(check.__name__.strip("_").replace("_", " "), "broken", f"{type(error).__name__}: {error}")


def _python(_settings: Settings) -> Finding:
    detail = f"{platform.python_version()} at {sys.executable}; ringside {importlib.metadata.version('ringside')}"
    return Finding("Python", "ok", detail)


def _front_end(settings: Settings) -> Finding:
    folder = settings.static / "node_modules"
    absent = [pattern for pattern in PACKAGES if not any(folder.glob(pattern))]
    if absent:
        return Finding("front-end packages", "missing", ", ".join(absent), "Run: make setup (or npm ci in static/).")
    return Finding("front-end packages", "ok", f"{len(PACKAGES)} files of htmx, Plotly and KaTeX")


def _data_folder(settings: Settings) -> Finding:
    settings.data.mkdir(parents=True, exist_ok=True)
    if not os.access(settings.data, os.W_OK):
        return Finding(
            "data folder", "broken", f"{settings.data} cannot be written", "Set RINGSIDE_DATA to another folder."
        )
    free = shutil.disk_usage(settings.data).free / 1e9
    return Finding("data folder", "ok", f"{settings.data}, {free:.0f} GB free")


def _database(settings: Settings) -> Finding:
    kind = settings.database.split(":", 1)[0]
    try:
        database = Database(settings.database)
        database.migrate()
        database.dispose()
    except Exception as error:  # noqa: BLE001 - any failure is the finding
        return Finding(
            "database", "broken", f"{kind}: {error}", "Check RINGSIDE_DATABASE_URL and that the server runs."
        )
    return Finding("database", "ok", f"{kind}, schema up to date")


def _content(settings: Settings) -> Finding:
    from app.content.library import Library  # noqa: PLC0415 - slow to import, and only needed here

    library = Library(settings.content)
    problems = library.problems()
    if problems:
        return Finding("content", "broken", f"{len(problems)} problems, first: {problems[0]}", "Run: ringside check")
    return Finding("content", "ok", f"{len(library.questions())} questions in {settings.content}")


def _port(settings: Settings) -> Finding:
    with socket.socket() as probe:
        probe.settimeout(1)
        if probe.connect_ex(("127.0.0.1", settings.port)) == 0:
            detail = f"{settings.port} is in use (perhaps by Ringside itself)"
            return Finding("port", "missing", detail, "Set another one: make run PORT=8001", required=False)
    return Finding("port", "ok", f"{settings.port} is free")


def _torch(_settings: Settings) -> Finding:
    remedy = "For the live benchmark run: make setup BENCH=1"
    if importlib.util.find_spec("torch") is None:
        return Finding("PyTorch", "missing", "not installed; the live benchmark is off", remedy, required=False)
    # In a process of its own: importing torch is slow, and a broken install may crash.
    run = subprocess.run([sys.executable, "-c", TORCH_PROBE], capture_output=True, text=True, timeout=120, check=False)
    if run.returncode:
        last = (run.stderr.strip().splitlines() or ["no message"])[-1]
        return Finding("PyTorch", "broken", last, remedy, required=False)
    found = json.loads(run.stdout)
    backends = [name for name in ("nccl", "gloo") if found[name]]
    return Finding("PyTorch", "ok", f"{found['version']}, {found['gpus']} GPUs, backends: {', '.join(backends)}")


def nodes(settings: Settings) -> Finding:
    """Whether every section of nodes.toml is right, and what the nodes need on this machine."""
    from app.bench.home import nodes_path  # noqa: PLC0415 - pydantic models of every launcher, only needed here
    from app.bench.nodes import NodeFile  # noqa: PLC0415

    found, broken = NodeFile(nodes_path(settings.data)).read()
    if broken:
        reasons = "; ".join(f"{entry.name}: {entry.reason.en}" for entry in broken)
        return Finding("nodes", "broken", reasons, "Mend nodes.toml or run: ringside node remove NAME", required=False)
    lacking = _lacking(found.values())
    if lacking:
        return Finding("nodes", "missing", lacking[0][0], lacking[0][1], required=False)
    return Finding("nodes", "ok", f"{', '.join(found)} (ringside node test NAME asks one)", required=False)


def _lacking(nodes: "Iterable[Node]") -> list[tuple[str, str]]:
    """What attached nodes need on this machine and is not there, each with the remedy."""
    found = []
    for node in nodes:
        settings = node.settings.model_dump()
        if settings.get("hosts") or settings.get("via"):
            known = Path(settings.get("known_hosts") or "~/.ssh/known_hosts").expanduser()
            if not known.is_file():
                remedy = f"Look at the hosts' keys, then put them there; ringside node test {node.name} says how."
                found.append((f"{node.name} needs {known}, the host keys you trust", remedy))
        elif node.launcher.slug == "slurm":
            folder = settings.get("bin_folder") or None
            if shutil.which("sbatch", path=folder) is None:
                remedy = "Run Ringside where sbatch is, or name a login node in its setting via."
                found.append((f"{node.name} needs Slurm's sbatch on this machine", remedy))
    return found


def _chromium(_settings: Settings) -> Finding:
    path = os.environ.get("RINGSIDE_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if path and Path(path).exists():
        return Finding("Chromium", "ok", f"{path} (for the browser tests only)", required=False)
    return Finding("Chromium", "missing", "only the browser tests need it", "apt-get install chromium", required=False)
