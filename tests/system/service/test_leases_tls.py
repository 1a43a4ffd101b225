# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A lease over TLS from end to end: asked for, driven and ended by programs that trust the lab's own certificate."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from bitstreams_kit import package
from certificate_kit import make_certificate
from eddy.api.service.server import Server, ServerSettings
from eddy.client import Client
from eddy.core.leases import LeaseRules
from hypervisor_kit import item, model_board

HOLDER = """
import json, os, sys
from eddy.client import Client
from eddy_sim.leased.holder import LeaseHolder

with Client() as client:
    made = client.ask_for_lease(module="flip", memory_bytes=8192)
    found = client.lease(made["lease"], wait_s=30.0)
    holder = LeaseHolder(found["lease"], client=client)
    slot, at = found["slots"][0], found["memory_address"]
    holder.write_memory(0, bytes.fromhex(sys.argv[1]))
    for offset, value in ((0x10, at), (0x14, 0), (0x1C, at + 4096), (0x20, 0), (0x04, 1), (0x08, 1), (0x00, 1)):
        holder.write(slot, offset, value)
    rang = holder.await_interrupt(slot)
    done = holder.read_memory(4096, len(sys.argv[1]) // 2).hex()
    ended = client.release_lease(found["lease"])
    print(json.dumps({"rang": rang, "done": done, "cause": ended["cause"], "board": holder.profile}))
"""


def run(url: str, key: str, **more: str) -> subprocess.CompletedProcess[str]:
    """A holder's program, in a process of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("EDDY_", "SSL_"))}
    command = [sys.executable, "-c", HOLDER, item(0).hex()]
    environment = {**kept, "EDDY_URL": url, "EDDY_KEY": key, **more}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)


def test_a_holder_drives_its_slot_over_tls_and_trusts_no_other_certificate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = make_certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(files.certificate))
    settings = ServerSettings("model", "tiny", "fcfs", tmp_path / "data", package(tmp_path / "bitstreams"), port=0)
    told = replace(settings, lease_rules=LeaseRules(part=0.7), tls=files)
    with Server(told, board=model_board()).background() as server:
        url = f"https://localhost:{server.port}"
        with Client(url, server.key_file.read_text().strip()) as operator:
            key = operator.add_tenant("ada")["key"]
        done = run(url, key, SSL_CERT_FILE=str(files.certificate))
        assert done.returncode == 0, done.stderr
        wanted = bytes(255 - byte for byte in item(0)).hex()
        assert json.loads(done.stdout) == {"rang": True, "done": wanted, "cause": "released", "board": "tiny"}
        (tmp_path / "other").mkdir()
        other = make_certificate(tmp_path / "other")
        refused = run(url, key, SSL_CERT_FILE=str(other.certificate))
        assert refused.returncode != 0
        assert "certificate" in refused.stderr.lower()
        with Client(url, key) as ada:
            assert [each["cause"] for each in ada.leases()] == ["released"], "nothing was sent to a server not trusted"
