"""Imported logs in both kinds of database, from the logs that people posted."""

import json
import threading
from pathlib import Path

import pytest
from sqlalchemy import text

from app.bench.import_store import ImportStore
from app.bench.importers.document import document
from app.bench.importers.read import read_log
from app.bench.importers.restore import restore
from app.bench.imports import Confirmed, Draft, draft, fingerprint
from app.core.db import Database
from app.core.errors import InvalidInput, NotFound
from tests.conftest import NOON

LOGS = Path(__file__).parents[1] / "golden" / "nccl_logs"
FIVE = "12-h100x8-five-collectives-one-file.txt"
TWO_NODES = "27-b200-2x8-sendrecv-two-runs-script-text.txt"
GUESSED = "10-a100-8x4-alltoall-trailing-mpich-line.txt"


@pytest.fixture
def store(database: Database) -> ImportStore:
    return ImportStore(database)


def log(name: str, *, is_masked: bool = False) -> Draft:
    data = (LOGS / name).read_bytes()
    return draft(read_log(data), name=name, data=data, is_masked=is_masked)


def pasted(data: bytes, *, name: str = "pasted") -> Draft:
    return draft(read_log(data), name=name, data=data)


@pytest.mark.parametrize("path", sorted(LOGS.glob("[0-9]*")), ids=lambda path: path.name[:2])
def test_what_was_read_is_the_same_after_json(path: Path) -> None:
    imported = read_log(path.read_bytes())

    assert restore(json.loads(json.dumps(document(imported), allow_nan=False))) == imported


def test_a_kept_log_comes_back_as_it_was_read(store: ImportStore) -> None:
    kept_id, is_new = store.keep(log(FIVE), now=NOON)

    kept = store.get(kept_id)
    assert is_new
    assert kept.imported == read_log((LOGS / FIVE).read_bytes())
    assert (kept.name, kept.created_at, kept.size_bytes) == (FIVE, NOON, (LOGS / FIVE).stat().st_size)
    assert [run.number for run in kept.runs] == [1, 2, 3, 4, 5]
    assert all(run.is_sure for run in kept.runs)


def test_the_same_log_is_kept_once_however_it_comes(store: ImportStore) -> None:
    data = (LOGS / FIVE).read_bytes()
    first, _ = store.keep(log(FIVE), now=NOON)

    again = [
        store.keep(pasted(data.replace(b"\n", b"\r\n")), now=NOON),
        store.keep(pasted(data + b"\n\n"), now=NOON),
        store.keep(pasted(b"\xef\xbb\xbf" + data), now=NOON),
    ]

    assert again == [(first, False)] * 3
    assert store.count() == 1


def test_two_who_keep_the_same_log_at_once_find_one(store: ImportStore) -> None:
    entry, found, gate = log(FIVE), [], threading.Barrier(4)

    def keep() -> None:
        gate.wait()
        found.append(store.keep(entry, now=NOON))

    threads = [threading.Thread(target=keep) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(is_new for _, is_new in found) == [False, False, False, True]
    assert len({import_id for import_id, _ in found}) == 1


def test_with_its_hosts_masked_a_log_is_another_import_and_names_none(store: ImportStore, database: Database) -> None:
    data = (LOGS / TWO_NODES).read_bytes()
    masked = draft(read_log(data), name="logs/node-a-b200-gpu-01.log", data=data, is_masked=True)

    kept_id, _ = store.keep(masked, now=NOON)

    with database.read() as connection:
        row = connection.execute(text("SELECT * FROM bench_import")).mappings().one()
    assert "b200-gpu" not in str(dict(row))
    assert store.get(kept_id).runs[0].read.hosts == ("host-1", "host-2")
    assert store.get(kept_id).name == "host-1.log"
    assert store.keep(log(TWO_NODES), now=NOON) == (kept_id + 1, True)
    assert store.keep(masked, now=NOON) == (kept_id, False)


def test_no_line_of_the_log_is_kept(store: ImportStore, database: Database) -> None:
    store.keep(log(TWO_NODES), now=NOON)

    with database.read() as connection:
        row = connection.execute(text("SELECT * FROM bench_import")).mappings().one()
    stored = json.dumps({key: str(value) for key, value in row.items()})
    lines = (LOGS / TWO_NODES).read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if len(line) > 40 and line.strip() in stored] == []


