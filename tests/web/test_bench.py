"""The Bench and hardware pages over stored runs; no runner is started here."""

import io
import re
import zipfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.bench.events import Job, Problem
from app.bench.home import home_id
from app.bench.runs import Progress, Status
from app.bench.store import RunStore
from app.core.db import Database
from app.settings import Settings
from tests.bench.findings import FINDINGS
from tests.conftest import NOON
from tests.hardware.rows import gemm, row, spec

SIZES = [1024 * 2**power for power in range(11)]
HTMX = {"HX-Request": "true"}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=tmp_path / "data", watch_content=False, runner_on_demand=False)


@pytest.fixture
def store(client: TestClient, settings: Settings) -> RunStore:
    database: Database = client.app.state.services.database  # type: ignore[attr-defined]
    return RunStore(database, home=home_id(settings.data))


def ended(store: RunStore, status: Status = "done", *, problems: tuple[Problem, ...] = (), factor: float = 1.0) -> int:
    run_id = store.enqueue(spec(), node="local", now=NOON)
    store.claim(run_id, now=NOON)
    rows = [row(size, factor * (100 + size / 1e3)) for size in SIZES]
    rows += [row(size, 2 * (100 + size / 1e3), operation="reduce_scatter", label="all-reduce inside") for size in SIZES]
    for position, each in enumerate(rows):
        store.append_row(run_id, position, each)
    store.set_gemm(run_id, gemm())
    store.finish(run_id, status, now=NOON + timedelta(seconds=20), problems=problems, log=["the last line"])
    return run_id


def with_findings(store: RunStore) -> int:
    run_id = ended(store)
    for position, finding in enumerate(FINDINGS):
        store.append_finding(run_id, position, finding)
    return run_id


CHOICE = {"preset": "quick", "ranks": "2", "operation": ["all_reduce", "all_gather"], "backend": "auto"}


def test_the_form_shows_the_command_it_stands_for(client: TestClient) -> None:
    page = client.get("/bench", params={"preset": "quick", "ranks": "3"}).text

    assert "--nproc-per-node 3" in page
    assert "torch.distributed.run" in page


def test_a_changed_choice_brings_only_the_plan(client: TestClient) -> None:
    answer = client.get("/bench", params={"ranks": "4"}, headers=HTMX)

    assert "--nproc-per-node 4" in answer.text
    assert "<html" not in answer.text


def test_a_plan_without_an_operation_is_no_plan(client: TestClient) -> None:
    """The form sends a blank one along, so that none chosen differs from none named."""
    answer = client.get("/bench?operation=&preset=quick&ranks=2", headers={"HX-Request": "true"})

    assert answer.status_code == 422
    assert "Choose at least one operation." in answer.text
    assert 'type="hidden" name="operation" value=""' in client.get("/bench").text
    assert client.get("/bench?operation=&operation=all_reduce", headers={"HX-Request": "true"}).status_code == 200


def test_the_address_keeps_only_what_is_not_as_by_default(client: TestClient) -> None:
    """The form sends every field it has."""
    sent = (
        "/bench?operation=&operation=all_reduce&preset=quick&ranks=4&hosts=&backend=auto&dtype=half&env=&extras=preset"
    )

    answer = client.get(sent, headers=HTMX)

    expected = "/bench?node=local&preset=quick&ranks=4&operation=all_reduce&dtype=half"
    assert answer.headers["HX-Replace-Url"] == expected
    again = client.get(expected, headers=HTMX)
    assert again.headers["HX-Replace-Url"] == expected


def test_the_simple_case_is_simple_and_the_rest_unfolds_when_it_is_used(client: TestClient) -> None:
    assert '<details class="bench-more" id="bench-more">' in client.get("/bench").text
    assert '<details class="bench-more" id="bench-more">' in client.get("/bench?node=local&ranks=4").text
    assert '<details class="bench-more" id="bench-more" open>' in client.get("/bench?dtype=half").text
    assert '<details class="bench-more" id="bench-more" open>' in client.get("/bench?env=PATH%3D1").text


