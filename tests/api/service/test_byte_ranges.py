# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Conditional requests and ranges on outputs and blobs."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from pathlib import Path
from typing import Any

import pytest
from eddy.api.http.byte_ranges import RangeRequest
from eddy.api.http.problems import RangeNotSatisfiable
from eddy.store.db.database import Database
from eddy.store.disk import files

pytestmark = pytest.mark.anyio
DATA = bytes(range(12))


async def addresses(server: Any) -> list[str]:
    """An output of two items, and a blob, of the same bytes."""
    blob = await server.put(DATA)
    job = await server.submit(batch=2, inputs={"image": [blob]})
    server.hypervisor.finish(server.store.jobs.get("ada", job["id"]), result=DATA)
    return [f"/v1/jobs/{job['id']}/outputs/result", f"/v1/blobs/{blob}"]


@pytest.mark.parametrize(
    ("wanted", "begin", "stop"),
    [("0-0", 0, 1), ("5-6", 5, 7), ("6-", 6, 12), ("-3", 9, 12), ("-99", 0, 12), ("11-99", 11, 12), ("0-", 0, 12)],
)
async def test_a_range_is_answered_with_just_these_bytes(server: Any, wanted: str, begin: int, stop: int) -> None:
    async with server.client() as client:
        for address in await addresses(server):
            answer = await client.get(address, headers={"Range": f"bytes={wanted}"})
            assert (answer.status_code, answer.content) == (206, DATA[begin:stop])
            assert answer.headers["content-range"] == f"bytes {begin}-{stop - 1}/12"
            assert int(answer.headers["content-length"]) == stop - begin


async def test_what_is_no_single_range_is_passed_over_and_one_outside_refused(server: Any) -> None:
    async with server.client() as client:
        for address in await addresses(server):
            for text in ("bytes=0-1,3-4", "items=0-1", "bytes=4-2", "bytes=-", "bytes", "", "bytes=\u00b2-"):
                answer = await client.get(address, headers={"Range": text.encode("latin-1")})
                assert (answer.status_code, answer.content) == (200, DATA), text
                assert answer.headers["accept-ranges"] == "bytes"
            for text in ("bytes=12-", "bytes=99-100", "bytes=-0", f"bytes={9 * 10**22}-", f"bytes={'9' * 5000}-"):
                answer = await client.get(address, headers={"Range": text})
                assert (answer.status_code, answer.json()["code"]) == (416, "range-not-satisfiable")
                assert answer.headers["content-range"] == "bytes */12"
                assert answer.json()["limit"] == 12


async def test_what_is_known_is_not_sent_again(server: Any) -> None:
    async with server.client() as client:
        for address in await addresses(server):
            etag = (await client.get(address)).headers["etag"]
            for known in (etag, f'"other", {etag}', f"W/{etag}", "*"):
                answer = await client.get(address, headers={"If-None-Match": known})
                assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", etag)
            answer = await client.get(address, headers={"If-None-Match": '"other"'})
            assert answer.content == DATA
            part = {"Range": "bytes=3-4"}
            assert (await client.get(address, headers={**part, "If-Range": etag})).status_code == 206
            for other in ('"other"', f"W/{etag}", "Sun, 22 Nov 2026 18:00:00 GMT"):
                assert (await client.get(address, headers={**part, "If-Range": other})).status_code == 200
            head = await client.head(address, headers=part)  # ranges are of GET alone
            assert (head.status_code, head.headers["etag"], head.headers["content-length"]) == (200, etag, "12")


async def test_other_bytes_than_the_ones_meant_are_refused(server: Any) -> None:
    async with server.client() as client:
        for address in await addresses(server):
            etag = (await client.get(address)).headers["etag"]
            for meant in (etag, f'"other", {etag}', "*"):
                assert (await client.get(address, headers={"If-Match": meant})).content == DATA
            for other in ('"other"', f"W/{etag}", "", etag.strip('"')):
                for more in ({}, {"Range": "bytes=0-1"}, {"If-None-Match": etag}):
                    answer = await client.get(address, headers={"If-Match": other, **more})
                    assert (answer.status_code, answer.json().get("allowed")) == (412, etag), (other, more, answer.text)


