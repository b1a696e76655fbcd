"""A machine behind SSH: `connect` gives a `Remote`, which does what `transport.Machine` promises and starts long-running commands.

Every connection checks the host key against known_hosts and refuses what is not there. Jump hosts are passed one after the other,
so that a failure names the hop. An argument list becomes one string for the login shell with every argument quoted.
"""

import asyncio
import posixpath
import shlex
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import cast

import asyncssh

from app.bench.drivers.ssh_options import configured_jump, keys_tried, locked_keys, options
from app.bench.drivers.ssh_problems import SshFailed, of_error, of_host_key
from app.bench.drivers.transport import ANSWER_SECONDS, Answer
from app.bench.events import Problem
from app.bench.launchers.ssh_access import SshAccess, Target, parse_target
from app.bench.setting_errors import SettingProblem

_CLOSE_SECONDS = 5.0
_GONE = (asyncssh.SFTPConnectionLost, asyncssh.SFTPNoConnection)


class Remote:
    """A machine behind SSH, a `transport.Machine`; `connect` makes it. Its methods raise SshFailed when the connection is lost."""

    def __init__(self, connection: asyncssh.SSHClientConnection, target: Target, *, is_direct: bool) -> None:
        self.name = str(target)
        self.target = target
        self._connection = connection
        self._is_direct = is_direct
        self._sftp: asyncssh.SFTPClient | None = None

    @property
    def address(self) -> str:
        """Where others may reach it: the address it is connected to, or the name behind the last jump host."""
        peer = self._connection.get_extra_info("peername")
        if self._is_direct and peer:
            return str(peer[0])
        return str(self._connection.get_extra_info("host") or self.target.host)

    async def run(self, arguments: Sequence[str], *, seconds: float = ANSWER_SECONDS) -> Answer:
        """Run a short command to its end. Raises TimeoutError after `seconds`, when it is killed."""
        try:
            child = await self._connection.create_process(
                shlex.join(arguments), stdin=asyncssh.DEVNULL, errors="replace"
            )
        except (asyncssh.Error, OSError) as error:
            raise self._lost(error) from error
        try:
            done = await asyncio.wait_for(child.wait(), seconds)
        except TimeoutError:
            child.kill()
            raise
        except (asyncssh.Error, OSError) as error:
            raise self._lost(error) from error
        code = done.exit_status
        if code is None:
            code = -1 if done.exit_signal is None else 128
        return Answer(code, str(done.stdout or ""), str(done.stderr or ""))

    async def start(self, arguments: Sequence[str]) -> "asyncssh.SSHClientProcess[bytes]":
        """Start a command whose streams are bytes. It is told of the connection's end by that of its standard input."""
        try:
            return await self._connection.create_process(shlex.join(arguments), encoding=None)
        except (asyncssh.Error, OSError) as error:
            raise self._lost(error) from error

    async def home(self) -> str:
        """The home folder there."""
        sftp = await self._files()
        try:
            return str(await sftp.realpath("."))
        except (asyncssh.Error, OSError) as error:
            raise self._lost(error) from error

    async def expand(self, path: str) -> str:
        """`path` with `~/` at its begin replaced by the home folder there."""
        return posixpath.join(await self.home(), path[2:]) if path.startswith("~/") else path

    async def put(self, path: str, data: bytes) -> None:
        """Write a file in one piece, its folder made if missing; readable by this user alone."""
        sftp = await self._files()
        private = asyncssh.SFTPAttrs(permissions=0o700)
        draft = f"{path}.draft"
        try:
            await sftp.makedirs(posixpath.dirname(path), private, exist_ok=True)
            async with sftp.open(draft, "wb", asyncssh.SFTPAttrs(permissions=0o600)) as file:
                await file.write(data)
            await sftp.posix_rename(draft, path)
        except (asyncssh.Error, OSError) as error:
            raise self._refused(path, error) from error

    async def read(self, path: str, *, offset: int, limit: int) -> bytes:
        """At most `limit` bytes of a file from `offset`; nothing when there is no such file yet."""
        sftp = await self._files()
        try:
            async with sftp.open(path, "rb") as file:
                return cast("bytes", await file.read(limit, offset))  # opened as bytes
        except asyncssh.SFTPNoSuchFile:
            return b""
        except (asyncssh.Error, OSError) as error:
            raise self._refused(path, error) from error

    async def size(self, path: str) -> int | None:
        """Bytes of a file; None when there is none."""
        sftp = await self._files()
        try:
            return (await sftp.stat(path)).size
        except asyncssh.SFTPNoSuchFile:
            return None
        except (asyncssh.Error, OSError) as error:
            raise self._lost(error) from error

    async def remove(self, folder: str) -> None:
        """Remove a folder with what is in it; nothing happens when there is none."""
        sftp = await self._files()
        try:
            await sftp.rmtree(folder, ignore_errors=True)
        except (asyncssh.Error, OSError) as error:
            raise self._lost(error) from error

    async def _files(self) -> asyncssh.SFTPClient:
        if self._sftp is None:
            try:
                self._sftp = await asyncio.wait_for(self._connection.start_sftp_client(), ANSWER_SECONDS)
            except (asyncssh.ChannelOpenError, asyncssh.SFTPError) as error:
                raise SshFailed(Problem(kind="ssh-no-sftp", text=f"{self.name}: {error.reason}")) from error
            except (asyncssh.Error, OSError) as error:
                raise self._lost(error) from error
        return self._sftp

    def _refused(self, path: str, error: Exception) -> SshFailed:
        """A file that may not be touched, or a connection that went away: asyncssh calls both SFTPError."""
        if isinstance(error, asyncssh.SFTPError) and not isinstance(error, _GONE):
            return SshFailed(Problem(kind="ssh-folder", text=f"{self.name}: {path}: {error.reason}"))
        return self._lost(error)

    def _lost(self, error: Exception) -> SshFailed:
        return SshFailed(Problem(kind="ssh-lost", text=f"{self.name}: {error or type(error).__name__}"))


