# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A head whose servers have lost the others: what it cannot know it does not deny."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import httpx
from eddy.pool.connection.credentials import PoolAccess
from eddy.pool.connection.refusals import UNDONE
from eddy.pool.connection.streams import KEPT
from eddy.pool.jetstream.link import open_pool
from eddy.pool.jetstream.naming import load_pool_numbers
from nats.js import JetStreamContext
from pool_kit import WAIT_S, Pool, asking, until

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools"))
from pool_network import SERVERS, Cluster, restore_all

BODY = {"application": "image_compression", "batch": 1}
WATCHED_S = 20.0
"""A server that has lost the others goes on answering for 10 to 18 s."""
CHOSEN_S = 60.0
"""The others choose who answers in its place in 5 to 15 s; now and then, on a busy machine, they never do."""
TRIES = 3


class NoLeaderElected(Exception):
    """Of three servers, the two that are left have chosen none to answer: a matter of theirs, and not of heads."""


class PartitionedPool(Pool):
    """A pool over three servers, whose heads reach those of them that they are told."""

    def __init__(self, folder: Path, cluster: Cluster) -> None:
        super().__init__(folder, cluster)
        self.cluster, self.reached = cluster, tuple(SERVERS)

    @contextlib.contextmanager
    def of_heads(self) -> Iterator[PartitionedPool]:
        """Heads, over servers that run already."""
        try:
            yield self
        finally:
            for head, thread in self.heads:
                head.stop()
                thread.join(WAIT_S)
            for client in self.clients:
                client.close()

    @property
    def head_file(self) -> Path:
        file = self.cluster.file("someone", board=False)
        access = PoolAccess.named(str(file))
        ways = [url for server, url in zip(SERVERS, access.urls.split(","), strict=True) if server in self.reached]
        found = self.folder / f"{'-'.join(self.reached)}.json"
        replace(access, urls=",".join(ways)).write(found)
        return found


async def have_one_answer(pool: Pool, server: str) -> None:
    """Make the pool, and have one server answer for everything that it keeps."""
    async with open_pool(str(pool.head_file), "test", WAIT_S, replicas=3) as link:
        await load_pool_numbers(link)
        deadline = time.monotonic() + CHOSEN_S
        for stream in KEPT:
            while await _answers(link.js, stream) != server:
                if time.monotonic() > deadline:
                    raise NoLeaderElected(stream)
                with contextlib.suppress(*UNDONE):
                    body = json.dumps({"placement": {"preferred": server}}).encode()
                    await link.js._api_request(f"$JS.API.STREAM.LEADER.STEPDOWN.{stream}", body)
                await asyncio.sleep(0.5)


async def _answers(js: JetStreamContext, stream: str) -> str:
    with contextlib.suppress(*UNDONE):
        info = await js.stream_info(stream)
        assert (info.config.num_replicas, info.cluster is not None) == (3, True)
        return str(info.cluster.leader) if info.cluster else ""
    return ""


def test_a_head_out_of_quorum_says_that_it_cannot_know_and_never_no(tmp_path: Path) -> None:
    for left in reversed(range(TRIES)):
        folder = tmp_path / str(left)
        folder.mkdir()
        try:
            return part_one_server(folder)
        except NoLeaderElected:
            if not left:
                raise


def part_one_server(folder: Path) -> None:
    """Cut off the server that answers for everything, and ask a head that reaches it alone.

    Raises:
        NobodyChosen: The others do not take its place.
    """
    cluster = Cluster(folder, ("someone",))
    with cluster.running(), PartitionedPool(folder, cluster).of_heads() as pool:
        alone = SERVERS[0]
        asyncio.run(have_one_answer(pool, alone))
        pool.reached = (alone,)
        one = pool.head("a", replicas=3)
        pool.reached = tuple(server for server in SERVERS if server != alone)
        two = pool.head("b", replicas=3)
        pool.tenant(two)
        with asking(one.url, pool.keys["ada"]) as both:
            assert both.post("/v1/jobs", json=BODY).status_code == 202
        data = os.urandom(1000)
        sha = hashlib.sha256(data).hexdigest()
        for way in cluster.between(alone):
            way.cut = True
        with (
            httpx.Client(base_url=two.url, timeout=WAIT_S) as there,
            httpx.Client(base_url=one.url, timeout=WAIT_S) as here,
            ThreadPoolExecutor(1) as beside,
        ):
            here.headers["Authorization"] = there.headers["Authorization"] = f"Bearer {pool.keys['ada']}"
            # Of what is nowhere no more is known there than of what the others have taken meanwhile.
            asked = ["jobs/1", "jobs/1/explain", "arrays/1", f"blobs/{'0' * 64}", f"blobs/{sha}", "jobs", "blobs"]
            watching = beside.submit(watched, here, asked)
            job = answered(lambda: there.post("/v1/jobs", json=BODY), 202).json()["id"]
            asked += [f"jobs/{job}", f"jobs/{job}/explain", f"jobs/{job}/outputs/coefficients"]
            array = answered(lambda: there.post("/v1/arrays", json={"job": BODY, "each": [{}, {}]}), 202).json()
            asked.append(f"arrays/{array['id']}")
            answered(lambda: there.put(f"/v1/blobs/{sha}", content=data), 201)
            said = watching.result()
            assert {status for _, status in said} == {503}, said
            assert here.get(f"/v1/jobs/{job}").json()["code"] == "pool-unreachable"
            restore_all(cluster.between(alone))
            until(lambda: here.get(f"/v1/jobs/{job}").status_code == 200, saw=lambda: said)
            until(lambda: here.get(f"/v1/jobs/{job + 1}").status_code == 404)
            until(lambda: here.get(f"/v1/blobs/{sha}").content == data)


def answered(ask: Callable[[], httpx.Response], status: int) -> httpx.Response:
    """What a head answers once each of its streams has a server that answers for it.

    Raises:
        NobodyChosen: One of them has none.
    """
    deadline = time.monotonic() + CHOSEN_S
    while (answer := ask()).status_code == 503:
        if time.monotonic() > deadline:
            raise NoLeaderElected(answer.text)
        time.sleep(0.5)
    assert answer.status_code == status, answer.text
    return answer


def watched(here: httpx.Client, asked: list[str]) -> Counter[tuple[str, int]]:
    """What a head that has lost the majority answers; of a key that it does not know, too."""
    said, until_s = Counter[tuple[str, int]](), time.monotonic() + WATCHED_S
    while time.monotonic() < until_s:
        for path in [*asked]:
            said[path, here.get(f"/v1/{path}").status_code] += 1
        said["a key", here.get("/v1/quota", headers={"Authorization": "Bearer eddy_unknown"}).status_code] += 1
        said["head", here.head(f"/v1/blobs/{'0' * 64}").status_code] += 1
    return said
