# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Signals are reached in fewer steps in benches, and mean what they mean to cocotb."""

from __future__ import annotations

import enum
from typing import Any

import pytest
from cocotb.types import Bit, Logic, LogicArray
from eddy_sim.design import signal_access


class Number(enum.IntEnum):
    ONE = 1


class Signal:
    """A bit as the simulator has it."""

    def __init__(self, text: str = "") -> None:
        self._handle, self.text = self, text

    def get_signal_val_binstr(self) -> str:
        return self.text

    def set_signal_val_binstr(self, _action: int, text: str) -> None:
        self.text = text


@pytest.mark.parametrize("value", [*map(Logic, "UX01ZWLH-"), Bit(0), Bit(1)], ids=repr)
def test_a_bit_equals_what_it_equals_to_cocotb(value: Logic) -> None:
    others: tuple[Any, ...] = (
        0,
        1,
        2,
        -1,
        False,
        True,
        *"UuXx01ZzWwLlHh-",
        "",
        "2",
        "01",
        Number.ONE,
        Logic("1"),
        Bit(1),
    )
    for other in others:
        assert signal_access.equals(value, other) is Logic.__eq__(value, other), (value, other)
    for other in (None, 1.0, b"1", (1,)):
        assert signal_access.equals(value, other) is NotImplemented


def test_a_bit_is_read_as_it_is() -> None:
    for text in "01XZ":
        assert signal_access.read_bit(Signal(text)) is Logic(text)
    for text in ("U", "-"):
        assert signal_access.read_bit(Signal(text)) == Logic(text)


@pytest.mark.parametrize("text", ["0", "1", "0110", "LH1", "1" * 70])
def test_bits_are_read_as_they_are(text: str) -> None:
    found, wanted = signal_access.read_bits(text, False), LogicArray._from_handle(text, False)
    assert (found, str(found), found.range, len(found)) == (wanted, text, wanted.range, len(text))
    assert [signal_access.number(found), signal_access.number(found)] == [int(wanted)] * 2
    found[0] = "X"
    with pytest.raises(ValueError, match="non-0/1"):
        signal_access.number(found)
    assert str(signal_access.read_bits(text, False)) == text


@pytest.mark.parametrize("text", ["X", "0Z1", "10U"])
def test_what_is_no_number_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="non-0/1"):
        signal_access.number(signal_access.read_bits(text, False))


@pytest.mark.parametrize(("value", "text"), [(0, "0"), (1, "1")])
def test_a_bit_is_written_as_it_is(value: int, text: str) -> None:
    from cocotb.handle import _GPISetAction

    signal = Signal()
    signal_access.write_bit(signal, value, _GPISetAction.DEPOSIT)
    assert signal.text == text


@pytest.mark.parametrize("value", [2, -1, "2", None])
def test_what_is_no_bit_is_refused(value: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        signal_access.write_bit(Signal(), value, None)
