# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The audit log: everything operators change is in it, with the key; no edit, gap, cut or rewriting goes unseen."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from eddy.api.access.keys import KeyHasher
from eddy.api.service.server import Server, ServerSettings
from eddy.cli.main import app as command
from eddy.core.records import SlotStatus
from eddy.store import Store
from eddy.store.account_tables.audit import HEAD, AuditEntry, AuditVerdict, read_head, verify
from kernel_kit import kernel_board
from typer.testing import CliRunner

BITSTREAMS = Path(__file__).parents[3] / "bitstreams"
SIGN = KeyHasher(b"s" * 32).hash


def look(server: Any, kept: str = "") -> AuditVerdict:
    store: Store = server.store
    return verify(store.audit.entries(), read_head(store.blobs.folder.parent), SIGN, kept)


@pytest.mark.anyio
async def test_every_change_of_an_operator_is_noted_with_its_key(server: Any, package: dict[str, Any]) -> None:
    server.hypervisor.statuses = (SlotStatus(0, "pipeline", "slot0"),)
    package["application"] = "again"
    made: list[str] = []
    changes = [
        ("POST", "/v1/admin/tenants", {"id": "eve"}, "add-tenant"),
        ("PATCH", "/v1/admin/tenants/eve", {"weight": 2.0}, "change-tenant"),
        ("POST", "/v1/keys", {"tenant": "eve"}, "make-key"),
        ("DELETE", "/v1/keys/{made}", None, "revoke-key"),
        ("PUT", "/v1/admin/slots/0", {"drained": True, "because": "fan"}, "drain-slot"),
        ("PUT", "/v1/admin/slots/0", {"drained": False}, "undrain-slot"),
        ("PUT", "/v1/admin/policy", {"policy": "nimblock"}, "set-policy"),
        ("POST", "/v1/apps", package, "add-app"),
        ("POST", "/v1/admin/maintenance", {"title": "fans", "begins_unix_s": 4e9, "lasts_s": 60}, "plan-maintenance"),
        ("DELETE", "/v1/admin/maintenance/{made}", None, "cancel-maintenance"),
        ("POST", "/v1/admin/purge", {"older_than_s": 60}, "purge-jobs"),
        ("DELETE", "/v1/admin/tenants/eve", None, "remove-tenant"),
    ]
    async with server.client("operator") as client:
        for method, path, body, action in changes:
            answer = await client.request(method, path.format(made="".join(made)), json=body)
            assert answer.status_code < 300, answer.text
            if action in ("make-key", "plan-maintenance"):
                made[:] = [answer.json()["id"]]
        entries = (await client.get("/v1/admin/audit")).json()["entries"]
        assert [entry["action"] for entry in entries] == [action for *_, action in changes]
        (own,) = [key.id for key in server.store.keys.all("operator")]
        assert {(entry["actor"], entry["key"]) for entry in entries} == {("operator", own)}
        assert entries[4]["facts"] == {"slot": 0, "because": "fan"}
        assert "eddy_" not in json.dumps(entries), "a key stands in the log"
        assert (await client.get("/v1/admin/audit?after=7")).json()["entries"] == entries[7:]
        assert (await client.get("/v1/admin/audit?last=3")).json()["entries"] == entries[-3:]
        assert (await client.get("/v1/admin/audit?last=9999")).json()["entries"] == entries
    # Whoever adds a route that changes something notes it, or says here why not.
    routes = {(method.upper(), path) for path, ways in server.app.openapi()["paths"].items() for method in ways}
    known = {
        (method, path.replace("keys/{made}", "keys/{key}").replace("eve", "{tenant}")) for method, path, *_ in changes
    }
    known = {(method, path.replace("{made}", "{window}")) for method, path in known}
    known = {(method, path.replace("/slots/0", "/slots/{slot}")) for method, path in known}
    known |= {("PUT", "/v1/admin/price")}  # tested with a market
    operators = {(m, p) for m, p in routes if m != "GET" and p.startswith(("/v1/admin", "/v1/keys", "/v1/apps"))}
    assert operators == known
    assert look(server) == AuditVerdict(12, f"12:{entries[-1]['chain']}", ())


@pytest.mark.anyio
async def test_a_tenants_own_keys_are_noted_and_the_log_is_the_operators(server: Any) -> None:
    async with server.client("ada") as client:
        await client.post("/v1/keys", json={"scope": "read"})
        assert (await client.get("/v1/admin/audit")).status_code == 403
    (entry,) = server.store.audit.entries()
    assert (entry.actor, entry.action, entry.facts["scope"]) == ("ada", "make-key", "read")


def written(server: Any, count: int = 5) -> list[AuditEntry]:
    for number in range(count):
        server.store.audit.note(SIGN, "operator", "k1", "drain-slot", {"slot": number})
    return list(server.store.audit.entries())


def problem(server: Any, entries: list[AuditEntry], kept: str = "") -> str:
    verdict = verify(entries, read_head(server.store.blobs.folder.parent), SIGN, kept)
    assert len(verdict.problems) <= 1
    return "".join(verdict.problems)


