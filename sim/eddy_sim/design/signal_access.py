# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How benches reach signals, in fewer steps than cocotb 2.1 takes: a third of a bench's time, which is Python's.

A bench reads and writes a dozen signals in each of a hundred thousand cycles. There, cocotb looks a child of the design
up by name each time, makes a `Logic` of each number that a `Logic` is compared with, and asks an enumeration's member
for its value by a descriptor. Here the same comes of a look-up; what is not plain goes cocotb's own way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cocotb import handle
from cocotb.types import Logic, LogicArray, Range
from cocotb.types._logic import _literal_repr

LOGIC: dict[str, Logic] = {text: Logic(text) for text in ("0", "1", "X", "Z")}
"""Values of one bit by what the simulator says; there is one object of each."""
_ranges: dict[int, Range] = {}
"""Of so many bits; nothing changes one."""
_PLAIN = (int, bool, str)
_equals, _child, _set_bit = Logic.__eq__, handle.HierarchyObject.__getattr__, handle.LogicObject._set_value
_number = LogicArray.__int__


def equals(value: Logic, other: object) -> Any:
    """`Logic.__eq__`."""
    if type(other) in _PLAIN:
        return value._repr == _literal_repr.get(other)  # type: ignore[call-overload]
    return _equals(value, other)


def child(design: Any, name: str) -> Any:
    """`HierarchyObject.__getattr__`: what is found is an attribute from then on."""
    found = _child(design, name)
    design.__dict__[name] = found
    return found


def read_bit(signal: Any) -> Logic:
    """`LogicObject.get`."""
    text: str = signal._handle.get_signal_val_binstr()
    return LOGIC[text] if text in LOGIC else Logic(text)


def write_bit(signal: Any, value: Any, action: Any) -> None:
    """`LogicObject._set_value`."""
    if type(value) is int and 0 <= value <= 1:
        signal._handle.set_signal_val_binstr(action._value_, "1" if value else "0")
    else:
        _set_bit(signal, value, action)


def read_bits(value: str, warn_indexing: bool) -> LogicArray:
    """`LogicArray._from_handle`."""
    found = LogicArray.__new__(LogicArray)
    found._value_as_array = found._value_as_int = None
    found._value_as_str, found._warn_indexing = value, warn_indexing
    size = len(value)
    if size not in _ranges:
        _ranges[size] = Range(size - 1, "downto", 0)
    found._range = _ranges[size]
    return found


def number(value: LogicArray) -> int:
    """`LogicArray.__int__`."""
    if value._value_as_int is None and value._value_as_str:
        try:
            value._value_as_int = int(value._value_as_str, 2)
        except ValueError:
            return _number(value)
    return _number(value) if value._value_as_int is None else value._value_as_int


def write(_signal: Any, function: Callable[[int, Any], None], action: Any, value: Any) -> None:
    """`_schedule_write` of a simulator that is trusted with writes (COCOTB_TRUST_INERTIAL_WRITES)."""
    function(action._value_, value)


def shorten() -> None:
    """Have cocotb do so in this process, whose environment says that the simulator is trusted."""
    assert handle._trust_inertial
    for place, name, shorter in (
        (Logic, "__eq__", equals),
        (handle.HierarchyObject, "__getattr__", child),
        (handle.LogicObject, "get", read_bit),
        (handle.LogicObject, "_set_value", write_bit),
        (LogicArray, "_from_handle", staticmethod(read_bits)),
        (LogicArray, "__int__", number),
        (handle, "_schedule_write", write),
    ):
        setattr(place, name, shorter)