def test_every_choice_is_shown_again_as_it_was_made(client: TestClient) -> None:
    page = client.get(
        "/bench?operation=broadcast&dtype=half&root=1&min_size=8&max_size=1K&extra=links&env=NCCL_ALGO%3DRing%0ANCCL_X%3D1"
        "&memory=2G&hide_host=on"
    ).text

    assert re.findall(r'name="operation" value="(\w+)" checked', page) == ["broadcast"]
    assert re.findall(r'name="extra" value="(\w+)" checked', page) == ["links"]
    assert '<option value="half" selected>' in page
    assert "NCCL_ALGO=Ring\nNCCL_X=1</textarea>" in page
    for name, value in (("root", "1"), ("min_size", "8"), ("max_size", "1K"), ("memory", "2G")):
        assert f'name="{name}" value="{value}"' in page
    assert re.search(r'name="hide_host" value="on" checked', page)


def test_starting_leads_to_the_page_of_a_waiting_run(client: TestClient, store: RunStore) -> None:
    answer = client.post("/bench/runs", data=CHOICE, follow_redirects=False)

    assert answer.status_code == 303
    assert answer.headers["Location"] == "/bench/runs/1"
    run = store.get(1)
    assert (run.status, run.spec.ranks, run.spec.operations) == ("queued", 2, ("all_reduce", "all_gather"))
    page = client.get("/bench/runs/1").text
    assert "Waiting for the runner" in page
    assert 'hx-trigger="every 1s"' in page
    assert '<noscript><meta http-equiv="refresh"' in page


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("ranks", "0", "between 1 and 64"),
        ("ranks", "; rm -rf /", "between 1 and 64"),
        ("ranks", "65", "between 1 and 64"),
        ("preset", "huge", "one of the presets"),
        ("operation", "all_dance", "at least one operation"),
        ("backend", "mpi", "one of the backends"),
        ("node", "moon", "no such node"),
        ("dtype", "complex", "Choose one of those listed"),
        ("root", "7", "between 0 and 1"),
        ("min_size", "tiny", "64K or 1G"),
        ("extra", "dance", "Choose from those listed"),
        ("env", "LD_PRELOAD=/tmp/x.so", "LD_PRELOAD may not be set"),
        ("memory", "1", "within 1"),
    ],
)
def test_a_bad_choice_starts_nothing_and_says_why(
    client: TestClient, store: RunStore, field: str, value: str, message: str
) -> None:
    answer = client.post("/bench/runs", data={**CHOICE, "operation": ["broadcast"], field: value})

    assert answer.status_code == 422
    assert re.search(rf'<p class="field-error" id="bench-{field}-error">[^<]*{message}', answer.text)
    assert f'<a href="#bench-{field}">' in answer.text
    assert store.newest() == []


def test_the_address_of_a_refused_form_can_be_read_again(client: TestClient) -> None:
    """The language links of the refusal lead there, and so does reloading it by hand."""
    refused = client.post("/bench/runs", data={"preset": "quick", "ranks": "0", "operation": "all_reduce"})
    link = re.search(r'href="(/bench/runs[^"]*lang=zh)"', refused.text)

    assert refused.status_code == 422
    assert link is not None
    assert "新建运行" in client.get(link[1]).text


def test_a_run_waits_with_all_its_choices(client: TestClient, store: RunStore) -> None:
    choice = {**CHOICE, "dtype": "half", "extras": "chosen", "extra": ["copies"], "env": "GLOO_X=1", "memory": "1G"}
    choice |= {"min_size": "1K", "max_size": "2K", "hide_host": ["", "on"]}

    assert client.post("/bench/runs", data=choice, follow_redirects=False).status_code == 303

    spec = store.get(1).spec
    assert (spec.dtype, spec.extras, spec.variables, spec.memory_bytes) == (
        "half",
        ("copies",),
        {"GLOO_X": "1"},
        1 << 30,
    )
    assert (spec.sizes, spec.hide_host) == ((1024, 2048), True)


def test_a_run_can_be_run_again_with_the_same_choices(client: TestClient, store: RunStore) -> None:
    client.post("/bench/runs", data={**CHOICE, "dtype": "half", "max_size": "1M"})
    client.post("/bench/runs/1/stop")

    page = client.get("/bench/runs/1").text
    link = re.search(r'href="(/bench\?[^"]*)">Run again', page)
    assert link is not None
    form = client.get(link[1].replace("&amp;", "&")).text

    assert '<option value="half" selected>' in form
    assert 'name="max_size" value="1M"' in form
    assert re.findall(r'name="operation" value="(\w+)" checked', form) == ["all_reduce", "all_gather"]


