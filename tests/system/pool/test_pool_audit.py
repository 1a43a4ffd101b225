# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What operators of a pool change is in one log at all heads, chained, and nobody takes of it or adds to it unseen; and
who may change keys is as on a board."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import httpx
import pytest
from eddy.core.tenants import KeyScope
from eddy.pool.connection.streams import AUDIT, AUDIT_SUBJECT, audit
from eddy.pool.head.head_server import Head
from eddy.pool.jetstream.tenant_keys import TURN
from eddy.pool.routes.context import HeadParts
from eddy.pool.routes.pool_observer import observe
from eddy.store.account_tables.audit import HEAD
from eddy.store.account_tables.tenants import MAX_KEYS
from nats.js.errors import APIError
from pool_kit import Pool, asking, in_its_loop, parts_of

MANY = 8


def test_what_is_changed_at_any_head_is_in_one_chain(pool: Pool) -> None:
    one, two = pool.head("a"), pool.head("b")
    pool.tenant(one)  # ada, noted at the one head

    async def at_once(parts: HeadParts) -> None:
        await asyncio.gather(*(parts.audit.note("operator", "k", "try", {"number": n}) for n in range(MANY)))

    with asking(two.url, pool.key) as operator, asking(two.url, pool.keys["ada"]) as ada:
        assert operator.patch("/v1/admin/tenants/ada", json={"weight": 2.0}).status_code == 200
        made = ada.post("/v1/keys", json={"label": "laptop"}).json()
        assert ada.delete(f"/v1/keys/{made['id']}").status_code == 204
        for refused in (
            operator.post("/v1/admin/tenants", json={"id": "ada"}),
            operator.patch("/v1/admin/tenants/nobody", json={"weight": 2.0}),
            operator.put("/v1/pool/boards/b9", json={"because": "dust"}),
            operator.delete("/v1/pool/boards/b9"),
            ada.put("/v1/pool/boards/b9", json={"because": "dust"}),
        ):
            assert refused.status_code in (403, 404, 409)
        assert operator.post("/v1/pool/rebalance", json={}).status_code == 200
        in_its_loop(one, at_once)
        in_its_loop(two, at_once)
        entries = operator.get("/v1/admin/audit").json()["entries"]
        assert [each["seq"] for each in entries] == list(range(1, len(entries) + 1))
        done = [(each["actor"], each["action"]) for each in entries if each["action"] != "try"]
        assert done == [
            ("operator", "add-tenant"),
            ("operator", "change-tenant"),
            ("ada", "make-key"),
            ("ada", "revoke-key"),
            ("operator", "rebalance"),
        ]
        assert len(entries) == len(done) + 2 * MANY
        assert entries[1]["facts"] == {"tenant": "ada", "weight": 2.0}
        assert entries[3]["facts"] == {"tenant": "ada", "revoked": made["id"]}
        assert all(each["key"] for each in entries)
        assert made["key"] not in json.dumps(entries)
        assert operator.get("/v1/admin/audit?after=3&limit=2").json()["entries"] == entries[3:5]
        assert operator.get("/v1/admin/audit?last=2").json()["entries"] == entries[-2:]
        assert operator.get("/v1/admin/audit?after=999").status_code == 410
        assert ada.get("/v1/admin/audit").status_code == 403

    async def tamper(parts: HeadParts) -> list[str]:
        js, told = parts.link.js, []
        with pytest.raises(APIError):
            await js.delete_msg(AUDIT, 2)
        forged = json.dumps({**entries[-1], "seq": len(entries) + 1}).encode()
        for change in (js.publish(AUDIT_SUBJECT, forged), js.purge_stream(AUDIT, keep=2), asyncio.sleep(0)):
            found = await observe(parts.link, parts.lead.mirror, parts.blobs)
            assert found.audit is not None
            told.append(" ".join(found.audit.problems))
            await change
        return told

    well, added, purged = in_its_loop(one, tamper)
    assert well == ""
    assert f"entry {len(entries) + 1} is not what was written" in added
    assert "entry 1 is not what was written" in purged


