"""`ringside serve` as a user starts it."""

import os
import socket
import subprocess
import sys
from pathlib import Path


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "app", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **environment},
        check=False,
    )


def test_taken_port_is_told_with_the_remedy(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()

        result = run("serve", "--port", str(taken.getsockname()[1]), RINGSIDE_DATA=str(tmp_path))

    assert result.returncode == 1
    assert "in use" in result.stderr
    assert "PORT=" in result.stderr
    assert "Traceback" not in result.stderr


def test_wrong_setting_is_named(tmp_path: Path) -> None:
    result = run("serve", RINGSIDE_DATA=str(tmp_path), RINGSIDE_PORT="http")

    assert result.returncode == 1
    assert "PORT" in result.stderr
    assert "Traceback" not in result.stderr


def test_unknown_time_zone_is_refused_at_start(tmp_path: Path) -> None:
    result = run("serve", RINGSIDE_DATA=str(tmp_path), RINGSIDE_TIME_ZONE="Mars/Olympus")

    assert result.returncode == 1
    assert "Asia/Shanghai" in result.stderr
