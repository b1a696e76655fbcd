"""The command of a driver: a program of this machine that speaks for ranks elsewhere."""

import os
import sys
from pathlib import Path

from app.bench.launchers.model import Launch

_ROOT = Path(__file__).parent.parent.parent.parent


def driver(name: str, *arguments: str, shown: str = "") -> Launch:
    """`app/bench/drivers/<name>.py` with this interpreter, found also from a folder where `app` is not installed."""
    paths = [os.fspath(_ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return Launch(
        (sys.executable, "-m", f"app.bench.drivers.{name}", *arguments),
        environment={"PYTHONPATH": os.pathsep.join(dict.fromkeys(paths))},
        shown=shown,
    )