class _Client(asyncssh.SSHClient):
    """Refuses every host key that known_hosts does not have, and remembers the one it saw."""

    def __init__(self) -> None:
        self.refused: asyncssh.SSHKey | None = None
        self.seen = ("", "", 22)

    def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:
        """Asked only for keys that are not in known_hosts."""
        self.refused, self.seen = key, (host, addr, port)
        return False


@asynccontextmanager
async def connect(target: Target, access: SshAccess) -> AsyncIterator[Remote]:
    """The machine at `target`, through the node's jump hosts. Raises SshFailed when it cannot be reached or trusted."""
    opened: list[asyncssh.SSHClientConnection] = []
    try:
        remote = await _open(target, access, opened)
        yield remote
    finally:
        for connection in reversed(opened):
            connection.close()
        for connection in reversed(opened):
            try:
                await asyncio.wait_for(connection.wait_closed(), _CLOSE_SECONDS)
            except (TimeoutError, asyncssh.Error, OSError):
                connection.abort()


async def _open(target: Target, access: SshAccess, opened: list[asyncssh.SSHClientConnection]) -> Remote:
    """Connect hop by hop; every connection goes into `opened`."""
    hops = [parse_target(hop) for hop in access.jump] or _configured_hops(target, access)
    for hop in hops:
        try:
            await _connect(hop, access, opened)
        except SshFailed as error:
            told = error.problem
            raise SshFailed(Problem(kind=told.kind, text=f"jump {hop} → {told.text}")) from error
    await _connect(target, access, opened)
    return Remote(opened[-1], target, is_direct=not hops)


def _configured_hops(target: Target, access: SshAccess) -> list[Target]:
    jump = configured_jump(target, access)
    try:
        return [parse_target(hop.strip().removeprefix("ssh://")) for hop in jump.split(",") if hop.strip()]
    except SettingProblem as error:
        raise SshFailed(Problem(kind="ssh-config", text=f"ProxyJump {jump}")) from error


async def _connect(target: Target, access: SshAccess, opened: list[asyncssh.SSHClientConnection]) -> None:
    clients: list[_Client] = []

    def make() -> _Client:
        clients.append(_Client())
        return clients[-1]

    tunnel = opened[-1] if opened else None
    try:
        chosen = options(target, access, client=make, tunnel=tunnel)
        # No configuration here: the options have read what they may.
        connection = await asyncssh.connect(target.host, options=chosen, config=None, tunnel=tunnel)
    except (asyncssh.Error, OSError, SshFailed) as error:
        for client in clients:
            if client.refused is not None:
                known = asyncssh.match_known_hosts(chosen.known_hosts, *client.seen)
                raise SshFailed(
                    of_host_key(
                        client.refused, target=target, port=client.seen[2], access=access, is_known=any(known[:3])
                    )
                ) from error
        raise SshFailed(
            of_error(error, place=str(target), tried=keys_tried(access), locked=locked_keys(access))
        ) from error
    opened.append(connection)
