"""`ringside import log`: standard output for machines, plain words for people, exit 0 whatever the log holds."""

import io
import json
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from app.__main__ import cli
from app.bench.import_store import ImportStore
from app.bench.importers.document import document
from app.bench.importers.model import Import
from app.core.db import Database
from app.settings import Settings

LOGS = Path(__file__).parents[1] / "golden" / "nccl_logs"
TWO_RUNS = "27-b200-2x8-sendrecv-two-runs-script-text.txt"


def call(*arguments: str, given: bytes | None = None) -> Any:
    return CliRunner().invoke(cli, ["import", "log", *arguments], input=given)


def output(*arguments: str, given: bytes | None = None) -> dict[str, Any]:
    result = call(*arguments, "--json", "--dry-run", given=given)
    assert result.exit_code == 0
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def test_json_holds_runs_rows_and_badges() -> None:
    first, second = output(str(LOGS / TWO_RUNS))["runs"]

    assert (len(first["rows"]), first["footer_average_busbw_gb_per_s"]) == (19, 18.6868)
    assert (first["operation"], first["ranks"]) == ("send_recv", 16)
    assert [badge["kind"] for badge in first["badges"]] == ["ok"]
    assert first["rows"][0]["in_place"] == {
        "time_us": 26.42,
        "algbw_gb_per_s": 0.04,
        "busbw_gb_per_s": 0.04,
        "wrong_or_error": None,
    }
    assert second["needs_confirmation"]


def test_nothing_to_read_is_a_reason_and_no_error() -> None:
    assert output(str(LOGS / "11-launcher-failure-no-output.txt"))["runs"] == []
    assert "launcher" in output(str(LOGS / "11-launcher-failure-no-output.txt"))["reason"]
    assert "empty" in output("-", given=b"")["reason"]


def test_standard_input_reads_like_a_file() -> None:
    path = LOGS / TWO_RUNS

    assert output("-", given=path.read_bytes()) == output(str(path))


def test_a_missing_file_is_one_plain_message(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from app.__main__ import main

    monkeypatch.setattr(sys, "argv", ["ringside", "import", "log", "no-such.log"])
    with pytest.raises(SystemExit) as ended:
        main()

    assert "no-such.log cannot be read" in str(ended.value.code)
    assert capsys.readouterr().out == ""


def test_a_folder_is_one_plain_message(tmp_path: Path) -> None:
    result = call(str(tmp_path))

    assert result.exit_code == 1
    assert "cannot be read" in str(result.exception)


def test_the_summary_names_run_badges_and_use() -> None:
    shown = call(str(LOGS / "25-rtx5090-one-gpu-two-ranks-footer-with-unit.txt"), "--dry-run").stdout

    assert "run 1: broadcast, 2 ranks, 13 rows" in shown
    assert "emulated: " in shown
    assert "does not feed fits" in shown
    assert "average bus bandwidth 1.85032 GB/s" in shown


def test_hosts_can_be_hidden() -> None:
    path = str(LOGS / TWO_RUNS)

    assert output(path)["runs"][0]["hosts"] == ["node-a-b200-gpu-01", "node-a-b200-gpu-02"]
    assert output(path, "--hide-host")["runs"][0]["hosts"] == ["host-1", "host-2"]
    assert "node-a-b200" not in json.dumps(output(path, "--hide-host"))


class Kept:
    def __init__(self) -> None:
        self.calls: list[tuple[Import, str, bytes]] = []

    def __call__(self, imported: Import, *, name: str, data: bytes, hide_host: bool) -> str:
        assert not hide_host
        self.calls.append((imported, name, data))
        return "kept as import 7"


def keep(data: bytes, capsys: pytest.CaptureFixture[str]) -> tuple[Sequence[tuple[Import, str, bytes]], str]:
    kept = Kept()
    import_module("app.commands.import").run(data, name="a.log", as_json=True, keep=kept)
    return kept.calls, capsys.readouterr().err


def test_what_was_read_is_handed_to_the_store_with_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    data = (LOGS / TWO_RUNS).read_bytes()

    (call,), said = keep(data, capsys)

    assert call[1:] == ("a.log", data)
    assert len(call[0].runs) == 2
    assert said == "kept as import 7\n"


def test_nothing_is_handed_to_the_store_without_figures(capsys: pytest.CaptureFixture[str]) -> None:
    calls, _ = keep((LOGS / "16-truncated-after-devices.txt").read_bytes(), capsys)

    assert calls == []


def test_bytes_that_are_no_text_are_no_error() -> None:
    stream = io.BytesIO(bytes(range(256)) * 10)

    assert "reason" in output("-", given=stream.read())


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ImportStore:
    monkeypatch.setenv("RINGSIDE_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("RINGSIDE_DATABASE_URL", raising=False)
    return ImportStore(Database(Settings(data=tmp_path / "data").database))


def test_a_log_is_kept_and_its_address_said(home: ImportStore) -> None:
    path = str(LOGS / TWO_RUNS)

    first, again = call(path, "--json"), call(path)

    assert first.stderr == "kept as import 1: /bench/imports/1\n"
    assert again.stderr == "known already as import 1: /bench/imports/1\n"
    assert document(home.get(1).imported) == json.loads(first.stdout)
    assert home.get(1).name == TWO_RUNS


def test_with_hosts_hidden_none_is_kept(home: ImportStore) -> None:
    call(str(LOGS / TWO_RUNS), "--hide-host")

    kept = home.get(1)
    assert kept.is_masked
    assert "node-a-b200" not in str(kept)


def test_a_dry_run_and_a_log_without_figures_keep_nothing(home: ImportStore) -> None:
    call(str(LOGS / TWO_RUNS), "--dry-run")
    nothing = call(str(LOGS / "11-launcher-failure-no-output.txt"))
    call(str(LOGS / TWO_RUNS))

    assert nothing.exit_code == 0
    assert [entry.id for entry in home.newest()] == [1]


def test_a_database_that_does_not_answer_costs_no_figure(home: ImportStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGSIDE_DATABASE_URL", "sqlite:////no/such/folder/x.sqlite3")

    result = call(str(LOGS / TWO_RUNS), "--json")

    assert result.exit_code == 0
    assert len(json.loads(result.stdout)["runs"]) == 2
    assert "was not kept" in result.stderr
