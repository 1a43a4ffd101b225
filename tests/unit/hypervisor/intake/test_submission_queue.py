# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Groups of submissions: who waits together is committed together, in order, and nobody suffers for another."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest
from eddy.hypervisor.intake import intake
from eddy.hypervisor.intake.intake import SubmissionQueue


class House:
    """Lets nobody in before it is opened; doubles even numbers and refuses odd ones."""

    def __init__(self) -> None:
        self.groups: list[list[int]] = []
        self.opened = threading.Event()
        self.done = 0

    def let_in(self, group: Sequence[int]) -> list[int | Exception]:
        self.groups.append(list(group))
        assert self.opened.wait(180)
        if 13 in group:
            raise RuntimeError("the house fell down")
        return [ValueError(str(number)) if number % 2 else 2 * number for number in group]

    def note(self) -> None:
        self.done += 1


async def crowd(house: House, numbers: Sequence[int]) -> list[int | BaseException]:
    queue = SubmissionQueue(house.let_in, house.note)
    tasks = [asyncio.ensure_future(queue.put(number)) for number in numbers]
    while not house.groups:
        await asyncio.sleep(0.001)
    house.opened.set()
    return await asyncio.gather(*tasks, return_exceptions=True)


def test_the_first_waits_for_nobody_and_the_rest_come_in_together() -> None:
    house = House()
    answers = asyncio.run(crowd(house, [0, 2, 3, 4, 6]))
    assert [answer if isinstance(answer, int) else str(answer) for answer in answers] == [0, 4, "3", 8, 12]
    assert [number for group in house.groups for number in group] == [0, 2, 3, 4, 6]
    assert len(house.groups) <= 2
    assert house.done == len(house.groups)


def test_a_group_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "MAX_GROUP", 3)
    house = House()
    assert asyncio.run(crowd(house, range(0, 16, 2))) == list(range(0, 32, 4))
    assert max(map(len, house.groups)) <= 3


def test_an_error_of_the_house_reaches_everyone_of_the_group_and_the_door_goes_on() -> None:
    house = House()

    async def visit() -> tuple[Sequence[int | BaseException], int]:
        queue = SubmissionQueue(house.let_in, house.note)
        house.opened.set()
        both = await asyncio.gather(queue.put(13), queue.put(13), return_exceptions=True)
        return both, await queue.put(2)

    both, after = asyncio.run(visit())
    assert [type(answer) for answer in both] == [RuntimeError, RuntimeError]
    assert after == 4


def test_one_who_leaves_does_not_keep_the_others() -> None:
    house = House()

    async def visit() -> int:
        queue = SubmissionQueue(house.let_in, house.note)
        gone = asyncio.ensure_future(queue.put(2))
        stays = asyncio.ensure_future(queue.put(4))
        while not house.groups:
            await asyncio.sleep(0.001)
        gone.cancel()
        house.opened.set()
        return await stays

    assert asyncio.run(visit()) == 8