def test_a_confirmation_stands_in_for_the_doubt_and_can_be_taken_back(store: ImportStore) -> None:
    kept_id, _ = store.keep(log(GUESSED), now=NOON)
    assert not store.get(kept_id).runs[0].is_sure
    before = store.revision(kept_id)

    store.confirm(kept_id, 1, Confirmed("send_recv", 32))

    run = store.get(kept_id).runs[0]
    assert run.is_sure
    assert (run.run.operation, run.run.ranks, run.run.operation_basis) == ("send_recv", 32, "confirmed")
    assert run.read.operation == "all_to_all"
    assert store.revision(kept_id) != before
    assert store.revisions(limit=5) == [store.revision(kept_id)]

    store.confirm(kept_id, 1, None)

    assert store.revision(kept_id) == before


def test_confirmations_of_several_runs_are_kept_apart(store: ImportStore) -> None:
    kept_id, _ = store.keep(log(FIVE), now=NOON)
    for number in range(1, 11):
        if number <= 5:
            store.confirm(kept_id, number, Confirmed("all_reduce", 8 * number))

    assert {number: entry.ranks for number, entry in store.get(kept_id).confirmed.items()} == {
        number: 8 * number for number in range(1, 6)
    }
    with pytest.raises(NotFound):
        store.confirm(kept_id, 6, Confirmed("all_reduce", 8))


def test_a_log_without_figures_is_not_kept_and_says_why(store: ImportStore) -> None:
    with pytest.raises(InvalidInput, match="launcher"):
        store.keep(log("11-launcher-failure-no-output.txt"), now=NOON)

    assert store.count() == 0


def test_a_log_with_too_many_rows_is_refused_in_plain_words(store: ImportStore) -> None:
    imported = read_log((LOGS / FIVE).read_bytes())
    entry = draft(imported, name="huge.log", data=b"huge")
    huge = Draft(
        type(imported)(imported.tool, imported.runs * 900), entry.name, entry.sha256, is_masked=False, size_bytes=1
    )

    with pytest.raises(InvalidInput, match="45,000 rows"):
        store.keep(huge, now=NOON)


def test_a_deleted_log_is_gone_and_its_id_is_not_used_again(store: ImportStore) -> None:
    kept_id, _ = store.keep(log(FIVE), now=NOON)

    store.delete(kept_id)

    assert store.revision(kept_id) is None
    for call in (store.get, store.delete):
        with pytest.raises(NotFound, match="no import"):
            call(kept_id)
    assert store.keep(log(FIVE), now=NOON)[0] > kept_id


def test_characters_that_no_database_holds_do_not_stop_a_log(store: ImportStore) -> None:
    """A JSON escape can spell NUL and half of a character."""
    raw = (LOGS / "90-derived-json-v3-allreduce-two-ranks.json").read_text(encoding="utf-8")
    value = json.loads(raw)
    value["config"]["devices"][0]["hostname"] = "no\x00de"
    value["config"]["devices"][1]["device_info"] = "GPU \ud800 \U0001f40d"
    data = json.dumps(value).encode()

    json.dumps(document(read_log(data)), ensure_ascii=False).encode()

    kept_id, _ = store.keep(pasted(data, name="a\x00b.json"), now=NOON)

    kept = store.get(kept_id)
    json.dumps(document(kept.imported), ensure_ascii=False).encode()
    assert "\x00" not in kept.name + str(kept.imported)
    assert kept.runs[0].read.devices[1].name == "GPU \ufffd \U0001f40d"


def test_the_newest_log_comes_first(store: ImportStore) -> None:
    ids = [store.keep(log(name), now=NOON)[0] for name in (FIVE, TWO_NODES)]

    assert [entry.id for entry in store.newest()] == ids[::-1]
    assert [entry.id for entry in store.newest(limit=1)] == ids[1:]
    assert store.newest()[0].name == TWO_NODES


def test_a_fingerprint_does_not_tell_line_ends_and_colours_apart() -> None:
    assert fingerprint(b"a\r\nb\x1b[0m\n") == fingerprint(b"a\nb")
    assert fingerprint(b"a\nb") != fingerprint(b"a\nc")
