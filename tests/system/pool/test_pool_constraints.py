# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A pool of boards that compute and boards that model times alone: who gets which job, and what a job waits for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from eddy.cli.demo.demo_plan import photograph
from eddy.client import Client, Job
from eddy.core.errors import EddyError
from forks_kit import forks
from pool_kit import WAIT_S, Pool, until


def model_board(pool: Pool, name: str) -> None:
    """A board that models times alone, as `eddy serve` starts one."""
    file = pool.nats.admission.admit(name)
    command = ["eddy", "serve", "--pool", str(file), "--board", "model", "--port", "0"]
    pool.boards[name] = forks().start([*command, "--data", str(pool.folder / name)], pool.folder / f"{name}.log")


def boards_of(client: Client, job: Job) -> list[str]:
    explained = client.transport.json("GET", f"/v1/pool/jobs/{job.id}/explain")
    return [part["board"] for part in explained["parts"]]


def test_a_mixed_pool_computes_what_does_not_ask_for_zeros(pool: Pool) -> None:
    head = pool.head("a")
    operator, ada = pool.operator(head), pool.tenant(head)
    model_board(pool, "m1")
    until(lambda: pool.present(operator) == {"m1"})
    order = photograph("ada", 1, 0, 2)
    with pytest.raises(EddyError, match="no board of this pool computes"):
        order.submit(ada)
    zeros = ada.submit(order.application, order.inputs, board_kind="any")
    zeros.wait(timeout_s=WAIT_S)
    assert (zeros.computed, zeros.data["board_kind"], boards_of(ada, zeros)[0]) == (False, "any", "m1")
    pool.board("b1")
    until(lambda: pool.present(operator) == {"m1", "b1"})
    jobs = [order.submit(ada) for _ in range(3)]
    beside = ada.submit(order.application, order.inputs, same_board_as=zeros.id, board_kind="any", apart="pair")
    for job in jobs:
        job.wait(timeout_s=WAIT_S)
        assert set(boards_of(ada, job)) == {"b1"}
        assert all(np.array_equal(job.outputs[name], value) for name, value in order.expected.items())
    beside.wait(timeout_s=WAIT_S)
    assert set(boards_of(ada, beside)) == {"m1"}
    assert beside.data["same_board_as"] == zeros.id, "told by the number that its tenant knows"
    _labels(pool, operator, ada, order)


def _labels(pool: Pool, operator: Client, ada: Client, order: Any) -> None:
    """A label that no board has is refused; one that was taken away while a job waits is what it waits for."""
    with pytest.raises(EddyError, match="board_labels: no board"):
        ada.submit(order.application, order.inputs, board_labels="rack=2")

    def said(*arguments: str) -> str:
        done = forks().eddy("pool", *arguments, "--url", pool.heads[0][0].url, "--key", pool.key)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    assert "rack=2" in said("label", "b1", "rack=2", "room=x")
    until(lambda: "rack=2, room=x" in said("boards"))
    operator.transport.json("PUT", "/v1/pool/boards/b1", body={"because": "mending"})
    until(lambda: pool.drained(operator) == {"b1"})
    job = ada.submit(order.application, order.inputs, board_labels="rack=2")
    wait = ada.transport.json("GET", f"/v1/jobs/{job.id}/explain")["wait"]
    assert wait["cause"] == "board"
    said("label", "b1", "rack=", "room=y")
    operator.transport.json("PUT", "/v1/pool/boards/b1", body={"because": ""})
    until(lambda: not pool.drained(operator))

    def waits() -> dict[str, Any]:
        found: dict[str, Any] = ada.transport.json("GET", f"/v1/jobs/{job.id}/explain")["wait"]
        return found

    until(lambda: waits()["cause"] == "constraint", saw=waits)
    assert "it asks for rack=2 (board_labels)" in waits()["words"]
    assert "not on b1: it asks for rack=2 (board_labels)" in said("explain", str(job.id))
    assert "boards" not in ada.transport.json("GET", f"/v1/pool/jobs/{job.id}/explain")["keeps"][0]
    said("label", "b1", "rack=2")
    job.wait(timeout_s=WAIT_S)
    assert set(boards_of(ada, job)) == {"b1"}
