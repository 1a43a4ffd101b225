# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What operators do to boards while they work: upgrade one after another, and revoke one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from eddy.cli.demo.demo_plan import Order, photograph
from eddy.client import Client, Job
from pool_kit import WAIT_S, Pool, until

SLOW = 60.0
"""Wall seconds a board second."""


def explained(client: Client, job: Job) -> dict[str, Any]:
    found: dict[str, Any] = client.transport.json("GET", f"/v1/pool/jobs/{job.id}/explain")
    return found


def right(client: Client, job: Job, order: Order) -> dict[str, Any]:
    """Wait for a job, look at its results, and see that each item counts once."""
    job.wait(timeout_s=WAIT_S)
    for name, value in order.expected.items():
        assert np.array_equal(job.outputs[name], value)
    found = explained(client, job)
    items = [item for part in found["parts"] for item in range(part["first"], part["first"] + part["items"])]
    assert items == list(range(len(order.inputs["image"])))
    return found


@pytest.mark.usefixtures("patient")
def test_boards_are_upgraded_one_after_another_with_work_in_flight(pool: Pool) -> None:
    """As the page on pools has it: drain, wait, start again, undrain. What waits on one board may move to
    the other that is back; what has begun stays."""
    head = pool.head("a")
    operator = pool.operator(head)
    for name in ("b1", "b2"):
        pool.hold(name, 1)
        pool.board(name, pace=SLOW, width=1)
    until(lambda: pool.present(operator) == {"b1", "b2"})
    ada = pool.tenant(head)
    order = photograph("ada", 3, 0, 6)
    jobs = [order.submit(ada) for _ in range(8)]

    def begun() -> set[str]:
        return {part["board"] for job in jobs for part in explained(ada, job)["parts"]}

    until(lambda: begun() == {"b1", "b2"}, saw=lambda: [job.refresh().data for job in jobs])
    for name in ("b1", "b2"):
        pool.release(name)
        operator.transport.json("PUT", f"/v1/pool/boards/{name}", body={"because": "upgrade"})

        def has(board: str = name) -> list[int]:
            boards = operator.transport.json("GET", "/v1/overview")["boards"]
            return next(list(each["jobs"]) for each in boards if each["board"] == board)

        until(lambda: not has())
        session = _session(operator, name)
        pool.kill(name)
        pool.board(name, pace=SLOW, width=1)
        until(lambda name=name, session=session: _session(operator, name) != session)  # type: ignore[misc]
        operator.transport.json("PUT", f"/v1/pool/boards/{name}", body={"because": ""})
    found = [right(ada, job, order) for job in jobs]
    moves = [move for each in found for move in each["moves"]]
    assert all(move["done"] == 0 and move["because"].endswith("sooner") for move in moves), moves
    begun_on = [{part["board"] for part in each["parts"]} for each in found]
    assert all(len(boards) == 1 for boards in begun_on)
    assert set.union(*begun_on) == {"b1", "b2"}


def _session(operator: Client, name: str) -> str:
    boards = operator.transport.json("GET", "/v1/pool")["boards"]
    return next(str(each["session"]) for each in boards if each["name"] == name)


def test_a_board_that_is_revoked_in_mid_work_loses_it(pool: Pool) -> None:
    """What it committed before counts, and nothing that it says after that; another goes on."""
    head = pool.head("a")
    operator = pool.operator(head)
    pool.hold("b1", 1)
    pool.board("b1")
    until(lambda: pool.present(operator) == {"b1"})
    ada = pool.tenant(head)
    order = photograph("ada", 3, 0, 12)
    job = order.submit(ada)
    until(lambda: job.refresh().data["progress"]["done"] == 1, saw=lambda: job.data)
    pool.nats.admission.revoke("b1")
    pool.release("b1")
    before = explained(ada, job)["parts"]
    pool.board("b2")
    found = right(ada, job, order)
    assert found["parts"][: len(before)] == before
    assert {part["board"] for part in found["parts"][len(before) + 1 :]} == {"b2"}
    assert [move["from"] for move in found["moves"]] == ["b1"]
    assert "b1" not in pool.present(operator)
    assert pool.boards["b1"].poll() is None, "its own clients are served as before"
