# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A page that is put together from known texts is the page that is made from records."""

from __future__ import annotations

import json
from typing import Any

import pytest
from eddy.api.answers import job_pages


@pytest.mark.anyio
async def test_a_page_says_the_same_again_and_what_changed_is_made_again(server: Any) -> None:
    job = await server.submit()
    record = server.store.jobs.get("ada", job["id"])
    async with server.client() as client:
        first = (await client.get("/v1/jobs")).json()
        assert [each["state"] for each in first["jobs"]] == ["queued"]
        server.hypervisor.finish(record, result=bytes(6))
        ended = await client.get("/v1/jobs")
        assert [each["state"] for each in ended.json()["jobs"]] == ["succeeded"]
        assert ended.headers["cache-control"] == "no-store"
        again = await client.get("/v1/jobs")
        alone = (await client.get(f"/v1/jobs/{job['id']}")).json()
    assert again.content == ended.content
    assert again.json() == {"jobs": [alone], "next": None, "damaged": []}


def test_few_texts_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_pages, "MAX_TEXTS", 2)
    known, offer = job_pages.RenderedJobs(), object()
    records: list[Any] = [type("Record", (), {"id": number})() for number in range(3)]
    for record in records:
        known.keep(record, offer, b"{}")
    assert known.find(records[0], offer) is None
    assert known.find(records[2], offer) == b"{}"
    assert known.find(records[2], object()) is None
    assert json.loads(job_pages.page([b"{}", b"{}"], "7", [3])) == {
        "jobs": [{}, {}],
        "next": "7",
        "damaged": [3],
    }
