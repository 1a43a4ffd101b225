# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Leased slots that are loaded with their holders' own signed images, on a whole server with the model board."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bitstreams_kit import package
from eddy.api.service.server import Server, ServerSettings
from eddy.board.images import signing
from eddy.board.images.signing import Trust
from eddy.board.model.model import ModelBoard, ModelFaults
from eddy.cli.main import app
from eddy.client import Client
from eddy.core.errors import Conflict, EddyError, ImageRefused, InvalidRequest, NotFound
from eddy.core.leases import LeaseRules
from eddy.core.slots import Pool
from hypervisor_kit import KEY, item, model_board, own_image
from typer.testing import CliRunner


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of trusted keys, the private halves beside them."""
    folder = tmp_path_factory.mktemp("trusted-keys")
    for tenant in ("ada", "bob"):
        (folder / "tenants" / tenant).mkdir(parents=True)
        signing.generate(folder / "tenants" / tenant / "own.key")
    return folder


@pytest.fixture(scope="module")
def board(keys: Path) -> ModelBoard:
    return model_board(trust=Trust.load(False, keys))


@pytest.fixture(scope="module")
def server(board: ModelBoard, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("lease-images")
    settings = ServerSettings("model", "tiny", "fcfs", folder / "data", package(folder / "bitstreams"), port=0)
    rules = LeaseRules(idle_s=600.0, notice_s=0.2, part=0.7)
    with Server(replace(settings, lease_rules=rules), board=board).background() as running:
        yield running


@pytest.fixture(scope="module")
def clients(server: Server) -> Iterator[dict[str, Client]]:
    with Client(server.url, server.key_file.read_text().strip()) as operator:
        found = {name: Client(server.url, operator.add_tenant(name)["key"]) for name in ("ada", "bob")}
    yield found
    for client in found.values():
        client.close()


@pytest.fixture
def lease(clients: dict[str, Client]) -> Iterator[Any]:
    ada = clients["ada"]
    made = ada.ask_for_lease(memory_bytes=8192)
    found = ada.lease(made["lease"], wait_s=30.0)
    assert found["state"] == "active"
    yield found
    ada.release_lease(made["lease"])


Made = Callable[..., list[Path]]


@pytest.fixture
def images(board: ModelBoard, keys: Path, tmp_path: Path) -> Made:
    def made(name: str = "mine", signer: str = "ada", **changed: Any) -> list[Path]:
        """An image for every slot, signed by a tenant's key."""
        files = [own_image(tmp_path, slot, "flip", name, **changed) for slot in board.describe().slots[:3]]
        for file in files if signer else ():
            key = signing.load_key(keys / "tenants" / signer / "own.key")
            signing.sign_manifest(file.with_suffix(".json"), key)
        return files

    return made


def test_a_holder_loads_and_drives_its_own_image_and_no_job_gets_it(
    board: ModelBoard, clients: dict[str, Client], lease: Any, images: Made
) -> None:
    ada, bob = clients["ada"], clients["bob"]
    name, token, slot = lease["lease"], lease["token"], lease["slots"][0]
    found = ada.load_own_image(name, token, images())
    assert found["holds"] == {str(slot): "own/flip"}
    at = found["memory_address"]
    ada.write_lease_memory(name, token, 0, item(0))
    pointers = [(0x10, at), (0x14, 0), (0x1C, at + 4096), (0x20, 0)]
    ada.access_registers(name, token, [*pointers, (0x04, 1), (0x08, 1), (0x00, 1)])
    assert ada.await_interrupt(name, token)
    assert ada.read_lease_memory(name, token, 4096, len(item(0))) == bytes(255 - byte for byte in item(0))
    inputs = {"in": np.stack([np.frombuffer(item(0), np.uint8)]), "key": np.frombuffer(KEY, np.uint8)}
    bob.submit("chain", inputs).wait()
    assert slot not in {each["slot"] for each in bob.slots()["slots"] if each["tenant"] == "bob"}
    ada.load_leased(name, token, "mix")
    assert ada.lease(name)["holds"] == {str(slot): "mix"}, "and back to what the board offers"
    ada.load_own_image(name, token, images())
    ada.release_lease(name)
    assert board.state().slots[slot].phase.value in ("empty", "faulted"), "nothing of it stays"
    bob.submit("chain", inputs).wait()


