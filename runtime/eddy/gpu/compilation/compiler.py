# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""OpenCL C to a program for GPU clusters: confined, cached by content, with the compiler's own words where it refuses.

A source passes four confined steps that see no file: clang's front end (kernels, arguments, errors), the same with the
stubs that unpack arguments, the code generator, and the assembler. A fifth, the linker, sees one folder of objects.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from eddy.core.errors import CompilationFailed, QuotaExceeded
from eddy.core.units import format_bytes
from eddy.gpu.compilation import library, sandbox, toolchain
from eddy.gpu.compilation.builtins import pastes
from eddy.gpu.compilation.calling_convention import RESERVED, with_standard_calls
from eddy.gpu.compilation.confine import NOBODY
from eddy.gpu.compilation.contraction import CONTRACT, with_fused_products
from eddy.gpu.compilation.prelude import complete
from eddy.gpu.compilation.printf_arguments import fit_printf_arguments
from eddy.gpu.compilation.program_cache import CACHE_BYTES, ProgramCache
from eddy.gpu.compilation.sandbox import Limits, ProcessEnd
from eddy.gpu.compilation.section_placement import place_kernels
from eddy.gpu.compilation.stack_bound import with_stacks
from eddy.gpu.programs.program import Program, local_bytes, symbols
from eddy.gpu.programs.signature import drop_saves, read_kernels, stubs
from eddy.gpu.work_items import inner_loops, item_pairs
from eddy.gpu.work_items.block_order import with_block_order
from eddy.gpu.work_items.fibers import saved_registers_by_kernel, switch_code, switch_words, with_barriers
from eddy.gpu.work_items.item_loops import has_register_pressure, with_item_loops
from eddy.gpu.work_items.item_pairs import with_item_pairs
from eddy.gpu.work_items.item_parameter import JOIN_STUB, LOOP_STUB, STUB, TILE_STUB, thread_item_id
from eddy.gpu.work_items.local_placement import local_variables, share_locals
from eddy.gpu.work_items.loop_plan import LoopPlan
from eddy.gpu.work_items.meetings import with_meetings
from eddy.gpu.work_items.tile_module import IN_TILES, defined_variables, is_crowded, tile_module, with_shared_variables
from eddy.host.files import translate_os_errors

_log = logging.getLogger(__name__)
MAX_SOURCE_BYTES = 8 << 20
"""Of a source with its headers in place, each as often as it is included."""
_LINKING = "eddy-link-"
_STALE_S = 3600.0
"""Wall seconds after which a folder of this name is nobody's."""
_DIAGNOSTIC = re.compile(r"^([\w.+/<> -]+):(?:(\d+):(\d+):)? ?(fatal error|error|warning|note): (.*)$", re.M)
_LOCAL_TOO_LARGE = re.compile(r"section \.local at 0x\w+ of size (0x\w+) exceeds available address space")
_OUT_OF_MEMORY = (b"LLVM ERROR: out of memory", b"std::bad_alloc")
"""What clang and lld say as they end by a signal because they were refused memory."""
_NEEDS_DOUBLE = re.compile(
    r"use of type '[^']*double\d*[^']*' requires cl_khr_fp64|(?:unknown type name|undeclared identifier) 'double\d+'"
)
"""How a source is refused that uses `double`, which only then is put before it."""
_ASKS_FOR_DOUBLE = re.compile(r"^[ \t]*#[ \t]*(?:el)?if[^\n]*\bcl_(?:khr|amd)_fp64\b", re.M)
"""Such a source may have nothing else (`#if defined(cl_khr_fp64)` around the whole of it), or end in an `#error`."""
_AMBIGUOUS = "' is ambiguous"
_MIXED = (
    "kernel.cl: note: the source uses double: where float and double meet in one call, or integers alone, no form of "
    "the function is nearer than another; cast the arguments to one type"
)
_PRINTS = re.compile(r"@(?:printf|eddy_printf64)\(")
_BROKEN = "frontend command failed with exit code"
_ACCOUNT = re.compile(r"^(===-|PLEASE |Stack dump|Program arguments)", re.M)
_PATH = re.compile(r"(?<![\w.])/(?:[^\s/()\[\]:'\"]+/)*([^\s/()\[\]:'\"]*)")
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,16}\b")
MOST_WORDS = 32 << 10
"""Characters of a refusal, and of warnings."""