def test_a_key_that_was_replaced_outlives_its_grace_in_no_other_key_and_ends_none(pool: Pool) -> None:
    """A head took it: who had a key that leaked made one without an end while its grace lasted."""
    head = pool.head("a")
    pool.tenant(head)
    with asking(head.url, pool.keys["ada"]) as leaked, asking(head.url, pool.key) as operator:
        (first,) = leaked.get("/v1/keys").json()["keys"]
        new = leaked.post("/v1/keys", json={"replaces": first["id"], "grace_s": 600.0}).json()
        made = leaked.post("/v1/keys", json={"label": "mine"}).json()
        ends = next(key for key in leaked.get("/v1/keys").json()["keys"] if key["id"] == first["id"])["revoked_unix_s"]
        assert made["expires_unix_s"] == ends
        for other in (new["id"], made["id"]):
            refused = leaked.delete(f"/v1/keys/{other}")
            assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
        assert leaked.delete(f"/v1/keys/{first['id']}").status_code == 204
        (own,) = [key for key in operator.get("/v1/keys").json()["keys"] if key["scope"] == "operator"]
        brief = operator.post("/v1/keys", json={"scope": "operator", "expires_in_s": 60.0})
        assert brief.status_code == 201
        refused = operator.delete(f"/v1/keys/{own['id']}")
        assert refused.status_code == 409
        assert "without an end" in refused.json()["detail"]
        root = operator.post("/v1/admin/tenants", json={"id": "root", "admin": True}).json()["key"]
        leaks = operator.post("/v1/keys", json={"scope": "operator"}).json()
        grace = {"replaces": leaks["id"], "grace_s": 600.0}
        assert operator.post("/v1/keys", json=grace).json()["expires_unix_s"] is None
        with asking(head.url, leaks["key"]) as thief:
            listed = operator.get("/v1/keys").json()["keys"]
            ends = next(key for key in listed if key["id"] == leaks["id"])["revoked_unix_s"]
            other = thief.post("/v1/keys", json={"tenant": "root", "scope": "operator"}).json()
            assert other["expires_unix_s"] == ends, "it made another operator's key, without an end"
            refused = thief.post("/v1/admin/tenants", json={"id": "eve", "admin": True})
            assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
            assert thief.post("/v1/admin/tenants", json={"id": "bob"}).status_code == 201
            (bobs,) = operator.get("/v1/keys?tenant=bob").json()["keys"]
            assert bobs["expires_unix_s"] == ends
        with asking(head.url, root) as other:
            assert other.delete("/v1/admin/tenants/operator").status_code == 409
            assert other.delete("/v1/admin/tenants/ada").status_code == 202
            assert other.patch("/v1/admin/tenants/ada", json={"weight": 2.0}).status_code == 409


def test_a_log_that_was_cut_lost_or_made_anew_says_so(pool: Pool) -> None:
    """It said that all was as it was written, of a log without its end, and of none at all."""
    one = pool.head("a")
    pool.tenant(one)

    def change(head: Head, weight: float) -> None:
        with asking(head.url, pool.key) as operator:
            assert operator.patch("/v1/admin/tenants/ada", json={"weight": weight}).status_code == 200

    async def problems(parts: HeadParts) -> list[str]:
        return list((await parts.audit.examine()).problems)

    async def lose_last(parts: HeadParts) -> None:
        js = parts.link.js
        kept = [(await js.get_msg(AUDIT, number)).data for number in (1, 2)]
        await js.delete_stream(AUDIT)
        await js.add_stream(audit(1))
        for data in kept:
            await js.publish(AUDIT_SUBJECT, data or b"")

    async def lose_head(parts: HeadParts) -> None:
        await parts.link.keys.delete(HEAD)

    async def end_between(parts: HeadParts) -> None:
        with pytest.raises(ConnectionError), patch.object(parts.audit, "_keep_head", side_effect=ConnectionError):
            await parts.audit.note("operator", "k", "try", {})

    for weight in (2.0, 3.0, 4.0):
        change(one, weight)
    in_its_loop(one, end_between)
    assert in_its_loop(one, problems) == []
    change(one, 5.0)
    in_its_loop(one, lose_last)
    assert in_its_loop(one, problems) == ["entries 3 to 6 were cut off at the end"]
    for weight in (6.0, 7.0, 8.0, 9.0, 2.0):
        change(one, weight)
    (noted,) = in_its_loop(one, problems)  # also once the log is as long as it was
    assert noted == "entry 3 was added after this was found: entries 3 to 6 were cut off at the end"
    in_its_loop(one, lambda parts: parts.link.js.delete_stream(AUDIT))
    two = pool.head("b")
    assert in_its_loop(two, problems) == ["entries 1 to 8 were cut off at the end"]
    change(two, 3.0)
    assert [each.action for each in in_its_loop(two, lambda parts: parts.audit.entries(0, 9))] == [
        "audit-log-wrong",
        "change-tenant",
    ]
    in_its_loop(two, lose_head)
    missing = "audit.head is missing: entries may have been cut off at the end"
    assert missing in in_its_loop(two, problems)
    change(two, 4.0)
    assert in_its_loop(two, problems)[1:] == [f"entry 3 was added after this was found: {missing}"]


