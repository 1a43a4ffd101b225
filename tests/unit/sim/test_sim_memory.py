# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The CPU's cache view: what a forgotten flush or invalidate shows."""

from __future__ import annotations

import pytest
from eddy.core.errors import InvalidRequest
from eddy_sim.boards.memory import LINE_BYTES, CacheView

BASE = 0x1000


def view(coherent: bool = False) -> CacheView:
    return CacheView(BASE, 64 * LINE_BYTES, coherent)


def test_a_coherent_board_has_one_memory() -> None:
    memory = view(coherent=True)
    memory.cpu[5] = 7
    assert memory.device[5] == 7


def test_without_a_flush_the_device_sees_the_old_data() -> None:
    memory = view()
    memory.cpu[70] = 9
    assert memory.device[70] == 0
    memory.flush(BASE + 70, 1)
    assert memory.device[70] == 9


def test_without_an_invalidate_the_cpu_sees_the_old_data() -> None:
    memory = view()
    memory.device[3] = 4
    assert memory.cpu[3] == 0
    memory.invalidate(BASE + 3, 1)
    assert memory.cpu[3] == 4


def test_flush_moves_whole_lines_and_only_dirty_ones() -> None:
    memory = view()
    memory.cpu[0] = 1
    memory.cpu[LINE_BYTES - 1] = 2
    memory.device[LINE_BYTES] = 8
    memory.flush(BASE, 2 * LINE_BYTES)
    assert memory.device[LINE_BYTES - 1] == 2
    assert memory.device[LINE_BYTES] == 8, "a clean line must not overwrite what a module wrote"


def test_invalidate_drops_what_was_not_flushed() -> None:
    memory = view()
    memory.cpu[1] = 1
    memory.invalidate(BASE, 1)
    assert memory.cpu[1] == 0
    memory.flush(BASE, LINE_BYTES)
    assert memory.device[1] == 0


def test_a_dirty_neighbour_in_the_line_travels_along() -> None:
    memory = view()
    memory.cpu[8] = 8
    memory.flush(BASE, 1)
    assert memory.device[8] == 8


@pytest.mark.parametrize(("address", "length"), [(BASE - 1, 1), (BASE, 64 * LINE_BYTES + 1)])
def test_ranges_outside_memory_are_refused(address: int, length: int) -> None:
    with pytest.raises(InvalidRequest, match="not inside memory"):
        view().flush(address, length)
