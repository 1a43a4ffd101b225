# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a server answers of records that are damaged: the others are there, and each that is not is said to be."""

from __future__ import annotations

import time
from typing import Any

import pytest
from eddy.core.jobs import JobState
from eddy.hypervisor.cores.market_history import EpochHistory
from eddy.store.account_tables.usage import UsageRow, day_of

pytestmark = pytest.mark.anyio
NO_TEXT = "CAST(x'fffe41' AS TEXT)"


def damage(server: Any, change: str) -> None:
    """Change what is kept, past everything that would keep it from that."""
    db = server.store.database._connection
    db.executescript("DROP TRIGGER IF EXISTS audit_is_not_changed")
    assert db.execute(f"UPDATE {change}").rowcount == 1


async def three(server: Any) -> list[int]:
    """Jobs of ada, the newest first; all have ended."""
    found = []
    for _ in range(3):
        job = await server.submit()
        server.hypervisor.finish(server.store.jobs.get("ada", job["id"]), result=bytes(6))
        found.append(job["id"])
    return found[::-1]


@pytest.mark.parametrize("value", [NO_TEXT, "'{'", "x'01'", "'[]'", "json_set(record, '$.batch', 'many')"])
async def test_a_list_shows_the_others_and_names_it(server: Any, value: str) -> None:
    newest, middle, oldest = await three(server)
    damage(server, f"job SET record = {value} WHERE id = {middle}")
    for who in ("ada", "operator"):
        async with server.client(who) as client:
            page = (await client.get("/v1/jobs")).json()
            assert [job["id"] for job in page["jobs"]] == [newest, oldest]
            assert (page["damaged"], page["next"]) == ([middle], None)
            for query in (
                "limit=1",
                "limit=2",
                "limit=1&sort=oldest",
                "limit=1&sort=ended",
                "limit=1&application=invert",
            ):
                assert await every(client, query) == ({newest, oldest}, {middle}), query
    async with server.client("operator") as client:
        overview = (await client.get("/v1/overview")).json()
        assert [job["id"] for job in overview["ended"]] == [newest, oldest]
        assert overview["damaged"] == {"job": 1}
        metrics = (await client.get("/metrics")).text
        assert 'eddy_damaged_records{kind="job"} 1.0' in metrics
        assert (await client.get("/readyz")).status_code == 200


async def every(client: Any, query: str) -> tuple[set[int], set[int]]:
    """Ids of all pages of a list, and of those that are damaged."""
    found, damaged, cursor = set[int](), set[int](), ""
    for _ in range(9):
        page = (await client.get(f"/v1/jobs?{query}&cursor={cursor}" if cursor else f"/v1/jobs?{query}")).json()
        found |= {job["id"] for job in page["jobs"]}
        damaged |= set(page["damaged"])
        cursor = page["next"]
        if cursor is None:
            return found, damaged
    raise AssertionError("pages without an end")


async def test_the_record_itself_answers_a_clear_error(server: Any) -> None:
    (job, *_) = await three(server)
    damage(server, f"job SET record = '{{\"secret\": ' WHERE id = {job}")
    asked = [
        ("GET", ""),
        ("DELETE", ""),
        ("GET", "/events"),
        ("GET", "/outputs/result"),
        ("GET", "/log"),
        ("GET", "/explain"),
    ]
    async with server.client() as client:
        for method, part in asked:
            answer = await client.request(method, f"/v1/jobs/{job}{part}")
            assert (answer.status_code, answer.json()["code"]) == (500, "record-damaged"), part
            assert f"What was kept of job {job} is damaged" in answer.json()["detail"]
            assert "JSON" not in answer.text, "how it shows is the operator's"
        assert (await client.get("/readyz")).status_code == 200
        assert await server.submit()
    async with server.client("operator") as client:
        answer = (await client.get(f"/v1/jobs/{job}")).json()
        assert "JSONDecodeError" in answer["how"]
    async with server.client("grace") as client:
        assert (await client.get(f"/v1/jobs/{job}")).status_code == 404


