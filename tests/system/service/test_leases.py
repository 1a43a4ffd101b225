# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Leases over HTTP, on a whole server with the model board: held, driven, attacked, and ended."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bitstreams_kit import package
from eddy.api.service.server import Server, ServerSettings
from eddy.cli.main import app
from eddy.client import Client
from eddy.core.errors import BoardFault, Conflict, EddyError, InvalidRequest, NotFound, QuotaExceeded
from eddy.core.leases import LeaseRules
from hypervisor_kit import BYTES, KEY, item, model_board
from typer.testing import CliRunner

IDLE_S = 2.0
SETTLED_S = 30.0


@contextlib.contextmanager
def served(folder: Path, idle_s: float) -> Iterator[Server]:
    settings = ServerSettings("model", "tiny", "fcfs", folder / "data", package(folder / "bitstreams"), port=0)
    rules = LeaseRules(idle_s=idle_s, notice_s=0.2, part=0.7)
    with Server(replace(settings, lease_rules=rules), board=model_board()).background() as running:
        yield running


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with served(tmp_path_factory.mktemp("leases"), 600.0) as running:
        yield running


def operator(server: Server) -> Client:
    return Client(server.url, server.key_file.read_text().strip())


_NUMBERS = iter(range(1000))


def tenant(server: Server, **quota: Any) -> Client:
    """A client of a new tenant."""
    with operator(server) as client:
        return Client(server.url, client.add_tenant(f"t{next(_NUMBERS)}", **quota)["key"])


@pytest.fixture
def ada(server: Server) -> Iterator[Client]:
    with tenant(server) as client:
        yield client
        for lease in client.leases(open_only=True):
            client.release_lease(lease["lease"])


@pytest.fixture
def bob(server: Server) -> Iterator[Client]:
    with tenant(server) as client:
        yield client
        for lease in client.leases(open_only=True):
            client.release_lease(lease["lease"])


def held(client: Client, module: str = "flip", **asked: Any) -> Any:
    """A lease that can be driven."""
    made = client.ask_for_lease(module=module, memory_bytes=8192, **asked)
    found = client.lease(made["lease"], wait_s=SETTLED_S)
    assert (found["state"], [*found["holds"].values()]) == ("active", [module] if module else [])
    return found


def until(is_so: Callable[[], bool]) -> None:
    end_s = time.monotonic() + SETTLED_S
    while not is_so():
        assert time.monotonic() < end_s
        time.sleep(0.02)


def drive(client: Client, lease: Any, data: bytes) -> bytes:
    """Have the module that is held invert bytes: by its registers, its interrupt and the lease's memory."""
    name, token, at = lease["lease"], lease["token"], lease["memory_address"]
    client.write_lease_memory(name, token, 0, data)
    pointers = [(0x10, at), (0x14, 0), (0x1C, at + 4096), (0x20, 0)]
    client.access_registers(name, token, [*pointers, (0x04, 1), (0x08, 1), (0x00, 1)])
    assert client.await_interrupt(name, token)
    client.access_registers(name, token, [(0x0C, 1)])
    return client.read_lease_memory(name, token, 4096, len(data))


def test_a_holder_drives_its_slot_and_jobs_run_in_the_others(ada: Client, bob: Client) -> None:
    lease = held(ada)
    inputs = {"in": np.stack([np.frombuffer(item(0), np.uint8)]), "key": np.frombuffer(KEY, np.uint8)}
    jobs = [bob.submit("chain", inputs) for _ in range(3)]
    for _ in range(3):
        assert drive(ada, lease, item(0)) == bytes(255 - byte for byte in item(0))
    for job in jobs:
        job.wait()
    slots = {each["slot"]: each for each in bob.slots()["slots"]}
    mine = slots[lease["slots"][0]]
    assert (mine["leased"], mine["lease"], mine["tenant"]) == (True, None, None), "whose it is does not show"
    found = ada.lease(lease["lease"])
    assert (found["accesses"], found["interrupts"]) == (24, 3)
    ended = ada.release_lease(lease["lease"])
    assert (ended["state"], ended["cause"], ended["token"]) == ("ended", "released", "")
    assert ada.release_lease(lease["lease"])["cause"] == "released", "again, nothing happens"
    assert sum(day["slot_ns"] for day in ada.usage()["entries"]) > 0, "it is charged as slot time"


