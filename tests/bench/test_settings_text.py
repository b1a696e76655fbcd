"""A node's settings as text: read, explained and written back."""

import re

import pytest

from app.bench.nodes import make
from app.bench.settings_text import describe, read, to_text
from app.core.errors import InvalidInput
from tests.bench import stub_node


@pytest.fixture(autouse=True)
def stub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.bench.nodes.known_launchers", lambda: {"stub": stub_node.launcher})


def fields(texts: dict[str, str]) -> dict[str, str]:
    """What is said of each setting, in Chinese as in English."""
    with pytest.raises(InvalidInput) as caught:
        make("away", read(stub_node.launcher, texts))
    assert all(re.search(r"[\u4e00-\u9fff]", text.zh) for text in caught.value.fields.values())
    assert not any(re.search(r"[a-z]+ [a-z]+ [a-z]+", text.zh) for text in caught.value.fields.values())
    return {name.split(".")[0]: text.en for name, text in caught.value.fields.items()}


def test_text_becomes_the_settings_and_goes_back() -> None:
    texts = {
        "hosts": "me@gpu1, me@gpu2\nme@gpu3",
        "port": " 2222 ",
        "has_agent": "no",
        "environment": "NCCL_DEBUG=INFO\nNCCL_SOCKET_IFNAME==eth0",
        "title": "",
    }

    node = make("away", read(stub_node.launcher, texts))

    assert node.settings.model_dump() == {
        "title": "",
        "interface": "",
        "environment": {"NCCL_DEBUG": "INFO", "NCCL_SOCKET_IFNAME": "=eth0"},
        "hosts": ["me@gpu1", "me@gpu2", "me@gpu3"],
        "behaviour": "ready",
        "port": 2222,
        "has_agent": False,
    }
    written = {name: to_text(value) for name, value in node.settings.model_dump().items()}
    assert make("away", read(stub_node.launcher, written)) == node


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("hosts", "", "needed"),
        ("hosts", " , \n", "needed"),
        ("port", "twenty", "whole number"),
        ("port", "70000", "at most 65535"),
        ("has_agent", "maybe", "yes or no"),
        ("behaviour", "dance", "Choose one of"),
        ("environment", "NCCL_DEBUG", "NAME=VALUE"),
        ("environment", "LD_PRELOAD=/tmp/x.so", "must begin with NCCL_"),
        ("environment", "NCCL_CONF_FILE=/tmp/x", "load or write a file"),
        ("environment", "NCCL_DEBUG=$(id)", "characters"),
        ("environment", "\n".join(f"NCCL_X{number}=1" for number in range(51)), "At most 50"),
        ("interface", "eth0; reboot", "characters"),
        ("title", "x" * 61, "60 characters"),
        ("title", "x" * 5000, "too long"),
        ("doors", "3", "no such setting"),
    ],
)
def test_a_wrong_setting_has_its_message(name: str, text: str, message: str) -> None:
    found = fields({"hosts": "gpu1", name: text})

    assert message in found[name]


def test_what_is_needed_comes_first_then_the_launchers_own() -> None:
    settings = describe(stub_node.launcher)

    assert [setting.name for setting in settings][:2] == ["hosts", "behaviour"]
    assert {setting.name: setting.kind for setting in settings} == {
        "hosts": "list",
        "behaviour": "choice",
        "port": "whole",
        "has_agent": "switch",
        "title": "text",
        "interface": "text",
        "environment": "pairs",
    }
    assert [setting.name for setting in settings if setting.is_required] == ["hosts"]
