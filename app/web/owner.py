"""Who may start, stop and delete runs: the owner of this installation.

A server that only this machine can reach, under no other name, has its user as owner. Any other asks for the owner's
token once, on `/owner`: the one in `RINGSIDE_OWNER_TOKEN`, or one made at first need and kept in the data folder,
readable by its user alone. The browser keeps a digest of it in a cookie that no script can read.
"""

import contextlib
import hashlib
import hmac
import os
import secrets
from pathlib import Path

from fastapi import Request

from app.core.errors import Forbidden
from app.core.i18n import Text
from app.settings import Settings
from app.web.services import services

COOKIE = "owner"
COOKIE_SECONDS = 90 * 24 * 3600
TOKEN_FILE = "owner-token"  # noqa: S105 - a file name


def needs_token(settings: Settings) -> bool:
    """Whether a request has to prove that it comes from the owner."""
    return not settings.is_loopback or bool(settings.allowed_hosts) or bool(settings.owner_token)


def token(settings: Settings) -> str:
    """The owner's token; made and stored at first need."""
    if settings.owner_token:
        return settings.owner_token
    path = settings.data / TOKEN_FILE
    with contextlib.suppress(FileExistsError):
        _create(path, secrets.token_urlsafe(24))
    return path.read_text(encoding="ascii").strip()


def digest(settings: Settings) -> str:
    """What the cookie of the owner holds."""
    return hashlib.sha256(b"ringside owner\0" + token(settings).encode()).hexdigest()


def is_owner(request: Request) -> bool:
    """Whether this request may change runs."""
    settings = services(request).settings
    if not needs_token(settings):
        return True
    return hmac.compare_digest(request.cookies.get(COOKIE, "").encode(), digest(settings).encode())


def require_owner(request: Request) -> None:
    """Raises Forbidden unless the owner asks."""
    if not is_owner(request):
        raise Forbidden(
            Text("Only the owner of this installation may do this.", "只有本站的所有者可以执行这个操作。"),
            remedy=Text(
                "Enter the owner's token at /owner; it stands in the server's output and in its data folder.",
                "请在 /owner 输入所有者令牌；它显示在服务器的输出中，也保存在数据目录里。",
            ),
        )


def _create(path: Path, text: str) -> None:
    """A new file that only its user can read, whole from the start. Raises FileExistsError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(text + "\n")
        os.link(draft, path)
    finally:
        draft.unlink()
