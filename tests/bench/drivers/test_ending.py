"""A driver is told to end by real signals, in a process of its own."""

import signal
import subprocess
import sys

import pytest

PROGRAM = """
import asyncio, sys
from app.bench.drivers.ending import until_told

async def work():
    try:
        print("at work", flush=True)
        await asyncio.sleep(60)
    finally:
        print("ending", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        print("ended", flush=True)
    return 0

sys.exit(asyncio.run(until_told(work())))
"""


@pytest.mark.parametrize("first", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_of_other_kinds_do_not_disturb_the_ending(first: signal.Signals) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stdout.readline() == "at work\n"
    child.send_signal(first)
    assert child.stdout.readline() == "ending\n"

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        child.send_signal(number)
    out, _ = child.communicate("go on\n", timeout=30)

    assert out == "ended\n"
    assert child.returncode == 128 + first


def test_a_reader_that_is_gone_ends_the_driver_without_a_traceback() -> None:
    program = (
        "import asyncio, os\nfrom app.bench.drivers.ending import until_told\n"
        "async def work():\n    while True:\n        os.write(1, b'x')\n        await asyncio.sleep(0.01)\n"
        "raise SystemExit(asyncio.run(until_told(work())))"
    )
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdout.read(1)
    child.stdout.close()

    assert child.wait(timeout=30) == 1
    assert child.stderr.read() == b""
    child.stderr.close()
