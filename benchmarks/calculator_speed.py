"""How fast one calculator answers over the JSON API, against an empty JSON route of the same app.

Run `python benchmarks/calculator_speed.py`. Both go through the whole ASGI stack in this process, interleaved,
so that their ratio does not depend on the machine's mood. The goal is a median below 5 ms.
"""

import statistics
import tempfile
import time
from pathlib import Path

from fastapi.testclient import TestClient

from app.calculators import catalog
from app.main import create_app
from app.settings import Settings

ROUNDS = 200
GOAL_MS = 5.0


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        app = create_app(Settings(data=Path(folder), watch_content=False))

        @app.get("/api/empty")
        def empty() -> dict[str, str]:
            return {}

        with TestClient(app, base_url="http://127.0.0.1") as client:
            for slug in catalog.calculators():
                _report(client, slug)


def _report(client: TestClient, slug: str) -> None:
    addresses = {"empty": "/api/empty", "calculator": f"/api/calculators/{slug}", "page": f"/calculators/{slug}"}
    taken: dict[str, list[float]] = {name: [] for name in addresses}
    for _ in range(ROUNDS):
        for name, address in addresses.items():
            began = time.perf_counter()
            client.get(address).raise_for_status()
            taken[name].append((time.perf_counter() - began) * 1e3)
    median = {name: statistics.median(times) for name, times in taken.items()}
    verdict = "ok" if median["calculator"] < GOAL_MS else "SLOW"
    print(
        f"{slug:18} JSON {median['calculator']:.2f} ms, {median['calculator'] / median['empty']:.2f} times an empty "
        f"route ({median['empty']:.2f} ms); whole page {median['page']:.2f} ms  {verdict}"
    )


if __name__ == "__main__":
    main()