async def test_tags_tell_outputs_apart(server: Any) -> None:
    tags = set()
    async with server.client() as client:
        for data in (DATA, DATA[::-1]):
            job = await server.submit(batch=2, inputs={"image": [await server.put(DATA)]})
            server.hypervisor.finish(server.store.jobs.get("ada", job["id"]), result=data)
            tags.add((await client.get(f"/v1/jobs/{job['id']}/outputs/result")).headers["etag"])
    assert len(tags) == 2


async def test_another_tenants_bytes_are_unknown_whatever_is_asked(server: Any) -> None:
    found = await addresses(server)
    tag = f'"{hashlib.sha256(DATA).hexdigest()}"'
    async with server.client("grace") as client:
        for address in found:
            for headers in ({"If-None-Match": tag}, {"If-None-Match": "*"}, {"Range": "bytes=99-"}, {}):
                answer = await client.get(address, headers=headers)
                assert (answer.status_code, answer.json()["code"]) == (404, "not-found")


async def test_damage_is_told_before_the_first_byte_of_a_part(server: Any) -> None:
    output, blob = await addresses(server)
    async with server.client() as client:
        assert (await client.get(blob, headers={"Range": "bytes=0-1"})).status_code == 206
        job = int(output.split("/")[3])
        for path in (
            server.store.outputs.file("ada", job, "result").path,
            server.store.blobs.file("ada", blob.rpartition("/")[2]).path,
        ):
            path.write_bytes(bytes([99]) + path.read_bytes()[1:])
        for address in (output, blob):
            answer = await client.get(address, headers={"Range": "bytes=0-1"})
            assert (answer.status_code, answer.json()["code"]) == (500, "file-damaged")
        whole = await client.get(output, headers={"Range": "bytes=6-"})
        assert (whole.status_code, whole.content) == (206, DATA[6:]), "the second item is as it was"


async def test_conditions_hold_whatever_is_done_with_a_blob(server: Any) -> None:
    _, blob = await addresses(server)
    tag = f'"{blob.rpartition("/")[2]}"'
    async with server.client() as client:
        assert (await client.head(blob, headers={"If-Match": tag})).status_code == 200
        assert (await client.head(blob, headers={"If-None-Match": tag})).status_code == 304
        for method in ("HEAD", "DELETE"):
            assert (await client.request(method, blob, headers={"If-Match": '"other"'})).status_code == 412
        assert (await client.head(blob)).status_code == 200, "it is still there"
        assert (await client.delete(blob, headers={"If-Match": "*"})).status_code in (204, 409)


async def test_nobody_is_told_of_a_blob_that_a_loss_of_power_would_take(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sha, let_go = await server.put(DATA), threading.Event()
    monkeypatch.setattr(Database, "settling", property(lambda _: not let_go.is_set()))
    monkeypatch.setattr(Database, "settle", lambda _: let_go.wait(180) or pytest.fail("it was never let go"))
    upload = {"Upload-Offset": "0", "Upload-Complete": "?1"}
    async with server.client() as client:
        asked = [
            asyncio.ensure_future(client.head(f"/v1/blobs/{sha}")),
            asyncio.ensure_future(client.head(f"/v1/blobs/{sha}/upload")),
            asyncio.ensure_future(client.patch(f"/v1/blobs/{sha}/upload", content=DATA, headers=upload)),
        ]
        try:
            done, _ = await asyncio.wait(asked, timeout=0.3)
            assert not done
        finally:
            let_go.set()
        assert [answer.status_code for answer in await asyncio.gather(*asked)] == [200, 204, 200]


async def test_an_item_is_hashed_once_for_all_its_parts(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    output, _ = await addresses(server)
    read, spans = list[int](), files.spans

    def counted(path: Path, wanted: Any, what: str) -> Any:
        read.extend(size for _, size in wanted)
        return spans(path, wanted, what)

    monkeypatch.setattr(files, "spans", counted)
    async with server.client() as client:
        for _ in range(3):
            assert (await client.get(output, headers={"Range": "bytes=0-1"})).content == DATA[:2]
        assert read == [6, 2, 2, 2], "the item, and what was asked for three times"
        assert (await client.get(output)).content == DATA
        assert read[4:] == [6, 6, 6, 6], "of all of it every item is verified each time"


def test_no_bytes_have_no_range() -> None:
    with pytest.raises(RangeNotSatisfiable):
        RangeRequest(range="bytes=0-").part('"x"', 0)
