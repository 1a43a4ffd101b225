# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A pool of several servers: set up as the page on pools has it, and over servers that somebody else runs."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from eddy.cli.main import app
from eddy.pool.agent.head_client import HeadClient
from eddy.pool.connection.connection import connected, steadily
from eddy.pool.connection.credentials import PoolAccess, PoolUnreachable, UserKey, _written
from eddy.pool.connection.streams import WORK
from eddy.pool.connection.tasks import ended
from eddy.pool.head.board_requests import BoardRequestHandler
from eddy.pool.jetstream.jobs import PoolJobs
from eddy.pool.jetstream.link import Link, open_pool
from eddy.pool.jetstream.naming import load_pool_numbers
from eddy.pool.placement.leader import Leader
from eddy.pool.placement.shares import WeightRounds
from eddy.pool.records.records import PoolBoard
from eddy.pool.routes.open_transfers import OpenTransfers
from eddy.pool.servers.admission import board_account, pool_account
from eddy.pool.servers.nats_server import free_port, server_binary
from PIL import Image
from pool_boards import unhurried
from pool_kit import WAIT_S, until
from s3_kit import S3Server
from typer.testing import CliRunner

FACTS = PoolBoard("b1", "k", 1, 1, ("a",), False, "s")
PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "pool.md"
SCP = """#!/bin/sh
there() { case "$1" in *:*) echo "$MACHINES/${1%%:*}/${1#*:}" ;; *) echo "$1" ;; esac }
exec cp "$1" "$(there "$2")" "$(there "$3")"
"""
"""Machines are folders here."""


@dataclass(frozen=True)
class Step:
    """Commands that the page has somebody type on a machine."""

    machine: str
    commands: str


def steps() -> list[Step]:
    """What stands under "A cluster of three servers"."""
    section = PAGE.read_text().split("## A cluster of three servers\n")[1].split("\n### ")[0]
    found, machine = list[Step](), ""
    for block in section.split("\n\n"):
        if block.startswith("    "):
            found.append(Step(machine, "\n".join(line.strip() for line in block.splitlines())))
        elif named := re.match(r"On `([\w-]+)`", block):
            machine = named[1]
    return found


