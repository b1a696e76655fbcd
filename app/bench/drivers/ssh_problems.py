"""What went wrong on the way to a machine behind SSH, as a `Problem` that a person can act on.

Texts are names, numbers and commands that need no translation; the sentences stand in `app/bench/diagnosis/ssh.py`. They never hold
a key, only its fingerprint or its file.
"""

import os
import shlex
import socket
from collections.abc import Sequence

import asyncssh

from app.bench.events import Problem
from app.bench.launchers.ssh_access import SshAccess, Target


class SshFailed(Exception):
    """The machine cannot be used, for the reason in `problem`."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(f"{problem.kind}: {problem.text}")
        self.problem = problem


def of_error(error: BaseException, *, place: str, tried: Sequence[str], locked: Sequence[str]) -> Problem:
    """The problem that `error` of a connection is. `place` is the server as the user wrote it."""
    if isinstance(error, SshFailed):
        return error.problem
    if isinstance(error, asyncssh.PermissionDenied):
        if locked and set(tried) <= set(locked):
            return Problem(kind="ssh-key-locked", text=", ".join(locked))
        return Problem(kind="ssh-denied", text=f"{place} ({', '.join(tried) or '-'})")
    if isinstance(error, asyncssh.HostKeyNotVerifiable):
        # Revoked, or a certificate that is not for this host.
        return Problem(kind="ssh-host-key-changed", text=f"{place}: {error.reason}")
    if isinstance(error, socket.gaierror):
        return Problem(kind="ssh-no-such-host", text=place)
    if isinstance(error, TimeoutError):
        return Problem(kind="ssh-unreachable", text=f"{place}: timeout")
    return Problem(kind="ssh-unreachable", text=f"{place}: {_reason(error)}")


def of_host_key(key: asyncssh.SSHKey, *, target: Target, port: int, access: SshAccess, is_known: bool) -> Problem:
    """The host key was not the one of known_hosts (`is_known`), or there was none for this host."""
    text = f"{target}: {key.get_algorithm()} {key.get_fingerprint()}"
    if is_known:
        name = target.host if port == 22 else f"[{target.host}]:{port}"
        file = ["-f", access.known_hosts] if access.known_hosts else []
        return Problem(kind="ssh-host-key-changed", text=f"{text}; `{shlex.join(['ssh-keygen', *file, '-R', name])}`")
    return Problem(kind="ssh-host-key-unknown", text=f"{text}; `{login_command(target, access)}`")


def login_command(target: Target, access: SshAccess) -> str:
    """What to type to log in once by hand, which shows the host key and asks whether to keep it."""
    words = ["ssh"]
    if target.port:
        words += ["-p", str(target.port)]
    if access.known_hosts:
        words += ["-o", f"UserKnownHostsFile={access.known_hosts}"]
    if access.jump:
        words += ["-J", ",".join(access.jump)]
    if access.key_file:
        words += ["-i", access.key_file]
    words += [f"{target.user}@{target.host}" if target.user else target.host, "true"]
    return shlex.join(words)


def _reason(error: BaseException) -> str:
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno)  # asyncio has its own wording
    reason = getattr(error, "reason", "") or str(error)
    return f"{reason}" if reason else type(error).__name__
