"""The JSON of nccl-tests, versions 1 to 4, whole and cut."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.bench.importers.document import document
from app.bench.importers.model import ImportedRun
from app.bench.importers.read import read_log

LOGS = Path(__file__).parents[2] / "golden" / "nccl_logs"
TEXT = (LOGS / "90-derived-json-v3-allreduce-two-ranks.json").read_text()


def source(**changes: Any) -> dict[str, Any]:
    return {**json.loads(TEXT), **changes}


def config(**changes: Any) -> dict[str, Any]:
    return {**json.loads(TEXT)["config"], **changes}


def only(value: dict[str, Any]) -> ImportedRun:
    (run,) = read_log(json.dumps(value)).runs
    return run


def kinds(run: ImportedRun) -> set[str]:
    return {badge.kind for badge in run.badges}


def test_version_1_misspells_its_average() -> None:
    value = source(version=1)
    value["average_bus_bandwidith"] = {
        "bandwidith": value.pop("average_bus_bandwidth")["bandwidth"],
        "okay": "unchecked",
    }

    assert only(value).footer_average_busbw_gb_per_s == 43.6076


@pytest.mark.parametrize("okay", [False, "false"])
def test_booleans_may_be_strings(okay: object) -> None:
    assert "wrong-values" in kinds(only(source(out_of_bounds={"okay": okay})))


@pytest.mark.parametrize(
    ("ngpus", "ranks", "count"), [(8, [0], 8), (8, [0, 8], 16), (1, [0, 1], 2), (2, [0, 1, 2, 3], 4)]
)
def test_devices_count_processes_before_version_4(ngpus: int, ranks: list[int], count: int) -> None:
    devices = [
        {"rank": rank, "group": 0, "hostname": "box", "device": rank, "device_hex": f"0000:{rank:02x}:01"}
        for rank in ranks
    ]
    factor = 2 * (count - 1) / count
    results = json.loads(TEXT)["results"]
    for entry in results:
        for half in (entry["out_of_place"], entry["in_place"]):
            half["bus_bw"] = half["alg_bw"] * factor

    run = only(source(config=config(ngpus=ngpus, devices=devices), results=results))

    assert run.ranks == count
    assert "unit-doubt" not in kinds(run)


def test_devices_may_stand_outside_the_configuration() -> None:
    devices = config()["devices"]

    run = only(source(config=config(devices=[]), devices=devices))

    assert run.ranks == 2


def test_the_operation_may_be_named_by_the_experiment_alone() -> None:
    assert only(source(args=[])).operation == "all_reduce"


def test_variables_are_kept_by_an_allow_list_and_never_when_they_look_like_secrets() -> None:
    env = [
        "NCCL_ALGO=Ring",
        "UCX_TLS=tcp",
        "FI_PROVIDER=efa",
        "OMPI_MCA_pml=ob1",
        "CUDA_VISIBLE_DEVICES=0",
        "HOME=/home/a",
    ]
    secrets = ["NCCL_AUTH_TOKEN=s3cret", "OMPI_MCA_key=s3cret", "FI_PASSWORD=s3cret", "AWS_SECRET_ACCESS_KEY=s3cret"]

    imported = read_log(json.dumps(source(env=env + secrets)))

    assert imported.dropped_variables == 5
    assert [badge.kind for badge in imported.badges] == ["variables-dropped"]
    assert imported.runs[0].parameters["NCCL_ALGO"] == "Ring"
    assert "s3cret" not in json.dumps(document(imported))
    assert "/home/a" not in json.dumps(document(imported))


def test_launch_times_of_the_cpu_keep_their_doubt() -> None:
    text = TEXT.replace('"time":', '"cpu_time":')

    (run,) = read_log(text).runs
    assert len(run.rows) == 5
    assert "unit-doubt" in kinds(run)


def test_several_documents_in_one_file_are_several_runs() -> None:
    assert len(read_log(f"{TEXT}\n{TEXT}\n").runs) == 2
    assert len(read_log(f"{TEXT[:1500]}\n{TEXT}\n").runs) == 2


def test_the_report_per_iteration_is_kept_beside_the_row() -> None:
    results = json.loads(TEXT)["results"]
    results[0]["out_of_place_per_iter"] = {"min_us": 800.5, "p99_us": 900.25, "times_us": [800.5, 900.25]}

    assert only(source(results=results)).rows[0].extra == ("out_of_place min_us=800.5", "out_of_place p99_us=900.25")


WHOLE = [(row.size_bytes, row.out_of_place, row.in_place) for row in only(source()).rows]


@settings(max_examples=150, deadline=None)
@given(st.integers(0, len(TEXT)))
def test_a_cut_file_gives_its_complete_results(length: int) -> None:
    cut = TEXT[:length]
    complete = cut.count('"experiment_name"')

    rows = [row for run in read_log(cut).runs for row in run.rows]

    assert [(row.size_bytes, row.out_of_place, row.in_place) for row in rows[:complete]][: len(rows)] == WHOLE[
        :complete
    ]
    assert len(rows) - complete in {0, 1}
    if length < TEXT.index('"end_time"'):
        assert all("incomplete-json" in kinds(run) for run in read_log(cut).runs)
