# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Memory: page aligned, scrubbed, refused while in use, right across caches."""

from __future__ import annotations

import itertools

import pytest
from contract.harness import Harness
from eddy.core.errors import Conflict, InvalidRequest, MemoryExhausted, NotFound

PAGE = 4096


def test_buffers_are_aligned_apart_and_owned(harness: Harness) -> None:
    buffers = [harness.board.allocate(size, f"job-{size}") for size in (1, PAGE, PAGE + 1, 100)]
    ranges = sorted((b.address, b.address + -(-b.bytes // PAGE) * PAGE) for b in buffers)
    assert all(start % PAGE == 0 for start, _ in ranges)
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(ranges))
    assert len({b.id for b in buffers}) == len(buffers)
    assert {b.owner for b in harness.board.state().buffers} == {"job-1", f"job-{PAGE}", f"job-{PAGE + 1}", "job-100"}
    assert [b.bytes for b in buffers] == [1, PAGE, PAGE + 1, 100]


def test_memory_is_scrubbed_before_anyone_else_gets_it(harness: Harness) -> None:
    harness.load(0)
    everything = harness.board.describe().arena_bytes
    first = harness.board.allocate(everything, "a")
    assert not any(harness.board.read(first.id, 0, everything))
    harness.board.write(first.id, PAGE * 3, b"secret")
    harness.launch(first)
    harness.next_event()
    harness.board.free(first.id)
    second = harness.board.allocate(everything, "b")
    assert second.id != first.id, "handles are never reused"
    assert not any(harness.board.read(second.id, 0, everything))


def test_written_bytes_are_read_back_at_any_offset(harness: Harness) -> None:
    buffer = harness.board.allocate(3 * PAGE, "job")
    harness.board.write(buffer.id, 5, b"hello")
    harness.board.write(buffer.id, PAGE - 1, b"across")
    assert harness.board.read(buffer.id, 0, 12) == b"\0" * 5 + b"hello" + b"\0" * 2
    assert harness.board.read(buffer.id, PAGE - 1, 6) == b"across"
    assert harness.board.read(buffer.id, 0, 0) == b""


def test_partial_lines_keep_what_a_module_wrote(harness: Harness) -> None:
    harness.load(0)
    buffer = harness.board.allocate(64, "job")
    before = harness.board.read(buffer.id, 0, 64)
    harness.launch(buffer)
    harness.next_event()
    harness.board.write(buffer.id, 60, b"tail")
    after = harness.board.read(buffer.id, 0, 64)
    assert after[:8] != before[:8]
    assert after[60:] == b"tail"


def test_large_copies(harness: Harness) -> None:
    size = harness.board.describe().arena_bytes
    buffer = harness.board.allocate(size, "job")
    data = bytes(i * 7 % 251 for i in range(65536)) * (size // 65536)
    harness.board.write(buffer.id, 0, data)
    assert harness.board.read(buffer.id, 0, size) == data


@pytest.mark.parametrize(("offset", "size"), [(0, PAGE + 1), (PAGE, 1), (-1, 1)])
def test_copies_outside_a_buffer_are_refused(harness: Harness, offset: int, size: int) -> None:
    buffer = harness.board.allocate(PAGE, "job")
    with pytest.raises(InvalidRequest):
        harness.board.read(buffer.id, offset, size)
    with pytest.raises(InvalidRequest):
        harness.board.write(buffer.id, offset, bytes(size))


def test_exhaustion_says_what_is_free(harness: Harness) -> None:
    size = harness.board.describe().arena_bytes
    keep = harness.board.allocate(PAGE, "job")
    with pytest.raises(MemoryExhausted) as caught:
        harness.board.allocate(size, "job")
    assert caught.value.details["free"] == size - PAGE
    harness.board.free(keep.id)
    harness.board.allocate(size, "job")


def test_sizes_that_are_none(harness: Harness) -> None:
    for size in (0, -1):
        with pytest.raises(InvalidRequest):
            harness.board.allocate(size, "job")


def test_handles_that_are_none(harness: Harness) -> None:
    buffer = harness.board.allocate(8, "job")
    harness.board.free(buffer.id)
    for call in (
        lambda: harness.board.free(buffer.id),
        lambda: harness.board.read(buffer.id, 0, 1),
        lambda: harness.board.write(buffer.id, 0, b"x"),
    ):
        with pytest.raises(NotFound):
            call()


def test_free_is_refused_while_a_module_may_touch_it(harness: Harness) -> None:
    harness.load(0, "hang")
    buffer = harness.board.allocate(8, "job")
    harness.launch(buffer, limit_s=1.0)
    with pytest.raises(Conflict):
        harness.board.free(buffer.id)
    harness.board.stop(0)
    harness.board.free(buffer.id)