def test_a_hostile_holder_harms_nobody(server: Server, ada: Client, bob: Client) -> None:
    mine, other = held(ada), held(bob)
    name, token = mine["lease"], mine["token"]
    for offset in (0x1_0000, 0x1_0004, 1 << 31):
        with pytest.raises(InvalidRequest):
            ada.access_registers(name, token, [(offset, 1)])
    for accesses in ([(2, None)], [(0x10, 1 << 32)], [(0x10, None)] * 257, [(None, 1)]):
        with pytest.raises(EddyError):
            ada.access_registers(name, token, accesses)  # type: ignore[arg-type]
    for offset, size in ((8192, 1), (0, 8193), (4096, 4097), (1 << 39, 1)):
        with pytest.raises(InvalidRequest):
            ada.read_lease_memory(name, token, offset, size)
    with pytest.raises(InvalidRequest):
        ada.write_lease_memory(name, token, 8190, b"beyond")
    with pytest.raises(InvalidRequest):
        ada.access_registers(name, token, [(0x10, None)], slot=other["slots"][0])
    for wrong in ("", "t0", other["token"]):
        with pytest.raises(EddyError, match="token"):
            ada.access_registers(name, wrong)
    not_mine: tuple[Callable[[], Any], ...] = (
        lambda: ada.access_registers(other["lease"], other["token"], [(0x10, 1)]),
        lambda: ada.read_lease_memory(other["lease"], other["token"], 0, 8),
        lambda: ada.load_leased(other["lease"], other["token"], "mix"),
        lambda: ada.release_lease(other["lease"]),
        lambda: ada.extend_lease(other["lease"], 60),
        lambda: ada.lease(other["lease"]),
    )
    for call in not_mine:
        with pytest.raises(NotFound):
            call()
    assert not any(span["name"] == other["lease"] for span in ada.lease_calendar()["spans"])
    with pytest.raises(EddyError, match="operators"):
        ada.ask_for_lease(kind="board")
    # A burst, and waits for interrupts that never come, beside a neighbour who works.
    with ThreadPoolExecutor(8) as many:
        waits = [many.submit(ada.await_interrupt, name, token, wait_s=3.0) for _ in range(3)]
        burst = [many.submit(ada.access_registers, name, token, [(0x10, None)] * 256) for _ in range(40)]
        assert drive(bob, other, item(1)) == bytes(255 - byte for byte in item(1))
        assert {len(each.result()["values"]) for each in burst} == {256}
        assert [each.result() for each in waits] == [False] * 3
    # Memory of others: the firewall ends the run, and the slot with it, until it is loaded again.
    address = other["memory_address"]
    ada.access_registers(name, token, [(0x10, address), (0x14, 0), (0x1C, address), (0x20, 0), (0x00, 1)])
    until(lambda: "window" in ada.lease(name)["said"])
    closed: tuple[Callable[[], Any], ...] = (
        lambda: ada.access_registers(name, token, [(0x00, 1)]),
        lambda: ada.await_interrupt(name, token),
    )
    for call in closed:
        with pytest.raises((Conflict, BoardFault), match="closed"):
            call()
    assert bob.read_lease_memory(other["lease"], other["token"], 0, BYTES) == item(1)
    ada.load_leased(name, token, "flip")
    assert drive(ada, mine, item(2)) == bytes(255 - byte for byte in item(2))
    ada.release_lease(name)
    after: tuple[Callable[[], Any], ...] = (
        lambda: ada.access_registers(name, token, [(0x00, 1)]),
        lambda: ada.read_lease_memory(name, token, 0, 8),
        lambda: ada.await_interrupt(name, token),
        lambda: ada.load_leased(name, token, "flip"),
        lambda: ada.extend_lease(name, 60),
    )
    for call in after:
        with pytest.raises((NotFound, Conflict)):
            call()


