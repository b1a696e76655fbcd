"""Static files under an address that changes when any of them changes.

`/static/<version>/css/app.css`: the version is a hash over every file served, so answers may be
cached for ever, and a module that imports its neighbour by a relative path stays within the version.
Bodies are compressed once and kept in memory. Only known files are served: our own `css/`, `js/` and
`img/`, and the few front-end packages listed in `PACKAGES`.
"""

import gzip
import hashlib
import mimetypes
from dataclasses import dataclass
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

FOLDERS = ("css", "js", "img")
PACKAGES = (
    "htmx.org/dist/htmx.min.js",
    "plotly.js-basic-dist-min/plotly-basic.min.js",
    "katex/dist/katex.min.js",
    "katex/dist/katex.min.css",
    "katex/dist/fonts/*.woff2",
)
COMPRESSIBLE = (".css", ".js", ".svg", ".json")
IMMUTABLE = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class Asset:
    """One file ready to send. `compressed` is None where compressing does not pay."""

    body: bytes
    compressed: bytes | None
    media_type: str


class Assets:
    """The files of `root`, read at start. An ASGI app to mount at `/static`."""

    def __init__(self, root: Path) -> None:
        self._root = root
        paths = sorted(_served(root))
        digest = hashlib.sha256()
        for path in paths:
            digest.update(str(path.relative_to(root)).encode())
            digest.update(path.read_bytes())
        self.version = digest.hexdigest()[:12]
        self._paths = {str(path.relative_to(root)).replace("node_modules/", "vendor/"): path for path in paths}
        self._loaded: dict[str, Asset] = {}

    def url(self, name: str) -> str:
        """The address of a file: `css/app.css`, or `vendor/<package>/…` for a front-end package."""
        return f"/static/{self.version}/{name}"

    def has(self, name: str) -> bool:
        """Whether the file is there: a front-end package may not be installed."""
        return name in self._paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"].removeprefix(scope.get("root_path", "")).lstrip("/")
        version, _, name = path.partition("/")
        if name not in self._paths:
            response: Response = PlainTextResponse("Not found", 404)
        else:
            response = self._respond(name, Headers(scope=scope), fresh=version == self.version)
        await response(scope, receive, send)

    def _respond(self, name: str, headers: Headers, *, fresh: bool) -> Response:
        asset = self._load(name)
        answer = {"Cache-Control": IMMUTABLE if fresh else "no-cache", "Vary": "Accept-Encoding"}
        body = asset.body
        if asset.compressed is not None and "gzip" in headers.get("accept-encoding", ""):
            body = asset.compressed
            answer["Content-Encoding"] = "gzip"
        return Response(body, headers=answer, media_type=asset.media_type)

    def _load(self, name: str) -> Asset:
        loaded = self._loaded.get(name)
        if loaded is None:
            path = self._paths[name]
            body = path.read_bytes()
            compressed = gzip.compress(body, 9, mtime=0) if path.suffix in COMPRESSIBLE else None
            media_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
            loaded = self._loaded[name] = Asset(body, compressed, media_type)
        return loaded


def _served(root: Path) -> list[Path]:
    own = [path for folder in FOLDERS for path in (root / folder).rglob("*") if path.is_file()]
    packages = [path for pattern in PACKAGES for path in (root / "node_modules").glob(pattern)]
    return own + packages