def test_what_is_refused_says_why_and_leaves_the_slot_as_it_was(
    board: ModelBoard, clients: dict[str, Client], lease: Any, images: Made
) -> None:
    ada, name, token = clients["ada"], lease["lease"], lease["token"]
    ada.load_leased(name, token, "mix")
    wrong = {
        "unsigned": images("a", signer=""),
        "untrusted-signature": images("b", signer="bob"),
        "unchecked": images("c", checked_build=""),
        "other-shell": images("d", shell="0123456789abcdef"),
        "wrong-clock": images("e", clk_hz=5e8),
        "wrong-size": images("f", bytes=999),
        "unknown-module": images("g", module="hostile"),
    }
    for reason, files in wrong.items():
        with pytest.raises(ImageRefused) as caught:
            ada.load_own_image(name, token, files)
        assert caught.value.details["reason"] == reason
        assert [*ada.lease(name)["holds"].values()] == ["mix"]
    mine = lease["slots"][0]
    others = [file for file in images("h") if f"slot{mine}" not in file.name]
    with pytest.raises(InvalidRequest, match="built for slot"):
        ada.load_own_image(name, token, others)
    # Past the client's own choice: the server refuses it, too.
    manifest = json.loads(others[0].with_suffix(".json").read_text())
    ada.put_blob(others[0].read_bytes())
    headers = {"Eddy-Lease-Token": token}
    address = f"/v1/leases/{name}/image"
    with pytest.raises(ImageRefused) as caught:
        ada.transport.json("POST", address, body={"manifest": manifest}, headers=headers)
    assert caught.value.details["reason"] == "other-slot"
    missing = {**manifest, "sha256": "0" * 64}
    with pytest.raises(NotFound):
        ada.transport.json("POST", address, body={"manifest": missing}, headers=headers)
    for field, value in (("clk_hz", -1), ("sha256", "../x"), ("module", "own/x"), ("slot", -1), ("bytes", 1 << 40)):
        with pytest.raises(InvalidRequest):
            ada.transport.json("POST", address, body={"manifest": {**manifest, field: value}}, headers=headers)
    with pytest.raises(NotFound):
        clients["bob"].transport.json("POST", address, body={"manifest": manifest}, headers=headers)
    with pytest.raises(EddyError, match="token"):
        ada.load_own_image(name, "t0", images())


def test_images_that_fail_again_and_again_take_no_slot_from_jobs(
    server: Server, board: ModelBoard, clients: dict[str, Client], lease: Any, images: Made
) -> None:
    """Five failed loads in a row quarantine a slot; a holder whose images are bad must not bring that about."""
    ada, name, token, slot = clients["ada"], lease["lease"], lease["token"], lease["slots"][0]
    files, told = images(), list[str]()
    leases: Any = server.context.hypervisor.leases
    (live,) = [each for each in leases._keeper.live if each.record.id == name]
    leases._keeper.follow(live.record.number, lambda: told.extend(live.said.values()))
    board.inject(ModelFaults({}, frozenset(range(10_000))))
    try:
        for _ in range(7):
            told.clear()
            found = ada.load_own_image(name, token, files)
            assert any(why in found["said"] for why in told), "who waits for it is told when it fails"
            assert (found["holds"], found["said"].partition(" ")[0]) == ({}, "slot")
            with pytest.raises(Conflict, match="closed"):
                ada.access_registers(name, token, [(0, None)])
    finally:
        board.inject(ModelFaults({}, frozenset()))
    (shown,) = [each for each in ada.slots()["slots"] if each["slot"] == slot]
    assert not shown["drained"]
    assert [*ada.load_own_image(name, token, files)["holds"].values()] == ["own/flip"]


def test_an_image_that_the_board_offers_too_is_the_boards(
    server: Server, clients: dict[str, Client], lease: Any, images: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its events name the board's module; a load that waited for them under another name would never end."""
    ada, slot, files = clients["ada"], lease["slots"][0], images()
    (file,) = [each for each in files if f"slot{slot}." in each.name]
    leases: Any = server.context.hypervisor.leases
    fits = leases._engine.machine.state.pools[Pool.PIPELINE].fits
    monkeypatch.setitem(fits["flip"], slot, json.loads(file.with_suffix(".json").read_text())["sha256"])
    found = ada.load_own_image(lease["lease"], lease["token"], files)
    assert (found["holds"], found["loading"]) == ({str(slot): "flip"}, [])


def test_nothing_is_read_of_an_image_that_no_slot_takes(
    server: Server, clients: dict[str, Client], lease: Any, images: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, name, token, slot = clients["ada"], lease["lease"], lease["token"], lease["slots"][0]
    read: list[str] = []
    get = server.context.store.blobs.get

    def watch(tenant: str, sha256: str) -> bytes:
        read.append(sha256)
        return get(tenant, sha256)

    monkeypatch.setattr(server.context.store.blobs, "get", watch)
    (other,) = [each for each in images() if f"slot{(slot + 1) % 3}." in each.name]
    ada.put_blob(other.read_bytes())
    manifest = json.loads(other.with_suffix(".json").read_text())
    asked = {"body": {"manifest": manifest}, "headers": {"Eddy-Lease-Token": token}}
    with pytest.raises(ImageRefused, match="built for slot"):
        ada.transport.json("POST", f"/v1/leases/{name}/image", **asked)
    assert read == []
    ada.load_own_image(name, token, images())
    assert len(read) == 1


def test_the_command(server: Server, clients: dict[str, Client], lease: Any, images: Made) -> None:
    key = clients["ada"].transport._headers["Authorization"].split()[1]
    environment = {"EDDY_URL": server.url, "EDDY_KEY": key}
    files = [str(each) for each in images()]
    done = CliRunner().invoke(app, ["lease", "load", lease["lease"], *files, "--json"], env=environment)
    assert done.exit_code == 0, done.output
    assert [*json.loads(done.stdout)["holds"].values()] == ["own/flip"]
    done = CliRunner().invoke(app, ["lease", "load", lease["lease"], "--module", "mix", "--json"], env=environment)
    assert [*json.loads(done.stdout)["holds"].values()] == ["mix"]
    refused = CliRunner().invoke(app, ["lease", "load", lease["lease"]], env=environment)
    assert refused.exit_code != 0
    assert "either" in refused.output
