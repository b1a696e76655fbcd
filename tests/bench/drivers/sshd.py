"""A real SSH server on loopback, for tests: one "node" with a user, a home and a Python of its own.

Run by root, the server and all it starts belong to an unprivileged user that exists only in a mount namespace; the interpreter of
the tests is bound to where that user can read it. Run by anybody else, the node's user is oneself. Nothing is changed on the machine, and
nothing is left: every process of a session carries a mark by which it is found.
"""

import importlib.util
import itertools
import os
import pwd
import random
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.bench import process
from app.bench.process import ProcessId

MARK = "RINGSIDE_TEST_NODE"
_START_SECONDS = 20.0
_uids = itertools.count(random.SystemRandom().randrange(61_000, 64_000))


@dataclass
class Server:
    """A running SSH server. `root` holds everything of it; `client` the key and the known hosts of whoever logs in."""

    root: Path
    user: str
    address: str
    port: int
    mark: str
    child: "subprocess.Popen[bytes]"
    python: str = field(default="python3")

    @property
    def home(self) -> Path:
        """The home of the node's user."""
        return self.root / "home"

    @property
    def client(self) -> Path:
        """What the one who logs in has: `id_ed25519` and `known_hosts`."""
        return self.root / "client"

    @property
    def host(self) -> str:
        """As `hosts` of a node says it."""
        return f"{self.user}@{self.address}:{self.port}"

    @property
    def host_key(self) -> str:
        """The public host key, a line of known_hosts without its name."""
        return " ".join((self.root / "server" / "host_key.pub").read_text().split()[:2])

    def settings(self, **changes: Any) -> dict[str, Any]:
        """The settings with which it can be reached."""
        return {
            "hosts": [self.host],
            "key_file": str(self.client / "id_ed25519"),
            "known_hosts": str(self.client / "known_hosts"),
            "config": "ignore",
            # Whoever is not root has the real home there.
            "folder": "~/ringside" if os.geteuid() == 0 else str(self.home / "ringside"),
            **changes,
        }

    def trust(self, *others: "Server") -> None:
        """Know the host keys of others too, and let one key log in everywhere."""
        for other in others:
            with (self.client / "known_hosts").open("a") as file:
                file.write(f"[{other.address}]:{other.port} {other.host_key}\n")
            with (other.root / "server" / "authorized_keys").open("a") as file:
                file.write((self.client / "id_ed25519.pub").read_text())

    def processes(self) -> set[ProcessId]:
        """What sessions have started and has not ended."""
        return process.marked(MARK, self.mark)

    def sessions(self) -> set[ProcessId]:
        """The server's own processes that serve a connection."""
        leader = process.identify(self.child.pid)
        assert leader is not None, self.log()
        return process.descendants(leader) - self.processes()

    def cut(self) -> None:
        """Drop every connection, as a network would."""
        for session in self.sessions():
            process.send(session, signal.SIGKILL)

    def log(self) -> str:
        """What the server wrote."""
        return (self.root / "sshd.log").read_text(errors="replace")

    def wait_until_quiet(self, *, seconds: float = 60) -> None:
        """Until no process of a session is left."""
        deadline = time.monotonic() + seconds
        while self.processes():
            assert time.monotonic() < deadline, [_words(left) for left in self.processes()]
            time.sleep(0.05)


@contextmanager
def sshd(
    *,
    address: str = "127.0.0.1",
    namespace: str = "",
    has_torch: bool = True,
    has_sftp: bool = True,
    greeting: bytes = b"",
) -> Iterator[Server]:
    """A server at `address` on a free port, of a network `namespace` if named. Every Python process there prints `greeting` first."""
    root = Path(tempfile.mkdtemp(prefix="ringside-sshd-"))
    root.chmod(0o755)
    server = _start(
        root, address=address, namespace=namespace, has_torch=has_torch, has_sftp=has_sftp, greeting=greeting
    )
    try:
        yield server
    finally:
        for left in server.processes():
            process.send(left, signal.SIGKILL)
        leader = process.identify(server.child.pid)
        if leader is not None:
            process.end(leader, grace=2)
        server.child.wait()
        shutil.rmtree(root, ignore_errors=True)


def free_port(address: str = "127.0.0.1") -> int:
    """A port nobody listens on now."""
    with socket.socket() as probe:
        probe.bind((address, 0))
        return int(probe.getsockname()[1])