def test_a_holder_that_dies_frees_its_slot_in_the_stated_time(tmp_path: Path) -> None:
    with served(tmp_path, IDLE_S) as server, tenant(server) as ada, tenant(server) as bob:
        lease = held(ada)
        second, waiting = held(bob), bob.ask_for_lease(memory_bytes=4096)
        assert bob.lease(waiting["lease"])["position"] == 1
        began_s = time.monotonic()
        while ada.lease(lease["lease"])["state"] != "ended":  # bob says that he is there, ada says nothing
            bob.access_registers(second["lease"], second["token"])
            assert time.monotonic() - began_s < SETTLED_S
            time.sleep(IDLE_S / 8)
        assert ada.lease(lease["lease"])["cause"] == "holder-gone"
        until(lambda: bob.lease(waiting["lease"])["state"] == "active")
        bob.access_registers(second["lease"], second["token"])


def test_what_a_tenant_may_ask_for(server: Server) -> None:
    with tenant(server, max_leases=1, max_lease_s=60) as client:
        with pytest.raises(QuotaExceeded, match="lasts"):
            client.ask_for_lease(lasts_s=61)
        with pytest.raises(InvalidRequest) as caught:
            client.ask_for_lease(module="none", lasts_s=60)
        assert caught.value.details["allowed"] == ["flip", "mix", "rotate"]
        with pytest.raises(InvalidRequest):
            client.ask_for_lease(lasts_s=60, memory_bytes=1 << 30)
        made = client.ask_for_lease(lasts_s=50, memory_bytes=4096)
        with pytest.raises(QuotaExceeded):
            client.ask_for_lease(lasts_s=50, memory_bytes=4096)
        with pytest.raises(QuotaExceeded):
            client.extend_lease(made["lease"], 11)
        found = client.lease(made["lease"], wait_s=SETTLED_S)
        longer = client.extend_lease(made["lease"], 10)
        assert longer["ends_unix_s"] == pytest.approx((found["ends_unix_s"] or 0.0) + 10)
        with pytest.raises(Conflict, match="holds nothing"):
            client.access_registers(made["lease"], made["token"], [(0, None)])
        client.release_lease(made["lease"])
        assert [each["cause"] for each in client.leases()] == ["released"]
        with pytest.raises(NotFound, match="eddy leases"):
            client.lease("l0")


def test_an_operator_takes_the_board_after_notice(server: Server, ada: Client) -> None:
    lease = held(ada)
    with operator(server) as boss:
        whole = boss.ask_for_lease(kind="board", lasts_s=60, memory_bytes=4096)
        until(lambda: ada.lease(lease["lease"])["state"] == "ended")
        assert ada.lease(lease["lease"])["notice"] == "an operator takes the board"
        assert boss.lease(whole["lease"], wait_s=SETTLED_S)["state"] == "active"
        (span,) = [each for each in ada.lease_calendar()["spans"] if each["state"] == "active"]
        assert (span["slots"], span["tenant"], span["name"]) == ([0, 1, 2, 3], "", "")
        boss.release_lease(whole["lease"])


def test_the_commands(server: Server, ada: Client) -> None:
    environment = {"EDDY_URL": server.url, "EDDY_KEY": ada.transport._headers["Authorization"].split()[1]}

    def run(*arguments: str) -> str:
        done = CliRunner().invoke(app, [*arguments], env={**environment, "COLUMNS": "80"})
        assert done.exit_code == 0, done.output
        assert max(map(len, done.stdout.splitlines()), default=0) <= 80 or "--json" in arguments or "env" in arguments
        return done.stdout

    made = json.loads(run("lease", "slot", "--module", "flip", "--for", "90s", "--json"))
    assert [*made["holds"].values()] == ["flip"]
    name = made["lease"]
    assert name in run("leases")
    assert json.loads(run("leases", "--json"))["leases"][0]["lease"] == name
    assert "90.0" in run("lease", "show", name)
    assert json.loads(run("lease", "extend", name, "--for", "1m", "--json"))["lasts_s"] == 150.0
    shell = dict(line.removeprefix("export ").split("=") for line in run("lease", "env", name).splitlines())
    assert shell == {"EDDY_URL": server.url, "EDDY_LEASE": name, "EDDY_LEASE_TOKEN": made["token"]}
    assert "active" in run("lease", "calendar")
    assert json.loads(run("lease", "release", name, "--json"))["cause"] == "released"
    assert name not in run("leases")
    assert name in run("leases", "--all")
