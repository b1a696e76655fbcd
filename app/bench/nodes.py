"""The nodes of this installation: this machine, and what `nodes.toml` in the data folder names.

People may edit the file; `add` and `remove` change one section and keep the rest as it is written, comments included. A section that
is wrong is left out with its reason, and the others still work. No secret stands in it: keys are named by their files.
"""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import tomlkit
from pydantic import ValidationError
from tomlkit.exceptions import TOMLKitError

from app.bench import launchers
from app.bench.launchers import local
from app.bench.launchers.model import NAME, Launcher, Node
from app.bench.launchers.package import NODE
from app.bench.setting_errors import explain
from app.core.errors import Conflict, InvalidInput, NotFound
from app.core.i18n import Text, same
from app.core.registry import discover

_HEADER = "# The nodes Ringside may run benchmarks on; see `ringside node --help`."


@dataclass(frozen=True, slots=True)
class BrokenNode:
    """A section that could not be read: `reason` says why and where."""

    name: str
    reason: Text


@cache
def known_launchers() -> Mapping[str, Launcher]:
    """Every launcher by its slug."""
    return discover(launchers, "launcher", Launcher)


class NodeFile:
    """`nodes.toml` at `path`; it need not exist."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def path(self) -> Path:
        """Where the file is, or will be."""
        return self._path

    def nodes(self) -> dict[str, Node]:
        """This machine and every section that is right, by name."""
        return self.read()[0]

    def read(self) -> tuple[dict[str, Node], tuple[BrokenNode, ...]]:
        """The nodes by name, and the sections that are wrong."""
        found = {local.node.name: local.node}
        broken: list[BrokenNode] = []
        try:
            document = self._document()
        except (TOMLKitError, UnicodeDecodeError) as error:
            return found, (BrokenNode(self._path.name, same(f"{self._path.name}: {error}")),)
        for name, section in document.unwrap().items():
            try:
                found[name] = make(name, section)
            except InvalidInput as error:
                broken.append(BrokenNode(str(name), _reason(error)))
        return found, tuple(broken)

    def get(self, name: str) -> Node:
        """The node. Raises NotFound, or InvalidInput when its section is wrong."""
        nodes, broken = self.read()
        if name in nodes:
            return nodes[name]
        for entry in broken:
            if entry.name in (name, self._path.name):
                raise InvalidInput({name: entry.reason})
        raise no_such_node(name, known=list(nodes))

    def add(self, node: Node) -> None:
        """Write its section. Raises Conflict when there is one of that name."""
        document = self._writable()
        if node.name in document or node.name == local.node.name:
            raise Conflict(
                Text(f"There is a node {node.name!r} already.", f"已经有名为 {node.name!r} 的节点。"),
                remedy=Text("Remove it first, or choose another name.", "请先删除它，或换一个名字。"),
            )
        section = tomlkit.table()
        section.add("launcher", node.launcher.slug)
        for key, value in node.settings.model_dump(mode="json", exclude_defaults=True).items():
            section.add(key, value)
        document.add(node.name, section)
        self._write(document)

    def section(self, name: str) -> str:
        """Its section as it is written, right or wrong. Raises NotFound, or Conflict for this machine, which has none."""
        document = self._writable()
        if name not in document:
            if name == local.node.name:
                raise Conflict(Text("This machine is always a node.", "本机始终是一个节点。"))
            raise no_such_node(name, known=list(self.nodes()))
        alone = tomlkit.document()
        alone.add(name, document.item(name))
        return alone.as_string()

    def remove(self, name: str) -> None:
        """Take its section out; the runs that were made on it stay. Raises what `section` does."""
        self.section(name)
        document = self._writable()
        document.remove(name)
        self._write(document)

    def _document(self) -> tomlkit.TOMLDocument:
        try:
            return tomlkit.parse(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            document = tomlkit.document()
            document.add(tomlkit.comment(_HEADER.removeprefix("# ")))
            return document

    def _writable(self) -> tomlkit.TOMLDocument:
        try:
            return self._document()
        except (TOMLKitError, UnicodeDecodeError) as error:
            raise Conflict(
                Text(f"{self._path} cannot be read: {error}", f"无法读取 {self._path}：{error}"),
                remedy=Text("Mend the file by hand, then try again.", "请先手工修好这个文件，再试一次。"),
            ) from error

    def _write(self, document: tomlkit.TOMLDocument) -> None:
        """In one piece: a reader sees the old file or the new one."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        draft = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        draft.write_text(tomlkit.dumps(document), encoding="utf-8")
        draft.replace(self._path)


def make(name: str, section: object) -> Node:
    """The node of one section. Raises InvalidInput with a message per field."""
    if not re.fullmatch(NAME, name):
        raise InvalidInput(
            {
                "name": Text(
                    f"{name!r}: use lower-case letters, digits and dashes, at most 32.",
                    f"{name!r}：请只用小写字母、数字和短横线，最多 32 个。",
                )
            }
        )
    if not isinstance(section, Mapping):
        raise InvalidInput({name: Text("A node is a section: [name].", "节点要写成一节：[名字]。")})
    values = dict(section)
    slug = values.pop("launcher", None)
    launcher = known_launchers().get(str(slug))
    if launcher is None:
        choices = ", ".join(known_launchers())
        raise InvalidInput(
            {"launcher": Text(f"Choose one of {choices}, not {slug!r}.", f"请从 {choices} 中选择，不能是 {slug!r}。")}
        )
    try:
        return Node(name, launcher, launcher.settings.model_validate(values))
    except ValidationError as error:
        raise InvalidInput({_field(detail): explain(detail) for detail in error.errors()}) from error


def read_node(folder: Path) -> Node | None:
    """The node that a run was started on, as its folder keeps it; None when it keeps none."""
    try:
        raw: dict[str, Any] = json.loads((folder / NODE).read_text(encoding="utf-8"))
        return make(raw["name"], {"launcher": raw["launcher"], **raw["settings"]})
    except (OSError, ValueError, KeyError, TypeError, InvalidInput):
        return None


def no_such_node(name: str, *, known: list[str]) -> NotFound:
    """The error for a node nobody knows."""
    return NotFound(
        Text(f"There is no node {name!r}.", f"没有名为 {name!r} 的节点。"),
        remedy=Text(
            f"Known: {', '.join(known)}. Add one with: ringside node add",
            f"已有：{', '.join(known)}。用 ringside node add 添加。",
        ),
    )


def _field(detail: Any) -> str:
    return ".".join(map(str, detail["loc"])) or "settings"


def _reason(error: InvalidInput) -> Text:
    return Text(
        "; ".join(f"{name}: {text.en}" for name, text in error.fields.items()),
        "；".join(f"{name}：{text.zh}" for name, text in error.fields.items()),
    )
