# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Records of a pool that cannot be read, of every kind: each is set aside, counted and shown, and stops nobody."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import pytest
from eddy.cli.demo.demo_plan import photograph
from eddy.pool.jetstream.link import Link
from eddy.pool.jetstream.tenant_keys import PoolKeys, hash_of
from pool_boards import at_the_servers
from pool_kit import WAIT_S, Pool, asking, until

HALF = b'{"id": 987654321, "ten'
RECORDS = {
    ("eddy_jobs", "987654321"): HALF,
    ("eddy_jobs", "no-number"): HALF,
    ("eddy_jobs", "987654322"): b'{"id": 5}',
    ("eddy_boards", "b9"): HALF,
    ("eddy_keys", "tenant.nobody"): HALF,
    ("eddy_keys", f"key.{'0' * 64}"): HALF,
    ("eddy_keys", "claims.ada"): HALF,
    ("eddy_bytes", f"ada.{'1' * 64}"): HALF,
}


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    """A pool with a head and a board, and a tenant `ada` with a bound."""
    with Pool(tmp_path_factory.mktemp("pool")).running() as running:
        head = running.head("a")
        running.tenant(head)
        running.operator(head).change_tenant("ada", max_jobs=50)
        running.board("b1")
        until(lambda: running.present(running.operator(head)) == {"b1"})
        yield running


def goes_on(pool: Pool, number: int = 0) -> None:
    """A job is taken, run and listed, at each head."""
    for head, _ in pool.heads:
        client = pool.client(head, pool.keys["ada"])
        job = photograph("ada", 3, number, number + 1).submit(client)
        job.wait(timeout_s=WAIT_S)
        with asking(head.url, pool.keys["ada"]) as ada:
            assert job.id in [each["id"] for each in ada.get("/v1/jobs").json()["jobs"]]
            assert ada.get("/v1/blobs").status_code == 200
        assert [each["id"] for each in pool.operator(head).transport.json("GET", "/v1/admin/tenants")["tenants"]]


def shown(pool: Pool) -> set[tuple[str, str]]:
    """What the heads show as unreadable, all together."""
    found = [pool.operator(head).transport.json("GET", "/v1/pool")["unreadable"] for head, _ in pool.heads]
    return {(each["bucket"], each["key"]) for told in found for each in told}


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: "-".join(record)[:30])
def test_a_record_that_cannot_be_read_stops_nobody(pool: Pool, record: tuple[str, str]) -> None:
    bucket, key = record

    async def damage(link: Link) -> None:
        await (await link.js.key_value(bucket)).put(key, RECORDS[record])

    async def take_away(link: Link) -> None:
        await (await link.js.key_value(bucket)).purge(key)

    at_the_servers(pool, damage)
    goes_on(pool)
    if key != "claims.ada":  # it was written again by the head that met it
        until(lambda: record in shown(pool), saw=lambda: shown(pool))
        at_the_servers(pool, take_away)
        until(lambda: record not in shown(pool), saw=lambda: shown(pool))
    goes_on(pool)


def test_a_job_whose_record_cannot_be_read_says_so_and_its_number_is_nobody_elses(pool: Pool) -> None:
    (head, _), *_ = pool.heads
    with asking(head.url, pool.keys["ada"]) as ada:
        body = {"application": "image_compression"}
        job = ada.post("/v1/jobs", json=body, headers={"Idempotency-Key": "damaged"}).json()["id"]
        number = head._uvicorn.config.app.state.parts.numbers.job.resolve_id(job)  # type: ignore[union-attr]

        async def damage(link: Link) -> None:
            await link.jobs.put(str(number), HALF)

        at_the_servers(pool, damage)
        until(lambda: ("eddy_jobs", str(number)) in shown(pool))
        told = ada.get(f"/v1/jobs/{job}")
        assert (told.status_code, told.json()["code"]) == (503, "storage-damaged")
        assert job not in [each["id"] for each in ada.get("/v1/jobs").json()["jobs"]]
        again = ada.post("/v1/jobs", json=body, headers={"Idempotency-Key": "damaged"}).json()["id"]
        assert again != job
        assert ada.get(f"/v1/jobs/{again}").status_code == 200
    goes_on(pool)


def test_what_a_board_or_a_follower_is_told_and_cannot_read_is_passed_over(pool: Pool) -> None:
    (head, _), *_ = pool.heads

    async def tell(link: Link) -> None:
        for data in (HALF, b"[]", b'{"job": "x", "token": 1}', b""):
            await link.js.publish("eddy.work.b1", data)
            await link.js.publish("eddy.events.ada.7", data)
            await link.js.publish("eddy.events.ada.no-number", b'{"kind": "state"}')
            await link.js.publish("$KV.eddy_leases.b7", data)

    at_the_servers(pool, tell)
    goes_on(pool)
    with asking(head.url, pool.keys["ada"]) as ada:
        told = ada.get("/v1/events", params={"last": 200, "follow": "false"}).text
    assert "event: end" in told


def test_what_is_kept_of_a_blob_that_cannot_be_read_is_written_again(pool: Pool) -> None:
    (head, _), *_ = pool.heads
    data = b"bytes of a tenant"
    with asking(head.url, pool.keys["ada"]) as ada:
        sha = hashlib.sha256(data).hexdigest()
        assert ada.put(f"/v1/blobs/{sha}", content=data).status_code == 201

        async def damage(link: Link) -> None:
            await (await link.js.key_value("eddy_bytes")).put(f"ada.{sha}", HALF)

        at_the_servers(pool, damage)
        assert ada.get(f"/v1/blobs/{sha}").status_code != 200
        assert ada.put(f"/v1/blobs/{sha}", content=data).status_code in (200, 201)
        assert ada.get(f"/v1/blobs/{sha}").content == data


def test_a_head_starts_over_damaged_records_and_over_marks_of_deleted_ones_that_are_gone(pool: Pool) -> None:
    async def damage(link: Link) -> None:
        for (bucket, key), data in RECORDS.items():
            await (await link.js.key_value(bucket)).put(key, data)
        gone = await PoolKeys(link).make("ada", (await PoolKeys(link).all("ada"))[0].scope)
        await link.keys.purge(f"key.{hash_of(gone)}")

    async def purge(link: Link) -> None:
        """The last of each bucket is gone, and so is its mark."""
        for name in ("eddy_jobs", "eddy_boards", "eddy_keys", "eddy_bytes"):
            bucket = await link.js.key_value(name)
            key = "zz.gone" if name == "eddy_bytes" else "123456789"
            await bucket.put(key, b"{}")
            await bucket.purge(key)
            await link.js.purge_stream(f"KV_{name}", subject=f"$KV.{name}.{key}")

    at_the_servers(pool, damage)
    pool.head("b")
    goes_on(pool)
    until(lambda: shown(pool) >= RECORDS.keys() - {("eddy_keys", "claims.ada")}, saw=lambda: shown(pool))
    at_the_servers(pool, purge)
    goes_on(pool)
    pool.head("c")
    goes_on(pool)
    assert pool.failures == []
