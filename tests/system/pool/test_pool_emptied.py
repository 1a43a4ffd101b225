# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""An operator starts the pool's server over an empty folder: nobody goes on with what is gone."""

from __future__ import annotations

import asyncio
import shutil
import signal

import numpy as np
from eddy.cli.demo.demo_plan import photograph
from eddy.pool.connection.credentials import PoolReplaced
from eddy.pool.jetstream.link import open_pool
from pool_boards import unhurried
from pool_kit import WAIT_S, Pool, until


async def write_leases(pool: Pool, times: int) -> None:
    """Renew leases as if the pool had been there for long."""
    with unhurried():
        async with open_pool(str(pool.head_file), "test", WAIT_S) as link:
            for _ in range(times):
                await link.leases.put("head.other", b"{}")


def test_a_head_ends_and_boards_join_what_is_there_then(pool: Pool) -> None:
    """The board is not started again. Numbers of jobs begin again, and it takes none for one that it had.

    It hears of the new pool late, when more was written there than in the old one: counts do not tell pools apart.
    """
    head = pool.head("a")
    operator = pool.operator(head)
    pool.board("b1", pace=10.0)
    until(lambda: pool.present(operator) == {"b1"})
    ada = pool.tenant(head)
    for first in (0, 2):
        photograph("ada", 3, first, first + 2).submit(ada).wait(timeout_s=WAIT_S)
    pool.boards["b1"].send_signal(signal.SIGSTOP)
    pool.nats.kill()
    shutil.rmtree(pool.folder / "nats" / "jetstream")
    pool.nats.start()
    (_, thread) = pool.heads[0]
    until(lambda: not thread.is_alive())
    assert [type(failure) for failure in pool.failures] == [PoolReplaced]
    again = pool.head("b")
    asyncio.run(write_leases(pool, 200))
    pool.boards["b1"].send_signal(signal.SIGCONT)
    operator = pool.operator(again)
    until(lambda: pool.present(operator) == {"b1"})
    ada = pool.tenant(again)
    for first in (4, 6):
        order = photograph("ada", 3, first, first + 2)
        job = order.submit(ada)
        job.wait(timeout_s=WAIT_S)
        for name, value in order.expected.items():
            assert np.array_equal(job.outputs[name], value)
    operator.transport.json("PUT", "/v1/pool/boards/b1", body={"because": "it is known"})
    until(lambda: pool.drained(operator) == {"b1"})
