# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A key that was revoked is out, however that was asked for; what cannot be known is never told as done."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from eddy.cli.main import app
from eddy.core.errors import Conflict, NotFound, StorageDamaged
from eddy.pool.connection.connection import connected
from eddy.pool.connection.credentials import PoolAccess, PoolUnreachable, UserKey
from eddy.pool.servers import admission as module
from eddy.pool.servers.admission import HEADS, Place, PoolAdmission
from eddy.pool.servers.handshake import is_admitted
from eddy.pool.servers.nats_server import NatsServer, free_port
from pool_kit import WAIT_S
from typer.testing import CliRunner, Result


def eddy(*arguments: str) -> Result:
    """`eddy pool` with these arguments, from the folder that this process stands in."""
    return CliRunner().invoke(app, ["pool", *arguments])


class StolenCredentials:
    """Somebody with a copy of a file, who stays connected for as long as the servers let him."""

    def __init__(self, file: Path) -> None:
        self.access = PoolAccess.named(str(file))
        self._in, self.cut, self._left = threading.Event(), threading.Event(), threading.Event()
        self._thread = threading.Thread(target=asyncio.run, args=[self._stay()])
        self._thread.start()

    async def _stay(self) -> None:
        try:
            async with connected(self.access, "thief", WAIT_S) as nats:
                assert nats.is_connected
                self._in.set()
                while nats.is_connected and not self._left.is_set():
                    await asyncio.sleep(0.01)
        finally:
            self.cut.set()

    def __enter__(self) -> StolenCredentials:
        assert self._in.wait(WAIT_S)
        return self

    def __exit__(self, *_: object) -> None:
        self._left.set()
        self._thread.join(WAIT_S)

    def gets_in(self, port: int = 0) -> bool:
        return is_admitted(self.access, "127.0.0.1", port or self.port, WAIT_S)

    @property
    def port(self) -> int:
        return int(self.access.urls.rsplit(":", 1)[1])

    def is_out(self) -> bool:
        """Whether his connection was cut, and no other is let in."""
        return self.cut.wait(WAIT_S) and not self._left.is_set() and not self.gets_in()


@contextlib.contextmanager
def pool_up(*arguments: str, cwd: Path) -> Iterator[subprocess.Popen[str]]:
    """`eddy pool up`, once it listens."""
    port = str(free_port("127.0.0.1"))
    command = [sys.executable, "-m", "eddy.cli.main", "pool", "up", "--port", port, *arguments]
    with subprocess.Popen(command, cwd=cwd, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            for line in process.stderr:
                if "listens on" in line:
                    break
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=WAIT_S)


