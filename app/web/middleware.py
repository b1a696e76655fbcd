"""Plain ASGI layers around the app: who may call it, what every answer carries.

`Guard` refuses unknown hosts (DNS rebinding) and unsafe methods from another origin, so forms need
no token. `Headers` adds the content security policy and its kin, and keeps a language chosen by
`?lang=` in a cookie. `BaseHTTPMiddleware` is avoided: it breaks context variables and streaming.
"""

from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.core.i18n import parse_language
from app.web.language import COOKIE, COOKIE_SECONDS

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "font-src 'self'",
        "connect-src 'self'",
        "media-src 'self' blob:",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'self'",
        "manifest-src 'self'",
    )
)

SECURITY_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "microphone=(self), camera=(), geolocation=()",
}


class Guard:
    """Answers 403 to a host name that is not ours and to an unsafe request from another origin."""

    def __init__(self, app: ASGIApp, hosts: tuple[str, ...]) -> None:
        self._app = app
        self._hosts = frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            refusal = self._refusal(scope["method"], Headers(scope=scope))
            if refusal:
                await PlainTextResponse(refusal, 403)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _refusal(self, method: str, headers: Headers) -> str:
        host = headers.get("host", "")
        if "*" not in self._hosts and (urlsplit(f"//{host}").hostname or "") not in self._hosts:
            return f"Unknown host {host!r}. Add it to RINGSIDE_ALLOWED_HOSTS if it is yours."
        if method in SAFE_METHODS:
            return ""
        site = headers.get("sec-fetch-site")
        if site is not None:
            return "" if site in {"same-origin", "none"} else "This request came from another site."
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != host:
            return "This request came from another site."
        return ""


class ResponseHeaders:
    """Adds the security headers, and the language cookie when the address names a language."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        query = scope["query_string"]
        chosen = (
            parse_language(parse_qs(query.decode("latin-1")).get("lang", [None])[-1]) if b"lang=" in query else None
        )

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
                if chosen:
                    headers.append(
                        "Set-Cookie", f"{COOKIE}={chosen}; Path=/; Max-Age={COOKIE_SECONDS}; SameSite=Lax; HttpOnly"
                    )
            await send(message)

        await self._app(scope, receive, send_with_headers)
