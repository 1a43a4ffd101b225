# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The stock script of the docs, unchanged, over TLS on two leased slots of one RTL board at once, with jobs and an
attacker."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pynq
import pytest
from certificate_kit import make_certificate
from eddy.api.service.server import Server, ServerSettings
from eddy.board.images import signing
from eddy.client import Client
from eddy.core.errors import BoardFault, Conflict, ImageRefused
from eddy.core.leases import LeaseRules
from eddy_sim.boards.faults import Behaviour, rogue
from eddy_sim.design.bitstreams import list_or_build

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("pynq")]
ROOT = Path(__file__).resolve().parents[3]
BITSTREAMS = ROOT / "bitstreams"


def script_of_the_docs() -> str:
    """What docs/how-to/use-stock-pynq.md begins with, but for where the files are."""
    page = (ROOT / "docs" / "how-to" / "use-stock-pynq.md").read_text(encoding="utf-8")
    script = page.partition("```python\n")[2].partition("```")[0]
    return script.replace("build/bitstreams/kv260", str(Path(list_or_build("kv260").overlay).parent))


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    settings = ServerSettings("rtl", "kv260", "eddy", tmp_path / "data", BITSTREAMS, port=0, price="whole")
    files = make_certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(files.certificate))
    (tmp_path / "keys" / "tenants" / "ada").mkdir(parents=True)
    signing.generate(tmp_path / "keys" / "tenants" / "ada" / "own.key")
    told = replace(settings, lease_rules=LeaseRules(part=0.7), tls=files, trusted_keys=tmp_path / "keys")
    with Server(told).background() as running:
        yield running


def url_of(server: Server) -> str:
    """As its certificate names it."""
    return f"https://localhost:{server.port}"


def holder(server: Server, name: str) -> Client:
    with Client(url_of(server), server.key_file.read_text().strip()) as operator:
        return Client(url_of(server), operator.add_tenant(name)["key"])


def held(client: Client) -> Any:
    found = client.lease(client.ask_for_lease(lasts_s=3600, memory_bytes=1 << 20)["lease"])
    while found["state"] != "active":
        found = client.lease(found["lease"], wait_s=20.0)
    return found


def run_script(server: Server, client: Client, lease: Any, folder: Path) -> subprocess.Popen[str]:
    folder.mkdir()
    (folder / "script.py").write_text(script_of_the_docs())
    key = client.transport._headers["Authorization"].split()[1]
    there = {"EDDY_URL": url_of(server), "EDDY_KEY": key, "EDDY_LEASE": lease["lease"], "EDDY_HTTP_TIMEOUT_S": "600"}
    command = [sys.executable, "-W", "error::RuntimeWarning", "script.py"]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env={**os.environ, **there}, cwd=folder, stdout=pipe, stderr=pipe, text=True)


def test_two_holders_and_jobs_at_once_and_an_attacker_harms_nobody(server: Server, tmp_path: Path) -> None:
    with holder(server, "ada") as ada, holder(server, "bob") as bob, holder(server, "eve") as eve:
        leases = {"ada": held(ada), "bob": held(bob)}
        scripts = [
            run_script(server, client, leases[name], tmp_path / name) for name, client in (("ada", ada), ("bob", bob))
        ]
        pixels = np.random.default_rng(5).integers(0, 256, (1, 128, 128), dtype=np.uint8)
        job = eve.submit("image_compression", {"image": pixels})
        for script in scripts:
            out, said = script.communicate(timeout=1200)
            assert script.returncode == 0, said
            assert int(out.split()[0]) == 800
        job.wait()
        assert {each["slot"] for each in ada.slots()["slots"] if each["leased"]} == {
            *leases["ada"]["slots"],
            *leases["bob"]["slots"],
        }
        attacked(ada, leases["ada"], leases["bob"])
        holds_attackers(ada, leases["ada"], bob, leases["bob"])
        again = run_script(server, bob, leases["bob"], tmp_path / "again")
        out, said = again.communicate(timeout=1200)
        assert (again.returncode, out.split()[:1]) == (0, ["800"]), said
        assert ada.lease(leases["ada"]["lease"])["state"] == "active"
        loads_its_own(ada, leases["ada"], bob, leases["bob"], tmp_path)


