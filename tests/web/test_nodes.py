"""The nodes pages: list, form, test and removal. What answers is a real program on this machine."""

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.bench import nodes
from app.bench.home import nodes_path
from app.bench.launchers.model import Node
from app.settings import Settings
from tests.bench import stub_node

HTMX = {"HX-Request": "true"}


@pytest.fixture(autouse=True)
def stub(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {**nodes.known_launchers(), "stub": stub_node.launcher}
    for module in ("app.bench.nodes", "app.web.node_view"):
        monkeypatch.setattr(f"{module}.known_launchers", lambda: known)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=tmp_path / "data", watch_content=False, runner_on_demand=False)


@pytest.fixture
def file(client: TestClient, settings: Settings) -> nodes.NodeFile:
    assert client
    return nodes.NodeFile(nodes_path(settings.data))


def away(file: nodes.NodeFile, behaviour: stub_node.Behaviour = "ready") -> Node:
    node = stub_node.node(behaviour)
    file.add(node)
    return node


def answered(client: TestClient, name: str = "away") -> str:
    """The node's page once it is no longer asked."""
    deadline = time.monotonic() + 60
    while (answer := client.get(f"/bench/nodes/{name}", headers=HTMX)).status_code != 286:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return answer.text


def test_this_machine_is_listed_and_the_bench_leads_there(client: TestClient) -> None:
    page = client.get("/bench/nodes").text

    assert 'href="/bench/nodes/local"' in page
    assert "never" in page
    assert 'href="/bench/nodes"' in client.get("/bench").text


def test_every_launcher_has_a_form_of_its_settings(client: TestClient) -> None:
    for slug, launcher in nodes.known_launchers().items():
        page = client.get("/bench/nodes", params={"launcher": slug}).text
        names = set(re.findall(r'<(?:input|textarea|select) id="node-[\w-]+"[^>]*name="(\w+)"', page))
        assert names == {"name", *launcher.settings.labels()}
        assert f'name="launcher" value="{slug}"' in page


def test_an_added_node_is_written_and_leads_to_its_page(client: TestClient, file: nodes.NodeFile) -> None:
    sent = {
        "launcher": "stub",
        "name": "away",
        "hosts": "me@gpu1\nme@gpu2",
        "behaviour": "ready",
        "port": "2222",
        "has_agent": ["false"],
        "environment": "NCCL_DEBUG=INFO",
    }

    answer = client.post("/bench/nodes", data=sent, follow_redirects=False)

    assert (answer.status_code, answer.headers["Location"]) == (303, "/bench/nodes/away")
    settings = file.get("away").settings
    assert isinstance(settings, stub_node.StubSettings)
    assert (settings.hosts, settings.port, settings.has_agent) == (["me@gpu1", "me@gpu2"], 2222, False)
    assert settings.environment == {"NCCL_DEBUG": "INFO"}
    page = client.get("/bench/nodes/away").text
    assert "hosts = [&#34;me@gpu1&#34;, &#34;me@gpu2&#34;]" in page
    assert '<option value="away" data-hosts="2">away</option>' in client.get("/bench").text


@pytest.mark.parametrize(
    ("field", "text", "message"),
    [
        ("name", "Away!", "lower-case letters"),
        ("name", "local", "already"),
        ("hosts", "", "This is needed."),
        ("port", "many", "whole number"),
        ("environment", "LD_PRELOAD=x", "may not be set"),
        ("interface", "eth0 up", "not allowed here"),
    ],
)
def test_a_refused_form_says_why_at_the_field_and_loses_nothing(
    client: TestClient, file: nodes.NodeFile, field: str, text: str, message: str
) -> None:
    sent = {"launcher": "stub", "name": "away", "hosts": "gpu1", "title": "Second floor", "port": "23", field: text}

    answer = client.post("/bench/nodes", data=sent)

    assert answer.status_code in (409, 422)
    assert re.search(rf'<p class="field-error" id="node-{field}-error">[^<]*{message}', answer.text)
    assert 'value="Second floor"' in answer.text
    assert text in answer.text
    assert list(file.nodes()) == ["local"]


def test_a_test_runs_in_the_background_and_its_answer_stays(client: TestClient, file: nodes.NodeFile) -> None:
    away(file)

    answer = client.post("/bench/nodes/away/test", follow_redirects=False)

    assert (answer.status_code, answer.headers["Location"]) == (303, "/bench/nodes/away")
    text = answered(client).replace("\u2009", " ")
    for said in (
        "ready",
        "gpu1",
        "3.10.12",
        "NVIDIA H100",
        "256 GiB",
        "eth0 10.0.0.5",
        "gpu up 2 nodes idle",
        "Plan a run here",
    ):
        assert said in text
    assert '<span class="badge" data-kind="success">ready</span>' in client.get("/bench/nodes").text


