"""Finished pages kept in memory, so that a question is rendered once and then only sent.

A page of the study section depends on its address, the language, the theme and the content's
revision, on nothing else; the answer carries a strong ETag. When the revision grows, everything
is dropped. Used from the event loop only, so it needs no lock.
"""

import gzip
import hashlib
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.responses import Response

LIMIT = 512
"""Pages kept: 128 questions in two languages and two themes, at some 30 kB each with both encodings."""

CACHE_CONTROL = "private, no-cache"
VARY = "Accept-Encoding, Cookie, Accept-Language, HX-Request"


@dataclass(frozen=True, slots=True)
class Cached:
    """One page in both encodings. A strong ETag names bytes, so each encoding has its own."""

    plain: bytes
    compressed: bytes
    digest: str

    @classmethod
    def of(cls, html: str) -> "Cached":
        """The page `html`, encoded once."""
        body = html.encode()
        return cls(body, gzip.compress(body, 6, mtime=0), hashlib.sha256(body).hexdigest()[:20])

    def response(self, headers: Headers) -> Response:
        """The page in an encoding the client reads, or 304 when it has it already."""
        zipped = "gzip" in headers.get("accept-encoding", "")
        etag = f'"{self.digest}-gzip"' if zipped else f'"{self.digest}"'
        answer = {"ETag": etag, "Cache-Control": CACHE_CONTROL, "Vary": VARY}
        known = headers.get("if-none-match", "")
        if known and (known == "*" or etag in known):
            return Response(status_code=304, headers=answer)
        if zipped:
            answer["Content-Encoding"] = "gzip"
        return Response(self.compressed if zipped else self.plain, headers=answer, media_type="text/html")


class PageCache:
    """The pages of one content revision, the least used dropped first."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._revision = -1
        self._pages: OrderedDict[Hashable, Cached] = OrderedDict()

    def get(self, key: Hashable, *, revision: int) -> Cached | None:
        """The page kept under `key`, if it was made from this revision."""
        if revision != self._revision:
            return None
        page = self._pages.get(key)
        if page is not None:
            self._pages.move_to_end(key)
        return page

    def put(self, key: Hashable, html: str, *, revision: int) -> Cached:
        """Keep `html`, made from `revision`, and give it back ready to send."""
        page = Cached.of(html)
        if revision < self._revision:
            return page  # made while the content changed: sent once, not kept
        if revision > self._revision:
            self._pages.clear()
            self._revision = revision
        self._pages[key] = page
        while len(self._pages) > self._limit:
            self._pages.popitem(last=False)
        return page
