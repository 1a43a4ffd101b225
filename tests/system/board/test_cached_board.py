# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The adapter of PYNQ boards on a board with a shared cache: modules find what the CPU wrote because it is flushed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from eddy.board.images.signing import Trust
from eddy.board.port.port import Access, Buffer, EventKind, Grant, Launch
from eddy.board.port.profile import load_profile
from eddy.board.pynq.pynq import PynqBoard
from eddy.board.remote.factory import open_device
from eddy.packages.manifests import load_module_manifest
from eddy_drivers.shell import CacheCounts, Shell
from eddy_sim.design import bitstreams
from eddy_sim.device import SimClock, SimDevice

pytestmark = pytest.mark.rtl
BLOCKS = 4
BYTES = BLOCKS * 128


@contextlib.contextmanager
def cached_board() -> Iterator[tuple[PynqBoard, Shell]]:
    """The test board with a cache of 4 KiB and an 8x8 DCT in its first slot."""
    profile = replace(load_profile("tiny"), name="cached", cache_bytes=4096)
    files = bitstreams.list_or_build(profile, found=[load_module_manifest("bitstreams/dct")])
    device = SimDevice(profile, coherent=False)
    board = open_device(files.overlay, device, SimClock(device), profile, bitstreams.folder_of("cached"), Trust(False))
    try:
        board.load(0, files.find("dct", 0).image.sha256)
        loaded = board.wait(1.0)[-1]
        assert loaded.kind is EventKind.CONFIGURED
        board.wait(0.0, loaded.seq)
        fabric: Any = board._fabric
        yield board, fabric.shell
    finally:
        board.release()


def transform(board: PynqBoard, source: Buffer, target: Buffer, blocks: npt.NDArray[np.int16]) -> bytes:
    """Write blocks, run an item, read what came out."""
    board.write(source.id, 0, blocks.tobytes())
    return run(board, source, target)


def run(board: PynqBoard, source: Buffer, target: Buffer) -> bytes:
    registers = ((0x10, source.address), (0x14, 0), (0x1C, target.address), (0x20, 0), (0x28, BLOCKS))
    grants = (Grant(source.id, Access.READ), Grant(target.id, Access.WRITE))
    board.launch(0, Launch(f"item-{board.now_s()}", registers, grants, 1e-3))
    event = board.wait(board.now_s() + 1.0)[-1]
    assert event.kind is EventKind.ITEM_DONE, event
    board.wait(0.0, event.seq)
    return board.read(target.id, 0, BYTES)


def test_items_find_what_was_written_last_and_what_was_read_before_comes_from_the_cache() -> None:
    rng = np.random.default_rng(4)
    first, second = (rng.integers(-128, 128, BYTES // 2).astype(np.int16) for _ in range(2))
    with cached_board() as (board, shell):
        source, target = (board.allocate(BYTES, "job") for _ in range(2))
        one = transform(board, source, target, first)
        two = transform(board, source, target, second)
        assert one != two
        assert shell.cache_counts(0) == CacheCounts(hits=0, misses=2 * BYTES // 64)
        assert run(board, source, target) == two
        assert shell.cache_counts(0) == CacheCounts(hits=BYTES // 64, misses=2 * BYTES // 64)
        assert transform(board, source, target, first) == one
        # Pages that change hands are scrubbed, and nobody finds the last owner's in the cache.
        board.free(source.id)
        again = board.allocate(BYTES, "another")
        assert again.address == source.address
        assert not any(run(board, again, target))


def test_without_the_flush_they_would_not(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    first, second = (rng.integers(-128, 128, BYTES // 2).astype(np.int16) for _ in range(2))
    with cached_board() as (board, _):
        source, target = (board.allocate(BYTES, "job") for _ in range(2))
        one = transform(board, source, target, first)
        monkeypatch.setattr(Shell, "flush", lambda *_: None)
        assert transform(board, source, target, second) == one
        monkeypatch.undo()
        assert transform(board, source, target, second) != one