async def test_a_damaged_event_keeps_its_place_in_the_stream(server: Any) -> None:
    newest, middle, _ = await three(server)
    damage(server, f"event SET what = 'nonsense' WHERE job = {middle} AND what = 'submitted'")
    damage(server, f"event SET detail = {NO_TEXT} WHERE job = {newest} AND what = 'submitted'")
    async with server.client() as client:
        answer = await client.get(f"/v1/jobs/{middle}/events")
        kinds = [line[7:] for line in answer.text.splitlines() if line.startswith("event: ")]
        assert kinds == ["damaged", "state", "end"]
        answer = await client.get("/v1/events?last=100&follow=false")
        assert answer.text.count("event: damaged") == 2
        assert answer.text.count("event: state") == 3


async def test_an_array_counts_what_it_cannot_tell(server: Any) -> None:
    blob = await server.put(bytes(range(6)))
    body = {"job": {"application": "invert", "inputs": {"image": [blob]}}, "each": [{}, {}], "max_running": 1}
    async with server.client() as client:
        array = (await client.post("/v1/arrays", json=body)).json()["id"]
        first = server.store.jobs.elements("ada", array)[0]
        damage(server, f"job SET state = 'nonsense' WHERE id = {first}")
        found = (await client.get(f"/v1/arrays/{array}")).json()
        assert (found["size"], found["counts"]["queued"], found["damaged"], found["max_running"]) == (2, 1, 1, 1)
        page = (await client.get(f"/v1/jobs?array={array}")).json()
        assert (len(page["jobs"]), page["damaged"]) == (1, [first])
        assert (await client.delete(f"/v1/arrays/{array}")).status_code in (202, 500)
        assert (await client.get("/readyz")).status_code == 200


async def test_blobs_accounts_and_the_audit_log_are_listed(server: Any) -> None:
    whole, lost = await server.put(b"whole"), await server.put(b"lost")
    damage(server, f"blob SET bytes = 'abc' WHERE sha256 = '{lost}'")
    today = day_of(1e9)
    server.store.usage.add([UsageRow(today, "ada", slot, "slot", 5) for slot in range(2)], {})
    damage(server, "usage SET ns = 'abc' WHERE slot = 0")
    async with server.client("operator") as client:
        assert (await client.post("/v1/admin/tenants", json={"id": "eve"})).status_code == 201
        damage(server, f"audit SET actor = {NO_TEXT}")
        (entry,) = (await client.get("/v1/admin/audit")).json()["entries"]
        assert "damaged" in entry["facts"]
        (account,) = (await client.get("/v1/usage")).json()["entries"]
        assert account["slot_ns"] == 5
    async with server.client() as client:
        page = (await client.get("/v1/blobs")).json()
        assert ([blob["sha256"] for blob in page["blobs"]], page["damaged"]) == ([whole], [lost])
        fresh = await server.put(b"other")
        answer = await client.get(f"/v1/blobs/{fresh}")
        assert answer.content == b"other"


LISTS = (
    "/v1/jobs", "/v1/blobs", "/v1/usage", "/v1/quota", "/v1/overview", "/v1/events?last=100&follow=false", "/v1/slots",
    "/v1/apps", "/v1/keys", "/v1/market", "/v1/arrays",
)  # fmt: skip
FOR_OPERATORS = ("/v1/admin/tenants", "/v1/admin/tenants/ada", "/v1/admin/keys", "/v1/admin/audit", "/metrics")
HUGE = (1 << 63) - 1


