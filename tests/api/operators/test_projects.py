# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`/v1/projects`: added, changed, listed and removed by operators, and noted."""

from __future__ import annotations

from typing import Any

import pytest
from eddy.core.tenants import TenantRecord

pytestmark = pytest.mark.anyio


async def ask(server: Any, method: str, path: str, status: int, **body: Any) -> Any:
    async with server.client("operator") as client:
        answer = await client.request(method, f"/v1/projects{path}", **({"json": body} if body else {}))
    assert answer.status_code == status, answer.text
    return answer.json() if answer.content else None


async def test_a_project_is_added_changed_and_removed_and_each_is_noted(server: Any) -> None:
    server.store.tenants.put(TenantRecord("bob"))
    made = await ask(server, "POST", "", 201, id="vision", share=3.0, members=["ada"])
    assert (made["share"], made["members"], made["used"]) == (3.0, ["ada"], None)
    others = len(server.store.tenants.all()) - 1
    assert made["entitled"] == pytest.approx(3 / (3 + others))
    changed = await ask(server, "PATCH", "/vision", 200, share=1.0, add=["bob"])
    assert (changed["share"], changed["members"]) == (1.0, ["ada", "bob"])
    assert changed["entitled"] == pytest.approx(1 / others)
    found = await ask(server, "GET", "", 200)
    assert found == {"projects": [changed], "half_life_days": 0.0, "damaged": []}
    async with server.client() as client:
        quota = (await client.get("/v1/quota")).json()
    assert (quota["project"], quota["weight"]) == ("vision", 1.0)
    assert (await ask(server, "PATCH", "/vision", 200, drop=["ada"]))["members"] == ["bob"]
    await ask(server, "DELETE", "/vision", 204)
    assert (await ask(server, "GET", "", 200))["projects"] == []
    async with server.client("operator") as client:
        entries = (await client.get("/v1/admin/audit")).json()["entries"]
    assert [(entry["action"], entry["facts"]["project"]) for entry in entries] == [
        ("add-project", "vision"),
        *[("change-project", "vision")] * 2,
        ("remove-project", "vision"),
    ]


async def test_what_cannot_be_is_refused_before_it_is_noted(server: Any) -> None:
    await ask(server, "POST", "", 201, id="vision", members=["ada"])
    await ask(server, "POST", "", 409, id="vision")
    taken = await ask(server, "POST", "", 409, id="chips", members=["ada"])
    assert "project vision" in taken["detail"]
    assert (await ask(server, "POST", "", 404, id="chips", members=["nobody"]))["asked"] == "nobody"
    assert (await ask(server, "PATCH", "/vision", 422, drop=["bob"]))["allowed"] == ["ada"]
    for wrong in ({"share": 0}, {"share": 1e7}, {"members": ["-"]}, {"id": "no spaces"}):
        await ask(server, "POST", "", 422, **{"id": "chips", **wrong})
    for method in ("PATCH", "DELETE"):
        await ask(server, method, "/chips", 404, **({"share": 2.0} if method == "PATCH" else {}))
    async with server.client("operator") as client:
        assert len((await client.get("/v1/admin/audit")).json()["entries"]) == 1


async def test_tenants_neither_see_nor_change_projects(server: Any) -> None:
    async with server.client() as client:
        assert (await client.get("/v1/projects")).status_code == 403
        assert (await client.post("/v1/projects", json={"id": "mine"})).status_code == 403
