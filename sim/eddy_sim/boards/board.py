# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The simulated board: RTL in Verilator with memory, clocks and a configuration port around it.

`SimBoard` is what hardware is to software: registers, shared memory, time, an interrupt line and a configuration port.
Nothing runs by itself: time passes in a register access (its own bus cycles) and in `step_until`, and nowhere else, so
the same calls give the same cycle counts.

Time is kept in femtoseconds. Every clock's period is a whole number of them; all edges that fall on the same instant
are processed together, everything seeing its inputs as they were before.
"""

from __future__ import annotations

import ctypes
import enum
import math
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt
from eddy.board.port.profile import Profile
from eddy.core.errors import BoardFault, Conflict

from eddy_sim.boards.board_faults import BoardFaults
from eddy_sim.boards.board_program import ACCESS_BOUND_CYCLES, FS_PER_S, BoardProgram, SinkAnswer, SinkCall
from eddy_sim.boards.faults import LoadFault
from eddy_sim.boards.image_sink import ArrivedImage, ArrivingImage, ImageSink
from eddy_sim.boards.memory import CacheView
from eddy_sim.boards.served_memory import ServedMemory
from eddy_sim.design import build
from eddy_sim.tools.products import Progress, ignore_progress

_NO_FAULT = LoadFault()


class StopReason(enum.IntFlag):
    """What ends `step_until` early, and why it ended."""

    NONE = 0
    IRQ = 1
    """The shell's interrupt line rose."""
    CONFIG = 2
    """A load ended, well or badly."""
    DEADLINE = 4
    """The time asked for has come (an answer only)."""


class BoardStatistics(ctypes.Structure):
    """How much the simulation had to do: evaluations of the shell, checks for a fixed point, jumps, instants, and the
    clock edges that slots' paths were given."""

    _fields_ = tuple(
        (name, ctypes.c_uint64) for name in ["shell_evaluated", "shell_checks", "jumps", "instants", "path_edges"]
    )