def test_a_page_that_waits_for_an_answer_asks_again_with_and_without_script(
    client: TestClient, file: nodes.NodeFile
) -> None:
    away(file, "hang")
    began = time.monotonic()
    client.post("/bench/nodes/away/test", follow_redirects=False)
    page = client.get("/bench/nodes/away").text
    seconds = time.monotonic() - began

    assert seconds < 25, "the server waits for the node"
    assert 'hx-get="/bench/nodes/away" hx-trigger="every 1s"' in page
    assert '<noscript><meta http-equiv="refresh"' in page
    assert "Asking the node" in page
    assert "did not answer within 30 seconds" in answered(client)


def test_what_is_wrong_is_told_with_the_remedy_and_never_as_markup(client: TestClient, file: nodes.NodeFile) -> None:
    away(file, "denied")
    client.post("/bench/nodes/away/test")

    text = answered(client)

    assert "not ready" in text
    assert "&lt;b&gt;denied" in text
    assert "<b>denied" not in text
    assert "Plan a run here" not in text


def test_a_removed_node_is_gone_with_its_answer(client: TestClient, file: nodes.NodeFile, settings: Settings) -> None:
    away(file)
    client.post("/bench/nodes/away/test")
    answered(client)

    assert "Remove it now" in client.get("/bench/nodes/away").text
    assert client.post("/bench/nodes/away/remove", follow_redirects=False).headers["Location"] == "/bench/nodes"
    assert client.get("/bench/nodes/away").status_code == 404
    assert not list((settings.data / "nodes").iterdir())
    assert client.post("/bench/nodes/local/remove").status_code == 409


def test_a_broken_section_is_shown_with_its_reason_and_can_be_removed(client: TestClient, file: nodes.NodeFile) -> None:
    file.path.parent.mkdir(parents=True, exist_ok=True)
    file.path.write_text('[away]\nlauncher = "stub"\nport = 0\n\n[far]\nlauncher = "stub"\nhosts = ["a"]\n')

    page = client.get("/bench/nodes").text

    assert "hosts: This is needed.; port: Must be at least 1." in page
    assert "nodes.toml is wrong" in client.get("/bench").text
    assert client.get("/bench/nodes/away").status_code == 404
    client.post("/bench/nodes/away/remove")
    assert list(file.nodes()) == ["local", "far"]
    file.path.write_text("[far\n")
    assert "<strong>nodes.toml: </strong>" in client.get("/bench/nodes").text
    assert client.get("/bench").status_code == 200


def test_a_run_is_planned_and_queued_on_an_attached_node(client: TestClient, file: nodes.NodeFile) -> None:
    file.add(Node("pair", stub_node.launcher, stub_node.StubSettings(hosts=["gpu1", "gpu2"])))

    plan = client.get("/bench?node=pair&ranks=8", headers=HTMX).text
    answer = client.post("/bench/runs", data={"node": "pair", "ranks": "128"}, follow_redirects=False)

    assert "stub 8 ranks on 2 hosts" in plan
    assert answer.status_code == 303
    run = client.get("/api/bench/runs/1").json()
    assert (run["node"], run["specification"]["ranks"], run["specification"]["hosts"]) == ("pair", 128, 2)


@pytest.mark.parametrize("path", ["/bench/nodes", "/bench/nodes/local", "/bench/nodes/away"])
def test_pages_are_there_in_chinese(client: TestClient, file: nodes.NodeFile, path: str) -> None:
    away(file, "no-torch")
    client.post("/bench/nodes/away/test")
    answered(client)

    page = client.get(path, params={"lang": "zh"}).text

    prose = re.sub(r"<[^>]+>", "", page)
    assert 'lang="zh-Hans"' in page
    assert "节点" in prose
    assert not re.search(r"[\u4e00-\u9fff][,:;?!](?![A-Za-z0-9_/=&])", prose)


def test_strangers_see_that_a_node_is_there_and_not_how_it_is_reached(
    settings: Settings, make_client: Callable[..., TestClient]
) -> None:
    public = make_client(settings.model_copy(update={"host": "0.0.0.0", "owner_token": "a long secret"}))
    file = nodes.NodeFile(nodes_path(settings.data))
    file.add(Node("away", stub_node.launcher, stub_node.StubSettings(hosts=["me@secret-host"])))

    for path in ("/bench/nodes", "/bench/nodes/away"):
        page = public.get(path).text
        assert "away" in page
        assert "secret-host" not in page
        assert "Add the node" not in page
    for path in ("/bench/nodes", "/bench/nodes/away/test", "/bench/nodes/away/remove"):
        assert public.post(path, data={"launcher": "stub", "name": "x", "hosts": "a"}).status_code == 403
    assert list(file.nodes()) == ["local", "away"]
