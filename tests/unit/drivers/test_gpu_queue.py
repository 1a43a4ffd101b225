# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The queue of a GPU cluster's driver, without registers."""

from __future__ import annotations

import pytest
from eddy_drivers.gpu_kernel import REGION_AT, Kernel, RegionOverlap
from eddy_drivers.gpu_queue import KernelQueue, QueueFull


def kernel(*cores: int, page: int | None = None) -> Kernel:
    at = cores[0] if page is None else page
    return Kernel(REGION_AT, 0, at << 12, 4096, cores, context=cores[0])


def started(queue: KernelQueue, busy: int = 0) -> list[tuple[int, ...]]:
    return [entry.kernel.cores for entry in queue.start_ready(busy)]


def test_kernels_start_on_free_cores_and_nobody_overtakes_on_a_core() -> None:
    queue = KernelQueue(4)
    for cores in ((0, 1), (1, 2), (2,), (3,)):
        queue.add(kernel(*cores))
    assert started(queue) == [(0, 1), (3,)], "core 2 is kept for who came earlier"
    assert (list(queue.running), list(queue.waiting), queue.free) == ([1, 4], [2, 3], 2)
    del queue.running[1]
    assert started(queue, busy=0b0010) == [], "a core drains still"
    assert started(queue) == [(1, 2)]
    del queue.running[2]
    assert started(queue) == [(2,)]


def test_what_may_not_run_side_by_side_is_refused_and_takes_no_place() -> None:
    queue = KernelQueue(1)
    queue.add(kernel(0))
    assert started(queue) == [(0,)]
    with pytest.raises(RegionOverlap, match="kernel 1"):
        queue.add(kernel(1, page=0))
    assert queue.add(kernel(0, page=0)) == 2, "on the same core they never run at once"
    with pytest.raises(QueueFull, match="1 kernels wait"):
        queue.add(kernel(1))
    with pytest.raises(ValueError, match="no kernel 3"):
        queue.find(3)
    queue.clear()
    assert queue.add(kernel(1)) == 3, "a ticket is never given again"