def test_a_key_is_out_on_each_way_of_calling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that was started with a relative folder, and commands from there and elsewhere, with paths of all kinds:
    a server reads paths from where it was started."""
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    here.mkdir()
    elsewhere.mkdir()
    (tmp_path / "link").symlink_to(here)
    ways = {
        "relative": ("pool", here), "from-the-folder": (".", here / "pool"),
        "absolute": (str(here / "pool"), elsewhere),
        "other-relative": ("../here/pool", elsewhere), "symlink": (str(tmp_path / "link" / "pool"), elsewhere),
    }  # fmt: skip
    with pool_up("--data", "pool", cwd=here):
        for name, (data, cwd) in ways.items():
            monkeypatch.chdir(cwd)
            assert eddy("admit", name, "--data", data).exit_code == 0
            with StolenCredentials(here / "pool" / "boards" / f"{name}.json") as thief:
                told = eddy("revoke", name, "--data", data)
                assert told.exit_code == 0, told.output
                assert thief.is_out(), name
        assert eddy("revoke", name, "--data", data).exit_code == 0, "it may be repeated"
        assert eddy("revoke", "nobody", "--data", data).exit_code != 0
    assert not any((here / "pool" / "boards").iterdir())


def test_a_key_that_is_revoked_while_the_server_is_down_is_out_when_it_starts(tmp_path: Path) -> None:
    server = NatsServer(tmp_path)
    with server.running():
        access = PoolAccess.named(str(server.admission.admit("b1")))
        assert is_admitted(access, "127.0.0.1", server.port, WAIT_S)
    PoolAdmission(tmp_path).revoke("b1")
    with NatsServer(tmp_path, port=server.port).running():
        assert not is_admitted(access, "127.0.0.1", server.port, WAIT_S)


def test_a_server_ends_with_who_started_it(tmp_path: Path) -> None:
    """An orphan would go on with its configuration, and keep the next one from starting."""
    with pool_up("--data", "pool", cwd=tmp_path) as up:
        place = Place((tmp_path / "pool").resolve(), "127.0.0.1", 0)
        number = place.process()
        assert number is not None
        up.kill()
        deadline = time.monotonic() + WAIT_S
        while place.process() is not None:
            assert time.monotonic() < deadline
            time.sleep(0.02)
    with pool_up("--data", "pool", cwd=tmp_path) as up:
        assert place.process() not in (None, number)


def test_a_server_outlives_the_thread_that_started_it(tmp_path: Path) -> None:
    server = NatsServer(tmp_path)
    thread = threading.Thread(target=server.start)
    thread.start()
    thread.join(WAIT_S)
    try:
        time.sleep(0.5)
        assert server.process.poll() is None
    finally:
        server.stop()


@pytest.mark.parametrize("other_port", [False, True])
def test_an_orphan_is_named_and_its_configuration_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other_port: bool
) -> None:
    monkeypatch.setattr("eddy.pool.servers.nats_server.ENDS_S", 0.1)
    with NatsServer(tmp_path).running() as server:
        number = server.process.pid
        assert server._hold is not None
        server._hold.release()  # as the kernel does where who has it is killed
        server._hold = None
        before = server.config.read_bytes()
        port = server.port + other_port
        told = eddy("up", "--data", str(tmp_path), "--port", str(port), "--store-bytes", str(1 << 30))
        assert told.exit_code != 0
        assert f"process {number}" in told.output.replace("\n", " ")
        assert f"kill {number}" in told.output
        assert server.config.read_bytes() == before
        with StolenCredentials(server.admission.admit("b1")) as thief:
            assert eddy("revoke", "b1", "--data", str(tmp_path)).exit_code == 0
            assert thief.is_out()


def test_who_cannot_listen_leaves_the_configuration_as_it_is(tmp_path: Path) -> None:
    with NatsServer(tmp_path / "one").running() as server:
        pass
    before = server.config.read_bytes()
    with socket.socket() as other:
        other.bind(("127.0.0.1", server.port))
        other.listen()
        with pytest.raises(Conflict, match="cannot listen"):
            NatsServer(tmp_path / "one", port=server.port, store_bytes=1 << 20).start()
    assert server.config.read_bytes() == before


def test_a_key_is_out_beside_a_file_with_another_bound_of_the_store(tmp_path: Path) -> None:
    """A server that runs reads no file that lowers it."""
    with NatsServer(tmp_path).running() as server, StolenCredentials(server.admission.admit("b1")) as thief:
        text = json.loads(server.config.read_text())
        text["jetstream"]["max_file_store"] //= 2
        server.config.write_text(json.dumps(text))
        with patch.object(module, "READ_AGAIN_S", 10.0):
            PoolAdmission(tmp_path).revoke("b1")
        assert thief.is_out()


class Killed(BaseException):
    """The command ends here, whatever it was about to do."""


def dies_at(step: str) -> Any:
    """The command is killed as it takes a step."""

    def dies(*_: object, **__: object) -> None:
        raise Killed

    where, name = {
        "servers are told": (PoolAdmission, "_apply"),
        "a configuration is written": (PoolAdmission, "_write"),
        "a server reads it": (os, "kill"),
        "it is seen to have": (module, "is_admitted"),
        "the key is tried": (PoolAdmission, "_stale_servers"),
        "its file goes": (Path, "unlink"),
    }[step]
    return patch.object(where, name, dies)


STEPS = (
    "servers are told", "a configuration is written", "a server reads it", "it is seen to have", "the key is tried",
    "its file goes",
)  # fmt: skip


def test_a_command_that_is_killed_between_two_steps_is_ended_by_the_next(tmp_path: Path) -> None:
    with NatsServer(tmp_path).running() as server:
        for number, step in enumerate(STEPS):
            name = f"b{number}"
            with StolenCredentials(server.admission.admit(name)) as thief:
                with dies_at(step), pytest.raises(Killed):
                    PoolAdmission(tmp_path).revoke(name)
                PoolAdmission(tmp_path).revoke(name)
                assert thief.is_out(), step
            assert not server.admission.board_file(name).exists()
        with dies_at("servers are told"), pytest.raises(Killed):
            PoolAdmission(tmp_path).revoke(HEADS)
        old = PoolAccess.named(str(server.admission.head_file))
        PoolAdmission(tmp_path).revoke(HEADS)
        assert not is_admitted(old, "127.0.0.1", server.port, WAIT_S)
        assert is_admitted(PoolAccess.named(str(server.admission.head_file)), "127.0.0.1", server.port, WAIT_S)


def test_a_server_that_cannot_read_who_is_let_in_is_said_and_the_next_try_is_no_less(tmp_path: Path) -> None:
    """The first try said so, and the second that there is no such board, while the key went on."""
    with NatsServer(tmp_path).running() as server:
        broken = module.PoolAdmission._text

        def with_no_certificate(*arguments: Any) -> str:
            return broken(*arguments).replace("server.pem", "nothing.pem")

        with StolenCredentials(server.admission.admit("b1")) as thief:
            with patch.object(PoolAdmission, "_text", with_no_certificate), patch.object(module, "READ_AGAIN_S", 1.0):
                for _ in range(2):
                    with pytest.raises(PoolUnreachable, match=r"lets in whom it let in before.*Start it again"):
                        PoolAdmission(tmp_path).revoke("b1")
                    assert thief.gets_in()
                told = eddy("revoke", "b1", "--data", str(tmp_path))
                assert (told.exit_code != 0, "Start it again" in told.output) == (True, True)
            assert not thief.cut.is_set()
            PoolAdmission(tmp_path).revoke("b1")
            assert thief.is_out()


def test_servers_of_which_nobody_knows_are_named(tmp_path: Path) -> None:
    """One of another machine that does not answer, one that answers and was not told, and one that lets the key in for
    another reason."""
    with NatsServer(tmp_path / "pool").running() as server:
        admission = server.admission
        admission.admit("b1")
        admission.revoke("b1")
        kept = admission._read()
        away = Place(tmp_path / "two", "192.0.2.1", 4222)
        untold = Place(tmp_path / "three", "127.0.0.1", server.port)
        for place, said in ((away, "does not answer"), (untold, "does not know of this yet. Copy")):
            other = replace(kept, generation=UserKey().seed)
            with patch.object(module, "KNOCK_S", 0.2):
                assert said in admission._staleness(other, place, ())
        assert "lets it in, though" in admission._staleness(kept, untold, [kept.head_seed])
        assert admission._staleness(kept, untold, kept.revoked["b1"]) == ""
        assert admission.stale_servers() == []


def test_a_key_is_out_at_every_server(tmp_path: Path) -> None:
    admission = PoolAdmission(tmp_path / "admission")
    servers = [NatsServer(tmp_path / name, admission=admission) for name in ("n1", "n2", "n3")]
    with contextlib.ExitStack() as running:
        for server in servers:
            running.enter_context(server.running())
        stolen = PoolAccess.named(str(admission.admit("b1")))
        thieves = []
        for server in servers:
            replace(stolen, urls=f"tls://127.0.0.1:{server.port}").write(tmp_path / "stolen.json")
            thieves.append(running.enter_context(StolenCredentials(tmp_path / "stolen.json")))
        admission.revoke("b1")
        assert [thief.is_out() for thief in thieves] == [True] * 3


@contextlib.asynccontextmanager
async def a_heads(file: Path) -> AsyncIterator[Any]:
    def access() -> PoolAccess:
        return PoolAccess.named(str(file))

    async with connected(access(), "head", WAIT_S, access_now=access) as nats:
        yield nats


def test_a_stolen_key_of_the_heads_is_out_and_heads_go_on_with_another(tmp_path: Path) -> None:
    async def check(server: NatsServer) -> None:
        async with a_heads(server.admission.head_file) as nats:
            await asyncio.to_thread(server.admission.revoke, HEADS)
            deadline = time.monotonic() + WAIT_S
            while not nats.stats["reconnects"]:
                assert time.monotonic() < deadline
                await asyncio.sleep(0.02)
            await nats.flush(int(WAIT_S))

    with NatsServer(tmp_path).running() as server:
        server.admission.admit("b1")
        with StolenCredentials(server.admission.head_file) as thief:
            asyncio.run(check(server))
            assert thief.is_out()
        board = PoolAccess.named(str(server.admission.board_file("b1")))
        assert is_admitted(board, "127.0.0.1", server.port, WAIT_S), "boards notice nothing"


def test_a_board_that_is_let_in_again_comes_back_with_its_new_file(tmp_path: Path) -> None:
    """Without being started again: the client would have closed for ever."""

    async def check(server: NatsServer, file: Path) -> None:
        async with a_heads(file) as nats:
            await asyncio.to_thread(server.admission.revoke, "b1")
            deadline = time.monotonic() + WAIT_S
            while not nats.refused:
                assert time.monotonic() < deadline
                await asyncio.sleep(0.02)
            assert not nats.is_connected
            await asyncio.to_thread(server.admission.admit, "b1")
            while not nats.is_connected:
                assert time.monotonic() < deadline
                await asyncio.sleep(0.02)

    with NatsServer(tmp_path).running() as server:
        asyncio.run(check(server, server.admission.admit("b1")))


def test_what_an_earlier_release_kept_is_read(tmp_path: Path) -> None:
    """It wrote its folder down as it was told it, and knew of no keys to be tried."""
    (tmp_path / "here").mkdir()
    with NatsServer(tmp_path / "here" / "pool").running() as server:
        server.admission.admit("b1")
        kept = json.loads((server.folder / "users.json").read_text())
        kept["places"][0]["folder"] = "pool"
        old = {name: kept[name] for name in ("head", "boards", "places")}
        (server.folder / "users.json").write_text(json.dumps(old))
        with StolenCredentials(server.admission.board_file("b1")) as thief:
            PoolAdmission(server.folder).revoke("b1")
            assert thief.is_out()
        with pytest.raises(NotFound):
            PoolAdmission(server.folder).revoke("b2")
        for damaged in ({**kept, "generation": "x"}, {**kept, "revoked": 3}):
            (server.folder / "users.json").write_text(json.dumps(damaged))
            with pytest.raises(StorageDamaged):
                PoolAdmission(server.folder).revoke("b1")


def test_a_server_reads_what_was_copied_from_another_machine(tmp_path: Path) -> None:
    """`eddy pool up` looks for it; a file that makes no sense changes nothing, and the next one counts."""
    with pool_up("--data", "pool", cwd=tmp_path):
        folder = tmp_path / "pool"
        with StolenCredentials(PoolAdmission(folder).admit("b1")) as thief:
            other = tmp_path / "other"
            shutil.copytree(folder, other, ignore=shutil.ignore_patterns("jetstream", "nats.*"))
            with patch.object(PoolAdmission, "_apply", lambda *_: None), pytest.raises(PoolUnreachable, match="still"):
                PoolAdmission(other).revoke("b1")
            (folder / "users.json").write_text("{")
            time.sleep(0.5)
            assert not thief.cut.is_set()
            shutil.copy(other / "users.json", folder)
            assert thief.is_out()
