"""Sends the logs that people posted to the import page."""

import html
import re
from pathlib import Path

from fastapi.testclient import TestClient
from httpx2 import Response

LOGS = Path(__file__).parents[1] / "golden" / "nccl_logs"
FIVE = "12-h100x8-five-collectives-one-file.txt"
TWO_NODES = "27-b200-2x8-sendrecv-two-runs-script-text.txt"
GUESSED = "10-a100-8x4-alltoall-trailing-mpich-line.txt"
DERIVED = "24-torch-all_reduce_bench-4node-markdown.txt"
HTMX = {"HX-Request": "true"}


def send(client: TestClient, name: str = "", *, action: str = "keep", htmx: bool = False, **fields: str) -> Response:
    """A file of the folder as an upload, or what `fields` hold."""
    files = {"file": (name, (LOGS / name).read_bytes())} if name else {"file": ("", b"")}
    data = {"action": action, **fields}
    return client.post("/bench/import", data=data, files=files, headers=HTMX if htmx else {}, follow_redirects=False)


def keep(client: TestClient, name: str, *, hide_host: str = "") -> int:
    answer = send(client, name, hide_host=hide_host)
    assert answer.status_code == 303
    return int(re.findall(r"\d+", answer.headers["location"])[0])


def words(text: str) -> str:
    return " ".join(html.unescape(re.sub(r"<script.*?</script>|<[^>]+>", " ", text, flags=re.DOTALL)).split())