def slow_to_note(head: Head, meanwhile: Callable[[], None]) -> None:
    """A head whose next entry takes longer than its turn to change keys lasts: so much happens meanwhile."""
    log: Any = parts_of(head).audit
    at_once, leader = log.note, parts_of(head).link.leader

    async def late(*what: Any) -> None:
        log.note = at_once
        await leader.delete(TURN)
        await asyncio.to_thread(meanwhile)
        await at_once(*what)

    log.note = late


def test_what_holds_as_keys_are_looked_at_holds_as_one_is_changed(pool: Pool) -> None:
    """A head looked, noted it, for longer than it was alone, and changed: both operators revoked their own, and nobody
    could operate; and a tenant had more keys than it may."""
    one, two = pool.head("a"), pool.head("b")
    pool.tenant(one)
    answers: list[httpx.Response] = []
    with asking(one.url, pool.key) as first, asking(one.url, pool.keys["ada"]) as ada:
        made = first.post("/v1/keys", json={"scope": "operator"}).json()
        own = next(k["id"] for k in first.get("/v1/keys?tenant=operator").json()["keys"] if k["id"] != made["id"])
        with asking(two.url, made["key"]) as second, asking(two.url, pool.keys["ada"]) as again:
            slow_to_note(one, lambda: answers.append(second.delete(f"/v1/keys/{made['id']}")))
            answers.append(first.delete(f"/v1/keys/{own}"))
            assert [each.status_code for each in answers] == [204, 409]
            assert "last operator's key" in answers[1].json()["detail"]
            assert first.get("/v1/pool").status_code == 200

            async def all_but_one(parts: HeadParts) -> None:
                for _ in range(MAX_KEYS - len(await parts.keys.all("ada")) - 1):
                    await parts.keys.make("ada", KeyScope.TENANT)

            in_its_loop(one, all_but_one)
            slow_to_note(one, lambda: answers.append(again.post("/v1/keys", json={})))
            answers.append(ada.post("/v1/keys", json={}))
            assert [each.status_code for each in answers[2:]] == [201, 429]
            rotated = again.post("/v1/keys", json={"replaces": answers[2].json()["id"]})
            assert rotated.status_code == 429, "as many as it may have"


def test_a_tenant_does_not_lengthen_the_log_as_it_likes(pool: Pool) -> None:
    """It made and revoked keys without end, each an entry that stays, and one request of the operator read them all."""
    head = pool.head("a")
    pool.tenant(head)
    with asking(head.url, pool.keys["ada"]) as ada, asking(head.url, pool.key) as operator:
        parts_of(head).rate_limits.key_changes._clock = lambda: 0.0
        changed = 0
        while (made := ada.post("/v1/keys", json={})).status_code == 201:
            assert ada.delete(f"/v1/keys/{made.json()['id']}").status_code == 204
            changed += 2
            assert changed <= MAX_KEYS
        assert changed == MAX_KEYS
        assert (made.status_code, made.json()["code"]) == (429, "rate-limited")
        assert int(made.headers["Retry-After"]) == 10
        assert operator.post("/v1/keys", json={"tenant": "ada"}).status_code == 201, "operators are not bounded"
        largest: list[int] = []

        async def examined(parts: HeadParts) -> int:
            at_once = parts.audit._piece

            async def piece(numbers: range) -> Any:
                largest.append(len(numbers))
                return await at_once(numbers)

            with patch.object(parts.audit, "_piece", piece), patch("asyncio.to_thread", wraps=asyncio.to_thread) as off:
                found = await parts.audit.examine()
            assert (found.problems, off.call_count) == ((), len(largest))
            return found.entries

        assert in_its_loop(head, examined) == changed + 2
        assert max(largest) < changed, "it is not read as a whole"
