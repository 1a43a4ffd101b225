# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds of the simulated board: the shell, the modules and the board's own program, each a shared object.

Every product is named by the hash of what it was made of: sources, parameters, flags and the versions of the tools. It
is built once, in a folder of its own, and moved into place in one step, so that builders in several processes never see
half a file; a lock file per product keeps them from doing the same work twice.

The *build hash* of a module (and of the shell) is the first 64 bits of the hash over its RTL, the data files that it
reads, and the tools that translate it. It is set as the parameter `BuildHash` and read back from the identity block.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from eddy.board.port.profile import Profile
from eddy.core.errors import NotFound
from eddy.packages.fields import load_yaml
from eddy.packages.manifests import load_module_manifest

from eddy_sim.design import shims, wide_top
from eddy_sim.design.model_trial import check_instantiates
from eddy_sim.design.model_unit import CPP as CPP
from eddy_sim.design.model_unit import write_unit
from eddy_sim.tools import products
from eddy_sim.tools.cxx import compile_objects, compile_shared, key, verilated_headers
from eddy_sim.tools.filelist import data_files, language_arguments, read_filelist
from eddy_sim.tools.products import Progress, build_folder, ignore_progress, product
from eddy_sim.tools.reaching import refuse_calls_out
from eddy_sim.tools.toolchain import (
    VERILATOR_FLAGS,
    verilate,
    versions,
)

ROOT = products.ROOT
GENERATED = tuple(ROOT / "hw" / "regs" / "generated" / name for name in ("eddy_window.h", "eddy_memory_counters.h"))
"""The shell's address map, and that of what the board's program itself answers, for C++."""
SHELL_COUNTERS = r"u_shell.*__DOT__cycles?_q$"
"""Names of the shell's 64-bit variables that only count its clock."""
PREFIX = "Vmodel"
_RESTING = ("slot_path", "ctrl_xbar")
"""Modules of the shell that may come to rest: kept apart, so that their state can be told from the rest."""

_CONTROL = "`verilator_config\n" + "".join(f'no_inline -module "{name}"\n' for name in _RESTING)
FAST = "-O3"
OPTIMISATION = FAST
"""How modules are compiled. Without optimising one is built sooner, and simulates several times slower."""
RUNTIME, RUNTIME_PARTS = "model_host.cpp", ("model_files.h", "model_files.hpp")
"""Verilator's runtime library as models have it."""
_MODULE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_FILE_CALL = re.compile(r"\bVL_(READMEM|FOPEN|WRITEMEM)")
REGISTERS = ("lite_port.hpp", "hls_registers.hpp", "module_abi.hpp")
"""What the modules written in C++ share; not among the headers of every model, which need not be built again for it."""


@dataclass(frozen=True, slots=True)
class _Rtl:
    """What a Verilated model is made of."""

    top: str
    files: tuple[Path, ...]
    parameters: tuple[str, ...]
    counters: str = ""
    resting: tuple[str, ...] = ()
    memory_bits: int = 64

    @property
    def defines(self) -> tuple[str, ...]:
        """What Verilator is told of the width of ports to memory; nothing of the one that sources state."""
        return () if self.memory_bits == 64 else (f"-DEDDY_MEMORY_BITS={self.memory_bits}",)

    def build_hash(self) -> int:
        """First 64 bits of the hash over the sources and the translator."""
        flags = (*VERILATOR_FLAGS, *language_arguments(self.files), *self.defines)
        digest = hashlib.sha256(repr((self.top, self.parameters, flags, versions())).encode())
        for file in self.files:
            digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
        return int.from_bytes(digest.digest()[:8], "big")


@dataclass(frozen=True, slots=True)
class ShellShape:
    """What a shell is built for.

    Attributes:
        slots: How many slots.
        cache_bytes: Size of the shared cache; 0 for none.
        memory_requests: Requests that may be with memory in each direction.
        memory_beats: Beats that may be, when a further request goes.
        engine: Whether it has a configuration engine.
        streams: Whether it has streams between slots.
        memory_bits: Bits of the slots' ports to memory, and of its own.
    """

    slots: int
    cache_bytes: int = 0
    memory_requests: int = 8
    memory_beats: int = 32
    engine: bool = False
    streams: bool = False
    memory_bits: int = 64

    @classmethod
    def of(cls, profile: Profile) -> ShellShape:
        """The shell of a board."""
        return cls(
            len(profile.slots),
            profile.cache_bytes,
            profile.memory_requests,
            profile.memory_beats,
            profile.configuration.by_engine,
            profile.streams,
            profile.memory_bits,
        )


