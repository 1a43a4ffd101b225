# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Which boards a pool's own NATS servers let in, and what each may say there: a folder, and the servers' configuration.

A board may ask heads under its own name (`eddy.pool.head.board_requests`), renew its own lease, fetch from its own
queue. Bytes it gets from heads, and brings to them, by HTTP (`eddy.pool.head.transfers`). It cannot read a bucket, nor
list anything. Tenants never speak to NATS.

Heads and the store are in one account of the servers, and each board in an account of its own, which has these
services of the first. Rights on subjects alone would not do: whoever asks names the subject that the answer goes to,
and the server, or a head, sends it there with rights of its own (docs/decisions/pool-access-of-boards.md).
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import socket
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from eddy.core.errors import Conflict, InvalidRequest, NotFound, StorageDamaged
from eddy.host.files import free_bytes, write_private
from eddy.pool.connection.credentials import NAME, PoolAccess, PoolUnreachable, UserKey
from eddy.pool.servers.handshake import is_admitted

READ_AGAIN_S = 60.0
"""Wall seconds a server may take to read its configuration again: one that is stopped, or has no processor, is slow."""
KNOCK_S, LOOK_S = 2.0, 0.02
"""Wall seconds that one handshake may take, and between two."""
HEADS = "head"
"""Whom `revoke` takes for the heads: no board is called so."""
PORT, CLUSTER_PORT = 4222, 6222
MAX_BUFFERED = 1000
"""Messages that a server takes for a stream before they are on its disk; it refuses those beyond, and who sent them
tries again. One board that sends without end would keep the others' waiting for as long as the disk needs for its."""
MAX_PAYLOAD_BYTES = 8 << 20
"""Largest message: the record of a job with many inputs is one."""


