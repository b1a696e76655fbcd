"""How many question pages one uvicorn worker on one core sends, and how that compares with sending the bytes alone.

    .venv/bin/python benchmarks/page_speed.py [--seconds 4] [--rounds 3] [--floor 800]

Two servers are pinned to core 0: the app, and a bare Starlette app that returns the very same bytes. A client on
core 1 drives them in turn, so that both see the same machine: `wrk` where it is installed, else a small asyncio
client. Printed are requests per second by the clock and per second of the server's CPU time (medians of the
rounds), the size of a page, and the ratio. The two rates are the same on an idle machine; the second one holds on a
busy one too. With `--floor` the exit status is 1 where the second one is below it.
"""

import argparse
import asyncio
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

ROOT = Path(__file__).parent.parent
PATH = "/study/parallelism/gtp"
CONNECTIONS = 16
SERVER_CORE, CLIENT_CORE = "0", "1"
BODY = "RINGSIDE_BENCHMARK_BODY"


def bare() -> Starlette:
    """The yardstick: one route that returns the bytes of a file."""
    body = Path(os.environ[BODY]).read_bytes()

    async def page(_request: Request) -> Response:
        return Response(body, media_type="text/html")

    return Starlette(routes=[Route(PATH, page)])


def pinned(core: str, command: list[str]) -> list[str]:
    """`command` on one core, where the system can do that."""
    many = (os.cpu_count() or 1) > 1 and shutil.which("taskset")
    return ["taskset", "-c", core, *command] if many else command


def start(application: str, environment: dict[str, str]) -> tuple[subprocess.Popen[bytes], str]:
    """A uvicorn worker of `application` and its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = [sys.executable, "-m", "uvicorn", "--factory", application, "--port", str(port), "--no-access-log"]
    command = pinned(SERVER_CORE, [*server, "--log-level", "warning"])
    paths = os.pathsep.join((str(ROOT), str(ROOT / "benchmarks")))
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": paths, **environment})
    url = f"http://127.0.0.1:{port}{PATH}"
    deadline = time.monotonic() + 60
    while True:
        try:
            urllib.request.urlopen(url, timeout=5).read()
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return process, url


def cpu_seconds(process: subprocess.Popen[bytes]) -> float:
    """CPU time the process has used, user and system."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(server: tuple[subprocess.Popen[bytes], str], seconds: float, header: str) -> tuple[float, float]:
    """Requests per second by the clock, and per second of the server's CPU time."""
    process, url = server
    used, began = cpu_seconds(process), time.perf_counter()
    by_clock = rate(url, seconds, header)
    elapsed = time.perf_counter() - began
    return by_clock, by_clock * elapsed / (cpu_seconds(process) - used)


def rate(url: str, seconds: float, header: str) -> float:
    """Requests per second that `url` answers."""
    if shutil.which("wrk"):
        load = ["wrk", "-t", "1", "-c", str(CONNECTIONS), "-d", f"{max(1, round(seconds))}s", "-H", header, url]
        output = subprocess.run(pinned(CLIENT_CORE, load), check=True, capture_output=True, text=True).stdout
        assert "Non-2xx" not in output, output
        found = re.search(r"Requests/sec:\s+([\d.]+)", output)
        assert found, output
        return float(found[1])
    return asyncio.run(_drive(url, seconds, header))


async def _drive(url: str, seconds: float, header: str) -> float:
    host, _, path = url.removeprefix("http://").partition("/")
    name, _, port = host.partition(":")
    request = f"GET /{path} HTTP/1.1\r\nHost: {host}\r\n{header}\r\n\r\n".encode()
    end = time.perf_counter() + seconds

    async def connection() -> int:
        reader, writer = await asyncio.open_connection(name, int(port))
        count = 0
        while time.perf_counter() < end:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            length = re.search(rb"(?i)content-length: (\d+)", head)
            assert length
            await reader.readexactly(int(length[1]))
            count += 1
        writer.close()
        return count

    began = time.perf_counter()
    counts = await asyncio.gather(*(connection() for _ in range(CONNECTIONS)))
    return sum(counts) / (time.perf_counter() - began)


def main() -> int:
    """Measure and print; 1 where the rate is below the floor."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--floor", type=float, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        servers = []
        try:
            data = {"RINGSIDE_DATA": folder, "RINGSIDE_WATCH_CONTENT": "false"}
            app = start("app.main:create_app", data)
            servers.append(app)
            body = urllib.request.urlopen(app[1]).read()
            (Path(folder) / "body").write_bytes(body)
            yardstick = start("page_speed:bare", {BODY: str(Path(folder) / "body")})
            servers.append(yardstick)
            plain, zipped = "Accept-Encoding: identity", "Accept-Encoding: gzip"
            jobs = {"app, as it is": (app, plain), "app, gzip": (app, zipped), "bare Starlette": (yardstick, plain)}
            rounds = [
                {name: measure(server, given.seconds, header) for name, (server, header) in jobs.items()}
                for _ in range(given.rounds)
            ]
        finally:
            for process, _ in servers:
                process.terminate()
            for process, _ in servers:
                process.wait(20)
    print(f"one worker on one core, {CONNECTIONS} connections, a page of {len(body):,} bytes of HTML")
    print(f"{'':16}{'requests/s':>12}{'per CPU second':>16}")
    rates = {name: [statistics.median(each[name][i] for each in rounds) for i in (0, 1)] for name in jobs}
    for name, (by_clock, by_cpu) in rates.items():
        print(f"{name:16}{by_clock:>12,.0f}{by_cpu:>16,.0f}")
    print(f"ratio to bare   {rates['app, as it is'][0] / rates['bare Starlette'][0]:>12.2f}", end="")
    print(f"{rates['app, as it is'][1] / rates['bare Starlette'][1]:>16.2f}")
    return int(min(rates["app, as it is"][1], rates["app, gzip"][1]) < given.floor)


if __name__ == "__main__":
    sys.exit(main())