def test_whatever_is_done_to_the_log_shows(server: Any) -> None:
    entries = written(server)
    assert problem(server, entries) == ""
    for place, entry in enumerate(entries):
        for change in (
            {"actor": "eve"},
            {"key": "k2"},
            {"action": "undrain-slot"},
            {"facts": {"slot": 9}},
            {"at_unix_s": entry.at_unix_s + 1},
            {"chain": "0" * 64},
        ):
            edited = [*entries[:place], dataclasses.replace(entry, **change), *entries[place + 1 :]]
            assert f"entry {place + 1} is not" in problem(server, edited)
        without = [*entries[:place], *entries[place + 1 :]]
        expected = f"entry {place + 1} is missing" if place < 4 else "entries 5 to 5 were cut off"
        assert expected in problem(server, without)
        moved = [dataclasses.replace(each, seq=number) for number, each in enumerate(without, start=1)]
        assert problem(server, moved)
    assert "entries 1 to 5 were cut off" in problem(server, [])
    swapped = [entries[0], dataclasses.replace(entries[2], seq=2), dataclasses.replace(entries[1], seq=3)]
    assert "entry 2 is not" in problem(server, swapped)


def test_the_head_is_checked_and_one_kept_elsewhere_finds_what_the_files_cannot(server: Any) -> None:
    entries = written(server)
    head = server.store.blobs.folder.parent / HEAD
    good = head.read_bytes()
    head.write_bytes(good.replace(b"5 ", b"4 ", 1))
    assert problem(server, entries) == f"{HEAD} is not what was written"
    head.unlink()
    assert f"{HEAD} is missing" in problem(server, entries)
    # An older state of both files is whole in itself.
    older = entries[:3]
    mark = f"3 {entries[2].chain}"
    head.write_text(f"{mark} {SIGN(f'head {mark}')}\n")
    assert problem(server, older) == ""
    assert "put back to an older state" in problem(server, older, f"5:{entries[4].chain}")
    assert problem(server, older, f"2:{entries[1].chain}") == ""
    head.write_bytes(good)
    assert "written again" in problem(server, entries, f"2:{entries[2].chain}")
    assert "is no head" in problem(server, entries, "nonsense")


@pytest.mark.parametrize(
    ("kept", "head", "found"),
    [
        (3, "as it was", "entries 4 to 5 were cut off"),
        (3, "gone", "audit.head is missing"),
        (3, "garbage", "audit.head is not what was written"),
        (0, "as it was", "entries 1 to 5 were cut off"),
    ],
)
def test_what_is_noted_later_does_not_hide_that_entries_were_cut_off(
    server: Any, kept: int, head: str, found: str
) -> None:
    written(server)
    path = server.store.blobs.folder.parent / HEAD
    if head != "as it was":
        path.unlink()
    if head == "garbage":
        path.write_text("x\n")
    with server.store.database.transaction() as db:
        db.execute("DROP TRIGGER audit_is_not_cut")
        db.execute("DELETE FROM audit WHERE seq > ?", (kept,))
    written(server, 2)
    verdict = verify(server.store.audit.entries(), read_head(path.parent), SIGN)
    assert [found in each for each in verdict.problems] == [True]
    assert f"entry {kept + 1} " in verdict.problems[0]


def test_a_log_that_was_emptied_is_no_log_that_has_not_begun(server: Any) -> None:
    head = server.store.blobs.folder.parent / HEAD
    server.store.audit.begin(SIGN)
    assert problem(server, []) == ""
    head.unlink()
    assert "the log was emptied" in problem(server, [])
    written(server)
    head.unlink()
    assert "the log was emptied" in problem(server, [])


def test_the_data_base_itself_refuses_to_change_or_cut_the_log(server: Any) -> None:
    written(server, 2)
    for statement in ("UPDATE audit SET actor = 'eve'", "DELETE FROM audit WHERE seq = 2"):
        with pytest.raises(Exception, match="only added to"), server.store.database.transaction() as db:
            db.execute(statement)


def test_the_command_checks_a_data_folder(tmp_path: Path) -> None:
    store = Store(tmp_path / "eddy.sqlite3")
    (tmp_path / "secret").write_bytes(b"s" * 32)
    for number in range(3):
        store.audit.note(SIGN, "operator", "k1", "drain-slot", {"slot": number})

    def run(*more: str) -> tuple[int, dict[str, Any]]:
        done = CliRunner().invoke(command, ["audit", "verify", "--data", str(tmp_path), "--json", *more])
        found: dict[str, Any] = json.loads(done.stdout)
        return done.exit_code, found

    code, found = run()
    assert (code, found["entries"], found["ok"]) == (0, 3, True)
    assert run("--head", found["head"])[0] == 0
    with store.database.transaction() as db:
        db.execute("DROP TRIGGER audit_is_not_changed")
        db.execute("UPDATE audit SET facts = '{\"slot\": 7}' WHERE seq = 2")
    code, found = run()
    assert (code, found["ok"]) == (1, False)
    assert "entry 2" in found["problems"][0]
    store.close()


def test_a_servers_first_start_begins_the_log_and_what_is_no_folder_of_it_is_said(tmp_path: Path) -> None:
    def run(folder: Path) -> tuple[int, str]:
        done = CliRunner().invoke(command, ["audit", "verify", "--data", str(folder)])
        return done.exit_code, done.stderr

    data = tmp_path / "data"
    settings = ServerSettings("model", "tiny", "fcfs", data, BITSTREAMS, port=0)
    Server(settings, board=kernel_board()).close()
    assert run(data)[0] == 0
    (data / HEAD).unlink()
    code, said = run(data)
    assert (code, "the log was emptied" in said) == (1, True)
    with contextlib.closing(sqlite3.connect(data / "eddy.sqlite3")) as rows:
        rows.execute("DROP TABLE audit")
    code, said = run(data)
    assert (code, "is damaged" in said, "Traceback" in said) == (6, True, False)
    assert "is no data folder" in run(tmp_path / "nowhere")[1]
