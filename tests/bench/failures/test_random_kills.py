"""A few of the kills of `benchmarks/random_kills.py`: a real web server, the runner it starts, torchrun and its ranks."""

import json
import os
import subprocess
import sys

import pytest

from tests.bench.failures.scene import ROOT

pytestmark = pytest.mark.gloo


def test_a_few_random_kills_leave_nothing_lose_nothing_and_stop_nothing() -> None:
    command = [sys.executable, "benchmarks/random_kills.py", "--kills", "4", "--seed", "5", "--json"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)

    found = json.loads(done.stdout)
    assert found["violations"] == [], done.stderr
    assert (done.returncode, len(found["kills"])) == (0, 4)