@pytest.mark.parametrize(
    "change",
    [
        "usage SET unit = 'nonsense' WHERE slot = 0",
        "usage SET unit = '' WHERE slot = 0",
        "usage SET day = '2026-02-30' WHERE slot = 0",
        "usage SET ns = -5 WHERE slot = 0",
        f"usage SET ns = {HUGE} WHERE slot = 0",
        "usage SET slot = -1 WHERE slot = 0",
        "blob SET sha256 = '-7'",
        "blob SET sha256 = ''",
        f"blob SET sha256 = {NO_TEXT}",
        "blob SET sha256 = x'01'",
        f"blob SET bytes = {HUGE}",
        "event SET at_s = -1e308 WHERE seq = 1",
        "event SET started_s = -1e308, slot = 0 WHERE seq = 2",
        "event SET slot = -5, started_s = 0 WHERE seq = 2",
        "event SET job = 99 WHERE seq = 1",
        "event SET tenant = 'nobody' WHERE seq = 1",
        "result SET item = -1",
        f"result SET bytes = {HUGE}",
        f"result SET place = {HUGE}",
        "slot SET slot = -1",
        "slot SET snapshot = '{}'",
        f"job SET submitted_us = -{HUGE}",
        f"job SET ended_us = {HUGE}",
        f"job SET closed_us = {HUGE}",
        f"job SET cancel = {HUGE}",
        "job SET array = -1",
        "job SET record = json_set(record, '$.submitted_unix_s', 1e300, '$.ended_unix_s', -1e300)",
        "job SET record = json_set(record, '$.batch', 4611686018427387904)",
        "job SET record = json_set(record, '$.asked.labels', json('{\"a b\": \"\"}'))",
        "job SET record = json_set(record, '$.priority', -7)",
        "job SET record = json_set(record, '$.held_by', 'nonsense')",
        "job SET record = json_set(record, '$.kind', 'nonsense')",
    ],
)
async def test_every_list_goes_on_beside_a_value_that_makes_no_sense(server: Any, change: str) -> None:
    blob = await server.put(b"whole")
    (job, *_) = await three(server)
    server.store.usage.add([UsageRow(day_of(time.time()), "ada", slot, "slot", 5) for slot in range(2)], {})
    with server.store.database.transaction() as db:
        db.execute("INSERT OR REPLACE INTO slot VALUES (0, '{}')")
        table, which = change.split()[0], ""
        if " WHERE " not in change:
            which = {"blob": f" WHERE sha256 = '{blob}'", "job": f" WHERE id = {job}", "slot": ""}.get(
                table, f" WHERE job = {job}"
            )
        assert db.execute(f"UPDATE {change}{which}").rowcount == 1
    for who in ("ada", "operator"):
        async with server.client(who) as client:
            for path in (*LISTS, *(FOR_OPERATORS if who == "operator" else ())):
                answer = await client.get(path)
                assert answer.status_code < 500 or answer.json()["code"] != "internal", (path, answer.text)
                assert answer.status_code in (200, 404, 405, 503), (path, answer.text)
            for path in ("", "/explain", "/outputs/result", "/log", "/events"):
                answer = await client.get(f"/v1/jobs/{job}{path}")
                assert answer.status_code < 500 or "damaged" in answer.json()["code"], (path, answer.text)
            assert (await client.get("/readyz")).status_code == 200


async def test_what_retention_cannot_say_it_leaves(server: Any) -> None:
    newest, middle, oldest = await three(server)
    damage(server, f"job SET record = '{{' WHERE id = {oldest}")
    leaving = server.store.retention.select_outputs(1)
    assert [each.job for each in leaving] == [oldest, middle, newest]
    assert server.store.retention.collect(leaving) == 12
    assert server.store.retention.kept_bytes == 6


async def test_jobs_that_wait_for_a_damaged_one_are_not_held_up(server: Any) -> None:
    (job, *_) = await three(server)
    damage(server, f"job SET state = {NO_TEXT} WHERE id = {job}")
    assert server.store.jobs.states([job]) == {}
    assert server.store.damage.counts()["job"] == 1
    assert JobState.SUCCEEDED not in server.store.jobs.states([job]).values()


@pytest.mark.parametrize("body", ["", "5", "[]", "{", '{"number": [[[', "[" * 100_000, '{"number": 1}'])
async def test_an_epoch_that_cannot_be_read_is_left_out(body: str) -> None:
    assert EpochHistory().restore([body]) == 0
