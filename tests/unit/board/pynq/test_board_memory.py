# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The arena under random use: nothing overlaps, nothing leaks, nothing is lost in a cache."""

from __future__ import annotations

import contextlib

import pytest
from contract.fake_fabric import FakeMemory
from eddy.board.port.pages import PAGE
from eddy.board.port.profile import load_profile
from eddy.board.pynq.arena import Arena
from eddy.core.errors import MemoryExhausted
from hypothesis import given, settings
from hypothesis import strategies as st

STEPS = st.lists(st.tuples(st.sampled_from(["allocate", "free", "module"]), st.integers(1, 2000)), max_size=60)


@settings(max_examples=40, deadline=None)
@given(STEPS)
def test_random_use(steps: list[tuple[str, int]]) -> None:
    memory = FakeMemory(load_profile("tiny"))
    arena = Arena(memory)
    model: dict[int, bytes] = {}
    for what, number in steps:
        ids, buffer = list(model), None
        if what == "allocate":
            size = number * 997
            with contextlib.suppress(MemoryExhausted):
                buffer = arena.allocate(size, "job")
            if buffer is None:
                continue
            assert buffer.address % PAGE == 0
            model[buffer.id] = bytes(buffer.bytes)
            assert arena.read(buffer.id, 0, buffer.bytes) == model[buffer.id]
            data = bytes([number % 255 + 1]) * buffer.bytes
            arena.write(buffer.id, 0, data)
            model[buffer.id] = data
        elif ids and what == "free":
            arena.free(ids[number % len(ids)])
            del model[ids[number % len(ids)]]
        elif ids:
            # A module writes behind the CPU's back.
            found = arena.get(ids[number % len(ids)])
            start = found.address - memory.address
            memory.cache.device[start : start + found.bytes] = number % 256
            model[found.id] = bytes([number % 256]) * found.bytes
    for key, data in model.items():
        assert arena.read(key, 0, len(data)) == data


def test_a_gap_is_used_again() -> None:
    arena = Arena(FakeMemory(load_profile("tiny")))
    first, _, third = (arena.allocate(PAGE * n, "job") for n in (2, 3, 1))
    arena.free(first.id)
    assert arena.allocate(PAGE, "job").address == first.address
    assert arena.allocate(PAGE, "job").address == first.address + PAGE
    assert arena.allocate(PAGE, "job").address == third.address + PAGE


def test_pages_of_a_buffer() -> None:
    arena = Arena(FakeMemory(load_profile("tiny")))
    buffer = arena.allocate(PAGE + 1, "job")
    assert arena.lend([buffer.id]).buffers == {buffer.id: (buffer.address // PAGE, buffer.address // PAGE + 1)}


def test_what_is_free_is_said_with_the_refusal() -> None:
    arena = Arena(FakeMemory(load_profile("tiny")))
    kept = [arena.allocate(arena.size // 4, "job") for _ in range(4)]
    arena.free(kept[0].id)
    arena.free(kept[2].id)
    with pytest.raises(MemoryExhausted) as caught:
        arena.allocate(arena.size // 2, "job")
    assert (caught.value.details["free"], caught.value.details["largest"]) == (arena.size // 2, arena.size // 4)