class SimBoard:
    """One simulated board.

    Args:
        profile: What the board is.
        coherent: Whether the CPU sees memory as modules do. If not, `dram` is the CPU's cached view, and `flush` and
            `invalidate` move lines between it and memory.
        skipping: Skip what has nothing to do, exactly. Off only to prove that it changes nothing.
        resting: Leave out the clock edges that change nothing in a slot's path or the CPU's bus, while the rest of the
            shell is evaluated. Off only to prove that it changes nothing.
        progress: Told what is being built.
        cpu_memory: Where the CPU's view of memory lies, if it is not coherent and other processes are to see it.

    Attributes:
        faults: What is wrong with its slots.
        served: What its memory has served.

    Raises:
        BuildFailed: A tool refused the shell's sources.
    """

    def __init__(
        self,
        profile: Profile,
        *,
        coherent: bool = True,
        skipping: bool = True,
        resting: bool = True,
        progress: Progress = ignore_progress,
        cpu_memory: npt.NDArray[np.uint8] | None = None,
    ) -> None:
        self.profile = profile
        self.dram_base = profile.dram.base
        self._cache = CacheView(profile.dram.base, profile.dram.bytes, coherent, cpu_memory)
        self._rogue = build.build_rogue
        self._progress = progress
        shell = build.build_shell(build.ShellShape.of(profile), progress)
        program = build.build_board(progress)
        self._program = BoardProgram(
            program, shell, profile, self._cache.device.ctypes.data, skipping=skipping, resting=resting
        )
        self._short, self._long, self._board = self._program.short, self._program.long, self._program.board
        self.faults, self.served = BoardFaults(self._program), ServedMemory(self._program)
        if not coherent:
            self._short.eddy_board_cache(self._board, *self._cache.addresses)
        self._read = self._short.eddy_board_read32
        self._write = self._short.eddy_board_write32
        self._time = (ctypes.c_uint64 * 2)()

    def __enter__(self) -> SimBoard:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Free the models; the board cannot be used afterwards. Views of its memory stay valid."""
        self._board = None
        self._program.close()

    def reset(self) -> None:
        """Reset the shell with every slot empty, as loading the whole bitstream does. Memory and time stay."""
        self._long.eddy_board_reset(self._board)

    # Registers.

    def read32(self, offset: int) -> int:
        """Read a register at a byte offset into the shell's window.

        Raises:
            BoardFault: The shell answered with a bus error, or not at all.
        """
        word: int = self._read(self._board, offset)
        if word >> 32:
            raise _access_error("read", offset, word >> 32)
        return word

    def write32(self, offset: int, value: int) -> None:
        """Write a register at a byte offset into the shell's window.

        Raises:
            BoardFault: The shell answered with a bus error, or not at all.
        """
        ended = self._write(self._board, offset, value & 0xFFFF_FFFF)
        if ended:
            raise _access_error("write", offset, ended)

    # Memory.

    @property
    def dram(self) -> npt.NDArray[np.uint8]:
        """Memory as the CPU sees it, from `dram_base` on; a view, not a copy."""
        return self._cache.cpu

    @property
    def device_dram(self) -> npt.NDArray[np.uint8]:
        """Memory as modules see it. The same array as `dram` on a coherent board."""
        return self._cache.device

    def flush(self, address: int, length: int) -> None:
        """Write the CPU's dirty cache lines of a range back to memory; nothing on a coherent board."""
        self._cache.flush(address, length)

    def invalidate(self, address: int, length: int) -> None:
        """Forget the CPU's cache lines of a range, so that it sees memory; nothing on a coherent board."""
        self._cache.invalidate(address, length)

    # Time.

    @property
    def now_fs(self) -> int:
        """Femtoseconds since the board started."""
        self._short.eddy_board_now(self._board, self._time)
        return self._time[0] | self._time[1] << 64

    @property
    def now_s(self) -> float:
        """Seconds since the board started."""
        return self.now_fs / FS_PER_S

    @property
    def shell_cycles(self) -> int:
        """Edges of the shell's clock since the board started."""
        cycles: int = self._short.eddy_board_shell_cycles(self._board)
        return cycles

    def slot_cycles(self, slot: int) -> int:
        """Edges of a slot's clock since the board started."""
        cycles: int = self._short.eddy_board_slot_cycles(self._board, self._program.slot(slot))
        return cycles

    @property
    def irq(self) -> bool:
        """Level of the interrupt line to the processor."""
        return bool(self._short.eddy_board_irq(self._board))

    def step_until(self, deadline_s: float, stop_on: StopReason = StopReason.NONE) -> StopReason:
        """Let time pass until a time, or until something happens.

        A rise of the interrupt line, or the end of a load, that nobody has been told of ends the call at once.

        Args:
            deadline_s: Board time to stop at; in the past: only tell what has happened.
            stop_on: What ends the call early.

        Returns:
            What happened (possibly several things), or `StopReason.DEADLINE`.
        """
        # Exactly, and upwards: were `now_s` below the deadline afterwards, whoever waits for it would wait for ever.
        return self.step_until_fs(math.ceil(Fraction(deadline_s) * FS_PER_S), stop_on)

    def step_until_fs(self, deadline_fs: int, stop_on: StopReason = StopReason.NONE) -> StopReason:
        """`step_until` in exact femtoseconds."""
        deadline_fs = max(deadline_fs, self.now_fs)
        low, high = deadline_fs & (2**64 - 1), deadline_fs >> 64
        return StopReason(self._long.eddy_board_run(self._board, low, high, int(stop_on)))

    # Configuration.

    def attach(self, sink: ImageSink) -> None:
        """Say who is asked what the engine's images are; without one, the port refuses them."""

        def asked(ended: int, words: Any, count: int, answer: Any) -> None:
            body = np.ctypeslib.as_array(words, (count,)).astype(">u4").tobytes()
            if ended:
                self._answer_end(sink.image_ends(body), answer.contents)
            else:
                self._answer_begin(sink.image_begins(body), answer.contents)

        self._sink = SinkCall(asked)
        self._short.eddy_board_set_sink(self._board, self._sink)

    def _answer_begin(self, found: ArrivingImage | None, answer: SinkAnswer) -> None:
        if found is None:
            return
        answer.slot = self._program.slot(found.slot)
        answer.outcome = found.fault.outcome
        answer.memory_fault = found.fault.memory_fault

    def _answer_end(self, found: ArrivedImage, answer: SinkAnswer) -> None:
        answer.outcome = found.fault.outcome
        if found.module is None:
            answer.outcome = answer.outcome or LoadFault(fails=True).outcome
            return
        module, options = self._brought(found.module, found.fault, found.identity)
        answer.path, answer.options = str(module).encode(), options.encode()
        answer.faults = found.fault.boundary

    def give_port(self, fabric: bool) -> None:
        """Say which port has the device: the fabric's (out of reset), or the processor's."""
        self._short.eddy_board_give_port(self._board, fabric)

    def start_config(
        self,
        slot: int,
        module: Path,
        payload_bytes: int,
        fault: LoadFault | None = None,
        identity: tuple[int, int] = (0, 1),
    ) -> None:
        """Begin to load a module into a slot; what the slot held is gone at once.

        The boundary carries noise until the last byte is in; then the module appears, reset.

        Args:
            slot: Which.
            module: Its shared object, from `eddy_sim.design.build`.
            payload_bytes: Length of the partial bitstream; with the port's rate it says how long this takes.
            fault: What goes wrong.
            identity: Build hash and kind of the image, shown by a rogue module that takes its place.

        Raises:
            Conflict: A load is under way.
            InvalidRequest: There is no such slot.
        """
        fault = fault or _NO_FAULT
        rate = Fraction(self.profile.configuration.bytes_per_s) / Fraction(fault.slowdown)
        duration_fs = -int(-Fraction(payload_bytes) * FS_PER_S // rate)
        module, options = self._brought(module, fault, identity)
        duration = (ctypes.c_uint64 * 2)(duration_fs & (2**64 - 1), duration_fs >> 64)
        refused = self._short.eddy_board_start_config(
            self._board,
            self._program.slot(slot),
            str(module).encode(),
            options.encode(),
            duration,
            fault.fails,
            fault.boundary,
        )
        if refused:
            raise Conflict("the configuration port is loading another image; wait for it to end", slot=slot)

    def _brought(self, module: Path, fault: LoadFault, identity: tuple[int, int]) -> tuple[Path, str]:
        """What a load puts into a slot in the end, and what it is told."""
        if fault.rogue is not None:
            return self._rogue(self._progress), f"{fault.rogue.value} {identity[0]:x} {identity[1]}"
        if fault.liar is not None:
            return build.build_liar(self._progress), f"{identity[0]:x} {identity[1]} {fault.liar.options()}"
        return module, ""

    @property
    def config_busy(self) -> bool:
        """Whether a load is under way."""
        return bool(self._short.eddy_board_config_busy(self._board))

    @property
    def load_error(self) -> str:
        """Why the last load brought no module although its bits arrived; "" where it did."""
        text: bytes = self._short.eddy_board_error(self._board)
        return text.decode(errors="replace")

    def loaded(self, slot: int) -> bool:
        """Whether there is a module in a slot."""
        return bool(self._short.eddy_board_loaded(self._board, self._program.slot(slot)))

    # Figures.

    def statistics(self) -> BoardStatistics:
        """How much the simulation had to do so far."""
        statistics = BoardStatistics()
        self._short.eddy_board_statistics(self._board, ctypes.byref(statistics))
        return statistics

    def slot_evaluated(self, slot: int) -> int:
        """Edges at which the module now in a slot was evaluated rather than skipped."""
        edges: int = self._short.eddy_board_slot_evaluated(self._board, self._program.slot(slot))
        return edges


def _access_error(what: str, offset: int, ended: int) -> BoardFault:
    how = "with a bus error" if ended == 1 else f"not at all, within {ACCESS_BOUND_CYCLES} shell cycles"
    cause = "bus-error" if ended == 1 else "no-answer"
    return BoardFault(f"the shell answered a {what} at offset {offset:#08x} {how}", cause=cause, offset=offset)