class Machines:
    """Folders in place of machines, each with an address of this computer's own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.shells = folder, dict[str, list[subprocess.Popen[bytes]]]()
        chance = random.SystemRandom()
        self._net = f"127.{chance.randrange(64, 250)}.{chance.randrange(1, 250)}."
        programs = folder / "bin"
        programs.mkdir()
        eddy = f'#!/bin/sh\nexec "{sys.executable}" -m eddy.cli.main "$@"\n'
        for name, text in (("eddy", eddy), ("scp", SCP)):
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
        known = {name: value for name, value in os.environ.items() if not name.startswith("EDDY_") or "BUILD" in name}
        for step in steps():
            self.home(step.machine).mkdir(exist_ok=True)
        path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        self.environment = {**known, "PATH": path, "MACHINES": str(folder)}

    def here(self, text: str) -> str:
        """The page's addresses, and its boards' ports, as they are here."""
        return re.sub(r"--port 810[12]", "--port 0", text.replace("10.0.0.", self._net))

    def home(self, machine: str) -> Path:
        return self.folder / machine

    def log(self, machine: str) -> Path:
        return self.folder / f"{machine}.log"

    def run(self, step: Step) -> str:
        """Type the commands; what ends with `&` goes on. Answers what they print."""
        home = self.home(step.machine)
        with self.log(step.machine).open("ab") as log:
            shell = subprocess.Popen(
                ["bash", "-e", "-c", self.here(step.commands)], cwd=home, env={**self.environment, "HOME": str(home)},
                stdout=subprocess.PIPE if "&" not in step.commands else log, stderr=log, start_new_session=True,
            )  # fmt: skip
        self.shells.setdefault(step.machine, []).append(shell)
        said, _ = shell.communicate(timeout=2 * WAIT_S)
        assert shell.returncode == 0, (step, said, self.log(step.machine).read_text())
        return (said or b"").decode()

    def runs(self, step: Step) -> None:
        """Type them, and wait until what goes on in the background says that it serves."""
        ready = "listens on" if "pool up" in step.commands else "serves on" if "pool serve" in step.commands else ""
        before = self.log(step.machine).read_text().count(ready) if self.log(step.machine).exists() else 0
        self.run(step)
        if ready and "&" in step.commands:
            log = self.log(step.machine)
            until(lambda: log.read_text().count(ready) > before, saw=log.read_text)

    def patiently(self, step: Step) -> str:
        """As `run`, again and again until it goes well: servers choose leaders, or one is about to read a file."""
        said = list[str]()

        def good() -> bool:
            with contextlib.suppress(AssertionError):
                said.append(self.run(step))
            return bool(said)

        until(good, saw=self.log(step.machine).read_text)
        return said[0]

    def kill(self, machine: str) -> None:
        """End everything that runs on a machine, at once."""
        for shell in self.shells.pop(machine, ()):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGKILL)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        try:
            yield
        finally:
            for machine in [*self.shells]:
                self.kill(machine)


def test_the_page_on_clusters_works_as_it_is_written(tmp_path: Path) -> None:
    """Three servers, two heads, two boards and a tenant, each typed as the page has it; then a server is lost."""
    *before, last = steps()
    assert {step.machine for step in before} == {"one", "two", "three", "bench-1", "bench-2"}
    with contextlib.ExitStack() as there:
        there.enter_context(S3Server(tmp_path / "s3").running())
        machines = Machines(tmp_path)
        there.enter_context(machines.running())
        for step in before:
            machines.runs(step)
        picture = np.tile(np.arange(256, dtype="u1"), (256, 1))
        Image.fromarray(picture).save(machines.home("one") / "photograph.png")
        told = machines.run(Step(last.machine, f"{last.commands}\necho KEY=$EDDY_KEY"))
        assert (machines.home("one") / "result").is_dir()
        key = told.rsplit("KEY=", 1)[1].strip()
        machines.kill("two")
        again = last.commands.splitlines()[-1].replace("--out result", "--out again --json")
        urls = next(line for line in last.commands.splitlines() if "EDDY_URL" in line)
        said = machines.patiently(Step(last.machine, f"{urls}\nexport EDDY_KEY={key}\n{again}"))
        assert json.loads(said)["state"] == "succeeded"
        assert (machines.home("one") / "again").is_dir()
        _revoked_at_the_others_too(machines)


def _revoked_at_the_others_too(machines: Machines) -> None:
    """A server that was not told is named; once all that run refuse the key, the command says so."""
    revoke = "eddy pool revoke bench-2 --data ~/pool"
    with pytest.raises(AssertionError):
        machines.run(Step("one", revoke))
    said = machines.log("one").read_text().splitlines()[-1]
    assert re.search("may be let in still.*three.*does not know of this yet. Copy .*users.json", said), said
    machines.run(Step("one", "scp -p ~/pool/users.json three:pool/"))
    machines.patiently(Step("one", revoke))


@pytest.mark.parametrize("wrong", [[], ["one=10.0.0.1"], ["one=h", "one=g"], ["a.b=h", "c=g"], ["a=h:x", "b=g"]])
def test_a_cluster_of_servers_that_are_not_written_so_is_refused(tmp_path: Path, wrong: list[str]) -> None:
    done = CliRunner().invoke(app, ["pool", "cluster", *wrong, "--data", str(tmp_path / "pool")])
    assert done.exit_code != 0
    assert not (tmp_path / "pool").exists()


def test_a_server_of_a_cluster_is_named_and_another_pools_folder_is_left_alone(tmp_path: Path) -> None:
    def said(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(app, ["pool", *arguments, "--data", str(tmp_path)])
        return done.exit_code, done.output

    servers = ("one=127.0.0.1:4333:6333", "two=127.0.0.1:4334:6334")
    assert said("cluster", *servers)[0] == said("cluster", *servers)[0] == 0
    kept = (tmp_path / "users.json").read_bytes()
    for wrong in (("up",), ("up", "--server", "three"), ("cluster", *servers[::-1]), ("admit", "b1", "--host", "h")):
        assert said(*wrong)[0] != 0, wrong
    assert (tmp_path / "users.json").read_bytes() == kept
    urls = {PoolAccess.named(str(tmp_path / "head.json")).urls}
    said("admit", "b1")
    urls.add(PoolAccess.named(str(tmp_path / "boards" / "b1.json")).urls)
    assert urls == {"tls://127.0.0.1:4333,tls://127.0.0.1:4334"}


# Servers that somebody else runs --------------------------------------------------------------------------------------


@contextlib.contextmanager
def servers_of(configurations: Sequence[dict[str, Any]], folder: Path) -> Iterator[None]:
    """Servers with these configurations."""
    processes = []
    try:
        for number, each in enumerate(configurations):
            file = folder / f"{number}.conf"
            file.write_text(json.dumps(each))
            with (folder / f"{number}.log").open("ab") as log:
                processes.append(subprocess.Popen([server_binary(), "-c", str(file)], stdout=log, stderr=log))
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


@contextlib.asynccontextmanager
async def a_head(pool: str, folder: Path, creds: str = "") -> AsyncIterator[Link]:
    """A head that places and answers boards; what says where it is says who it is. Bytes lie in the folder."""
    async with open_pool(pool, "head", WAIT_S, creds=creds, bytes_at=str(folder)) as link, _leading(link):
        yield link


@contextlib.asynccontextmanager
async def _leading(link: Link) -> AsyncIterator[None]:
    await steadily(lambda: load_pool_numbers(link))
    lead = Leader(link, "head")
    gate = BoardRequestHandler(
        link,
        lead.mirror.on_board,
        WeightRounds(lead.mirror).weights,
        lead.mirror.floods,
        OpenTransfers("http://head"),
    )
    running = [asyncio.ensure_future(each.run()) for each in (gate, lead)]
    try:
        await asyncio.wait_for(lead.mirror.whole.wait(), WAIT_S)
        yield
    finally:
        await ended(running)


async def _gets_a_job(link: Link, board: str, pool: str, creds: str = "") -> None:
    """A board joins, fetches from its own queue, and says that it runs what it was given."""
    access = PoolAccess.named(pool, creds)
    async with connected(access, board, WAIT_S, board=board) as nats:
        asking = HeadClient(nats, board)
        await steadily(lambda: asking.join(FACTS))
        await asking.renew(FACTS)
        job = await PoolJobs(link).submit("ada", {"application": "a", "batch": 1})
        deadline = time.monotonic() + WAIT_S
        while not (now := await PoolJobs(link).job(job.id)).board:
            assert time.monotonic() < deadline
            await asking.renew(FACTS)
            await asyncio.sleep(0.1)
        assert now.board == board
        await steadily(lambda: _told_of(asking, job.id))
        assert (await asking.report_started(now)).state == "running"
        await PoolJobs(link).change(job.id, lambda it: it.cancelled(time.time()))
        await asking.leave()
    await link.js.delete_consumer(WORK, f"board-{board}")


async def _told_of(board: HeadClient, job: int) -> None:
    (message,) = await (await board.queue()).fetch(1, timeout=2.0)
    assert json.loads(message.data)["job"] == job
    await message.ack()


def with_a_head(head: str, folder: Path, what: Callable[[Link], Awaitable[None]], creds: str = "") -> None:
    async def go() -> None:
        async with a_head(head, folder, creds) as link:
            await what(link)

    with unhurried():
        asyncio.run(asyncio.wait_for(go(), 2 * WAIT_S))


def test_a_cluster_with_accounts_and_passwords_of_its_own(tmp_path: Path) -> None:
    """As an operator would configure it by `pool_account` and `board_account`, with URLs alone."""
    ports, routes = ([free_port("127.0.0.1") for _ in range(3)] for _ in range(2))
    boards = ("b1", "b2")
    accounts = {
        "eddy": pool_account([{"user": "head", "password": "hp"}]),
        **{f"board-{board}": board_account(board, [{"user": board, "password": "bp"}]) for board in boards},
    }
    configurations = [
        {
            "server_name": f"n{place}", "host": "127.0.0.1", "port": port, "max_payload": 8 << 20, "accounts": accounts,
            "jetstream": {"store_dir": str(tmp_path / f"n{place}"), "sync_interval": "always"},
            "cluster": {
                "name": "eddy", "host": "127.0.0.1", "port": routes[place],
                "routes": [f"nats://127.0.0.1:{each}" for each in routes if each != routes[place]],
            },
        }
        for place, port in enumerate(ports)
    ]  # fmt: skip

    def urls(user: str) -> str:
        return ",".join(f"nats://{user}@127.0.0.1:{port}" for port in ports)

    async def check(link: Link) -> None:
        assert (await link.js.stream_info(WORK)).config.num_replicas == 3
        for board in boards:
            await _gets_a_job(link, board, urls(f"{board}:bp"))

    with servers_of(configurations, tmp_path):
        with_a_head(urls("head:hp"), tmp_path / "bytes", check)


def _signed(kind: str, key: UserKey, by: UserKey, **nats: Any) -> str:
    """A JWT as NATS has them.  Source: NATS, ADR-14."""

    def part(value: Any) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    claims: dict[str, Any] = {"jti": "x", "iat": 0, "iss": by.public, "sub": key.public, "name": kind}
    claims["nats"] = {"type": kind, "version": 2, **nats}
    body = f"{part({'typ': 'JWT', 'alg': 'ed25519-nkey'})}.{part(claims)}"
    signature = base64.urlsafe_b64encode(base64.b64decode(by.sign(body))).decode().rstrip("=")
    return f"{body}.{signature}"


class OperatorKey(UserKey):
    """Of an operator: such keys differ from users' by their letter alone."""

    letter = 14 << 3

    @property
    def public(self) -> str:
        raw = base64.b32decode(super().public + "=" * (-len(super().public) % 8))[1:-2]
        return _written(bytes([self.letter]) + raw)