def build_shell(shape: ShellShape, progress: Progress = ignore_progress) -> Path:
    """A shell as a shared object, built where missing.

    Args:
        shape: What it is built for.
        progress: Told what is being built.

    Raises:
        BuildFailed: A tool refused its input; the message holds what it said.
    """
    num_slots = shape.slots
    rtl = _shell_rtl(shape)
    with_hash = _takes_build_hash(rtl)
    around = _shim_texts("shell_shim.cpp", RUNTIME, *RUNTIME_PARTS)
    wrapper = shims.wrapper_source(with_hash)
    key = _key("shell", f"{rtl.build_hash():016x}", wrapper, _CONTROL, shims.shell_copies(), *around)

    def make(work: Path) -> None:
        source = work / f"{shims.WRAPPER_TOP}.sv"
        source.write_text(wrapper, encoding="utf-8")
        control = work / "control.vlt"
        control.write_text(_CONTROL, encoding="utf-8")
        parameters = (*rtl.parameters, f"BuildHash=64'h{rtl.build_hash():016x}")
        resting = (*(f"gen_slot__BRA__{k}__KET____DOT__u_path" for k in range(num_slots)), "u_ctrl_xbar")
        files = (control, *rtl.files, source)
        whole = _Rtl(shims.WRAPPER_TOP, files, parameters, SHELL_COUNTERS, resting, shape.memory_bits)
        _compile_model(whole, "shell_shim.cpp", shims.shell_copies(), work, progress, f"-DEDDY_NUM_SLOTS={num_slots}")

    return product(f"shell{num_slots}-{key}.so", make, progress)


def shell_build_hash(shape: ShellShape) -> int:
    """The 64-bit build hash that the shell's registers show."""
    return _shell_rtl(shape).build_hash()


def _shell_rtl(shape: ShellShape) -> _Rtl:
    files = read_filelist(ROOT / "hw" / "top" / "shell" / "shell.f")
    parameters = {
        "NumSlots": shape.slots,
        "CacheBytes": shape.cache_bytes,
        "MemRequests": shape.memory_requests,
        "MemBeats": shape.memory_beats,
        "Engine": int(shape.engine),
        "Streams": int(shape.streams),
    }
    stated = tuple(f"{name}={value}" for name, value in parameters.items())
    return _Rtl("shell", tuple(files), stated, memory_bits=shape.memory_bits)


def _takes_build_hash(rtl: _Rtl) -> bool:
    top = next(file for file in rtl.files if file.name == "shell.sv")
    return re.search(r"parameter[^;]*\bBuildHash\b", top.read_text(encoding="utf-8")) is not None


def manifest_path(module: str) -> Path:
    """The manifest of a module of this source tree, or of one of the sets in folders of their own.

    Raises:
        NotFound: There is no such module; says which there are.
    """
    folder = ROOT / "bitstreams"
    if not _MODULE_NAME.fullmatch(module):  # it may come from inside a bitstream
        raise NotFound(f"no module is called {module!r:.80}", field="module")
    path = folder / module / "manifest.yaml"
    if not path.is_file():
        path = next(iter(sorted(folder.glob(f"*/{module}/manifest.yaml"))), path)
    if not path.is_file():
        known = sorted(entry.parent.name for entry in folder.glob("*/manifest.yaml"))
        raise NotFound(f"no module {module!r}; there are: {', '.join(known)}", field="module", allowed=known)
    return path


def module_build_hash(module: str | Path) -> int:
    """The 64-bit build hash of a module, without building it."""
    return _module_rtl(module).build_hash()


