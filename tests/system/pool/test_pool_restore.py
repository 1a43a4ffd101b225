# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A restore drill: a pool is copied while jobs run, goes on, is lost, and is restored; its boards never ended."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from eddy.cli.demo.demo_plan import photograph
from eddy.client import Client, Job
from eddy.core.errors import Conflict, NotFound, StorageDamaged
from eddy.core.numbering import MultiKeyNumbering, Numbering
from eddy.pool.connection.credentials import PoolReplaced
from eddy.pool.servers.nats_server import NatsServer
from eddy.pool.servers.pool_backup import unpack
from forks_kit import forks
from pool_kit import WAIT_S, Pool, asking, until

SLOW = 20.0


def said(*arguments: str) -> dict[str, Any]:
    done = forks().eddy("pool", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def items_of(client: Client, job: Job) -> list[int]:
    parts = client.transport.json("GET", f"/v1/pool/jobs/{job.id}/explain")["parts"]
    return [item for part in parts for item in range(part["first"], part["first"] + part["items"])]


@pytest.mark.usefixtures("patient")
def test_a_pool_is_restored_while_its_boards_go_on(tmp_path: Path) -> None:
    """What was acknowledged before the copy is there, each item once; what came after is lost, and nobody is given
    another's, though its number is given again and a board still runs the lost one."""
    kept = NatsServer(tmp_path / "kept")
    pool = Pool(tmp_path / "first", kept)
    orders = [photograph("ada", 1, *tiles) for tiles in ((0, 4), (4, 10), (10, 14))]
    with pool.running():
        head = pool.head("a")
        operator, ada = pool.operator(head), pool.tenant(head)
        pool.board("b1", pace=SLOW, width=1)
        until(lambda: pool.present(operator) == {"b1"})
        ended = orders[0].submit(ada)
        ended.wait(timeout_s=WAIT_S)
        pool.hold("b1", 2)
        running = orders[1].submit(ada)
        until(lambda: len(items_of(ada, running)) >= 1)
        waiting = orders[2].submit(ada)
        stays, goes = (ada.put_blob(os.urandom(300_000)) for _ in range(2))
        note = said("backup", str(tmp_path / "pool.tar"), "--data", str(tmp_path / "kept"))
        assert note["paused_s"] < WAIT_S
        assert (tmp_path / "pool.tar").stat().st_mode & 0o077 == 0
        with pytest.raises(AssertionError, match="already"):
            said("backup", str(tmp_path / "pool.tar"), "--data", str(tmp_path / "kept"))
        lost = photograph("ada", 1, 1, 7).submit(ada)
        ada.delete_blob(goes)
        came = ada.put_blob(os.urandom(300_000))
        pool.release("b1")
        running.wait(timeout_s=WAIT_S)
        waiting.cancel()
        until(lambda: lost.refresh().data["state"] == "running")
        pool.hold("b1")
        kept.kill()
        kept.stop()
        said("restore", str(tmp_path / "pool.tar"), "--data", str(tmp_path / "again"))
        pool.nats = NatsServer(tmp_path / "again", port=kept.place.port)
        with pool.nats.running():
            until(lambda: bool(pool.failures), saw=lambda: pool.failures)
            assert isinstance(pool.failures.pop(), PoolReplaced), "a head that knew what came after ends"
            again = pool.head("b")
            operator, ada = pool.operator(again), pool.client(again, pool.keys["ada"])
            with pytest.raises(NotFound):
                ada.job(lost.id)
            with asking(again.url, pool.keys["ada"]) as api:
                for sha, status in ((stays, 200), (goes, 200), (came, 404)):
                    assert api.get(f"/v1/blobs/{sha}").status_code == status
            pool.release("b1")
            new = orders[0].submit(ada)
            assert new.id != lost.id
            for job, order in ((new, orders[0]), *zip((ended, running, waiting), orders, strict=True)):
                there = ada.job(job.id)
                there.wait(timeout_s=WAIT_S)
                assert items_of(ada, there) == list(range(len(order.inputs["image"])))
                assert all(np.array_equal(there.outputs[name], value) for name, value in order.expected.items())
            pool.boards["b1"].kill()


def test_a_file_that_is_not_whole_makes_no_pool(tmp_path: Path) -> None:
    server = NatsServer(tmp_path / "kept")
    with server.running():
        server.admission.admit("b1")
        said("backup", str(tmp_path / "pool.tar"), "--data", str(tmp_path / "kept"))
    data = (tmp_path / "pool.tar").read_bytes()
    middle = data.index(b"BEGIN CERTIFICATE")
    broken = {
        "short": data[: len(data) // 2], "empty": b"", "no sums": data[: data.rindex(b"pool-backup.json")],
        "changed": data[:middle] + b"X" + data[middle + 1 :],
    }  # fmt: skip
    for name, wrong in broken.items():
        (tmp_path / name).write_bytes(wrong)
        with pytest.raises(StorageDamaged):
            unpack(tmp_path / name, tmp_path / "there")
        assert not (tmp_path / "there").exists(), name
    with pytest.raises(Conflict, match="not empty"):
        unpack(tmp_path / "pool.tar", tmp_path / "kept")
    unpack(tmp_path / "pool.tar", tmp_path / "there")
    for path in (tmp_path / "there").rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


def test_counts_that_are_given_again_are_told_otherwise() -> None:
    before = Numbering(b"k" * 32, 6, 3)
    after = MultiKeyNumbering(before, b"n" * 32, 6, 50)
    told = [after.public_id(count) for count in range(1, 200)]
    assert told[:49] == [before.public_id(count) for count in range(1, 50)]
    assert len({*told}) == len(told)
    assert [after.resolve_id(number) for number in told] == list(range(1, 200))
    lost = [before.public_id(count) for count in range(50, 200)]
    assert not {after.resolve_id(number) for number in lost} & {*range(1, 200)}, "nobody is given what another had"
