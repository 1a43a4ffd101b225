# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The compiled program of a simulated board, as ctypes sees it."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

from eddy.board.port.profile import Profile
from eddy.core.errors import BoardFault, InvalidRequest

from eddy_sim.boards.dram import DramParameters, dram_parameters

FS_PER_S = 10**15
MAX_SLOTS = 10
ACCESS_BOUND_CYCLES = 1 << 17
"""The shell answers within its own timeouts (at most 65536 cycles); beyond this it is broken."""


class BoardProgram:
    """One board of the program, from its creation to `close`.

    Args:
        file: The program, from `eddy_sim.design.build`.
        shell: The shell's shared object.
        profile: What the board is.
        memory: Address of its memory.
        skipping, resting: As `SimBoard` has them.

    Attributes:
        short: The program's functions, for calls that take microseconds: they keep the interpreter's lock.
        long: The same, for calls that take long: they let go of it meanwhile.
        board: The board, as the functions' first argument; None once it is closed.

    Raises:
        BoardFault: The board does not start.
    """

    def __init__(
        self, file: Path, shell: Path, profile: Profile, memory: int, *, skipping: bool, resting: bool
    ) -> None:
        self.short = _declare(ctypes.PyDLL(str(file)))
        self.long = _declare(ctypes.CDLL(str(file)))
        self._slots = len(profile.slots)
        message = ctypes.create_string_buffer(1024)
        parameters = _parameters(profile, skipping, resting)
        self.board: int | None = self.long.eddy_board_create(
            str(shell).encode(), ctypes.byref(parameters), memory, message, len(message)
        )
        if not self.board:
            raise BoardFault(f"the simulated board does not start: {message.value.decode()}", cause="simulation")

    def close(self) -> None:
        """Free the board."""
        board, self.board = self.board, None
        if board:
            self.short.eddy_board_destroy(board)

    def slot(self, index: int) -> int:
        """A slot's index, as the functions take it.

        Raises:
            InvalidRequest: There is no such slot.
        """
        if not 0 <= index < self._slots:
            message = f"this board has no slot {index}"
            raise InvalidRequest(message, field="slot", allowed=f"0..{self._slots - 1}")
        return index


class BoardParameters(ctypes.Structure):
    """What a board is made with: clocks in Hz, the bound of an access in cycles of the shell."""

    _fields_ = (
        ("shell_hz", ctypes.c_uint64),
        ("slot_hz", ctypes.c_uint64 * MAX_SLOTS),
        ("port_hz", ctypes.c_uint64),
        ("access_bound", ctypes.c_uint64),
        ("skipping", ctypes.c_uint64),
        ("resting", ctypes.c_uint64),
        ("dram", DramParameters),
    )


class SinkAnswer(ctypes.Structure):
    """What whoever knows images answers the board."""

    _fields_ = (
        ("slot", ctypes.c_int32),
        ("outcome", ctypes.c_uint32),
        ("faults", ctypes.c_uint32),
        ("memory_fault", ctypes.c_uint32),
        ("path", ctypes.c_char * 1024),
        ("options", ctypes.c_char * 512),
    )


SinkCall = ctypes.CFUNCTYPE(
    None, ctypes.c_uint32, ctypes.POINTER(ctypes.c_uint32), ctypes.c_uint64, ctypes.POINTER(SinkAnswer)
)


def _parameters(profile: Profile, skipping: bool, resting: bool) -> BoardParameters:
    slots = [round(slot.clk_hz) for slot in profile.slots]
    return BoardParameters(
        shell_hz=round(profile.shell_hz),
        slot_hz=(ctypes.c_uint64 * MAX_SLOTS)(*slots),
        port_hz=round(profile.configuration.engine_hz),
        access_bound=ACCESS_BOUND_CYCLES,
        skipping=skipping,
        resting=resting,
        dram=dram_parameters(profile.dram, port_bytes=profile.memory_bits // 8),
    )


_SIGNATURES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "create": (
        ctypes.c_void_p,
        (ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t),
    ),
    "destroy": (None, (ctypes.c_void_p,)),
    "cache": (None, (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)),
    "reset": (None, (ctypes.c_void_p,)),
    "read32": (ctypes.c_uint64, (ctypes.c_void_p, ctypes.c_uint32)),
    "write32": (ctypes.c_uint32, (ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32)),
    "run": (ctypes.c_uint32, (ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint32)),
    "start_config": (
        ctypes.c_int,
        (
            *(ctypes.c_void_p, ctypes.c_uint32, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p),
            *(ctypes.c_uint32, ctypes.c_uint32),
        ),
    ),
    "set_sink": (None, (ctypes.c_void_p, SinkCall)),
    "give_port": (None, (ctypes.c_void_p, ctypes.c_uint32)),
    "set_faults": (None, (ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32)),
    "lose_clock": (None, (ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32)),
    "bears": (None, (ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64)),
    "now": (None, (ctypes.c_void_p, ctypes.c_void_p)),
    "shell_cycles": (ctypes.c_uint64, (ctypes.c_void_p,)),
    "slot_cycles": (ctypes.c_uint64, (ctypes.c_void_p, ctypes.c_uint32)),
    "slot_evaluated": (ctypes.c_uint64, (ctypes.c_void_p, ctypes.c_uint32)),
    "irq": (ctypes.c_uint32, (ctypes.c_void_p,)),
    "config_busy": (ctypes.c_uint32, (ctypes.c_void_p,)),
    "loaded": (ctypes.c_uint32, (ctypes.c_void_p, ctypes.c_uint32)),
    "error": (ctypes.c_char_p, (ctypes.c_void_p,)),
    "statistics": (None, (ctypes.c_void_p, ctypes.c_void_p)),
    "dram_statistics": (None, (ctypes.c_void_p, ctypes.c_void_p)),
    "user": (None, (ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p)),
    "keep_log": (None, (ctypes.c_void_p, ctypes.c_uint64)),
    "log": (ctypes.c_uint64, (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64)),
}


def _declare(library: Any) -> Any:
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, f"eddy_board_{name}")
        function.restype, function.argtypes = result, arguments
    return library