def build_module(module: str | Path, progress: Progress = ignore_progress, memory_bits: int = 64) -> tuple[Path, int]:
    """A reconfigurable module as a shared object, built where missing, and its build hash.

    Its sources are what it is, whatever the slot: the hash is the same for all widths of ports.

    Args:
        module: A module's name, or the path of its manifest.
        progress: Told what is being built.
        memory_bits: Bits of the slot's port to memory. Where its RTL is for 64 alone, `slot_widen` stands between.

    Raises:
        NotFound: There is no such module.
        BuildFailed: A tool refused its input; the message holds what it said.
    """
    return _build_module(_module_rtl(module), progress, _fitted(module, memory_bits))


def module_is_built(module: str | Path, memory_bits: int = 64) -> bool:
    """Whether a module's model for a port to memory of so many bits is there already.

    Raises:
        NotFound: There is no such module.
    """
    return (build_folder() / _module_product(_module_rtl(module), _fitted(module, memory_bits))).is_file()


def build_rtl_module(
    top: str, files: Sequence[Path], parameters: Sequence[str] = (), progress: Progress = ignore_progress
) -> tuple[Path, int]:
    """Like `build_module`, for a module that has no manifest: a top and its files in order."""
    return _build_module(_Rtl(top, tuple(files), tuple(parameters)), progress, _Fitted())


def _module_rtl(module: str | Path) -> _Rtl:
    path = module if isinstance(module, Path) else manifest_path(module)
    manifest = load_yaml(path.read_text(encoding="utf-8"))
    parameters = tuple(f"{name}={value}" for name, value in manifest.get("parameters", {}).items())
    return _Rtl(str(manifest["top"]), tuple(read_filelist(path.parent / manifest["files"])), parameters)


@dataclass(frozen=True, slots=True)
class _Fitted:
    """How a module is fitted to a slot's port to memory: built for it, or with `slot_widen` around it."""

    memory_bits: int = 64
    widened: bool = False


def _fitted(module: str | Path, memory_bits: int) -> _Fitted:
    path = module if isinstance(module, Path) else manifest_path(module)
    return _Fitted(memory_bits) if memory_bits <= load_module_manifest(path).memory_bits else _Fitted(widened=True)


def _widened(rtl: _Rtl, work: Path) -> _Rtl:
    """A module with `slot_widen` around it."""
    source = work / f"{wide_top.wide_top_name(rtl.top)}.sv"
    source.write_text(wide_top.wide_top(rtl.top, rtl.parameters), encoding="utf-8")
    files = dict.fromkeys((*rtl.files, *read_filelist(wide_top.FILES), source))
    return _Rtl(source.stem, tuple(files), ())


def _build_module(rtl: _Rtl, progress: Progress, fitted: _Fitted) -> tuple[Path, int]:
    build_hash = rtl.build_hash()

    def make(work: Path) -> None:
        whole = _widened(rtl, work) if fitted.widened else replace(rtl, memory_bits=fitted.memory_bits)
        whole = replace(whole, parameters=(*whole.parameters, f"BuildHash=64'h{build_hash:016x}"))
        _compile_model(whole, "module_shim.cpp", shims.module_copies(), work, progress, optimisation=OPTIMISATION)
        if data_files(rtl.files) or _uses_files(work / "verilated"):
            check_instantiates(work / "out", f"the model of {rtl.top}")

    return product(_module_product(rtl, fitted), make, progress), build_hash


def _uses_files(generated: Path) -> bool:
    """Whether a model opens files."""
    return any(_FILE_CALL.search(file.read_text(encoding="utf-8")) for file in generated.glob("*.cpp"))


def _module_product(rtl: _Rtl, fitted: _Fitted) -> str:
    """Name of the file a module's model is in."""
    other: tuple[str, ...] = () if OPTIMISATION == FAST else (OPTIMISATION,)
    if fitted.widened:
        texts = (path.read_text(encoding="utf-8") for path in read_filelist(wide_top.FILES))
        other += (wide_top.wide_top(rtl.top, rtl.parameters), *texts)
    elif fitted.memory_bits != 64:
        other += (str(fitted.memory_bits),)
    around = _shim_texts("module_shim.cpp", RUNTIME, *RUNTIME_PARTS)
    parts = _key("module", f"{rtl.build_hash():016x}", shims.module_copies(), *around, *other)
    return f"{rtl.top}-{parts}.so"


