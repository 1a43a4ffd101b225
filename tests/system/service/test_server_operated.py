# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A whole server over HTTP while it is operated: what is changed and accounted holds over a restart; the feed wakes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from eddy.client import Client
from system.service.test_server_model import inputs, operator, result, serve


def adds_up(client: Client) -> dict[str, int]:
    """By tenant, nanoseconds of slots; together they are the board's time."""
    found = client.usage()
    had: dict[str, int] = {}
    for entry in found["entries"]:
        had[entry["tenant"]] = had.get(entry["tenant"], 0) + entry["slot_ns"] + entry["shared_ns"]
    board = found["board"]
    assert board is not None
    assert sum(had.values()) == board["slots"] * (board["to_ns"] - board["from_ns"]) > 0
    return had


def test_what_the_operator_changed_and_what_was_used_hold_over_a_restart(tmp_path: Path) -> None:
    with serve(tmp_path).background() as server, operator(server) as client:
        client.drain(1, "a new fan")
        client.set_policy("nimblock")
        job = client.submit("chain", inputs(3)).wait()
        np.testing.assert_array_equal(job.outputs["out"], result(3))
        used = {event.data["slot"] for event in job.events() if "slot" in event.data}
        assert used == {0, 2}
        before = adds_up(client)
        assert before["operator"] > 0
    with serve(tmp_path).background() as server, operator(server) as client:
        assert client.policy_in_force()["policy"] == "nimblock"
        assert [slot["drained"] for slot in client.slots()["slots"]] == [False, True, False, False]
        assert adds_up(client)["operator"] >= before["operator"]
        assert client.undrain(1)["drained"] is False
        assert [entry["action"] for entry in client.audit()] == ["drain-slot", "set-policy", "undrain-slot"]


def test_the_feed_goes_on_with_jobs_that_come_while_one_reads_it(tmp_path: Path) -> None:
    with serve(tmp_path).background() as server:
        with operator(server) as client:
            keys = [client.add_tenant(name)["key"] for name in ("ada", "grace")]
        with Client(server.url, keys[0]) as ada, Client(server.url, keys[1]) as grace:
            hers = grace.submit("chain", inputs(1)).wait()
            wanted = [ada.submit("chain", inputs(1)).id]
            for event in ada.events(last=100):
                assert event.data["job"] != hers.id
                if event.data.get("state") != "succeeded":
                    continue
                assert event.data["job"] == wanted[-1]
                if len(wanted) == 3:
                    break
                wanted.append(ada.submit("chain", inputs(1, len(wanted))).id)
            assert len(set(wanted)) == 3
