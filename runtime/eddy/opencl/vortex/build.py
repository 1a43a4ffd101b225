# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Images for Vortex hosts: kernels in C, C++ and assembly, compiled and linked with our start-up, as `.vxbin` files.

They are compiled on the user's machine, as any program is. The file is two numbers of 64 bits, the first address and
one past the last, what is to be zero included, and the bytes from the first address on.
"""

from __future__ import annotations

import struct
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from eddy.core.errors import InvalidRequest
from eddy.gpu.compilation import toolchain
from eddy.gpu.compilation.library import default_cache, objects
from eddy.gpu.programs.layout import REGION_BASE

STARTUP_ADDRESS = REGION_BASE + (256 << 10)
"""Where images begin: behind the room for programs of a session."""
DEVICE = Path(__file__).parent / "device"
RUNTIME = ("start.S", "spawn.c", "print.c", "math.c")
LIBRARY = ("wide.c.o", "softdouble.c.o", "math_", "softfloat.c.o", "double_", "convert.c.o")
"""Beginnings of the names of the device library's objects that images may use."""
_CODE = (
    *("-O3", "-fno-sanitize=all", "-fno-pic", "-fno-pie", "-ftls-model=local-exec", "-w"),
    *("-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics", "-fno-stack-protector"),
    *("-fno-unwind-tables", "-fno-asynchronous-unwind-tables", "-ffunction-sections", "-fdata-sections"),
    *("-fno-math-errno", "-fno-builtin-strlen", "-ffp-contract=off", "-msmall-data-limit=0"),
    *("-mno-relax", "-mcmodel=medany", "-fno-jump-tables", "-mllvm", "-disable-block-placement"),
)
_LANGUAGES = {".c": "cc", ".S": "cc", ".s": "cc", ".cc": "c++", ".cpp": "c++", ".cxx": "c++"}


def build_image(sources: Sequence[Path], options: Sequence[str] = (), fpu: bool = True) -> bytes:
    """A `.vxbin` file of some sources, one of which has `main`.

    Args:
        sources: C, C++ or assembly, by their names' endings.
        options: For the compiler, such as `-I` and `-D`.
        fpu: Whether the cores have a floating-point unit.

    Raises:
        InvalidRequest: A source is of no known kind, or the compiler or linker refused it; has what they said.
        CompilerMissing: The compiler is not installed.
    """
    with tempfile.TemporaryDirectory(prefix="eddy-image-") as work:
        made = [
            _compile(Path(work), place, source, options if place < len(sources) else (), fpu)
            for place, source in enumerate([*sources, *(DEVICE / name for name in RUNTIME)])
        ]
        library = [path for path in objects(fpu, default_cache()) if path.name.startswith(LIBRARY)]
        linked = Path(work) / "image"
        script = ("-T", DEVICE / "link.ld")
        link: list[str | Path] = ["ld.lld", *script, f"--defsym=STARTUP_ADDR={STARTUP_ADDRESS:#x}", "--gc-sections"]
        _run([*link, "-o", linked, *made, "--start-lib", *library, "--end-lib"], "The image does not link")
        return pack_image(linked.read_bytes())


def _compile(work: Path, place: int, source: Path, options: Sequence[str], fpu: bool) -> Path:
    if source.suffix not in _LANGUAGES:
        raise InvalidRequest(f"{source} is none of {', '.join(_LANGUAGES)}", field="source", allowed=list(_LANGUAGES))
    out = work / f"{place}.o"
    features = "generic_rv32+m+a+zicsr+zacas" + ("+f" if fpu else "")
    # The headers of the C and C++ libraries that come with the compiler; of these libraries nothing is linked.
    target = ("-target", "riscv32-linux-musl", f"-mcpu={features}", f"-mabi={'ilp32f' if fpu else 'ilp32'}")
    language = ("-std=gnu++17",) if _LANGUAGES[source.suffix] == "c++" else ()
    command: list[str | Path] = [_LANGUAGES[source.suffix], *target, *_CODE, *language, "-I", DEVICE, *options]
    _run([*command, "-c", source.absolute(), "-o", out], f"{source} does not compile")
    return out


def _run(arguments: Sequence[str | Path], what: str) -> None:
    command = [toolchain.executable(), *map(str, arguments)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise InvalidRequest(f"{what}:\n{done.stderr.strip()[-4000:]}", field="source")


def pack_image(linked: bytes) -> bytes:
    """A `.vxbin` file of a linked program (ELF, 32 bits)."""
    (offset,), (size, count) = struct.unpack_from("<I", linked, 28), struct.unpack_from("<2H", linked, 42)
    first, last, image = 1 << 32, 0, bytearray()
    for place in range(count):
        kind, at, address, _, filled, whole = struct.unpack_from("<6I", linked, offset + place * size)
        if kind != 1 or not whole:
            continue
        first, last = min(first, address), max(last, address + whole)
        begin = address - first
        image[len(image) :] = bytes(max(0, begin - len(image)))
        image[begin : begin + filled] = linked[at : at + filled]
    return struct.pack("<2Q", first, last) + bytes(image)
