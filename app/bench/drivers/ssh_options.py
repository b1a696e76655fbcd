"""What asyncssh is told of one server: from a node's settings and the user's own SSH configuration, with nothing left to chance.

Host keys are always looked up in files. Only public keys log in: no password is asked for, none is kept. Unless a node's `config` is
`full`, commands that ~/.ssh/config names are not run: a file with `Match exec` is refused before it is read, `ProxyCommand`
once it is known that this server needs it.
"""

import os
import re
from pathlib import Path
from typing import Any

import asyncssh

from app.bench.drivers.ssh_problems import SshFailed
from app.bench.events import Problem
from app.bench.launchers.ssh_access import SshAccess, Target

CONNECT_SECONDS = 15.0
KEEPALIVE_SECONDS = 10.0
_SYSTEM_KNOWN_HOSTS = "/etc/ssh/ssh_known_hosts"
_DEFAULT_KEYS = ("id_ed25519", "id_ecdsa", "id_rsa", "id_ed25519_sk", "id_ecdsa_sk")
_EXEC = re.compile(r"^\s*match\b.*\bexec\b", re.IGNORECASE)
_INCLUDE = re.compile(r"^\s*include[\s=]+(.*)", re.IGNORECASE)
_MAXIMUM_INCLUDES = 16


def options(
    target: Target, access: SshAccess, *, client: Any, tunnel: asyncssh.SSHClientConnection | None = None
) -> asyncssh.SSHClientConnectionOptions:
    """The options for one server behind `tunnel`. Raises SshFailed where a key, the configuration or a command in it forbids."""
    configured = _build(target, access)
    if configured.proxy_command and access.config != "full" and tunnel is None:
        raise SshFailed(Problem(kind="ssh-config-command", text=f"ProxyCommand ({target.host})"))
    # An empty list, or none, would let asyncssh choose a file itself; an empty object trusts nobody.
    trusted = _known_hosts(access, configured.known_hosts)
    proxy = configured.proxy_command if tunnel is None else None
    return _build(target, access, client_factory=client, known_hosts=trusted, tunnel=tunnel, proxy_command=proxy)


def configured_jump(target: Target, access: SshAccess) -> str:
    """The `ProxyJump` of the SSH configuration, empty for none. Raises SshFailed as `options` does."""
    jump = _build(target, access).tunnel
    return jump if isinstance(jump, str) and jump.lower() != "none" else ""


def _build(target: Target, access: SshAccess, **chosen: Any) -> asyncssh.SSHClientConnectionOptions:
    if target.user:
        chosen["username"] = target.user
    if target.port:
        chosen["port"] = target.port
    try:
        return asyncssh.SSHClientConnectionOptions(
            host=target.host,
            config=_config_files(access),
            x509_trusted_certs=None,
            x509_trusted_cert_paths=(),
            host_based_auth=False,
            kbdint_auth=False,
            password_auth=False,
            gss_auth=False,
            gss_kex=False,
            client_host_keysign=False,
            agent_forwarding=False,
            pkcs11_provider=None,
            command=None,
            env=None,
            send_env=None,
            request_pty=False,
            x11_forwarding=False,
            canonicalize_hostname=False,
            connect_timeout=CONNECT_SECONDS,
            login_timeout=CONNECT_SECONDS,
            keepalive_interval=KEEPALIVE_SECONDS,
            keepalive_count_max=3,
            **chosen,
            **_keys(access),
        )
    except asyncssh.KeyImportError as error:
        raise SshFailed(Problem(kind="ssh-key-unreadable", text=f"{access.key_file or '~/.ssh'}: {error}")) from error
    except (asyncssh.ConfigParseError, OSError, ValueError) as error:
        raise SshFailed(Problem(kind="ssh-config", text=f"{error}")) from error


def keys_tried(access: SshAccess) -> tuple[str, ...]:
    """What is offered to log in with, for people: names of files and the agent, never a key itself."""
    if access.key_file:
        return (access.key_file,)
    agent = os.environ.get("SSH_AUTH_SOCK")
    names = [f"~/.ssh/{name}" for name in _DEFAULT_KEYS if Path("~/.ssh", name).expanduser().is_file()]
    return (*(["ssh-agent"] if agent else []), *names)


def locked_keys(access: SshAccess) -> tuple[str, ...]:
    """The key files that only a passphrase opens."""
    names = [access.key_file] if access.key_file else [f"~/.ssh/{name}" for name in _DEFAULT_KEYS]
    return tuple(name for name in names if _is_locked(Path(name).expanduser()))


def _keys(access: SshAccess) -> dict[str, Any]:
    """A key file alone is offered alone; a locked one through the agent, when its public half lies beside it."""
    if not access.key_file:
        return {}
    path = Path(access.key_file).expanduser()
    public = path.with_name(f"{path.name}.pub")
    if not path.is_file():
        raise SshFailed(Problem(kind="ssh-key-unreadable", text=f"{access.key_file}: no such file"))
    if not _is_locked(path):
        return {"client_keys": [str(path)], "agent_path": None}
    if not (public.is_file() and os.environ.get("SSH_AUTH_SOCK")):
        raise SshFailed(Problem(kind="ssh-key-locked", text=access.key_file))
    return {"client_keys": [str(path)], "ignore_encrypted": True, "agent_identities": [str(public)]}


def _is_locked(path: Path) -> bool:
    try:
        asyncssh.read_private_key(path)
    except asyncssh.KeyImportError as error:
        return "assphrase" in str(error)
    except (OSError, ValueError):
        return False
    return False


def _known_hosts(access: SshAccess, configured: Any) -> asyncssh.SSHKnownHosts:
    """Of files that exist. A configuration that turns the check off (`UserKnownHostsFile none`) is not followed."""
    names = [access.known_hosts] if access.known_hosts else [str(name) for name in configured or ()]
    paths = [Path(name).expanduser() for name in names or ("~/.ssh/known_hosts", _SYSTEM_KNOWN_HOSTS)]
    files = [str(path) for path in paths if path.is_file() and os.access(path, os.R_OK)]
    try:
        return asyncssh.read_known_hosts(files) if files else asyncssh.import_known_hosts("")
    except (OSError, ValueError) as error:
        raise SshFailed(Problem(kind="ssh-config", text=f"{', '.join(files)}: {error}")) from error


def _config_files(access: SshAccess) -> list[str] | None:
    """None, not an empty list: that would make asyncssh read the default file."""
    path = Path("~/.ssh/config").expanduser()
    if access.config == "ignore" or not os.access(path, os.R_OK):
        return None
    if access.config == "no-commands":
        _refuse_exec(path, left=_MAXIMUM_INCLUDES)
    return [str(path)]


def _refuse_exec(path: Path, *, left: int) -> None:
    """Looked for first, because asyncssh runs what `Match exec` names while it reads the file."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    for number, line in enumerate(lines, start=1):
        if _EXEC.match(line):
            raise SshFailed(Problem(kind="ssh-config-command", text=f"Match exec ({path}:{number})"))
        included = _INCLUDE.match(line)
        if included and left:
            for pattern in included[1].split():
                # Relative names stand beside ~/.ssh/config, as in ssh_config(5).
                whole = Path("~/.ssh").expanduser() / Path(pattern.strip('"')).expanduser()
                for name in Path(whole.anchor).glob(str(whole.relative_to(whole.anchor))):
                    _refuse_exec(name, left=left - 1)
