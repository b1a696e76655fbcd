"""The way in: encodings, limits, reasons, the registry of formats, masking."""

from pathlib import Path

import pytest

from app.bench.importers.decode import MAXIMUM_BYTES
from app.bench.importers.masking import mask
from app.bench.importers.model import Import
from app.bench.importers.read import read_log, readers

LOGS = Path(__file__).parents[2] / "golden" / "nccl_logs"
TEXT = (LOGS / "07-a100-2x4-slingshot-allreduce.txt").read_text()


def rows(imported: Import) -> int:
    return sum(len(run.rows) for run in imported.runs)


def test_every_format_is_one_file() -> None:
    assert {"nccl-text", "nccl-json", "all-reduce-bench", "osu", "nvbandwidth", "named-tools"} <= set(readers())
    assert all(reader.slug == slug for slug, reader in readers().items())


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_encodings_of_text_editors_are_read(encoding: str) -> None:
    assert rows(read_log(TEXT.encode(encoding))) == 29


@pytest.mark.parametrize("ending", ["\r\n", "\r"])
def test_other_line_endings_are_read(ending: str) -> None:
    assert rows(read_log(TEXT.replace("\n", ending))) == 29


def test_bytes_that_are_no_text_cost_nothing_around_them() -> None:
    assert rows(read_log(b"\xff\xfe\xfa\x00garbage\n"[2:] + TEXT.encode() + b"\xc3\x28\n")) == 29


def test_a_file_above_the_limit_is_refused_with_the_reason() -> None:
    imported = read_log(b" " * (MAXIMUM_BYTES + 1))

    assert imported.reason is not None
    assert "32 MiB" in imported.reason.en


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (
            "#bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n 65536 1000 11000 10990 0.17",
            "perftest",
        ),
        ("data_size(Bytes):  | aveg_time(us):  | alg_bandwidth(GB/s):", "hccl_test"),
        (
            "size(B)    count(elems)     type    time:avg(us)    algbw(GB/s)    busbw(GB/s)\n 8 2 fp32 24.3 0.00 0.00",
            "nccom-test",
        ),
    ],
)
def test_other_tools_are_named_and_not_guessed_at(text: str, name: str) -> None:
    imported = read_log(text)

    assert imported.runs == ()
    assert imported.reason is not None
    assert name in imported.reason.en


def test_unknown_text_is_quoted_where_it_begins() -> None:
    imported = read_log("\n\nHello there\n")

    assert imported.reason is not None
    assert "The first line, 3, is: Hello there" in imported.reason.en


def test_masked_imports_name_no_machine() -> None:
    imported = read_log(TEXT + "node-x@10.1.2.3: note\n")
    hosts = imported.runs[0].hosts

    masked = mask(imported)

    assert masked.runs[0].hosts == tuple(f"host-{number}" for number in range(1, len(hosts) + 1))
    assert not any(host in repr(masked) for host in hosts)
    assert masked.runs[0].rows == imported.runs[0].rows
