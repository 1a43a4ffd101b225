# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A job that no board has the memory for is refused as it is submitted, as a board itself refuses it."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from eddy.board.port.pages import PAGE
from eddy.core.applications import Application, BufferRole, BufferSpec
from eddy.core.errors import InvalidRequest
from eddy.core.units import format_bytes
from eddy.pool.jetstream.tenants import PoolTenant
from eddy.pool.records.record_json import board_from_json, to_json
from eddy.pool.records.records import PoolBoard
from eddy.pool.records.reports import board_read
from eddy.pool.routes.submission import _check_memory

ADA = PoolTenant("ada")
BOARD = PoolBoard("b1", "k", 1, 1, ("a",), True, "s", memory_bytes=4 * PAGE)
ARRAY = {"buffer": "0" * 64, "dtype": "|u1", "shape": [4 * PAGE + 1]}


def checked(*boards: PoolBoard, pages: int = 1, kernel: bool = False) -> None:
    application = Application("a", (), (), (BufferSpec("x", BufferRole.INPUT, pages * PAGE, "u1", (pages * PAGE,)),))
    catalogue = SimpleNamespace(application=lambda _: application)
    mirror = SimpleNamespace(boards={board.name: board for board in boards})
    parts: Any = SimpleNamespace(catalogue=catalogue, lead=SimpleNamespace(mirror=mirror))
    request = {"kernel": {"kernel": "k", "arguments": [ARRAY]}} if kernel else {"application": "a", "batch": 100}
    _check_memory(parts, ADA, [request])


def test_what_fits_no_board_is_refused_and_what_fits_one_is_not() -> None:
    checked(BOARD, pages=4)
    with pytest.raises(InvalidRequest, match=f"needs {format_bytes(5 * PAGE)} of") as refused:
        checked(BOARD, pages=5)
    assert refused.value.details["field"] == "batch"
    checked(BOARD, replace(BOARD, name="b2", memory_bytes=5 * PAGE), pages=5)
    with pytest.raises(InvalidRequest) as refused:
        checked(BOARD, kernel=True)
    assert refused.value.details["field"] == "kernel.arguments"
    checked(BOARD, replace(BOARD, name="b2", memory_bytes=5 * PAGE), kernel=True)
    checked(BOARD, replace(BOARD, name="b2", memory_bytes=0), pages=5)  # of an earlier release: it does not say
    checked(pages=5)


def test_boards_say_what_they_have() -> None:
    assert board_from_json(to_json(BOARD)) == BOARD
    assert board_read("b1", {**vars_of(BOARD)}) == BOARD
    with pytest.raises(ValueError, match="memory_bytes"):
        board_read("b1", {**vars_of(BOARD), "memory_bytes": -1})


def vars_of(board: PoolBoard) -> dict[str, Any]:
    return {name: getattr(board, name) for name in board.__dataclass_fields__}
