# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Runs of modules whose results are known: inputs, and outputs as the numpy models of the sources compute them.

`tools/known_answers.py` writes them from the same trials that the modules' benches compare the RTL with, so that a
board without a source tree can tell whether a module computes as it should.
"""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from eddy.board.port.port import Access, BoardPort, Buffer, EventKind, Grant, KernelLaunch, Launch
from eddy.board.selftest.board_test_steps import next_event
from eddy.core.units import format_bytes
from eddy.packages.modules import ArgumentRegister, RegisterKind

FILE = Path(__file__).with_name("known_answers.npz")
UNTOUCHED = 0xA5
"""What a buffer holds that is to be written, as on the bench: a run may leave parts of one as they were."""
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


@dataclass(frozen=True)
class KnownKernel:
    """One kernel of a GPU cluster, packed for just that cluster.

    Attributes:
        region: Its memory before it runs: program, launch block, arguments, buffers.
        entry: First address of the program, as the cores see it.
        argument: What warp 0 of each core finds in mscratch.
        outputs: What must lie in the region afterwards, by offset.
    """

    region: bytes
    entry: int
    argument: int
    outputs: Mapping[int, bytes]


def pack_answers(
    answers: Mapping[str, Iterable[KnownAnswer | KnownKernel]],
) -> dict[str, npt.NDArray[np.uint8]]:
    """Known answers as arrays of bytes, for `FILE`."""
    arrays, table = {}, dict[str, list[dict[str, object]]]()
    for module, trials in answers.items():
        table[module] = []
        for number, trial in enumerate(trials):
            if isinstance(trial, KnownKernel):
                arrays[f"{module}.{number}.region"] = np.frombuffer(trial.region, np.uint8)
                for offset, data in trial.outputs.items():
                    arrays[f"{module}.{number}.out.{offset}"] = np.frombuffer(data, np.uint8)
                kernel = {"entry": trial.entry, "argument": trial.argument, "out": sorted(trial.outputs)}
                table[module].append(dict(kernel))
                continue
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
def known_answers(file: Path = FILE) -> Mapping[str, tuple[KnownAnswer | KnownKernel, ...]]:
    """Runs by module."""
    with np.load(file) as arrays:
        table = json.loads(arrays[_TABLE].tobytes())
        return {
            module: tuple(_read(arrays, f"{module}.{number}", said) for number, said in enumerate(trials))
            for module, trials in table.items()
        }


def _read(arrays: Mapping[str, Any], name: str, said: Mapping[str, Any]) -> KnownAnswer | KnownKernel:
    if "entry" in said:
        outputs = {int(offset): arrays[f"{name}.out.{offset}"].tobytes() for offset in said["out"]}
        return KnownKernel(arrays[f"{name}.region"].tobytes(), said["entry"], said["argument"], outputs)
    held = ({pointer: arrays[f"{name}.{way}.{pointer}"].tobytes() for pointer in said[way]} for way in ("in", "out"))
    return KnownAnswer(tuple(_register(row) for row in said["registers"]), said["scalars"], *held)


def find_mismatch(board: BoardPort, slot: int, trial: KnownAnswer | KnownKernel) -> str:
    """Run a trial on the module in a slot; "" where every byte is right, else what was not."""
    with contextlib.ExitStack() as ending:

        def placed(data: bytes) -> Buffer:
            buffer = board.allocate(len(data), "board-test")
            ending.callback(board.free, buffer.id)
            board.write(buffer.id, 0, data)
            return buffer

        if isinstance(trial, KnownKernel):
            region = placed(trial.region)
            kernel = KernelLaunch(region.id, trial.entry, trial.argument)
            grants = (Grant(region.id, Access.READ_WRITE),)
            launch = Launch(f"board-test-{next(_numbers)}", (), grants, _BOUND_S, kernel=kernel)
            wanted = [(region.id, offset, data, f"the region at {offset:#x}") for offset, data in trial.outputs.items()]
        else:
            others = {name: bytes([UNTOUCHED]) * len(data) for name, data in trial.outputs.items()}
            buffers = {name: placed(data) for name, data in {**others, **trial.inputs}.items()}
            launch = _launch(trial, buffers)
            wanted = [(buffers[name].id, 0, data, name) for name, data in trial.outputs.items()]
        board.launch(slot, launch)
        event = next_event(board, 2 * _BOUND_S)
        if event is None:
            return "no end of an item"
        if event.kind is not EventKind.ITEM_DONE:
            return f"{event.cause.value}: {event.detail}"
        for buffer, offset, data, name in wanted:
            found = np.frombuffer(board.read(buffer, offset, len(data)), np.uint8)
            if differ := int((found != np.frombuffer(data, np.uint8)).sum()):
                return f"{differ:,} of {format_bytes(len(data))} of {name} are wrong"
        return ""


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
