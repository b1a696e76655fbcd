"""The worker as one file: a zip that Python runs, with the wire and the worker inside and nothing else of the app.

`torchrun worker.pyz spec.json` runs it anywhere that has Python 3.10 and PyTorch. Builds are identical byte for byte: names
sorted, no compression, one fixed date, so that two nodes can compare what they were given by its hash.
"""

import json
import zipfile
from pathlib import Path

from app.bench.launchers.model import Node
from app.bench.spec import RunSpec

WORKER = "worker.pyz"
SPEC = "spec.json"
NODE = "node.json"

_BENCH = Path(__file__).parent.parent
_SHARED = ("__init__.py", "cgroup.py", "codec.py", "events.py", "machine.py", "process.py", "spec.py", "wire.py")
_MAIN = """\
import sys

if sys.version_info < (3, 10):
    sys.stdout.write(
        '{"ringside":1,"event":"Problem","kind":"old-python","text":"Python %d.%d.%d"}\\n' % sys.version_info[:3]
    )
    sys.stdout.flush()
    sys.exit(1)

from app.bench.worker.__main__ import main

main()
"""
# The first lines must be understood by any Python 3, so that an old one can say so.
_DATE = (1980, 1, 1, 0, 0, 0)  # the earliest a zip can hold


def prepare(folder: Path, spec: RunSpec, *, node: Node | None = None) -> None:
    """Put the worker, its specification and the node for a driver into `folder`, made if missing."""
    folder.mkdir(parents=True, exist_ok=True)
    build(folder / WORKER)
    (folder / SPEC).write_text(json.dumps(spec.to_json(), indent=2) + "\n", encoding="utf-8")
    if node is not None:
        document = {
            "name": node.name,
            "launcher": node.launcher.slug,
            "settings": node.settings.model_dump(mode="json"),
        }
        (folder / NODE).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def build(target: Path) -> None:
    """Write the zipapp to `target`."""
    sources = [*(_BENCH / name for name in _SHARED), *(_BENCH / "worker").rglob("*.py")]
    files = {source.relative_to(_BENCH.parent.parent).as_posix(): source.read_bytes() for source in sources}
    files["app/__init__.py"] = b""
    files["__main__.py"] = _MAIN.encode()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, date_time=_DATE)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, files[name])
