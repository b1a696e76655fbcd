"""Names of machines out of an import, so that it can be shown to others."""

import re
from dataclasses import replace

from app.bench.importers.model import Badge, Import, ImportedRun
from app.core.i18n import Text

_ADDRESS = re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}\b|\b(?:[0-9a-f]{1,4}:){3,7}[0-9a-f]{1,4}\b", re.IGNORECASE)
_USER = re.compile(r"\b[\w.-]+@(?=[\w.-]+)|(?<=/home/)[^/\s]+")


def mask(imported: Import) -> Import:
    """The import with its hosts named host-1, host-2 in the order they appear, and without addresses and users."""
    names = _names(imported)
    reason = imported.reason and _masked(imported.reason, names)
    badges = tuple(_badge(badge, names) for badge in imported.badges)
    return replace(imported, runs=tuple(_run(run, names) for run in imported.runs), reason=reason, badges=badges)


def mask_name(name: str, imported: Import) -> str:
    """The name of the file without the hosts that its log names, addresses and users."""
    return _text(name, _names(imported))


def _names(imported: Import) -> dict[str, str]:
    hosts = dict.fromkeys(host for run in imported.runs for host in run.hosts)
    return {host: f"host-{number}" for number, host in enumerate(hosts, start=1)}


def _run(run: ImportedRun, names: dict[str, str]) -> ImportedRun:
    return replace(
        run,
        hosts=tuple(names[host] for host in run.hosts),
        devices=tuple(replace(device, host=names.get(device.host or "", device.host)) for device in run.devices),
        parameters={key: _text(value, names) for key, value in run.parameters.items()},
        badges=tuple(_badge(badge, names) for badge in run.badges),
    )


def _badge(badge: Badge, names: dict[str, str]) -> Badge:
    return replace(badge, text=_masked(badge.text, names))


def _masked(text: Text, names: dict[str, str]) -> Text:
    return Text(_text(text.en, names), _text(text.zh, names))


def _text(text: str, names: dict[str, str]) -> str:
    for host in sorted(names, key=len, reverse=True):
        text = re.sub(rf"(?<![\w-]){re.escape(host)}(?![\w-])", names[host], text)
    return _USER.sub("", _ADDRESS.sub("address", text))