STORE = "jetstream"
"""Folder of what a server keeps, in the server's own."""
POOL_ACCOUNT = "eddy"
"""The account of heads and of everything that is kept."""
ONE, MANY = "Singleton", "Stream"
"""How many answers a request has."""
NOTHING = {"publish": {"deny": [">"]}, "subscribe": {"deny": [">"]}}
SERVICES = {
    "eddy.gate.{}": ONE,
    "$KV.eddy_leases.{}": ONE,
    "$JS.API.CONSUMER.MSG.NEXT.EDDY_WORK.board-{}": MANY,
    "$JS.ACK.EDDY_WORK.board-{}.>": ONE,
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
        return self.folder / STORE

    @property
    def config(self) -> Path:
        """What it reads."""
        return self.folder / "nats.conf"

    @property
    def is_local(self) -> bool:
        """Whether it is a server of this machine, which has its address."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        with contextlib.suppress(OSError), socket.socket(family) as probe:
            probe.bind((self.host, 0))
            return True
        return False

    @property
    def running(self) -> Path:
        """What its process began with, of what it takes no other while it runs."""
        return self.folder / "nats.running"

    def process(self) -> int | None:
        """The number of its process; None where it does not run on this machine."""
        # A number in a file may be another process by now; the file goes when a server ends in order.
        with contextlib.suppress(OSError, ValueError):
            number = int((self.folder / "nats.pid").read_text())
            words = Path(f"/proc/{number}/cmdline").read_bytes().split(b"\0")
            read = Path(f"/proc/{number}/cwd").resolve() / os.fsdecode(words[words.index(b"-c") + 1])
            return number if b"nats-server" in words[0] and read.resolve() == self.config.resolve() else None
        return None


@dataclass(frozen=True, slots=True)
class _Users:
    """Who is let in, and the servers: what is kept in `users.json`.

    Attributes:
        head: Public key of the heads.
        head_seed: Its secret half.
        boards: Public keys, by name.
        revoked: Secret halves of keys that are let in no more, by whose they were: they are tried, to see that.
        generation: Secret half of a key that is new with every change of all this, and may do nothing: a server that
            lets it in has read its configuration since.
    """

    head: str
    head_seed: str
    boards: Mapping[str, str]
    revoked: Mapping[str, Sequence[str]]
    generation: str
    places: Sequence[Mapping[str, Any]]


class PoolAdmission:
    """The pool's users.

    Args:
        folder: Keys and certificate; made where they are not there. `head.json` is what heads are given,
            `boards/NAME.json` what a board is.
        hosts: Where these are made: names and addresses at which servers on several machines reach each other.
    """

    def __init__(self, folder: Path, hosts: Iterable[str] = ()) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        # Servers read paths from where they were started, and whoever revokes a key stands elsewhere.
        self.folder = folder = folder.resolve()
        self.head_file = folder / "head.json"
        self._certificate, self._key, self._kept = folder / "server.pem", folder / "server.key", folder / "users.json"
        with self._alone():
            self._begin(hosts)

    def _begin(self, hosts: Iterable[str]) -> None:
        if not self._certificate.exists():
            from eddy.pool.servers.certificate import made_certificate  # what reads X.509 is slow to import

            made_certificate(self._certificate, self._key, hosts)
        if not self._kept.exists():
            head = UserKey()
            self._keep(_Users(head.public, head.seed, {}, {}, UserKey().seed, ()))
        elif b'"generation"' not in self._kept.read_bytes():  # of an earlier release
            self._keep(self._read())
        if not self.head_file.exists():
            self._write_head(self._read(), "")

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
        return sorted(self._read().boards)

    @property
    def places(self) -> list[Place]:
        """The servers."""
        return self._places(self._read())

    def board_file(self, board: str) -> Path:
        """What a board is given."""
        return self.folder / "boards" / f"{board}.json"

    def admit(self, board: str, host: str = "") -> Path:
        """Let a board in; answers the file that it needs.

        Args:
            board: Its name in the pool.
            host: Address at which it reaches the one server there is, where that is not the one it listens on.

        Raises:
            InvalidRequest: It cannot be named so.
            Conflict: It is in already.
            PoolUnreachable: A server that runs here has not read it in time; it counts once that is started again.
        """
        if not NAME.fullmatch(board) or board == HEADS:
            raise InvalidRequest("A board's name has letters, digits, - and _.", field="board", asked=board)
        with self._alone():
            return self._admit(board, host)

    def _admit(self, board: str, host: str) -> Path:
        kept = self._read()
        if board in kept.boards:
            message = f"{board} is admitted already, with {self.board_file(board)}. Revoke it first for a new key."
            raise Conflict(message, board=board)
        places = self._places(kept)
        if host and len(places) > 1:
            message = "--host is for a pool of one server; those of a cluster have the addresses it was made with."
            raise InvalidRequest(message, field="host", asked=host)
        made = UserKey()
        urls = f"tls://{host}:{places[0].port}" if host and places else self._urls(kept)
        PoolAccess(urls, board, made.seed, self._certificate.read_text()).write(self.board_file(board))
        kept = self._changed(kept, boards={**kept.boards, board: made.public})
        self._apply(kept)
        return self.board_file(board)

    def revoke(self, board: str) -> None:
        """Let a board in no longer, or a stolen key of the heads (`HEADS`): its connections are cut, and its key is
        worth nothing. Heads get another one, in `head.json`.

        It may be asked for again: whatever a try before left undone is done then, and looked at once more.

        Raises:
            NotFound: No such board was ever in.
            PoolUnreachable: The key may be let in still: a server has not read its configuration, or does not answer;
                the message says what to do.
        """
        with self._alone():
            kept = self._read()
            if board == HEADS:
                kept = self._with_new_head_key(kept)
            elif board in kept.boards:
                kept = self._without_board(kept, board)
            elif board not in kept.revoked:
                raise NotFound(f"No board {board!r} was admitted here.", field="board", asked=board)
            if board == HEADS:
                self._write_head(kept, self._head_urls(kept))
            self._apply(kept)
            if stale := self._stale_servers(kept, kept.revoked.get(board, ())):
                raise PoolUnreachable(f"{board} may be let in still. {' '.join(stale)}", board=board)
            if board != HEADS:
                self.board_file(board).unlink(missing_ok=True)

    def _without_board(self, kept: _Users, board: str) -> _Users:
        seeds = kept.revoked.get(board, ())
        with contextlib.suppress(PoolUnreachable):  # the file may be gone, or another's
            found = PoolAccess.named(str(self.board_file(board))).seed
            if UserKey.from_seed(found).public == kept.boards[board]:
                seeds = (*seeds, found)
        boards = {name: public for name, public in kept.boards.items() if name != board}
        return self._changed(kept, boards=boards, revoked={**kept.revoked, board: seeds})

    def _with_new_head_key(self, kept: _Users) -> _Users:
        made, seeds = UserKey(), (*kept.revoked.get(HEADS, ()), kept.head_seed)
        return self._changed(kept, head=made.public, head_seed=made.seed, revoked={**kept.revoked, HEADS: seeds})

    def stale_servers(self) -> list[str]:
        """Servers that let in others than they should, or of which that is not known: a sentence each that says what
        to do."""
        return self._stale_servers(self._read(), ())

    def _stale_servers(self, kept: _Users, revoked: Iterable[str]) -> list[str]:
        return [said for place in self._places(kept) if (said := self._staleness(kept, place, revoked))]

    def _staleness(self, kept: _Users, place: Place, revoked: Iterable[str]) -> str:
        """Why a server may let in others than it should; "" where it does not."""
        who = f"The server {place.folder.name} at {place.host}:{place.port}"
        runs = place.process() is not None
        how = "Start it again" if runs else f"Copy {self._kept} to where it runs: `eddy pool up` reads it there at once"
        try:
            if not self._admits(kept.generation, place):
                return f"{who} does not know of this yet. {how}."
            if any(self._admits(seed, place) for seed in revoked):
                return f"{who} lets it in, though its configuration does not: see {place.config}."
        except OSError as failure:
            if place.is_local and not runs:
                return ""  # it does not run, and reads this when it is started
            return f"{who} does not answer ({failure}), so nobody knows. {how}; then try again."
        return ""

    def _admits(self, seed: str, place: Place) -> bool:
        return is_admitted(PoolAccess("", "", seed, self._certificate.read_text()), place.host, place.port, KNOCK_S)

    def form_cluster(self, servers: Mapping[str, Place]) -> None:
        """Take note of the servers of a cluster, by their names; all of them have copies of this folder.

        Raises:
            Conflict: This folder is of another pool.
        """
        with self._alone():
            kept = self._read()
            places = tuple(_entry(each, name) for name, each in servers.items())
            if kept.places and kept.places != places:
                message = f"{self.folder} is the folder of another pool already: name a new one with --data."
                raise Conflict(message, field="data", asked=str(self.folder))
            if not kept.places:
                kept = self._changed(kept, places=places)
            self._write_head(kept, self._urls(kept))

    def listens(self, place: Place, store_bytes: int = 0) -> Path:
        """Take note of a server of this pool that is about to start; answers its configuration.

        Args:
            store_bytes: Most that it keeps; 0 for three quarters of what its disk has room for.
        """
        with self._alone():
            return self._listens(place, store_bytes)

    def _listens(self, place: Place, store_bytes: int) -> Path:
        kept = self._read()
        if place not in self._places(kept):
            # A folder that was moved is the same server.
            others = [
                each
                for each in self._places(kept)
                if each.folder != place.folder and (each.host, each.port) != (place.host, place.port)
            ]
            kept = self._changed(kept, places=tuple(_entry(each, str(each.folder)) for each in (*others, place)))
        self._write(kept, place, kept.generation, _jetstream(place, store_bytes))
        _keep_in_account(place.store / "jetstream")
        self._write_head(kept, self._urls(kept))
        return place.config

    def runs(self, place: Place, number: int) -> None:
        """Take note of a server that has just been started."""
        began = {"pid": number, "jetstream": _jetstream_of(place.config)}
        write_private(place.running, json.dumps(began).encode())

    def apply(self) -> None:
        """Write every server's configuration again, and have those that run on this machine read it.

        Raises:
            PoolUnreachable: One of them has not in time; the others have.
        """
        with self._alone():
            self._apply(self._read())

    def refresh(self, place: Place) -> None:
        """Have a server read what was changed elsewhere, and copied here.

        Raises:
            PoolUnreachable: It has not in time.
            StorageDamaged: What was copied does not say.
        """
        with self._alone():
            kept = self._read()
            if UserKey.from_seed(kept.generation).public not in place.config.read_text():
                self._write_head(kept, self._urls(kept))
                self._apply_at(kept, place)

    @property
    def changed_at(self) -> tuple[int, int]:
        """Differs once another file says who is let in."""
        found = self._kept.stat()
        return found.st_ino, found.st_mtime_ns

    def _apply(self, kept: _Users) -> None:
        late = list[PoolUnreachable]()
        for place in self._places(kept):
            try:
                self._apply_at(kept, place)
            except PoolUnreachable as failure:
                late.append(failure)
        if late:
            raise late[0]

    def _apply_at(self, kept: _Users, place: Place) -> None:
        if not place.folder.is_dir():
            return  # on another machine
        # A server that runs takes no other bound of its store, whatever its file says by now.
        jetstream = _began_with(place) or _jetstream_of(place.config) or _jetstream(place, 0)
        # A new account has its services from the second reading on (nats-server 2.10 to 2.15).
        generations = (UserKey().seed, kept.generation) if _has_news(kept, place) else (kept.generation,)
        for generation in generations:
            self._write(kept, place, generation, jetstream)
            self._read_again(place, generation)

    def _read_again(self, place: Place, generation: str) -> None:
        """Have a server that runs on this machine read its configuration, and wait until it has.

        Raises:
            PoolUnreachable: It has not read it in time.
        """
        if (number := place.process()) is None:
            return
        deadline = time.monotonic() + READ_AGAIN_S
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGHUP)
        while place.process() == number:
            with contextlib.suppress(OSError):
                if self._admits(generation, place):
                    return
            if time.monotonic() >= deadline:
                raise PoolUnreachable(
                    f"The pool's server over {place.folder} has not read its configuration again within"
                    f" {READ_AGAIN_S:g} s, and lets in whom it let in before; {place.log} may say why. Start it again:"
                    f" it reads it then. It is process {number}; where no `eddy pool up` has it any more,"
                    f" `kill {number}` first.",
                    log=str(place.log),
                    pid=number,
                )
            time.sleep(LOOK_S)

    def _write(self, kept: _Users, place: Place, generation: str, jetstream: Mapping[str, Any]) -> None:
        write_private(place.config, self._text(kept, place, UserKey.from_seed(generation).public, jetstream).encode())

    def _text(self, kept: _Users, place: Place, generation: str, jetstream: Mapping[str, Any]) -> str:
        parts: dict[str, Any] = {
            "server_name": place.folder.name,
            "host": place.host,
            "port": place.port,
            "pid_file": str(place.folder / "nats.pid"),
            "max_payload": MAX_PAYLOAD_BYTES,
            "tls": {"cert_file": str(self._certificate), "key_file": str(self._key), "timeout": 10},
            "accounts": {
                POOL_ACCOUNT: pool_account([{"nkey": kept.head}]),
                **{
                    f"board-{board}": board_account(board, [{"nkey": public}])
                    for board, public in sorted(kept.boards.items())
                },
                "generation": {"users": [{"nkey": generation, "permissions": NOTHING}]},
            },
            "authorization": {"timeout": 10},
            "jetstream": dict(jetstream),
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

    def _write_head(self, kept: _Users, urls: str) -> None:
        PoolAccess(urls, "", kept.head_seed, self._certificate.read_text()).write(self.head_file)

    def _head_urls(self, kept: _Users) -> str:
        """Where heads find the servers: an operator may have written others into their file."""
        try:
            return PoolAccess.named(str(self.head_file)).urls
        except PoolUnreachable:
            return self._urls(kept)

    def _urls(self, kept: _Users) -> str:
        return ",".join(f"tls://{each.host}:{each.port}" for each in self._places(kept))

    def _places(self, kept: _Users) -> list[Place]:
        return [
            Place(**{**each, "folder": self._folder_of(str(each["folder"])), "routes": tuple(each["routes"])})
            for each in kept.places
        ]

    def _folder_of(self, text: str) -> Path:
        """A server's folder: one of a cluster is in the pool's. Earlier releases wrote the pool's own down as they were
        told it, from where they ran."""
        inside = self.folder / text
        return self.folder if not inside.is_dir() and Path(text).name == self.folder.name else inside

    def _read(self) -> _Users:
        """Who is let in, and the servers.

        Raises:
            StorageDamaged: The file does not say.
        """
        try:
            kept = json.loads(self._kept.read_text(encoding="utf-8"))
            # Earlier releases kept the heads' secret in their file alone, and knew no other keys.
            seed = str(kept.get("head_seed") or PoolAccess.named(str(self.head_file)).seed)
            return _Users(
                head=str(kept["head"]),
                head_seed=seed,
                boards=dict(kept["boards"]),
                revoked={name: tuple(map(str, seeds)) for name, seeds in dict(kept.get("revoked", {})).items()},
                generation=UserKey.from_seed(kept["generation"]).seed if kept.get("generation") else UserKey().seed,
                places=tuple(dict(each) for each in kept["places"]),
            )
        except (AttributeError, KeyError, RecursionError, TypeError, ValueError, PoolUnreachable) as failure:
            message = f"{self._kept} is damaged, so nobody can be let in: restore it from a copy, or begin a new pool."
            raise StorageDamaged(message, file=str(self._kept)) from failure

    def _changed(self, kept: _Users, **what: Any) -> _Users:
        """Keep a change; servers are told of it by a key that is new with it."""
        changed = replace(kept, **what, generation=UserKey().seed)
        self._keep(changed)
        return changed

    def _keep(self, kept: _Users) -> None:
        write_private(self._kept, json.dumps(asdict(kept), indent=1).encode())


def _entry(place: Place, folder: str) -> dict[str, Any]:
    """A server as it is kept."""
    return {**asdict(place), "folder": folder, "routes": list(place.routes)}


def _has_news(kept: _Users, place: Place) -> bool:
    """Whether a server is to let in a board that its configuration does not have."""
    with contextlib.suppress(OSError):
        text = place.config.read_text()
        return any(public not in text for public in kept.boards.values())
    return True


def _jetstream(place: Place, store_bytes: int) -> dict[str, Any]:
    """What a server keeps, where and how much. Its own way counts what it has already as no room at all, so one that
    keeps half of its disk would take nothing more after its next start."""
    has = sum(file.stat().st_size for file in place.store.rglob("*") if file.is_file()) if place.store.exists() else 0
    return {
        "store_dir": str(place.store),
        "max_file_store": store_bytes or (free_bytes(place.folder) + has) * 3 // 4,
        # Acknowledged means on the disk, here as on a single board.
        "sync_interval": "always",
        "max_buffered_msgs": MAX_BUFFERED,
    }


def _jetstream_of(config: Path) -> dict[str, Any]:
    """The same, as a configuration has it; nothing where there is none."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        return dict(json.loads(config.read_text())["jetstream"])
    return {}


def _began_with(place: Place) -> dict[str, Any]:
    """The same, as the process that runs was started with it; nothing where that is not known."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        began = json.loads(place.running.read_text())
        return dict(began["jetstream"]) if began["pid"] == place.process() else {}
    return {}


def _keep_in_account(store: Path) -> None:
    """What a server kept when it had no accounts is the pool's."""
    if (store / "$G").exists() and not (store / POOL_ACCOUNT).exists():
        (store / "$G").rename(store / POOL_ACCOUNT)