class Compiler:
    """Compiles kernels, and remembers what it compiled.

    Args:
        cache: Folder of compiled programs; None for the user's cache.
        limits: What one step of one compilation may use.
        cache_bytes: What programs may take in the folder; the ones not used for longest leave first.
    """

    def __init__(self, cache: Path | None = None, limits: Limits | None = None, cache_bytes: int = CACHE_BYTES) -> None:
        self.cache = cache or library.default_cache()
        self.limits = limits or Limits()
        self._programs = ProgramCache(self.cache, cache_bytes)
        _sweep()

    @sandbox.shared_process()
    def compile(
        self,
        source: str,
        *,
        fpu: bool = True,
        defines: Mapping[str, object] | None = None,
        single_constants: bool = False,
        contract: bool = False,
        later: bool = False,
        owner: str = "",
    ) -> Program:
        """The program of a source.

        Args:
            source: OpenCL C; messages call it `kernel.cl`.
            fpu: For cores with an FPU; otherwise with soft float, which gives the same bits.
            defines: Macros.
            single_constants: Whether literals are `float` also where the source uses `double`.
            contract: Whether a product and a sum of one expression may be rounded once; they are then, on every
                cluster.
            later: Whether it is of OpenCL C 2.0 or 3.0, with generic pointers and atomic types; otherwise of 1.2.
            owner: For whom. What was compiled for others is not found: how long the answer takes would tell that
                somebody has this very source.

        Raises:
            CompilationFailed: The compiler refused it, and the message is the compiler's; or its stack has no bound, or
                needs more than `MAX_STACK_BYTES`.
            QuotaExceeded: It is too long, or compiling takes too much time, memory or output.
            SandboxUnavailable: The compiler cannot be confined here.
            CompilerMissing: It is not installed.
            Abandoned: Nobody waits for it any more (`eddy.gpu.compilation.abandon`).
            StorageFailed: There is no room to work in, or it cannot be written.
        """
        if len(source.encode()) > MAX_SOURCE_BYTES:
            message = f"The source has more than {format_bytes(MAX_SOURCE_BYTES)}."
            raise QuotaExceeded(message, limit=MAX_SOURCE_BYTES, asked=len(source.encode()))
        macros, more = defines or {}, (CONTRACT,) if contract else ()
        # With float literals, first without `cl_khr_fp64`, then with it where the source asks and is refused without.
        for given in (macros, {"cl_khr_fp64": 1, **macros}):
            try:
                single = (*toolchain.SINGLE, *more, *(toolchain.LATER if later else ()))
                return self._program(source, given, fpu, single, owner)
            except CompilationFailed as error:
                if _NEEDS_DOUBLE.search(error.message):
                    break
                if given is not macros or not _ASKS_FOR_DOUBLE.search(source):
                    raise
        flags = (*toolchain.DOUBLE, *((toolchain.SINGLE_CONSTANTS,) if single_constants else ()), *more)
        flags += toolchain.LATER_DOUBLE if later else ()
        try:
            return self._program(source, macros, fpu, flags, owner, doubles=True)
        except CompilationFailed as error:
            if _AMBIGUOUS not in error.message:
                raise
            entries = [*error.details["diagnostics"], *diagnostics(_MIXED)]
            raise CompilationFailed(f"{error.message}\n{_MIXED}", diagnostics=entries) from error

    def preprocessed(self, source: str, *, fpu: bool = True, defines: Mapping[str, object] | None = None) -> str:
        """What the preprocessor makes of a source and what is before every one, whatever is wrong with it.

        Of one that asks for `cl_khr_fp64` what it makes with it comes first, and then without.

        Raises:
            QuotaExceeded, SandboxUnavailable, CompilerMissing, Abandoned: As `compile`.
        """
        command = (toolchain.executable(), "clang", *toolchain.machine(fpu), *toolchain.OPENCL, *toolchain.SINGLE)
        macros = defines or {}
        made = []
        for given in ({"cl_khr_fp64": 1, **macros}, macros) if _ASKS_FOR_DOUBLE.search(source) else (macros,):
            ended = sandbox.run(
                (*command, "-w", "-E", "-P", "-"), complete(source, given, functions=False), limits=self.limits
            )
            with suppress(CompilationFailed):
                self._check(ended)
            made.append(ended.output.decode(errors="replace"))
        return "\n".join(made)

    def _program(
        self,
        source: str,
        macros: Mapping[str, object],
        fpu: bool,
        flags: tuple[str, ...],
        owner: str,
        doubles: bool = False,
    ) -> Program:
        """A program, compiled where it is not in the cache."""
        made_by, text = library.digest(fpu), complete(source, macros, doubles)
        digest = hashlib.sha256(made_by.encode() + repr(flags).encode() + text).hexdigest()
        kept = self._programs.find(digest, owner)
        if kept is None or kept.made_by != made_by:
            with translate_os_errors(self.cache):
                if pastes(source):
                    made = self._pasted(text, fpu, flags)
                    text = complete(source, macros, doubles, made=made)
                kept = self._compile(text, fpu, digest, flags)
            self._programs.keep(kept, owner)
        return kept

    def _pasted(self, text: bytes, fpu: bool, flags: tuple[str, ...]) -> str | None:
        """What the preprocessor makes of a text; None where it refuses it."""
        command = (toolchain.executable(), "clang", *toolchain.machine(fpu), *toolchain.OPENCL, *flags)
        ended = sandbox.run((*command, "-w", "-E", "-P", "-"), text, limits=self.limits)
        return None if ended.exit or ended.exceeded else ended.output.decode(errors="replace")

    def _compile(self, text: bytes, fpu: bool, digest: str, flags: tuple[str, ...]) -> Program:
        code = (toolchain.executable(), "clang", *toolchain.machine(fpu), *toolchain.CODE)
        asked = (*code, *toolchain.OPENCL, *flags, *toolchain.READ)
        said: list[bytes] = []
        ir = self._step(asked, text, said).decode(errors="replace")
        kernels = read_kernels(ir)
        if not kernels:
            message = "kernel.cl: error: the source has no kernel; mark the entry functions with `kernel`"
            raise CompilationFailed(message, diagnostics=[])
        whole = self._step((*asked, "-w"), text + stubs(kernels).encode(), said).decode(errors="replace")
        waiting = [name for name, kernel in kernels.items() if kernel.waits]
        meets = any(kernel.meets for kernel in kernels.values())
        plain = fit_printf_arguments(with_fused_products(with_meetings(whole) if meets else whole))
        separate = [name for name in waiting if not kernels[name].subgroups]
        looped = with_item_loops(plain, separate)
        along = [name for name, kernel in kernels.items() if kernel.iterates_items]
        paired = with_item_pairs(looped.ir, along, [name for name in along if not kernels[name].one_way])
        generated = self._generate(code, paired.ir, said)
        fold = [name for name in paired.folded if not item_pairs.has_register_pressure(generated, name)]
        join = [name for name in paired.joined if not item_pairs.has_register_pressure(generated, name, joined=True)]
        # Where neighbours of two rows are too many, those of one are not looked at.
        join = [
            name
            for name in join
            if (name in fold if name in paired.folded else not item_pairs.is_crowded_row(generated, name))
        ]
        if (fold, join) != (paired.folded, paired.joined):
            paired = with_item_pairs(looped.ir, fold, join)
            generated = self._generate(code, paired.ir, said)
        entries = [f"{STUB}{name}" for name in kernels] + [f"{LOOP_STUB}{name}" for name in looped.words]
        entries += [f"{JOIN_STUB}{name}" for name in paired.joined]
        if inner_loops.has_register_pressure(generated, entries):
            other = self._generate((*code, *inner_loops.ADDED_UP), paired.ir, said)
            generated = other if inner_loops.has_shorter_loops(generated, other, entries) else generated
        waiting = [name for name in waiting if name not in looped.words]
        ways, chosen = saved_registers_by_kernel(generated, [f"{STUB}{name}" for name in waiting])
        assembler = (
            *code[: 2 + len(toolchain.machine(fpu))],
            "-Qunused-arguments",
            "-x",
            "assembler",
            "-c",
            "-o",
            "-",
            "-",
        )
        early = any(kernel.early for kernel in kernels.values())
        assembly = with_barriers(drop_saves(with_block_order(generated)), early, meets)
        assembly += switch_code(ways or ((),), meets)
        objects = [assembly]
        variables = defined_variables(assembly, local_variables(plain))
        tiles, in_tiles = self._tiles(code, plain, looped.plans, variables, said)
        if tiles:
            objects = [with_shared_variables(assembly, variables), drop_saves(with_block_order(in_tiles))]
        elf = self._link([self._step(assembler, text.encode(), said) for text in objects], fpu, said)
        at = symbols(elf)
        known = {name: replace(kernel, stub=at[f"{STUB}{name}"]) for name, kernel in kernels.items()}
        for name, way in zip(waiting, chosen, strict=True):
            known[name] = replace(known[name], switch_words=switch_words(ways[way]), switch_way=way)
        for name, words in looped.words.items():
            stub = at[f"{LOOP_STUB}{name}"]
            known[name] = replace(known[name], loop_stub=stub, loop_words=words, early=False)
            known[name] = replace(known[name], local_each=name in looped.placed)
            known[name] = replace(known[name], loop_crowded=has_register_pressure(generated, name))
        for name, plan in tiles.items():
            tile = plan.tile.columns, plan.tile.rows
            known[name] = replace(known[name], tile_stub=at[f"{TILE_STUB}{name}"], tile=tile)
        for name in paired.folded:
            known[name] = replace(known[name], folds=True)
        for name in paired.joined:
            known[name] = replace(known[name], join_stub=at[f"{JOIN_STUB}{name}"])
        # Lines of functions are asked for where a refusal names them: they make the answer several times as long.
        known = with_stacks(known, elf, lambda: self._with_lines(asked, text))
        # A module that is generated several times is warned of as often.
        warnings = _bounded("\n".join(words for words in dict.fromkeys(map(_clean, said)) if words))
        prints, made_by = bool(_PRINTS.search(ir)), library.digest(fpu)
        return Program(digest, elf, fpu, known, local_bytes(elf), prints, warnings, made_by)

    def _tiles(
        self, code: tuple[str, ...], ir: str, plans: Mapping[str, LoopPlan], variables: Set[str], said: list[bytes]
    ) -> tuple[dict[str, LoopPlan], str]:
        """Those kernels that are done in tiles as well, and the assembly of that; the other object has `variables`."""
        made, assembly = {name: plan for name, plan in plans.items() if plan.in_tiles()}, ""
        while made:
            try:
                assembly = self._generate((*code, *IN_TILES), tile_module(ir, made, variables), said)
            except QuotaExceeded:
                return {}, ""  # without tiles it may be in time
            crowded = [name for name in made if is_crowded(assembly, name)]
            if not crowded:
                break
            made = {name: plan for name, plan in made.items() if name not in crowded}
        return made, assembly

    def _generate(self, code: tuple[str, ...], ir: str, said: list[bytes]) -> str:
        """The assembly of a module."""
        module, end = share_locals(thread_item_id(ir)).encode(), ("-x", "ir", "-S", "-o", "-", "-")
        try:
            return self._step((*code, "-w", *end), module, said).decode()
        except CompilationFailed as error:
            if RESERVED not in error.message:
                raise
        optimized = self._step((*code, "-w", "-emit-llvm", *end), module, said).decode()
        unchanged = ("-w", "-Xclang", "-disable-llvm-passes")
        return self._step((*code, *unchanged, *end), with_standard_calls(optimized).encode(), said).decode()

    def _with_lines(self, asked: tuple[str, ...], text: bytes) -> str:
        try:
            return self._step((*asked, "-gline-tables-only"), text, []).decode(errors="replace")
        except QuotaExceeded:
            return ""

    def _step(self, argv: tuple[str, ...], text: bytes, said: list[bytes]) -> bytes:
        """What a step leaves; what it said goes to the end of `said`."""
        ended = sandbox.run(argv, text, limits=self.limits)
        self._check(ended)
        said.append(ended.message)
        return ended.output

    def _link(self, kernels: Sequence[bytes], fpu: bool, said: list[bytes]) -> bytes:
        parts = library.objects(fpu, self.cache)
        with tempfile.TemporaryDirectory(prefix=f"{_LINKING}{os.getpid()}-") as made_in:
            folder = Path(made_in)
            if os.getuid() == 0:
                # The linker is nobody by then; where that cannot be, it stays root without rights.
                with suppress(OSError):
                    os.chown(folder, NOBODY, NOBODY)
            for part in parts:
                shutil.copyfile(part, folder / part.name)
            script = (toolchain.LIBRARY / library.LINK_SCRIPT).read_text(encoding="utf-8")
            start = parts[library.SOURCES.index("start.S")].read_bytes()
            (folder / library.LINK_SCRIPT).write_text(place_kernels(script, start, kernels[0]), encoding="utf-8")
            names = [f"kernel{number}.o" for number in range(len(kernels))]
            for name, kernel in zip(names, kernels, strict=True):
                (folder / name).write_bytes(kernel)
            argv: tuple[str, ...] = (
                toolchain.executable(),
                "ld.lld",
                "-T",
                library.LINK_SCRIPT,
                "--gc-sections",
                "--threads=1",
            )
            argv += ("--no-dependent-libraries", "-z", "max-page-size=64", "--build-id=none", "-o", "program.elf")
            # The library first: a program begins with its start, whatever a source puts beside it.
            argv += (*(part.name for part in parts), *names)
            ended = sandbox.run(argv, folder=folder.resolve(), limits=self.limits)
            self._check(ended)
            said.append(ended.message)
            made = os.open(folder / "program.elf", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            with os.fdopen(made, "rb") as linked:
                return linked.read(min(os.fstat(made).st_size, self.limits.output_bytes))

    def _check(self, ended: ProcessEnd) -> None:
        """Turn a step that failed into the error that says why, and nothing else."""
        if ended.exceeded == "output":
            raise QuotaExceeded("The compiled kernel is too large.", limit=self.limits.output_bytes)
        if ended.exceeded == "time":
            message = f"Compiling the kernel took more than {self.limits.cpu_s} s; it was stopped."
            raise QuotaExceeded(message, limit=self.limits.cpu_s)
        if ended.exit < 0 and any(words in ended.message for words in _OUT_OF_MEMORY):
            most = format_bytes(self.limits.memory_bytes)
            message = f"Compiling the kernel took more than {most} of memory; it was stopped."
            raise QuotaExceeded(message, limit=self.limits.memory_bytes)
        if ended.exit == 0:
            return
        message = _clean(ended.message)
        told = any(entry["severity"] in ("error", "fatal error") for entry in diagnostics(message))
        if _BROKEN in message or not told:
            how = f"by signal {-ended.exit}" if ended.exit < 0 else f"with exit code {ended.exit}"
            broken = f"kernel.cl: error: the compiler broke down on this source, and ended {how}"
            message = f"{broken}; it said:\n{message}" if message else f"{broken} without a word"
        raise CompilationFailed(_bounded(message), diagnostics=diagnostics(message))


def _bounded(message: str) -> str:
    """The beginning of a message that is too long."""
    return message if len(message) <= MOST_WORDS else f"{message[:MOST_WORDS]}\n... ({len(message)} characters in all)"


def _lives(folder: Path) -> bool:
    """Whether the process that made a folder of links is there; a clock that jumped does not make its folder old."""
    owner = re.match(rf"{_LINKING}(\d+)-", folder.name)
    if owner is None:
        return False
    try:
        os.kill(int(owner[1]), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _sweep() -> None:
    """Remove folders of links that nothing can be working in any more: their processes were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_LINKING}*"):
        with suppress(OSError):
            if not _lives(folder) and time.time() - folder.stat().st_mtime > _STALE_S:
                shutil.rmtree(folder, ignore_errors=True)


def _clean(message: bytes) -> str:
    """All that compiler and linker said but how often; without any path of this machine."""
    text = message.decode(errors="replace").replace("<stdin>", "kernel.cl")
    text = text.replace(toolchain.executable(), "clang").replace(str(toolchain.LIBRARY), "")
    text = re.sub(r"^\d+ (warning|error)s?( and \d+ (warning|error)s?)? generated\.\n?", "", text, flags=re.M)
    text = re.sub(
        r"^(?:(?:zig|ld\.lld|lld|clang): )?(error|fatal error|warning): ", r"kernel.cl: \1: ", text, flags=re.M
    )
    text = re.sub(r"^LLVM ERROR: ", "kernel.cl: fatal error: ", text, flags=re.M)
    text = _LOCAL_TOO_LARGE.sub(lambda found: f"the __local variables take {format_bytes(int(found[1], 16))}", text)
    # What follows a line of this kind is the compiler's account of itself: its file, and where it lies in memory.
    said, mark, account = _ACCOUNT.split(text, maxsplit=1) if _ACCOUNT.search(text) else (text, "", "")
    account = _ADDRESS.sub("0x?", _PATH.sub(r"\1", mark + account))
    return (said + account).strip()


def diagnostics(message: str) -> list[dict[str, object]]:
    """File, line, column, severity and text of each message; line and column from 1, 0 where there is none."""
    return [
        {"file": file, "line": int(line or 0), "column": int(column or 0), "severity": severity, "message": text}
        for file, line, column, severity, text in dict.fromkeys(_DIAGNOSTIC.findall(message))
    ]
