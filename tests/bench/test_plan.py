"""Choices as text become a specification on a node, or a message at the choice that is wrong."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.bench.choices import Choices, to_query
from app.bench.launchers import local
from app.bench.launchers.model import Node
from app.bench.plan import plan
from app.bench.size_text import read_bytes, write_bytes
from app.bench.spec import RunSpec
from tests.bench import stub_node

PAIR = Node("pair", stub_node.launcher, stub_node.StubSettings(hosts=["gpu1", "gpu2"]))
NODES = {"local": local.node, "pair": PAIR}


def planned(**choices: object) -> RunSpec:
    made = plan(Choices.model_validate(choices), NODES)
    assert made.problems == {}
    assert made.spec is not None
    return made.spec


def test_what_is_not_said_is_as_the_preset_has_it() -> None:
    spec = planned(preset="standard")

    assert (spec.preset, spec.ranks, spec.hosts, spec.dtype, spec.redop) == ("standard", 2, 1, "float", "sum")
    assert spec.operations == ("all_reduce", "all_gather", "reduce_scatter")
    assert (spec.variables, spec.memory_bytes, spec.emulated, spec.hide_host) == ({}, 0, False, False)


def test_every_choice_reaches_the_specification() -> None:
    spec = planned(
        node="pair",
        ranks="8",
        hosts="2",
        operation=["reduce", "all_reduce"],
        backend="nccl",
        dtype="bfloat16",
        redop="avg",
        root="3",
        min_size="8",
        max_size="1000",
        extras="chosen",
        extra=["links", "latency"],
        env="NCCL_DEBUG=INFO\nNCCL_ALGO=Ring",
        memory="2G",
        emulated="on",
        hide_host="true",
    )

    assert (spec.ranks, spec.hosts, spec.operations, spec.root) == (8, 2, ("all_reduce", "reduce"), 3)
    assert (spec.backend, spec.dtype, spec.redop) == ("nccl", "bfloat16", "avg")
    assert (spec.sizes[0], spec.sizes[-1]) == (8, 1000)
    assert spec.extras == ("latency", "links")
    assert spec.variables == {"NCCL_DEBUG": "INFO", "NCCL_ALGO": "Ring"}
    assert (spec.memory_bytes, spec.emulated, spec.hide_host) == (2 * 1024**3, True, True)


def test_all_hosts_of_a_node_take_part_unless_told_otherwise() -> None:
    assert planned(node="pair").hosts == 2
    assert planned(node="pair", hosts="1").hosts == 1


def test_a_root_or_a_reduction_that_no_operation_has_is_left_alone() -> None:
    """The fields are hidden then, and still sent."""
    spec = planned(operation=["all_gather"], root="1", redop="avg", dtype="int32")

    assert (spec.root, spec.redop) == (0, "sum")


def test_no_extra_at_all_can_be_chosen() -> None:
    assert planned(preset="full", extras="chosen").extras == ()
    assert planned(preset="full", extras="preset", extra=["links"]).extras == planned(preset="full").extras


@pytest.mark.parametrize(
    ("choices", "name", "message"),
    [
        ({"node": "moon"}, "node", "no such node"),
        ({"preset": "huge"}, "preset", "one of the presets"),
        ({"ranks": "0"}, "ranks", "between 1 and 64"),
        ({"ranks": "65"}, "ranks", "between 1 and 64"),
        ({"ranks": "; reboot"}, "ranks", "between 1 and 64"),
        ({"node": "pair", "ranks": "2000"}, "ranks", "between 1 and 1024"),
        ({"node": "pair", "ranks": "3"}, "ranks", "3 ranks cannot be spread evenly over 2 hosts"),
        ({"node": "pair", "hosts": "3"}, "hosts", "between 1 and 2"),
        ({"hosts": "2"}, "hosts", "one host only"),
        ({"operation": [""]}, "operation", "at least one operation"),
        ({"operation": ["all_dance"]}, "operation", "at least one operation"),
        ({"backend": "mpi"}, "backend", "one of the backends"),
        ({"dtype": "complex"}, "dtype", "those listed"),
        ({"redop": "xor"}, "redop", "those listed"),
        ({"redop": "avg", "dtype": "int32"}, "redop", "floating-point"),
        ({"operation": ["broadcast"], "root": "2"}, "root", "between 0 and 1"),
        ({"min_size": "4"}, "min_size", "within 8\u2009B"),
        ({"min_size": "1M", "max_size": "1K"}, "min_size", "above the largest"),
        ({"max_size": "big"}, "max_size", "64K or 1G"),
        ({"max_size": "32G"}, "max_size", "16\u2009GiB"),
        ({"extras": "chosen", "extra": ["dance"]}, "extra", "those listed"),
        ({"env": "NCCL_DEBUG"}, "env", "NAME=VALUE"),
        ({"env": "PATH=/tmp"}, "env", "must begin with"),
        ({"env": "NCCL_DEBUG=$(reboot)"}, "env", "characters"),
        ({"memory": "3"}, "memory", "within 1\u2009MiB"),
        ({"backend": "gloo", "emulated": "on"}, "emulated", "Only NCCL"),
        ({"hide_host": "perhaps"}, "hide_host", "yes or no"),
    ],
)
def test_a_wrong_choice_has_a_message_in_both_languages(choices: dict[str, object], name: str, message: str) -> None:
    made = plan(Choices.model_validate(choices), NODES, maximum_ranks=64)

    assert made.spec is None
    assert message in made.problems[name].en
    assert re.search(r"[\u4e00-\u9fff]", made.problems[name].zh)
    assert not re.search(r"[a-z]+ [a-z]+ [a-z]+", made.problems[name].zh)


@pytest.mark.parametrize("node", NODES)
@pytest.mark.parametrize(
    "choices",
    [
        {},
        {"preset": "full", "operation": ["broadcast", "reduce"], "root": "1", "redop": "max", "dtype": "int8"},
        {"min_size": "24", "max_size": "3M", "extras": "chosen", "extra": ["copies"], "env": "NCCL_ALGO=Ring,Tree"},
        {"memory": "300M", "hide_host": "on", "backend": "nccl", "emulated": "on", "extras": "chosen"},
    ],
)
def test_running_again_is_the_same_run(node: str, choices: dict[str, object]) -> None:
    spec = planned(node=node, **choices)
    again: dict[str, object] = {}
    for name, value in to_query(spec, node=node):
        if name in ("operation", "extra"):
            held = again.setdefault(name, [])
            assert isinstance(held, list)
            held.append(value)
        else:
            again[name] = value

    assert planned(**again) == spec


def test_a_run_that_no_preset_makes_has_no_form_to_go_back_to() -> None:
    spec = RunSpec(operations=("all_reduce",), sizes=(8,), ranks=2)

    assert to_query(spec, node="local") == []


@given(st.integers(min_value=0, max_value=2**49))
def test_a_size_written_reads_back(size: int) -> None:
    assert read_bytes(write_bytes(size)) == size


@pytest.mark.parametrize(
    ("text", "size"),
    [("8", 8), ("64K", 65536), ("64k", 65536), ("1 GiB", 1 << 30), ("2MB", 2 << 20), ("１６M", 16 << 20)],
)
def test_sizes_are_read_as_nccl_tests_reads_them(text: str, size: int) -> None:
    assert read_bytes(text) == size


@pytest.mark.parametrize("text", ["", "K", "-1", "1.5G", "1e9", "8 8", "64KX", "9" * 40])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        read_bytes(text)