ATTACKERS = {
    Behaviour.WRITE_OUTSIDE: "window",
    Behaviour.READ_OUTSIDE: "window",
    Behaviour.FLOOD_WRITE: "window",
    Behaviour.ILLEGAL_BURST: "slot ",
    Behaviour.STALL_WRITE: "slot ",
    Behaviour.SILENT: "slot ",
    Behaviour.INTERRUPT: "",
}
"""Modules that attack, and what is said of the slot they were in; "" where it need not be closed."""


def holds_attackers(ada: Client, mine: Any, bob: Client, other: Any) -> None:
    """Have each attacking module in a held slot, aimed at the memory of another holder, who sees nothing of it."""
    name, token, theirs = mine["lease"], mine["token"], bob.lease(other["lease"])
    marked = b"\xa5" * 65536
    bob.write_lease_memory(other["lease"], other["token"], 0, marked)
    bob.load_leased(other["lease"], other["token"], "dct")
    (slot,) = mine["slots"]
    for behaviour, said in ATTACKERS.items():
        pynq.Device.active_device.inject(slot, rogue(behaviour))
        found = ada.load_leased(name, token, "dct")
        while found["loading"]:
            found = ada.lease(name, wait_s=20.0)
        assert [*found["holds"].values()] == ["dct"], (behaviour, found["said"])
        target = theirs["memory_address"]
        with contextlib.suppress(BoardFault, Conflict):
            ada.access_registers(name, token, [(0x10, target), (0x14, 0), (0x00, 1)])
            for _ in range(40):
                ada.access_registers(name, token, [(0x00, None)] * 8)
        waits_until_s = time.monotonic() + 60.0  # the slot is closed beside what its holder asks
        while said not in ada.lease(name)["said"]:
            assert time.monotonic() < waits_until_s, (behaviour, ada.lease(name)["said"])
            time.sleep(0.05)
        bob.access_registers(other["lease"], other["token"], [(0x10, 4096 + slot)])
        assert bob.access_registers(other["lease"], other["token"], [(0x10, None)])["values"] == [4096 + slot]
        assert bob.read_lease_memory(other["lease"], other["token"], 0, len(marked)) == marked, behaviour


def loads_its_own(ada: Client, mine: Any, bob: Client, other: Any, folder: Path) -> None:
    """Load a slot with an image that its holder signed: one that the board has, too, and is loaded as the board has it.
    On RTL a bitstream names a module of the source tree and its build."""
    files = []
    for file in sorted(Path(list_or_build("kv260").overlay).parent.glob("dct__slot*.bit")):
        for suffix in (".bit", ".json"):
            shutil.copy(file.with_suffix(suffix), folder)
        files.append(folder / file.name)
        key = signing.load_key(folder / "keys" / "tenants" / "ada" / "own.key")
        signing.sign_manifest(files[-1].with_suffix(".json"), key)
    with pytest.raises(ImageRefused, match="trusted for bob"):
        bob.load_own_image(other["lease"], other["token"], files)
    found = ada.load_own_image(mine["lease"], mine["token"], files)
    while found["loading"]:
        found = ada.lease(mine["lease"], wait_s=20.0)
    assert [*found["holds"].values()] == ["dct"], found["said"]
    ada.access_registers(mine["lease"], mine["token"], [(0x10, mine["slots"][0] + 4096)])
    assert ada.access_registers(mine["lease"], mine["token"], [(0x10, None)])["values"] == [mine["slots"][0] + 4096]
    assert ada.release_lease(mine["lease"])["cause"] == "released"


def attacked(client: Client, mine: Any, other: Any) -> None:
    """Point the module that is held at memory of another holder, and start it; then drive what was closed."""
    name, token = mine["lease"], mine["token"]
    client.write_lease_memory(name, token, 0, b"\1" * 128)
    pointers = [(0x10, mine["memory_address"]), (0x14, 0), (0x1C, other["memory_address"] or 0x0400_0000), (0x20, 0)]
    found = client.lease(name)
    try:
        client.access_registers(name, token, [*pointers, (0x28, 1), (0x00, 1)])
        for _ in range(200):
            client.access_registers(name, token, [(0x00, None)] * 8)
    except (BoardFault, Conflict):
        found = client.lease(name)
    assert "window" in found["said"], found
    with pytest.raises(Conflict, match="closed"):
        client.access_registers(name, token, [(0x00, 1)])
