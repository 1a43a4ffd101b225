# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A module as checks of its outputs see it: a build of its own, stepped one clock cycle at a time.

Unlike the build that goes into the simulated board, whatever the source gives no initial value may begin with a random
one: a register or memory holds what the fabric held before. Nothing is assumed of how the module is written: both
halves of a clock cycle are evaluated.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from eddy_sim.design import build, shims
from eddy_sim.design.boundary import Signal
from eddy_sim.design.model_unit import write_unit
from eddy_sim.design.shims import SLOT_DOWN_FIELDS, SLOT_UP_FIELDS
from eddy_sim.tools.cxx import compile_shared, verilated_headers
from eddy_sim.tools.filelist import source_files
from eddy_sim.tools.products import Progress, ignore_progress, product
from eddy_sim.tools.reaching import refuse_calls_out, refuse_reaching
from eddy_sim.tools.toolchain import VERILATOR_FLAGS, BuildFailed, verilate

SHIM, SHIM_PARTS = "modcheck_shim.cpp", ("modcheck_port.hpp",)
FLAGS = (*VERILATOR_FLAGS, "--x-initial", "unique")
GROWS = re.compile(r"VlNBACommitQueue|VlQueue|VlAssocArray|std::(string|vector|deque)")
"""Members of a Verilated model that own memory elsewhere: a copy of the model's bytes does not hold their contents."""

_CTYPES = {f"uint{bits}_t": getattr(ctypes, f"c_uint{bits}") for bits in (8, 16, 32, 64)}


def _fields(signals: Sequence[Signal]) -> list[tuple[str, type]]:
    return [(s.name, _CTYPES[s.c_type]) for s in sorted(signals, key=lambda signal: -int(signal.c_type[4:-2]))]


class Down(ctypes.Structure):
    """What enters a module; as the C structure `SlotDown`."""

    _fields_ = _fields(SLOT_DOWN_FIELDS)


class Up(ctypes.Structure):
    """What leaves a module; as the C structure `SlotUp`."""

    _fields_ = _fields(SLOT_UP_FIELDS)


UP_RECORD: Any = np.dtype(Up)
"""A cycle's outputs in a trace."""


def build_checked(manifest: Path, progress: Progress = ignore_progress) -> tuple[Path, int]:
    """A module for checks as a shared object, built where missing, and the build hash it has on a board.

    Args:
        manifest: Path of its manifest.
        progress: Told what is being built.

    Raises:
        InvalidRequest: Its sources reach the machine that the model would run on.
        BuildFailed: A tool refused its input; the message holds what it said.
    """
    rtl = build._module_rtl(manifest)
    build_hash = rtl.build_hash()
    around = build._shim_texts(SHIM, *SHIM_PARTS, build.RUNTIME, *build.RUNTIME_PARTS)
    key = build._key("checked", f"{build_hash:016x}", repr(FLAGS), shims.module_copies(), *around)

    def make(work: Path) -> None:
        generated = work / "verilated"
        parameters = (*rtl.parameters, f"BuildHash=64'h{build_hash:016x}")
        refuse_reaching(rtl.files)
        verilate(rtl.top, build.PREFIX, rtl.files, parameters, generated, FLAGS)
        refuse_calls_out(generated, rtl.top)
        build._write_headers(work, shims.module_copies())
        headers = "".join(file.read_text(encoding="utf-8") for file in generated.glob("*.h"))
        unit = work / "unit.cpp"
        write_unit(unit, generated, build.CPP / SHIM, rtl.files)
        grows = bool(GROWS.search(headers))
        read = verilated_headers("-O1", progress)
        flags = ("-O1", *read, f"-I{work}", f"-I{generated}", f"-I{build.CPP}", f"-DEDDY_COPIES={int(not grows)}")
        runtime = build.verilator_runtime(progress)
        compile_shared([unit], work / "out", *flags, objects=[runtime], progress=progress)

    return product(f"checked_{rtl.top}-{key}.so", make, progress), build_hash


def sources(manifest: Path) -> tuple[Path, ...]:
    """The sources a module is made of."""
    return tuple(source_files(build._module_rtl(manifest).files))


class Model:
    """The code of a module, of which any number of instances can be made."""

    def __init__(self, program: Path) -> None:
        library = ctypes.CDLL(str(program))
        library.check_create.restype = ctypes.c_void_p
        library.check_create.argtypes = [ctypes.c_uint32]
        library.check_destroy.argtypes = [ctypes.c_void_p]
        library.check_state_bytes.restype = ctypes.c_size_t
        library.check_state_bytes.argtypes = [ctypes.c_void_p]
        library.check_steps.argtypes = [ctypes.c_void_p, ctypes.c_int]
        library.check_problem.restype = ctypes.c_char_p
        for name in ("check_down", "check_up"):
            getattr(library, name).restype = ctypes.c_void_p
            getattr(library, name).argtypes = [ctypes.c_void_p]
        for name in ("check_save", "check_restore"):
            getattr(library, name).argtypes = [ctypes.c_void_p, ctypes.c_void_p]
            getattr(library, name).restype = None
        _declare_port(library)
        self.library: Any = library
        self.copies = bool(library.check_copies())
        """Whether an instance's state can be kept and set back."""


