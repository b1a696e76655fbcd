"""The readiness endpoint."""

from fastapi.testclient import TestClient


def test_healthz_answers_when_ready(client: TestClient) -> None:
    answer = client.get("/healthz")

    assert answer.status_code == 200
    assert answer.json()["status"] == "ok"
