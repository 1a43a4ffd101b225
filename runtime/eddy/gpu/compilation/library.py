# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The device library: start-up, work-groups, mathematics, soft float, printf. Built once for each kind of core."""

from __future__ import annotations

import functools
import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

from eddy.core.errors import EddyError
from eddy.gpu.compilation import toolchain
from eddy.gpu.compilation.prelude import everything
from eddy.gpu.programs.layout import c_header

SOURCES = (
    *("start.S", "fibers.S", "subgroups.S", "run.c", "print.c", "wide.c"),
    *("math_exp.c", "math_trig.c", "math_pi.c", "math_pow.c", "math_parts.c", "math_special.c", "convert.c"),
    *("softdouble.c", "double_exp.c", "double_trig.c", "double_parts.c", "double_special.c", "images.c"),
)
SOFT_SOURCES = ("softfloat.c",)
LINK_SCRIPT = "link.ld"
_TEXTS = (*SOURCES, *SOFT_SOURCES, "eddy_types.h", "eddy_math.h", "eddy_double.h", LINK_SCRIPT)
_CODE = (
    "compilation/calling_convention.py",
    "compilation/compiler.py",
    "compilation/contraction.py",
    "compilation/halves.py",
    "work_items/block_order.py",
    "work_items/fibers.py",
    "work_items/inner_loops.py",
    "programs/ir_function.py",
    "work_items/ir_pieces.py",
    "programs/ir_types.py",
    "work_items/item_loops.py",
    "work_items/item_pairs.py",
    "work_items/item_parameter.py",
    "work_items/item_region.py",
    "work_items/item_steps.py",
    "programs/item_tile.py",
    "work_items/live_variables.py",
    "programs/signature.py",
    "programs/walk_stub.py",
    "programs/layout.py",
    "work_items/local_placement.py",
    "work_items/loop_plan.py",
    "work_items/looped_kernel.py",
    "work_items/meetings.py",
    "work_items/rounds.py",
    "work_items/neighbour_strides.py",
    "compilation/section_placement.py",
    "compilation/printf_arguments.py",
    "programs/program.py",
    "work_items/region_loop.py",
    "programs/rv32.py",
    "compilation/stack.py",
    "compilation/stack_bound.py",
    "work_items/tile_module.py",
    "work_items/uniform.py",
)
"""What decides, beside the compiler, which programs there are and what is said of them."""


def default_cache() -> Path:
    """Where compiled programs are kept unless said otherwise: `$XDG_CACHE_HOME/eddy/kernels`."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "eddy" / "kernels"


@functools.lru_cache(maxsize=2)
def digest(fpu: bool) -> str:
    """Names everything but the source that shapes a program: compiler, flags, library."""
    flags = (
        toolchain.version(),
        toolchain.machine(fpu),
        toolchain.CODE,
        toolchain.OPENCL,
        toolchain.SINGLE,
        toolchain.DOUBLE,
        everything(),
    )
    named = hashlib.sha256(repr(flags).encode())
    for path in (*(toolchain.LIBRARY / name for name in _TEXTS), *(toolchain.LIBRARY.parent / name for name in _CODE)):
        named.update(path.read_bytes())
    return named.hexdigest()


def objects(fpu: bool, cache: Path) -> tuple[Path, ...]:
    """The library's object files, in the order they are linked; built where missing.

    Raises:
        EddyError: The compiler refused the library: a damaged installation.
    """
    folder = cache / f"library-{digest(fpu)[:24]}"
    names = [f"{name}.o" for name in (*SOURCES, *(() if fpu else SOFT_SOURCES))]
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix="building-") as work:
            for name in names:
                _build(name.removesuffix(".o"), fpu, Path(work) / name)
            Path(work).chmod(0o755)
            try:
                Path(work).rename(folder)
            except OSError:
                if not folder.is_dir():
                    raise
            Path(work).mkdir(exist_ok=True)
    return tuple(folder / name for name in names)


def _build(name: str, fpu: bool, out: Path) -> None:
    assembler = name.endswith(".S")
    language = ("-x", "assembler-with-cpp") if assembler else ("-x", "c", "-std=c17", "-fno-builtin", *toolchain.CODE)
    command = [toolchain.executable(), "clang", *toolchain.machine(fpu), *language, "-I", str(toolchain.LIBRARY)]
    text = c_header() + f'# 1 "{name}"\n' + (toolchain.LIBRARY / name).read_text(encoding="utf-8")
    result = subprocess.run(
        [*command, "-c", "-", "-o", str(out)], input=text.encode(), capture_output=True, check=False
    )
    if result.returncode:
        said = result.stderr.decode(errors="replace")[-2000:]
        raise EddyError(f"The device library does not compile; reinstall Eddy. {name}: {said}")
