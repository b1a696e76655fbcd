"""Plain ASGI layers around the app: who may call it, what every answer carries.

`Guard` refuses unknown hosts (DNS rebinding) and unsafe methods from another origin, so forms need
no token. `Head` spares every page a route for HEAD. `ResponseHeaders` adds the content security policy
and its kin, and keeps a language chosen by `?lang=` in a cookie. `BaseHTTPMiddleware` is avoided: it
breaks context variables and streaming.
"""

import re
from urllib.parse import parse_qs

from fastapi import Request
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.core.errors import Forbidden
from app.core.i18n import Language, Text, parse_language
from app.web import errors
from app.web.language import COOKIE, COOKIE_SECONDS
from app.web.security import SECURITY_HEADERS

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")

_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::[0-9]*)?", re.IGNORECASE | re.ASCII)

FOREIGN = Text("This request came from another site.", "这个请求来自别的网站。")
FOREIGN_REMEDY = Text(
    "Open the page here and send the form again. Nothing was changed.",
    "请在本站打开页面后重新提交。没有改动任何数据。",
)


class Guard:
    """Answers 403 to a host name that is not ours and to an unsafe request from another origin."""

    def __init__(self, app: ASGIApp, hosts: tuple[str, ...]) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            refusal = self._refusal(scope["method"], Headers(scope=scope))
            if refusal is not None:
                response = errors.answer(Request(scope), refusal)
                response.headers.update(SECURITY_HEADERS)
                await response(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _refusal(self, method: str, headers: Headers) -> Forbidden | None:
        host = headers.get("host", "")
        if "*" not in self._hosts and _name(host) not in self._hosts:
            return Forbidden(
                Text(f"This server is not known as {host!r}.", f"本服务器不认识主机名 {host!r}。"),
                remedy=Text(
                    "If the name is yours, add it to RINGSIDE_ALLOWED_HOSTS and restart.",
                    "如果这是你的主机名，请把它加入 RINGSIDE_ALLOWED_HOSTS 后重启。",
                ),
            )
        if method in SAFE_METHODS:
            return None
        site = headers.get("sec-fetch-site")
        if site is not None:
            return None if site in {"same-origin", "none"} else Forbidden(FOREIGN, remedy=FOREIGN_REMEDY)
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2].lower() != host.lower():
            return Forbidden(FOREIGN, remedy=FOREIGN_REMEDY)
        return None


def _name(host: str) -> str:
    """The name in a `Host` header, without the port; empty when it holds anything else, as links are made of it."""
    found = _HOST.fullmatch(host)
    return (found[1] or found[2]).lower() if found else ""


class Head:
    """Answers HEAD as GET without the body, for every route at once."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def send_without_body(message: Message) -> None:
            if message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        await self._app({**scope, "method": "GET"}, receive, send_without_body)


class ResponseHeaders:
    """Adds the security headers, and the language cookie when the address names a language.

    An answer that says nothing about caching is checked again each time: pages change with progress.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        defaults = {**SECURITY_HEADERS, "Cache-Control": "private, no-cache"}
        self._defaults = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in defaults.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        chosen = _chosen_language(scope["query_string"])

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers: list[tuple[bytes, bytes]] = list(message.get("headers", ()))
                present = {name.lower() for name, _ in headers}
                headers += [(name, value) for name, value in self._defaults if name not in present]
                if chosen:
                    cookie = f"{COOKIE}={chosen}; Path=/; Max-Age={COOKIE_SECONDS}; SameSite=Lax; HttpOnly"
                    headers.append((b"set-cookie", cookie.encode("latin-1")))
                message["headers"] = headers
            await send(message)

        await self._app(scope, receive, send_with_headers)


def _chosen_language(query: bytes) -> Language | None:
    if b"lang=" not in query:
        return None
    return parse_language(parse_qs(query.decode("latin-1")).get("lang", [None])[-1])
