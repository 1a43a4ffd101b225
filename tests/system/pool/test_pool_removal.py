# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A tenant that is removed from a pool leaves no byte, no event and no good key; nobody else loses anything."""

from __future__ import annotations

import hashlib
import os

from eddy.pool.connection.streams import EVENTS
from eddy.pool.routes.context import HeadParts
from pool_boards import objects_in
from pool_kit import Pool, asking, in_its_loop, until
from system.pool.test_pool_bytes import APP, put


async def bytes_there(parts: HeadParts) -> int:
    return sum((await objects_in(parts.link)).values())


async def events_of(parts: HeadParts) -> dict[str, int]:
    """Events by tenant."""
    found = (await parts.link.js.stream_info(EVENTS, subjects_filter="eddy.events.>")).state.subjects or {}
    return {tenant: sum(n for name, n in found.items() if f".{tenant}." in name) for tenant in ("ada", "grace")}


def test_a_tenant_goes_with_its_bytes_and_another_stays(pool: Pool) -> None:
    one, two = pool.head("a"), pool.head("b")
    pool.tenant(one)
    pool.tenant(one, "grace")
    ours, theirs = os.urandom(300_000), os.urandom(200_000)
    with asking(one.url, pool.keys["ada"]) as ada, asking(two.url, pool.keys["grace"]) as grace:
        for api in (ada, grace):
            assert [put(api, data).status_code for data in (ours, theirs)] == [201, 201], "equal bytes of two tenants"
            assert api.post("/v1/jobs", json={"application": APP}).status_code == 202
    before = in_its_loop(one, bytes_there)
    with asking(two.url, pool.key) as operator:
        refused = operator.delete("/v1/admin/tenants/ada")
        assert (refused.status_code, refused.json()["code"], refused.json()["jobs"]) == (409, "conflict", 1)
        assert operator.delete("/v1/admin/tenants/operator?cancel=true").status_code == 409
        noted = [each["action"] for each in operator.get("/v1/admin/audit").json()["entries"]]
        assert "remove-tenant" not in noted, "nothing was about to be done"
        removed = operator.delete("/v1/admin/tenants/ada", params={"cancel": "true"})
        assert (removed.status_code, removed.json()) == (202, {"id": "ada", "jobs": 1})
        again = operator.delete("/v1/admin/tenants/ada")
        assert (again.status_code, again.json()) == (202, {"id": "ada", "jobs": 0})
        assert operator.get("/v1/admin/tenants/ada").json()["leaving"] is True
        assert operator.post("/v1/admin/tenants", json={"id": "ada"}).status_code == 409
        assert operator.post("/v1/keys", json={"tenant": "ada"}).status_code == 409
    for head in (one, two):
        with asking(head.url, pool.keys["ada"]) as ada:
            assert ada.get("/v1/jobs").status_code == 401
        with asking(head.url, pool.keys["grace"]) as grace:
            for data in (ours, theirs):
                assert grace.get(f"/v1/blobs/{hashlib.sha256(data).hexdigest()}").content == data
            assert [job["state"] for job in grace.get("/v1/jobs").json()["jobs"]] == ["queued"]
    until(lambda: in_its_loop(one, bytes_there) == before // 2, saw=lambda: in_its_loop(one, bytes_there))
    until(lambda: in_its_loop(one, events_of)["ada"] == 0, saw=lambda: in_its_loop(one, events_of))
    assert in_its_loop(one, events_of)["grace"] > 0
