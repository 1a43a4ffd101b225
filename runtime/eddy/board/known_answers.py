"""Runs of modules whose results are known: inputs, and outputs as the numpy models of the sources compute them.

`tools/known_answers.py` writes them from the same trials that the modules' benches compare the RTL with, so that a
board without a source tree can tell whether a module computes as it should.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from eddy.board.port import Access, BoardPort, Buffer, EventKind, Grant, Launch
from eddy.packages.modules import ArgumentRegister, RegisterKind

FILE = Path(__file__).with_name("known_answers.npz")
_TABLE = "table"
"""The file's one array of text: JSON of what the others are."""
_BOUND_S = 1.0
_numbers = itertools.count()


@dataclass(frozen=True)
class KnownAnswer:
    """One run of a module.

    Attributes:
        registers: The module's arguments.
        scalars: Values of the scalar ones, by name.
        inputs: What the buffers it reads hold, by pointer.
        outputs: What those it writes must hold afterwards, by pointer.
    """

    registers: tuple[ArgumentRegister, ...]
    scalars: Mapping[str, int]
    inputs: Mapping[str, bytes]
    outputs: Mapping[str, bytes]


def packed(answers: Mapping[str, Iterable[KnownAnswer]]) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.uint8]]]:
    """Known answers as arrays of bytes, for `FILE`."""
    arrays, table = {}, dict[str, list[dict[str, object]]]()
    for module, trials in answers.items():
        table[module] = []
        for number, trial in enumerate(trials):
            rows = [_row(register) for register in trial.registers]
            said: dict[str, object] = {"registers": rows, "scalars": dict(trial.scalars)}
            for way, held in (("in", trial.inputs), ("out", trial.outputs)):
                said[way] = sorted(held)
                for name, data in held.items():
                    arrays[f"{module}.{number}.{way}.{name}"] = np.frombuffer(data, np.uint8)
            table[module].append(said)
    arrays[_TABLE] = np.frombuffer(json.dumps(table, sort_keys=True).encode(), np.uint8)
    return arrays


@cache
def known_answers(file: Path = FILE) -> Mapping[str, tuple[KnownAnswer, ...]]:
    """Runs by module."""
    with np.load(file) as arrays:
        table = json.loads(arrays[_TABLE].tobytes())
        return {
            module: tuple(
                KnownAnswer(
                    tuple(_register(row) for row in trial["registers"]),
                    trial["scalars"],
                    *(
                        {name: arrays[f"{module}.{number}.{way}.{name}"].tobytes() for name in trial[way]}
                        for way in ("in", "out")
                    ),
                )
                for number, trial in enumerate(trials)
            )
            for module, trials in table.items()
        }


def wrong(board: BoardPort, slot: int, trial: KnownAnswer) -> str:
    """Run a trial on the module in a slot; "" where every byte is right, else what was not."""
    buffers = dict[str, Buffer]()
    try:
        for name in {**trial.inputs, **trial.outputs}:
            held = trial.inputs.get(name, trial.outputs.get(name, b""))
            buffers[name] = board.allocate(len(held), "board-test")
            # A buffer comes zeroed; what is to be written must not look as if it had been.
            held = trial.inputs.get(name) or bytes(0xFF ^ byte for byte in held)
            board.write(buffers[name].id, 0, held)
        board.launch(slot, _launch(trial, buffers))
        events = board.wait(board.now_s() + 2 * _BOUND_S)
        if not events:
            return "no end of an item"
        board.wait(0.0, events[-1].seq)
        if events[-1].kind is not EventKind.ITEM_DONE:
            return f"{events[-1].cause.value}: {events[-1].detail}"
        for name, wanted in trial.outputs.items():
            found = np.frombuffer(board.read(buffers[name].id, 0, len(wanted)), np.uint8)
            if differ := int((found != np.frombuffer(wanted, np.uint8)).sum()):
                return f"{differ} of {len(wanted)} bytes of {name} are wrong"
        return ""
    finally:
        for buffer in buffers.values():
            board.free(buffer.id)


def _launch(trial: KnownAnswer, buffers: Mapping[str, Buffer]) -> Launch:
    words, grants, status = list[tuple[int, int]](), [], -1
    for register in trial.registers:
        if register.kind is RegisterKind.STATUS:
            status = register.offset
            continue
        buffer = buffers.get(register.name)
        words += register.words(trial.scalars[register.name] if buffer is None else buffer.address)
        if buffer is not None:
            assert register.access is not None, "a pointer says what is done with its buffer"
            grants.append(Grant(buffer.id, register.access))
    return Launch(f"board-test-{next(_numbers)}", tuple(words), tuple(grants), _BOUND_S, status=status)


def _row(register: ArgumentRegister) -> list[object]:
    access = None if register.access is None else register.access.value
    return [register.name, register.offset, register.width, register.kind.value, access]


def _register(row: list[object]) -> ArgumentRegister:
    name, offset, width, kind, access = row
    assert isinstance(offset, int)
    assert isinstance(width, int)
    return ArgumentRegister(str(name), offset, width, RegisterKind(kind), None if access is None else Access(access))