def _declare_port(library: Any) -> None:
    """Say what the functions of `eddy_sim.modcheck.port` take."""
    pointer, whole, long = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64
    library.port_create.restype = pointer
    library.port_recorded.restype = ctypes.c_size_t
    for name, arguments in {
        "create": (pointer, pointer, long, whole),
        "destroy": (pointer,),
        "forget": (pointer,),
        "new_memory": (pointer,),
        "pause": (pointer, long, long),
        "fail": (pointer, long),
        "record": (pointer,),
        "drop_records": (pointer,),
        "recorded": (pointer, pointer),
        "pass": (pointer, long, whole),
        "write": (pointer, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint32),
        "begin_write": (pointer, ctypes.c_uint32),
        "read": (pointer, ctypes.c_uint32, pointer),
        "read_range": (pointer, ctypes.c_uint32, ctypes.c_uint32),
    }.items():
        getattr(library, f"port_{name}").argtypes = arguments


class ModuleInstance:
    """One instance.

    Args:
        model: Its code.
        seed: Of the random values it begins with; 0 for zeros.

    Raises:
        BuildFailed: It does not begin, or stops later; the message says why.
    """

    def __init__(self, model: Model, seed: int = 0) -> None:
        self.model = model
        self.handle = ctypes.c_void_p(model.library.check_create(seed))
        if not self.handle:
            raise self.stopped("does not begin")
        self.down = Down.from_address(model.library.check_down(self.handle))
        self.up = Up.from_address(model.library.check_up(self.handle))

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            self.model.library.check_destroy(self.handle)

    def step(self, cycles: int = 1) -> None:
        """Clock cycles: `down` as it is before each rising edge, `up` as it is after the last."""
        if self.model.library.check_steps(self.handle, cycles) < 0:
            raise self.stopped()

    def stopped(self, what: str = "stopped") -> BuildFailed:
        """Why it does not go on."""
        return BuildFailed(f"the module's model {what}: {self.model.library.check_problem().decode(errors='replace')}")

    def save(self) -> Callable[[], None]:
        """Keep the state; answers what sets it back, any number of times."""
        kept = ctypes.create_string_buffer(self.model.library.check_state_bytes(self.handle))
        self.model.library.check_save(self.handle, kept)
        down, up = bytes(self.down), bytes(self.up)

        def restore() -> None:
            self.model.library.check_restore(self.handle, kept)
            ctypes.memmove(ctypes.addressof(self.down), down, len(down))
            ctypes.memmove(ctypes.addressof(self.up), up, len(up))

        return restore


@dataclass(frozen=True, eq=False)
class OutputTrace:
    """Every output of a module in every cycle of some work.

    Attributes:
        cycles: One record a cycle, payloads zero where their channel is not VALID, or a byte has no strobe: nobody
            sees them.
        marks: (cycle, what the work began there), in order.
    """

    cycles: npt.NDArray[Any]
    marks: tuple[tuple[int, str], ...]


_LANES = np.array([sum(0xFF << 8 * k for k in range(8) if strobes >> k & 1) for strobes in range(256)], "u8")
"""The bits of a beat that its strobes let memory see."""
_CHANNELS = {"s_axil_b": "s_axil_bvalid", "s_axil_r": "s_axil_rvalid"} | {
    f"m_axi_{channel}": f"m_axi_{channel}valid" for channel in ("aw", "ar", "w")
}


def payload_valid(name: str) -> str:
    """The VALID that says when a signal means something, or "" where it always does."""
    for prefix, valid in _CHANNELS.items():
        if name.startswith(prefix) and name not in (valid, f"{prefix}ready"):
            return valid
    return ""


def trace_of(records: npt.NDArray[Any], marks: Sequence[tuple[int, str]]) -> OutputTrace:
    """A trace of recorded outputs."""
    cycles: npt.NDArray[Any] = records.copy()
    for name in UP_RECORD.names or ():
        valid = payload_valid(name)
        if valid:
            cycles[name][cycles[valid] == 0] = 0
    cycles["m_axi_wdata"] &= _LANES[cycles["m_axi_wstrb"]]
    return OutputTrace(cycles, tuple(marks))
