# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Boards of a pool that take time and compute nothing: agents as they are, many in one process.

    python -m service_bench.timed_boards --item-s 1.0 BOARD.json ...

Each is in the pool by its own key, takes jobs, and commits each item with an output of its own, `--output-bytes` long.
Runs until it is ended.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eddy.pool.agent.agent import Agent, AgentSettings
from eddy.pool.agent.local_board import BoardFacts, CurrentSlots, LocalBoard
from eddy.pool.records.records import PoolJob

APPLICATION = "image_compression"


@dataclass
class TimedClient:
    """What an agent asks of its board, as a tenant.

    Attributes:
        item_s: Wall seconds of an item.
        output_size: Bytes of each job's output.
    """

    item_s: float
    output_size: int

    def __post_init__(self) -> None:
        self._ends_s: dict[int, float] = {}
        self._numbers = itertools.count(1)

    def begin(self, items: int) -> int:
        """Start a run; answers its number."""
        number = next(self._numbers)
        self._ends_s[number] = asyncio.get_running_loop().time() + items * self.item_s
        return number

    async def show(self, number: int, wait_s: float = 0.0) -> dict[str, Any]:
        """A run, once it has ended or after `wait_s`."""
        left_s = self._ends_s[number] - asyncio.get_running_loop().time()
        await asyncio.sleep(max(min(left_s, wait_s), 0.0))
        if left_s > wait_s:
            return {"state": "running"}
        del self._ends_s[number]
        return {"state": "succeeded", "computed": True, "outputs": ["result"]}

    async def output_bytes(self, number: int, name: str) -> bytes:
        """Other bytes for each."""
        return os.urandom(self.output_size)


class TimedBoard(LocalBoard):
    """A board of one slot without a server.

    Args:
        client: What takes its time.
    """

    def __init__(self, client: TimedClient) -> None:
        super().__init__(lambda: None, "", "timed")
        self._timed = client

    async def facts(self) -> BoardFacts:
        """One slot, one application."""
        return BoardFacts("timed", 1, (APPLICATION,), False)

    async def slots(self) -> CurrentSlots:
        """The same."""
        return CurrentSlots(1, False, ())

    async def load(self) -> int:
        """Nothing of its own."""
        return 0

    async def market(self) -> dict[str, Any]:
        """None."""
        return {}

    async def client(self, tenant: str) -> Any:
        """The same for everybody."""
        return self._timed

    async def has(self, client: Any, sha256: str) -> bool:
        """Inputs are not sent: what is measured is the head."""
        return True

    async def submit(self, client: Any, job: PoolJob, first: int, items: int, key: str) -> int:
        """Begin items of a job."""
        return self._timed.begin(items)

    async def cancel(self, client: Any, number: int) -> None:
        """Nobody waits for it."""


async def _run(files: list[Path], item_s: float, output_bytes: int) -> None:
    boards = [(file, TimedBoard(TimedClient(item_s, output_bytes))) for file in files]
    await asyncio.gather(*(Agent(AgentSettings(str(file), file.stem, 1), board).run() for file, board in boards))


def main() -> None:
    """Be these boards."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("boards", nargs="+", type=Path, help="what `eddy pool admit` wrote for each")
    parser.add_argument("--item-s", type=float, default=1.0)
    parser.add_argument("--output-bytes", type=int, default=64)
    given = parser.parse_args()
    asyncio.run(_run(given.boards, given.item_s, given.output_bytes))


if __name__ == "__main__":
    main()