def test_a_request_from_another_site_starts_nothing(client: TestClient, store: RunStore) -> None:
    answer = client.post("/bench/runs", data=CHOICE, headers={"Origin": "https://evil.example"})

    assert answer.status_code == 403
    assert store.newest() == []


def test_progress_shows_where_the_run_is(client: TestClient, store: RunStore) -> None:
    run_id = store.enqueue(spec(), node="local", now=NOON)
    store.claim(run_id, now=NOON)
    store.append_row(run_id, 0, row(1024, 10.0))
    store.set_progress(
        run_id,
        Progress(
            heard_at=NOON,
            phase="measuring",
            operation="all_gather",
            size_bytes=4194304,
            count=1048576,
            done=1,
            total=27,
            eta_seconds=14.2,
        ),
    )

    answer = client.get(f"/bench/runs/{run_id}", headers=HTMX)

    assert answer.status_code == 200
    text = answer.text.replace("\u2009", " ")
    assert "4 MiB" in text
    assert "1 / 27" in text
    assert "14 s" in text
    assert '<progress max="27" value="1"' in text


def test_a_run_that_waits_says_for_what(client: TestClient, store: RunStore) -> None:
    busy = store.enqueue(spec(), node="local", now=NOON)
    store.set_progress(busy, Progress(heard_at=NOON, phase="waiting", note="pid 4711"))
    job = store.enqueue(spec(), node="cluster", now=NOON)
    store.claim(job, now=NOON)
    pending = Job(system="slurm", id="815", state="PENDING", reason="Resources")
    store.set_progress(job, Progress(heard_at=NOON, phase="waiting", job=pending))

    assert "Another run uses this node (pid 4711)" in plain_text(client.get(f"/bench/runs/{busy}").text)
    assert "另一次运行正在使用这个节点（pid 4711），" in plain_text(client.get(f"/bench/runs/{busy}?lang=zh").text)
    assert "Job 815 · PENDING · Resources" in plain_text(client.get(f"/bench/runs/{job}?lang=en").text)


@pytest.mark.parametrize(
    ("phase", "words"),
    [
        ("connecting", "Connecting to the hosts"),
        ("overlap", "Compute beside communication"),
        ("copies", "Memory copies"),
        ("links", "Every pair of ranks"),
        ("topology", "Wiring of the machine"),
    ],
)
def test_each_phase_has_its_words(client: TestClient, store: RunStore, phase: str, words: str) -> None:
    run_id = store.enqueue(spec(), node="local", now=NOON)
    store.claim(run_id, now=NOON)
    store.set_progress(run_id, Progress(heard_at=NOON, phase=phase, done=3, total=27))

    assert words in client.get(f"/bench/runs/{run_id}").text