class AccountKey(OperatorKey):
    """Of an account."""

    letter = 0


def test_boards_and_heads_join_by_every_way_of_saying_who_they_are(tmp_path: Path) -> None:
    port = free_port("127.0.0.1")
    url, common = f"127.0.0.1:{port}", {"host": "127.0.0.1", "port": port, "max_payload": 8 << 20}

    def kept(name: str) -> dict[str, Any]:
        return {**common, "jetstream": {"store_dir": str(tmp_path / name), "sync_interval": "always"}}

    def joins(head: str, board: str, head_creds: str = "", board_creds: str = "") -> None:
        with_a_head(head, tmp_path / "bytes", lambda link: _gets_a_job(link, "b1", board, board_creds), head_creds)

    token = {**kept("token"), "authorization": {"token": "open-sesame"}}
    with servers_of([token], tmp_path):
        joins(f"nats://open-sesame@{url}", f"nats://open-sesame@{url}")
    users = {
        "eddy": pool_account([{"user": "head", "password": "hp"}]),
        "board-b1": board_account("b1", [{"user": "b1", "password": "bp"}]),
    }
    with servers_of([{**kept("passwords"), "accounts": users}], tmp_path):
        joins(f"nats://head:hp@{url}", f"nats://b1:bp@{url}")
        file = tmp_path / "b1.json"
        file.write_text(json.dumps({"urls": f"nats://b1:bp@{url}", "name": "b1"}))
        joins(f"nats://head:hp@{url}", str(file))
        with pytest.raises(PoolUnreachable, match="does not let this key in"):
            asyncio.run(connected(PoolAccess.named(f"nats://head:wrong@{url}"), "head", 3.0).__aenter__())
    operator, account, system, head, board = OperatorKey(), AccountKey(), AccountKey(), UserKey(), UserKey()
    limits = {"subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": True, "conn": -1,
              "leaf": -1, "mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1}  # fmt: skip
    of_system = {**limits, "disk_storage": 0, "mem_storage": 0}
    resolved = {
        account.public: _signed("account", account, operator, limits=limits),
        system.public: _signed("account", system, operator, limits=of_system),
    }
    for name, key, rights in (
        ("head", head, {}),
        ("b1", board, {"sub": {"allow": ["_INBOX.b1.>"]}}),  # of a board, as the page has them, the inbox alone
    ):
        jwt = _signed("user", key, account, subs=-1, data=-1, payload=-1, **rights)
        (tmp_path / f"{name}.creds").write_text(
            f"-----BEGIN NATS USER JWT-----\n{jwt}\n------END NATS USER JWT------\n\n"
            f"-----BEGIN USER NKEY SEED-----\n{key.seed}\n------END USER NKEY SEED------\n"
        )
    jwts = {
        "operator": _signed("operator", operator, operator),
        "system_account": system.public,
        "resolver": "MEMORY",
        "resolver_preload": resolved,
    }
    with servers_of([{**kept("creds"), **jwts}], tmp_path):
        joins(f"nats://{url}", f"nats://{url}", str(tmp_path / "head.creds"), str(tmp_path / "b1.creds"))
    for wrong in ("nothing.creds", "b1.json"):
        with pytest.raises(PoolUnreachable, match=wrong):
            PoolAccess.named(f"nats://{url}", str(tmp_path / wrong))
