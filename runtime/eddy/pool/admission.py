"""Which boards a pool's own NATS servers let in, and what each may say there: a folder, and the servers' configuration.

A board may ask heads under its own name (`eddy.pool.gate`), renew its own lease, fetch from its own queue, fetch bytes
by the name of a consumer that a head made for it, and write bytes under its own name. It cannot read a bucket, nor
list anything. Tenants never speak to NATS.

Heads and the store are in one account of the servers, and each board in an account of its own, which has these five
services of the first. Rights on subjects alone would not do: whoever asks names the subject that the answer goes to,
and the server, or a head, sends it there with rights of its own (decision 265).
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eddy.core.errors import Conflict, InvalidRequest, NotFound, StorageDamaged
from eddy.files import write_private
from eddy.pool.credentials import NAME, PoolAccess, PoolUnreachable, UserKey, made_certificate

READ_AGAIN_S = 60.0
"""Wall seconds a server may take to read its configuration again: one that is stopped, or has no processor, is slow."""
MOST_BUFFERED = 1000
"""Messages that a server takes for a stream before they are on its disk; it refuses those beyond, and who sent them
tries again. One board that sends without end would keep the others' waiting for as long as the disk needs for its."""
MAX_PAYLOAD_BYTES = 8 << 20
"""Largest message: the record of a job with many inputs is one."""


POOL_ACCOUNT = "eddy"
"""The account of heads and of everything that is kept."""
ONE, MANY = "Singleton", "Stream"
"""How many answers a request has."""
SERVICES = {
    "eddy.gate.{}": ONE,
    "$KV.eddy_leases.{}": ONE,
    "eddy.written.{}.*": ONE,
    "$JS.API.CONSUMER.MSG.NEXT.EDDY_WORK.board-{}": MANY,
    "$JS.ACK.EDDY_WORK.board-{}.>": ONE,
    # A consumer's name is 128 random bits, told to one board; it can neither list nor make any.
    "$JS.API.CONSUMER.MSG.NEXT.OBJ_eddy_blobs.*": MANY,
}
"""What a board of a name may publish to."""


def board_rights(board: str) -> dict[str, Any]:
    """What a board may publish and subscribe to, in its account."""
    return {
        "publish": {"allow": [service.format(board) for service in SERVICES]},
        "subscribe": {"allow": [f"_INBOX.{board}.>"]},
    }