def program(name: str, *, package: str) -> str:
    """The program's path; the test fails where it is missing."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/bin:/sbin:/bin")
    assert found, f"{name} is missing: apt-get install {package}"
    return found


def keygen(path: Path, *, passphrase: str = "") -> None:
    """A key pair at `path` and `path`.pub."""
    command = [
        program("ssh-keygen", package="openssh-client"),
        "-q",
        "-t",
        "ed25519",
        "-N",
        passphrase,
        "-f",
        str(path),
    ]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)


def _start(root: Path, *, address: str, namespace: str, has_torch: bool, has_sftp: bool, greeting: bytes) -> Server:
    is_root = os.geteuid() == 0
    user = "node" if is_root else pwd.getpwuid(os.geteuid()).pw_name
    uid = next(_uids) if is_root else os.geteuid()
    port, mark = 2222 if namespace else free_port(address), secrets.token_hex(8)
    for name in ("home", "client", "server", "python", "packages", "modules", "tmp"):
        (root / name).mkdir()
    if not has_torch:
        (root / "modules" / "torch.py").write_text("raise ImportError(\"No module named 'torch'\")\n")
    if greeting:
        (root / "modules" / "sitecustomize.py").write_text(f"import os\nos.write(1, {greeting!r})\n")
    keygen(root / "server" / "host_key")
    keygen(root / "client" / "id_ed25519")
    shutil.copy(root / "client" / "id_ed25519.pub", root / "server" / "authorized_keys")
    host_key = " ".join((root / "server" / "host_key.pub").read_text().split()[:2])
    (root / "client" / "known_hosts").write_text(f"[{address}]:{port} {host_key}\n")
    (root / "server" / "passwd").write_text(f"root:x:0:0::/root:/bin/sh\n{user}:x:{uid}:{uid}::{root}/home:/bin/sh\n")
    binaries = root / "python" / "bin" if is_root else Path(sys._base_executable).parent  # type: ignore[attr-defined]
    packages = root / "packages" if is_root else _site_packages()
    # A shared libpython is looked for where it was installed, which the node's user need not be able to read.
    libraries = binaries.parent / "lib"
    modules = f"{root}/modules:{packages}"
    (root / "server" / "sshd_config").write_text(
        f"""ListenAddress {address}
Port {port}
HostKey {root}/server/host_key
AuthorizedKeysFile {root}/server/authorized_keys
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
Subsystem sftp {"internal-sftp" if has_sftp else "/bin/false"}
SetEnv PATH={binaries}:/usr/bin:/bin PYTHONPATH={modules} LD_LIBRARY_PATH={libraries} TMPDIR={root}/tmp {MARK}={mark}
"""
    )
    if is_root:
        for path in (root / "home", root / "tmp", root / "server", *(root / "server").iterdir()):
            os.chown(path, uid, uid)
    child = _serve(root, uid=uid, is_root=is_root, namespace=namespace)
    return Server(root, user, address, port, mark, child)


def _serve(root: Path, *, uid: int, is_root: bool, namespace: str) -> "subprocess.Popen[bytes]":
    command = [program("sshd", package="openssh-server"), "-D", "-e", "-f", str(root / "server" / "sshd_config")]
    if is_root:
        setpriv = program("setpriv", package="util-linux")
        drop = [setpriv, f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--pdeathsig=KILL", "--"]
        prepare = (
            'mount --bind "$1" /etc/passwd && mount --bind "$2" "$3" && mount --bind "$4" "$5" && shift 5 && exec "$@"'
        )
        binds = [root / "server" / "passwd", sys.base_prefix, root / "python"]
        binds += [_site_packages(), root / "packages"]
        unshare = [program("unshare", package="util-linux"), "--mount", "--propagation", "private", "--"]
        command = [*unshare, "sh", "-c", prepare, "sh", *map(str, binds), *drop, *command]
    if namespace:
        command = [program("nsenter", package="util-linux"), f"--net=/run/netns/{namespace}", *command]
    log = root / "sshd.log"
    with log.open("wb") as output:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
    deadline = time.monotonic() + _START_SECONDS
    while b"Server listening" not in log.read_bytes():
        said = log.read_text(errors="replace")
        assert child.poll() is None, f"sshd ended (mounting needs CAP_SYS_ADMIN): {said}"
        assert time.monotonic() < deadline, f"sshd does not listen: {said}"
        time.sleep(0.05)
    return child


def _site_packages() -> Path:
    """The folder that holds torch, which is not imported here."""
    found = importlib.util.find_spec("torch")
    assert found is not None, "PyTorch is missing: make setup"
    assert found.origin is not None
    return Path(found.origin).parent.parent


def _words(found: ProcessId) -> str:
    try:
        return Path(f"/proc/{found.pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return "?"