def plain_text(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", html))


def test_findings_stand_below_the_rows(client: TestClient, store: RunStore) -> None:
    page = client.get(f"/bench/runs/{with_findings(store)}").text.replace("\u2009", " ")
    text = plain_text(page)

    assert "hidden 75 %" in text
    assert "without a spare core for Gloo little can hide" in text
    assert re.findall(r'<rect class="bench-bar-(\w+)" x="[\d.]+%?" y="\d+" width="([\d.]+)%"', page) == [
        ("communication", "40.00"),
        ("compute", "60.00"),
        ("both", "70.00"),
    ]
    assert re.search(r"host to GPU.*pinned.*64 MiB.*52\.5", text)
    assert re.findall(r'data-level="(\d)">([\d.]+)<', page) == [
        ("5", "381"),
        ("0", "24.5"),
        ("3", "702"),
        ("3", "702"),
        ("3", "6.25"),
        ("3", "6.25"),
    ]
    assert re.search(r"64 B 41\.5 120 30\.5 22 500", text)
    assert "2 sockets &lt;b&gt;\nNV18" in page


def test_the_api_and_the_download_hold_the_findings(client: TestClient, store: RunStore) -> None:
    run_id = with_findings(store)

    for path in (f"/api/bench/runs/{run_id}", f"/bench/runs/{run_id}/result.json"):
        body = client.get(path).json()
        assert body["overlaps"][0]["hidden"] == 0.75
        assert body["copies"][0]["gb_per_s"] == 52.5
        assert [link["one_way_gb_per_s"] for link in body["links"]] == [381.0, 24.5]
        assert body["latencies"][0]["p99_us"] == 120.0
        assert body["reports"][0]["lines"] == ["2 sockets <b>", "NV18"]


def test_everything_is_one_archive(client: TestClient, store: RunStore) -> None:
    run_id = with_findings(store)

    answer = client.get(f"/bench/runs/{run_id}/everything.zip")

    assert answer.headers["Content-Disposition"] == 'attachment; filename="ringside-run-1-everything.zip"'
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.testzip() is None
        names = {name.partition("/")[2] for name in archive.namelist()}
        rows = archive.read("ringside-run-1/rows.csv").decode()
        log = archive.read("ringside-run-1/log.txt").decode()
    tables = {"gemm.csv", "latencies.csv", "overlaps.csv", "copies.csv", "links.csv"}
    assert names == {"nccl-tests.txt", "nccl-tests.json", "result.json", "rows.csv", "command.txt", "log.txt"} | tables
    assert "one_way_gb_per_s" in client.get(f"/bench/runs/{run_id}/links.csv").text
    assert rows == client.get(f"/bench/runs/{run_id}/rows.csv").text
    assert log == "the last line\n"


def test_an_emulated_run_says_so_and_drives_nothing(client: TestClient, store: RunStore) -> None:
    page = client.get(f"/bench/runs/{ended(store, 'emulated')}").text

    assert "Emulated: several ranks share a GPU." in page
    assert "profile=run-1" not in page
    assert client.get("/bench/runs").status_code == 200


def test_the_answer_after_the_end_stops_the_polling(client: TestClient, store: RunStore) -> None:
    run_id = ended(store)

    assert client.get(f"/bench/runs/{run_id}", headers=HTMX).status_code == 286
    assert client.get(f"/bench/runs/{run_id}").status_code == 200


def test_a_result_shows_rows_fit_rate_and_label(client: TestClient, store: RunStore) -> None:
    page = client.get(f"/bench/runs/{ended(store)}").text.replace("\u2009", " ")

    assert "480 GFLOP/s" in page
    assert "all-reduce inside" in page
    assert "α" in page
    assert "/timelines/gtp-chain?profile=run-1" in page
    assert page.count("#wrong") == 4


def test_a_failed_run_says_what_happened_where_and_what_to_try(client: TestClient, store: RunStore) -> None:
    run_id = ended(store, "crashed", problems=(Problem(kind="rank-killed", rank=1, text="signal 9"),))

    page = client.get(f"/bench/runs/{run_id}").text

    assert "Rank 1 was killed" in page
    assert "fewer ranks" in page
    assert "the last line" in page
    assert "profile=run-1" not in page


def test_text_of_a_run_is_never_markup(client: TestClient, store: RunStore) -> None:
    run_id = ended(store, "crashed", problems=(Problem(kind="exception", rank=0, text="<script>alert(1)</script>"),))

    page = client.get(f"/bench/runs/{run_id}").text

    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


@pytest.mark.parametrize(
    ("name", "media_type", "content"),
    [
        ("nccl-tests.txt", "text/plain; charset=utf-8", "# Collective test starting: all_reduce_perf"),
        ("nccl-tests.json", "application/json", '"bus_bw"'),
        ("result.json", "application/json", '"busbw_gb_per_s"'),
        ("rows.csv", "text/csv; charset=utf-8", "operation,size_bytes"),
    ],
)
def test_a_result_downloads(client: TestClient, store: RunStore, name: str, media_type: str, content: str) -> None:
    answer = client.get(f"/bench/runs/{ended(store)}/{name}")

    assert answer.headers["Content-Type"] == media_type
    assert answer.headers["Content-Disposition"].startswith('attachment; filename="ringside-run-1-')
    assert content in answer.text


def test_an_unknown_download_and_an_unknown_run_are_not_found(client: TestClient, store: RunStore) -> None:
    assert client.get(f"/bench/runs/{ended(store)}/passwords.txt").status_code == 404
    assert client.get("/bench/runs/77").status_code == 404
    assert client.get(f"/bench/runs/{10**30}").status_code == 404


def test_the_api_gives_a_run_with_rows_and_fits(client: TestClient, store: RunStore) -> None:
    body = client.get(f"/api/bench/runs/{ended(store)}").json()

    assert (body["status"], body["profile"], len(body["rows"])) == ("done", "run-1", 22)
    assert body["fits"]["all_reduce"]["refused"] is None
    assert client.get("/api/bench/runs").json()[0]["id"] == 1
    assert client.get("/api/bench/runs/9").json()["error"] == "There is no run 9."


def test_cancelling_a_waiting_run_ends_it(client: TestClient, store: RunStore) -> None:
    client.post("/bench/runs", data=CHOICE)

    page = client.post("/bench/runs/1/stop").text

    assert store.get(1).status == "cancelled"
    assert "cancelled" in page


def test_a_deleted_run_is_gone_with_its_files(client: TestClient, store: RunStore, settings: Settings) -> None:
    run_id = ended(store)
    folder = settings.data / "runs" / str(run_id)
    folder.mkdir(parents=True)
    folder.joinpath("events.log").write_text("")

    client.post(f"/bench/runs/{run_id}/delete")

    assert client.get(f"/bench/runs/{run_id}").status_code == 404
    assert not folder.exists()


def test_a_good_run_is_a_hardware_profile(client: TestClient, store: RunStore) -> None:
    ended(store)
    ended(store, "crashed")

    listing = client.get("/hardware").text
    assert "/hardware/run-1" in listing
    assert "/hardware/run-2" not in listing
    assert client.get("/hardware/run-1").status_code == 200
    assert client.get("/hardware/run-2").status_code == 404
    assert "H100" in client.get("/hardware/h100-sxm").text


def test_a_measured_profile_drives_a_timeline(client: TestClient, store: RunStore) -> None:
    run_id = store.enqueue(spec(), node="local", now=NOON)
    store.claim(run_id, now=NOON)
    operations = ("all_gather", "reduce_scatter")
    rows = [row(4096 * 4**p, 100 + 4**p, operation=name) for name in operations for p in range(9)]
    for position, each in enumerate(rows):
        store.append_row(run_id, position, each)
    store.set_gemm(run_id, gemm())
    store.finish(run_id, "done", now=NOON)

    page = client.get(f"/timelines/gtp-chain?profile=run-{run_id}")

    assert page.status_code == 200
    assert "run-1" in page.text


@pytest.mark.parametrize(
    "path", ["/bench", "/hardware", "/hardware/gb200", "/owner", "/bench/compare", "/bench/runs/1"]
)
def test_every_page_is_there_in_chinese(client: TestClient, store: RunStore, path: str) -> None:
    ended(store)

    page = client.get(path, params={"lang": "zh"}).text

    assert 'lang="zh-Hans"' in page
    assert re.search(r"<h1>[^<]*[\u4e00-\u9fff]|<h1>GB200", page)


@pytest.fixture
def public(settings: Settings, make_client: Callable[..., TestClient]) -> TestClient:
    """A server that others can reach."""
    return make_client(settings.model_copy(update={"host": "0.0.0.0", "owner_token": "a long secret"}))


def test_strangers_may_look_but_not_start(public: TestClient) -> None:
    page = public.get("/bench").text
    answer = public.post("/bench/runs", data=CHOICE)

    assert 'href="/owner"' in page
    assert answer.status_code == 403
    assert "token at /owner" in answer.text


def test_the_owners_token_opens_the_bench(public: TestClient) -> None:
    assert public.post("/owner", data={"token": "wrong"}).status_code == 422
    assert public.post("/bench/runs", data=CHOICE).status_code == 403

    answer = public.post("/owner", data={"token": "a long secret"}, follow_redirects=False)

    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "a long secret" not in cookie
    assert public.post("/bench/runs", data=CHOICE, follow_redirects=False).status_code == 303
    public.post("/owner/leave")
    assert public.post("/bench/runs", data=CHOICE).status_code == 403


def test_a_token_that_was_not_given_is_made_and_kept_private(
    settings: Settings, make_client: Callable[..., TestClient]
) -> None:
    public = make_client(settings.model_copy(update={"allowed_hosts": ("bench.example",)}))
    public.get("/bench")

    path = settings.data / "owner-token"
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(path.read_text().strip()) >= 32
    answer = public.post("/owner", data={"token": path.read_text()}, follow_redirects=False)
    assert answer.status_code == 303