def pool_account(users: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The account of heads, the same whatever boards are let in: which has what, the boards' accounts say."""
    exports = [
        {"service": ".".join("*" if "{}" in token else token for token in service.split(".")), "response_type": answers}
        for service, answers in SERVICES.items()
    ]
    return {"jetstream": "enabled", "users": [*users], "exports": exports}


def board_account(board: str, users: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The account of one board: what it has of the pool's, and nothing else."""
    imports = [{"service": {"account": POOL_ACCOUNT, "subject": service.format(board)}} for service in SERVICES]
    return {"users": [{**user, "permissions": board_rights(board)} for user in users], "imports": imports}


@dataclass(frozen=True, slots=True)
class Place:
    """Where one server listens, and with whom it forms a cluster.

    Attributes:
        folder: Its configuration, data and log.
        host: Address.
        port: TCP port for boards and heads.
        cluster_port: TCP port for other servers; 0 where there are none.
        routes: `host:port` of the others, as this server reaches them.
    """

    folder: Path
    host: str
    port: int
    cluster_port: int = 0
    routes: tuple[str, ...] = ()

    @property
    def log(self) -> Path:
        """What the server says."""
        return self.folder / "nats.log"

    @property
    def store(self) -> Path:
        """What it keeps."""
        return self.folder / "jetstream"


class PoolAdmission:
    """The pool's users.

    Args:
        folder: Keys and certificate; made where they are not there. `head.json` is what heads are given,
            `boards/NAME.json` what a board is.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.head_file = folder / "head.json"
        self._certificate, self._key, self._kept = folder / "server.pem", folder / "server.key", folder / "users.json"
        with self._alone():
            self._begin()

    def _begin(self) -> None:
        if not self._certificate.exists():
            made_certificate(self._certificate, self._key)
        if not self._kept.exists():
            head = UserKey()
            PoolAccess("", "", head.seed, self._certificate.read_text()).write(self.head_file)
            self._keep({"head": head.public, "boards": {}, "places": []})

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Alone among processes: of two that change who is let in at once, both count. Others wait as long as servers
        take to read it."""
        with os.fdopen(os.open(self.folder / "users.lock", os.O_RDWR | os.O_CREAT, 0o600)) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    @property
    def boards(self) -> list[str]:
        """Boards that are let in, by name."""
        return sorted(self._read()["boards"])

    def board_file(self, board: str) -> Path:
        """What a board is given."""
        return self.folder / "boards" / f"{board}.json"

    def admit(self, board: str, host: str = "") -> Path:
        """Let a board in; answers the file that it needs.

        Args:
            board: Its name in the pool.
            host: Address at which it reaches the servers, where that is not the one they listen on.

        Raises:
            InvalidRequest: It cannot be named so.
            Conflict: It is in already.
            PoolUnreachable: A server that runs has not read it in time; it counts once that is started again.
        """
        if not NAME.fullmatch(board) or board == "head":
            raise InvalidRequest("A board's name has letters, digits, - and _.", field="board", asked=board)
        with self._alone():
            return self._admit(board, host)

    def _admit(self, board: str, host: str) -> Path:
        kept = self._read()
        if board in kept["boards"]:
            message = f"{board} is admitted already, with {self.board_file(board)}. Revoke it first for a new key."
            raise Conflict(message, board=board)
        made = UserKey()
        kept["boards"][board] = made.public
        urls = ",".join(f"tls://{host or place['host']}:{place['port']}" for place in kept["places"])
        PoolAccess(urls, board, made.seed, self._certificate.read_text()).write(self.board_file(board))
        self._keep(kept)
        self._apply()
        return self.board_file(board)

    def revoke(self, board: str) -> None:
        """Let a board in no longer; its connections are cut at once, and its key is worth nothing.

        Raises:
            NotFound: It is not in.
            PoolUnreachable: A server that runs has not read it in time; it counts once that is started again.
        """
        with self._alone():
            kept = self._read()
            if kept["boards"].pop(board, None) is None:
                raise NotFound(f"No board {board!r} was admitted here.", field="board", asked=board)
            self._keep(kept)
            self.board_file(board).unlink(missing_ok=True)
            self._apply()

    def listens(self, place: Place) -> Path:
        """Take note of a server of this pool; answers its configuration."""
        with self._alone():
            return self._listens(place)

    def _listens(self, place: Place) -> Path:
        kept = self._read()
        entry = {
            "folder": str(place.folder), "host": place.host, "port": place.port,
            "cluster_port": place.cluster_port, "routes": list(place.routes),
        }  # fmt: skip
        kept["places"] = [each for each in kept["places"] if each["folder"] != entry["folder"]] + [entry]
        self._keep(kept)
        self._write(kept, place)
        _keep_in_account(place.store / "jetstream")
        urls = ",".join(f"tls://{each['host']}:{each['port']}" for each in kept["places"])
        head = PoolAccess.named(str(self.head_file))
        PoolAccess(urls, "", head.seed, head.certificate).write(self.head_file)
        return place.folder / "nats.conf"

    def apply(self) -> None:
        """Write every server's configuration again, and have those that run on this machine read it.

        Raises:
            PoolUnreachable: One of them has not in time; the others have.
        """
        with self._alone():
            self._apply()

    def _apply(self) -> None:
        kept, late = self._read(), list[PoolUnreachable]()
        for each in kept["places"]:
            place = Place(**{**each, "folder": Path(each["folder"]), "routes": tuple(each["routes"])})
            self._write(kept, place)
            # A new account has its services from the second reading on (nats-server 2.10 to 2.15).
            try:
                for _ in range(2):
                    _read_again(place)
            except PoolUnreachable as failure:
                late.append(failure)
        if late:
            raise late[0]

    def _write(self, kept: Mapping[str, Any], place: Place) -> None:
        write_private(place.folder / "nats.conf", self._text(kept, place).encode())

    def _text(self, kept: Mapping[str, Any], place: Place) -> str:
        parts: dict[str, Any] = {
            "server_name": place.folder.name,
            "host": place.host,
            "port": place.port,
            "pid_file": str(place.folder / "nats.pid"),
            "max_payload": MAX_PAYLOAD_BYTES,
            "tls": {"cert_file": str(self._certificate), "key_file": str(self._key), "timeout": 10},
            "accounts": {
                POOL_ACCOUNT: pool_account([{"nkey": kept["head"]}]),
                **{
                    f"board-{board}": board_account(board, [{"nkey": public}])
                    for board, public in sorted(kept["boards"].items())
                },
            },
            "authorization": {"timeout": 10},
            # Acknowledged means on the disk, here as on a single board.
            "jetstream": {"store_dir": str(place.store), "sync_interval": "always", "max_buffered_msgs": MOST_BUFFERED},
        }
        if place.cluster_port:
            parts["cluster"] = {
                "name": "eddy", "host": place.host, "port": place.cluster_port, "no_advertise": True,
                "routes": [f"nats://{each}" for each in place.routes],
                "tls": {
                    "cert_file": str(self._certificate), "key_file": str(self._key), "ca_file": str(self._certificate),
                    "verify": True, "timeout": 10,
                },
            }  # fmt: skip
        return json.dumps(parts, indent=1)

    def _read(self) -> dict[str, Any]:
        """Who is let in, and the servers.

        Raises:
            StorageDamaged: The file does not say.
        """
        try:
            kept = json.loads(self._kept.read_text(encoding="utf-8"))
            users = {"head": str(kept["head"]), "boards": dict(kept["boards"]), "places": list(kept["places"])}
        except (KeyError, RecursionError, TypeError, ValueError) as failure:
            message = f"{self._kept} is damaged, so nobody can be let in: restore it from a copy, or begin a new pool."
            raise StorageDamaged(message, file=str(self._kept)) from failure
        return users

    def _keep(self, kept: Mapping[str, Any]) -> None:
        write_private(self._kept, json.dumps(kept, indent=1).encode())


def _keep_in_account(store: Path) -> None:
    """What a server kept when it had no accounts is the pool's."""
    if (store / "$G").exists() and not (store / POOL_ACCOUNT).exists():
        (store / "$G").rename(store / POOL_ACCOUNT)


def _read_again(place: Place) -> None:
    """Have a server that runs on this machine read its configuration, and wait until it has: signals that come while
    one waits are one.

    Raises:
        PoolUnreachable: It has not read it in time.
    """
    # A number in a file may be another process by now; the file goes when a server ends in order.
    with contextlib.suppress(OSError, ValueError):
        number = int((place.folder / "nats.pid").read_text())
        if not _runs(number):
            return
        before, deadline = _readings(place), time.monotonic() + READ_AGAIN_S
        os.kill(number, signal.SIGHUP)
        while _readings(place) == before and _runs(number):
            if time.monotonic() >= deadline:
                raise PoolUnreachable(
                    f"The pool's server over {place.folder} has not read its configuration again within"
                    f" {READ_AGAIN_S:g} s; {place.log} may say why. It will when it is started again.",
                    log=str(place.log),
                )
            time.sleep(0.02)


def _runs(number: int) -> bool:
    """Whether a process is a server of a pool; one that has ended and not been waited for has no command line."""
    return b"nats-server" in Path(f"/proc/{number}/cmdline").read_bytes()


def _readings(place: Place) -> int:
    """How often a server's log says that it has read its configuration again."""
    return place.log.read_bytes().count(b"Reloaded server configuration")
