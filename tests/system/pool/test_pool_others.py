# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""At a head, what is another tenant's is answered as what does not exist, and no odd name ends in a failure."""

from __future__ import annotations

import asyncio
import hashlib
import re
from typing import Any

import httpx
from eddy.cli.demo.demo_plan import photograph
from eddy.pool.head.app import routes
from eddy.pool.jetstream.blobs import PoolBlobs
from eddy.pool.jetstream.jobs import PoolJobs
from eddy.pool.jetstream.link import open_pool
from eddy.pool.records.records import JobPart, PoolJob
from pool_boards import all_jobs
from pool_kit import WAIT_S, Pool, asking

APP = "image_compression"
HERS = b"thesis"
BLOB, NO_BLOB = (hashlib.sha256(data).hexdigest() for data in (HERS, b"nobody's"))
NO_NUMBER = str(4_000_000)
"""A number no job has."""
OWN = {"POST /v1/session", "GET /v1/session", "DELETE /v1/session", "GET /healthz", "GET /readyz", "GET /v1/events"}
"""These name nothing that could be somebody else's; the last never ends (`test_feeds_and_explanations`)."""
ODD = ("0", "-1", "1e9", "1" * 400, "%2e%2e%2f", "*", "a b", "\u00e9", "%00", "$KV.x", "head")
"""What no number, name or hash is."""


def operations() -> list[tuple[str, str]]:
    """Every operation of a head: method and path."""
    found: list[tuple[str, str]] = []
    for route in routes():
        found += [(method, route.path) for method in route.methods or ()]
    return [each for each in found if " ".join(each) not in OWN]


def bodies(method: str, path: str, thing: dict[str, str], own: str) -> list[dict[str, Any]]:
    """What to send with it so that it concerns a thing; `own` is a blob of who asks."""
    application = {"application": APP}
    job: dict[str, Any] = {**application, "inputs": {"image": [thing["sha256"]]}}
    after: dict[str, Any] = {**application, "inputs": {"image": [own]}, "after": [int(thing["number"])]}
    by_route: dict[str, list[dict[str, Any]]] = {
        "POST /v1/jobs": [{"json": job}, {"json": job, "params": {"dry_run": "true"}}, {"json": after}],
        "POST /v1/arrays": [{"json": {"job": application, "each": [{"inputs": job["inputs"]}]}}],
        "POST /v1/keys": [{"json": {"replaces": thing["key"]}}, {"json": {"tenant": thing["tenant"]}}],
        "PUT /v1/blobs/{sha256}": [{"content": b"not what its name says"}],
        "POST /v1/admin/tenants": [{"json": {"id": "ada"}}],
        "PATCH /v1/admin/tenants/{name}": [{"json": {"weight": 2}}],
        "PUT /v1/pool/boards/{name}": [{"json": {"because": "x"}}],
        "POST /v1/pool/rebalance": [{"json": {"running": True}}],
        "GET /v1/jobs": [{}, {"params": {"tenant": thing["tenant"]}}, {"params": {"array": thing["array"]}}],
    }
    return by_route.get(f"{method} {path}", [{}])


def plain(answer: httpx.Response, thing: dict[str, str]) -> tuple[int, str]:
    """An answer without what was asked for in it, and without what differs from request to request."""
    text = re.sub(r"\d+\.\d+", "TIME", answer.text.replace(answer.headers.get("x-request-id", "-"), "REQUEST"))
    named = "|".join(map(re.escape, thing.values()))
    return answer.status_code, re.sub(rf"\b({named})\b", "IT", text)


def everything(client: Any) -> list[Any]:
    """What a tenant has, as it sees it."""
    shown = [client.transport.json("GET", path) for path in ("/v1/jobs", "/v1/keys", "/v1/quota")]
    for job in shown[0]["jobs"]:
        job.pop("estimate")
    return shown


async def ended(pool: Pool) -> None:
    """Have the only job there is succeed, with an output."""
    async with open_pool(str(pool.head_file), "test", WAIT_S) as link:
        (job,) = await all_jobs(link)
        sha = await PoolBlobs(link).put("ada", b"an output")

        def done(now: PoolJob) -> PoolJob:
            given = now.place_on("b1", 0.0, {})
            return given.start(given.token, 0.0).commit_part(JobPart(0, 1, {"y": sha}, "b1", given.token, 0.0, 1.0))

        assert (await PoolJobs(link).change(job.id, done)).is_ended


def test_anothers_things_are_answered_as_what_is_not_there_by_every_route(pool: Pool) -> None:
    head = pool.head("a")
    ada, grace = pool.tenant(head), pool.tenant(head, "grace")
    order = photograph("ada", 1, 0, 1)
    finished = ada.submit(APP, order.inputs, labels={"of": "thesis"})
    asyncio.run(ended(pool))
    assert ada.put_blob(HERS) == BLOB
    array = ada.transport.json("POST", "/v1/arrays", body={"job": {"application": APP}, "each": [{}, {}]})["id"]
    key = ada.transport.json("POST", "/v1/keys", body={"label": "thesis"})["id"]
    hers = {"number": str(finished.id), "array": str(array), "sha256": BLOB, "key": key, "tenant": "ada", "name": "ada"}
    nobodys = {"number": NO_NUMBER, "array": NO_NUMBER, "sha256": NO_BLOB, "key": "k0", "tenant": "eve", "name": "eve"}
    own, before = grace.put_blob(b"grace's"), everything(ada)
    assert before[0]["jobs"][-1]["state"] == "succeeded"
    with asking(head.url, pool.keys["grace"]) as api:
        for method, path in operations():
            answers = []
            for thing in (hers, nobodys):
                url = path.format_map({**thing, "name": "y" if "/outputs/" in path else thing["name"]})
                asks = [{"url": url, **body} for body in bodies(method, path, thing, own)]
                answers.append([plain(api.request(method, **each), thing) for each in asks])
            assert answers[0] == answers[1], (method, path)
            assert not any("thesis" in text for _, text in answers[0]), (method, path)
            if (method != "GET" and "{" in path) or "/admin/" in path:
                assert all(400 <= status < 500 for status, _ in answers[0]), (method, path, answers[0])
    assert everything(ada) == before


def test_what_no_name_or_number_is_ends_in_no_failure(pool: Pool) -> None:
    """Names become keys of buckets and subjects of NATS; the operator may try all of them."""
    head = pool.head("a")
    with asking(head.url, pool.key) as api:
        for method, path in operations():
            if "{" not in path:
                continue
            for odd in ODD:
                for body in bodies(
                    method, path, dict.fromkeys(("sha256", "key", "tenant", "array"), "x") | {"number": "1"}, NO_BLOB
                ):
                    answer = api.request(method, re.sub(r"\{\w+\}", odd, path), **body)
                    assert answer.status_code < 500, (method, path, odd, answer.text)