def build_board(progress: Progress = ignore_progress) -> Path:
    """The board's own program: clocks, memory, configuration port, CPU port."""
    return _build_plain(
        "board", ("board_api.cpp", "board.cpp", "dram.cpp", "dram_probe.cpp", "clock_wizard.cpp"), progress
    )


def build_rogue(progress: Progress = ignore_progress) -> Path:
    """The module that misbehaves in whichever way its options say (`eddy_sim.boards.faults`)."""
    return _build_plain("rogue", ("rogue.cpp",), progress, (*REGISTERS, "traffic.hpp"))


def build_liar(progress: Progress = ignore_progress) -> Path:
    """The module that lies about being done (`eddy_sim.boards.faults.Liar`)."""
    return _build_plain("liar", ("liar.cpp",), progress, (*REGISTERS, "cluster_registers.hpp"))


def build_channel(progress: Progress = ignore_progress) -> Path:
    """The module that sends to its neighbours, or listens to them (tests/channels)."""
    return _build_plain("channel", ("channel.cpp",), progress, (*REGISTERS, "traffic.hpp"))


def _build_plain(name: str, sources: tuple[str, ...], progress: Progress, included: tuple[str, ...] = ()) -> Path:
    maps = {path.name: path.read_text(encoding="utf-8") for path in GENERATED}
    key = _key(name, shims.boundary_header(), *maps.values(), *_shim_texts(*sources, *included))

    def make(work: Path) -> None:
        _write_headers(work)
        for each, text in maps.items():
            (work / each).write_text(text, encoding="utf-8")
        files = [CPP / source for source in sources]
        compile_shared(files, work / "out", f"-I{work}", f"-I{CPP}", progress=progress)

    return product(f"{name}-{key}.so", make, progress)


def _shim_texts(*sources: str) -> Iterator[str]:
    for path in (*(CPP / source for source in sources), *sorted(CPP.glob("*.h"))):
        yield path.read_text(encoding="utf-8")


def _key(*parts: str) -> str:
    return key(*parts, shims.boundary_header())


def _write_headers(work: Path, copies: str = "") -> None:
    (work / "eddy_boundary.h").write_text(shims.boundary_header(), encoding="utf-8")
    (work / "eddy_copies.h").write_text('#pragma once\n#include "eddy_boundary.h"\n' + copies, encoding="utf-8")


def _compile_model(
    rtl: _Rtl, shim: str, copies: str, work: Path, progress: Progress, *flags: str, optimisation: str = FAST
) -> None:
    """Verilate, and compile all of the output with its shim as one unit (so that calls can be inlined)."""
    runtime = verilator_runtime(progress)
    generated = work / "verilated"
    verilate(rtl.top, PREFIX, rtl.files, rtl.parameters, generated, more=rtl.defines)
    refuse_calls_out(generated, rtl.top)
    _write_headers(work, copies)
    root_header = (generated / f"{PREFIX}___024root.h").read_text(encoding="utf-8")
    normaliser = "#pragma once\n#include <cstddef>\n" + shims.normaliser(root_header, rtl.counters)
    if rtl.resting:
        symbols = (generated / f"{PREFIX}__Syms.h").read_text(encoding="utf-8")
        shims.check_edges(root_header, (file.read_text(encoding="utf-8") for file in generated.glob("*.cpp")))
        normaliser += shims.instances(symbols, rtl.resting)
    (work / "eddy_normalise.h").write_text(normaliser, encoding="utf-8")
    unit = work / "unit.cpp"
    write_unit(unit, generated, CPP / shim, rtl.files)
    includes = (f"-I{work}", f"-I{generated}", f"-I{CPP}", optimisation, *verilated_headers(optimisation, progress))
    compile_shared([unit], work / "out", *includes, *flags, objects=[runtime], progress=progress)


def verilator_runtime(progress: Progress) -> Path:
    """Verilator's runtime library as one object, shared by every model."""

    def make(work: Path) -> None:
        compile_objects([CPP / RUNTIME], work, f"-I{CPP}")[0].replace(work / "out")

    texts = ((CPP / name).read_text(encoding="utf-8") for name in (RUNTIME, *RUNTIME_PARTS))
    return product(f"runtime-{_key('runtime', *texts)}.o", make, progress)
