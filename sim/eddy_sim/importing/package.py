# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The files of an imported kernel: manifest, application, file list, the slot's top, copies of its sources, a bench."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from eddy.core.errors import InvalidRequest
from eddy.core.slots import MEMORY_BITS
from eddy.packages.applications import DTYPES
from eddy.packages.modules import WORD_BYTES

from eddy_sim.importing.arrays import KernelArray
from eddy_sim.importing.control import RunControl
from eddy_sim.importing.design import KernelDesign, synthesised_text
from eddy_sim.importing.interfaces import KernelPorts
from eddy_sim.importing.streams import KernelStream, cause_names
from eddy_sim.importing.trial import Touched, TrialRun
from eddy_sim.importing.vendor import FloatPart, float_text, is_watcher
from eddy_sim.importing.wrapper import STATUS_OFFSET, PlacedBundle, slot_top
from eddy_sim.tools.filelist import DATA_SUFFIXES, read_filelist, source_files
from eddy_sim.tools.products import HARDWARE

CLOCK_HZ = 100_000_000
MARGIN = 50
"""How often as long as its trial an item may take; memory is slower on a board, and data may be other."""
_TYPES = (
    (r"(unsigned char|uint8_t|u8|bool|ap_uint<8>)", "u1"),
    (r"(signed char|char|int8_t|ap_int<8>)", "i1"),
    (r"(unsigned short|uint16_t|ushort|half|ap_uint<16>)", "<u2"),
    (r"(short|int16_t|ap_int<16>)", "<i2"),
    (r"(unsigned int|unsigned|uint|uint32_t|ap_uint<32>)", "<u4"),
    (r"(int|int32_t|ap_int<32>)", "<i4"),
    (r"(unsigned long( long)?|uint64_t|size_t|ap_uint<64>)", "<u8"),
    (r"(long( long)?|int64_t|ap_int<64>)", "<i8"),
    (r"float", "<f4"),
    (r"double", "<f8"),
)
BENCH = Path(__file__).with_name("bench.py")
"""The bench of a kernel called skeleton."""
_ROLES = {"r": "input", "w": "output", "rw": "update"}
"""What a buffer is to the application, by what the kernel does there."""
_BY_WIDTH = {8: "u1", 16: "<u2", 32: "<u4", 64: "<u8"}


@dataclass(frozen=True)
class KernelArgument:
    """An argument of a kernel, as it stands in the slot's window.

    Attributes:
        name: As its register is called.
        offset: Of its first word.
        width: Its bits.
        output: Whether the kernel writes it.
        pointer: Whether it is an address; None where nothing says.
        type: Its type in C, or "".
        access: `r`, `w` or `rw` of an address.
        bytes: Size of its buffer, of an address.
        dtype: Element type of its buffer, as numpy names it.
        value: What a scalar was in the trial.
        align: Of what an address is a multiple, in bytes.
        element_bits: Of an array in registers, the bits that each element takes; else 0.
        fixed: Whether tenants cannot set the scalar: a buffer's size.
        timed: Whether what it leaves there measures time.
    """

    name: str
    offset: int
    width: int
    output: bool
    pointer: bool | None = None
    type: str = ""
    access: str = ""
    bytes: int = 0
    dtype: str = ""
    value: int = 0
    align: int = WORD_BYTES
    element_bits: int = 0
    fixed: bool = False
    timed: bool = False


@dataclass(frozen=True)
class ImportedKernel:
    """A kernel and what is known of it.

    Attributes:
        name: Of the module and the application.
        design: Its sources.
        ports: What its ports are.
        bundles: Its register bundles in the slot's window.
        control: `hs` or `chain`.
        arguments: In the order of their offsets.
        models: Models of the vendor's parts that it instantiates.
        notes: What was not understood, or is to be known.
        cycles: How long its trial took.
        floats: Floating-point operators of the vendor's that it instantiates.
        run: How it is run, where its own AP_CTRL is not what a slot sees.
        arrays: What lies behind its ports to memory blocks.
    """

    name: str
    design: KernelDesign
    ports: KernelPorts
    bundles: tuple[PlacedBundle, ...]
    control: str
    arguments: tuple[KernelArgument, ...]
    models: tuple[Path, ...]
    notes: list[str] = field(default_factory=list)
    cycles: int = 0
    floats: tuple[FloatPart, ...] = ()
    run: RunControl | None = None
    arrays: tuple[KernelArray, ...] = ()

    @property
    def streams(self) -> tuple[KernelStream, ...]:
        """Its AXI4-Stream ports."""
        return self.run.streams if self.run else ()

    def may_be_address(self, width: int) -> bool:
        """Whether an argument of so many bits can be an address on one of the memory ports."""
        return any(width >= min(memory.addr_width, 64) or width == 64 for memory in self.ports.memories)

    def report(self) -> dict[str, object]:
        """What was understood and what was not, for `--json`."""
        return {
            "module": self.name,
            "top": self.design.top,
            "control": self.control,
            "run": self.run.report() if self.run else None,
            "clocks": [port.name for port in self.ports.clocks],
            "resets": [port.name for port, _ in self.ports.resets],
            "memories": [
                {
                    "port": each.prefix,
                    "data_bits": each.data_width,
                    "address_bits": each.addr_width,
                    "id_bits": each.id_width,
                }
                for each in self.ports.memories
            ],
            "bundles": [
                {"port": each.interface.prefix, "offset": each.base, "bytes": each.bytes} for each in self.bundles
            ],
            "arrays": [
                {"port": each.interface.name, "elements": each.count, "bits": each.interface.width}
                for each in self.arrays
            ],
            "arguments": [_said(argument) for argument in self.arguments],
            "models": [*(path.stem for path in self.models), *(part.name for part in self.floats)],
            "cycles": self.cycles,
            "notes": self.notes,
        }


def _said(argument: KernelArgument) -> dict[str, object]:
    kind = "result" if argument.output else "pointer" if argument.pointer else "scalar"
    kind = "array" if argument.element_bits and kind == "scalar" else kind
    said: dict[str, object] = {"name": argument.name, "kind": kind, "offset": argument.offset, "bits": argument.width}
    if argument.pointer:
        said |= {"access": argument.access, "bytes": argument.bytes}
    elif kind == "scalar":
        said["value"] = argument.value
    return {**said, "dtype": argument.dtype}


def describe(
    kernel: ImportedKernel, pointers: Sequence[str], run: TrialRun, types: Mapping[str, str]
) -> ImportedKernel:
    """What a trial says of the arguments."""
    unknown = sorted(set(types) - {argument.name for argument in kernel.arguments})
    if unknown:
        names = [argument.name for argument in kernel.arguments]
        raise InvalidRequest(f"{kernel.design.top} has no argument {unknown[0]}", field="type", allowed=names)
    notes, arguments = list(kernel.notes), []
    for argument in kernel.arguments:
        bits = argument.element_bits or 8 * scalar_bytes(argument.width)
        dtype = types.get(argument.name) or dtype_of(argument.type, bits)
        if argument.name not in pointers:
            arguments.append(
                replace(argument, pointer=False, dtype=_whole(dtype, argument), value=run.values.get(argument.name, 0))
            )
            if kernel.may_be_address(64):
                notes += address_doubt(argument)
            continue
        touched = run.touched.get(argument.name, Touched())
        dtype = types.get(argument.name) or dtype_of(argument.type, _data_width(kernel, touched))
        access = "rw" if touched.read and touched.written else "w" if touched.written else "r"
        if dtype not in DTYPES:
            raise InvalidRequest(f"{dtype!r} is no element type", field="type", allowed=list(DTYPES))
        size = -(-max(touched.read, touched.written, 8) // 8) * 8
        align = max(_data_width(kernel, touched) // 8, WORD_BYTES)
        arguments.append(replace(argument, pointer=True, access=access, bytes=size, dtype=dtype, align=align))
        notes += _doubts(argument, touched)
    if run.astray is not None:
        notes.append(
            f"in its trial it asked for memory at {run.astray:#x}, which is no argument's: a slot refuses that"
        )
    if run.status:
        notes.append(f"in its trial the status read {run.status:#x}: an access that a slot refuses")
    notes += [
        f"{name} measures time: it is larger where memory is slower, and is not compared" for name in sorted(run.timed)
    ]
    arguments = [replace(argument, timed=argument.name in run.timed) for argument in arguments]
    described = tuple(_with_room(argument, kernel.streams, run) for argument in arguments)
    return replace(kernel, arguments=described, notes=notes, cycles=run.cycles)


def _with_room(argument: KernelArgument, streams: Sequence[KernelStream], run: TrialRun) -> KernelArgument:
    """A stream's buffer at the size of what it is given, or of what it may leave, which is then fixed."""
    for stream in streams:
        size = run.values[stream.bytes_name]
        if argument.name == stream.bytes_name:
            return replace(argument, value=size, fixed=stream.outward)
        if argument.name == stream.name:
            access = "w" if stream.outward else "r"
            return replace(argument, bytes=max(-(-size // 8) * 8, 8), access=access)
    return argument


def address_doubt(argument: KernelArgument) -> list[str]:
    """That a number of 64 bits may be an address, where no type says what it is: HLS gives addresses such registers."""
    if argument.output or argument.pointer is not None or argument.width != 64:
        return []
    return [
        f"{argument.name} is a number, for nothing was asked for there. If it is an address, say --set for others, so"
        " that a run gets to it"
    ]


def _doubts(argument: KernelArgument, touched: Touched) -> list[str]:
    if not touched.read and not touched.written:
        return [f"{argument.name} is an address by its type, and nothing was asked for there: taken to be read"]
    if touched.read and touched.written:
        return [f"{argument.name} is read and written: it is given, and handed back as the kernel left it"]
    return []


def _data_width(kernel: ImportedKernel, touched: Touched) -> int:
    widths = [kernel.ports.memories[port].data_width for port in touched.ports if port < len(kernel.ports.memories)]
    return widths[0] if widths else 0


def dtype_of(type_name: str, width: int) -> str:
    """The element type of an argument of that type in C; by its width, in bits, where that says nothing."""
    plain = re.sub(r"\b(const|volatile|struct)\b|[*&]|\[\d*\]", " ", type_name).strip()
    for pattern, dtype in _TYPES:
        if re.fullmatch(pattern, re.sub(r"\s+", " ", plain)):
            return dtype
    return _BY_WIDTH.get(width, "u1")


def scalar_bytes(width: int) -> int:
    """Bytes of the buffer that holds a scalar of so many bits."""
    size = -(-width // 8)
    return next((each for each in (1, 2, 4, 8) if size <= each), size)


def _whole(dtype: str, argument: KernelArgument) -> str:
    """An element type of which a whole number makes the scalar."""
    return dtype if scalar_bytes(argument.width) % int(dtype[-1]) == 0 else "u1"


# Files ----------------------------------------------------------------------------------------------------------------


def preliminary_texts(kernel: ImportedKernel, root: Path) -> dict[str, str | bytes]:
    """The files that a trial needs: every argument a scalar."""
    return {**_hardware(kernel, root), f"bitstreams/{kernel.name}/manifest.yaml": _manifest(kernel, tried=False)}


def package_texts(kernel: ImportedKernel, root: Path) -> dict[str, str | bytes]:
    """Every file, by its path under `root`."""
    name = kernel.name
    return {
        **_hardware(kernel, root),
        f"hw/ip/{name}/README.md": _readme(kernel),
        f"bitstreams/{name}/manifest.yaml": _manifest(kernel, tried=True),
        f"bitstreams/applications/{name}.yaml": _application(kernel),
        **{f"bitstreams/applications/{name}/{buffer}.bin": value for buffer, value in _constants(kernel).items()},
        f"sim/rtl/{name}/test_{name}.py": BENCH.read_text(encoding="utf-8").replace("skeleton", name),
    }


def _hardware(kernel: ImportedKernel, root: Path) -> dict[str, str | bytes]:
    name, design, block = kernel.name, kernel.design, f"hw/ip/{kernel.name}"
    files = [*design.headers, *design.data, *design.files]
    stubs = {part: _stub_ports(kernel, part) for part, _ in design.missing if is_watcher(part)}
    library = "kernel_stream" if kernel.run else "kernel_port"
    file_list = HARDWARE / "ip" / library / f"{library}.f"
    around = read_filelist(file_list)
    lines = [
        f"-f {os.path.relpath(file_list, root / block)}",
        *(os.path.relpath(path, root / block) for path in kernel.models if path not in set(source_files(around))),
        *(f"rtl/{part.name}.sv" for part in kernel.floats),
        *(f"rtl/{path.name}" for path in files),
        f"rtl/{name}_slot.sv",
    ]
    taken: dict[str, Path] = {}
    for path in files:
        if taken.setdefault(path.name, path) != path:
            raise InvalidRequest(f"{taken[path.name]} and {path} have one name; rename one", field="source")
    return {
        f"{block}/{name}.f": "\n".join(lines) + "\n",
        **{f"{block}/rtl/{path.name}": _copy(path) for path in files},
        **{f"{block}/rtl/{part.name}.sv": float_text(part, _stub_ports(kernel, part.name)) for part in kernel.floats},
        f"{block}/rtl/{name}_slot.sv": slot_top(
            name,
            " ".join([design.top, *_parameters(design.parameters)]),
            kernel.ports,
            kernel.bundles,
            stubs,
            kernel.run,
            kernel.arrays,
        ),
    }


def _parameters(given: Sequence[tuple[str, int]]) -> Iterator[str]:
    """How an instance says what its parameters are set to."""
    if given:
        yield "#(" + ", ".join(f".{name}({value})" for name, value in given) + ")"


def _copy(path: Path) -> str | bytes:
    """A file as it is, or as a synthesizer reads it where it is a source."""
    return path.read_bytes() if path.suffix in DATA_SUFFIXES else synthesised_text(path)


def _stub_ports(kernel: ImportedKernel, part: str) -> list[str]:
    """The ports by which sources connect a part."""
    pattern = re.compile(rf"\b{part}\s+(?:#\s*\(.*?\)\s*)?\w+\s*\((.*?)\)\s*;", re.DOTALL)
    found: dict[str, None] = {}
    for path in kernel.design.files:
        for instance in pattern.findall(path.read_text(encoding="utf-8", errors="replace")):
            found.update(dict.fromkeys(re.findall(r"\.(\w+)\s*\(", instance)))
    return list(found)


def _manifest(kernel: ImportedKernel, tried: bool) -> str:
    lines = [
        f"module: {kernel.name}",
        f'summary: "The kernel {kernel.design.top}, imported"',
        "kind: hls",
        f"top: {kernel.name}_slot",
        f"files: ../../hw/ip/{kernel.name}/{kernel.name}.f",
        'register_map: "1.0"',
        f"control: {kernel.control}",
        # What stands between a stream and memory has words of 64 bits.
        f"memory_bits: {MEMORY_BITS[0] if kernel.streams else MEMORY_BITS[-1]}",
        f"clk_hz: {CLOCK_HZ}",
        "registers:",
    ]
    for argument in kernel.arguments:
        kind = "result" if argument.output else "pointer" if argument.pointer and tried else "scalar"
        access = f", access: {argument.access}" if kind == "pointer" else ""
        access += f", align: {argument.align}" if kind == "pointer" and argument.align > WORD_BYTES else ""
        access += ", timed: true" if argument.timed else ""
        # A DMA of ours moves it, once and in order.
        is_stream = kind == "pointer" and any(stream.name == argument.name for stream in kernel.streams)
        access += ", streamed: true" if is_stream else ""
        place = f"offset: {argument.offset:#x}, width: {argument.width}"
        lines.append(f"  {argument.name}: {{{place}, kind: {kind}{access}}}")
    causes = ", ".join(cause_names(kernel.streams))
    status = f"offset: {STATUS_OFFSET:#x}, width: 32, kind: status, causes: [{causes}]"
    lines += [f"  wrapper_status: {{{status}}}", "scrub: load"]
    if tried:
        given = ", ".join(
            f"{each.name}: {each.bytes if each.pointer else each.value}" for each in kernel.arguments if not each.output
        )
        lines += ["# The run that the import measured buffers by.", f"example: {{{given}}}"]
    return "\n".join(lines) + "\n"


def _application(kernel: ImportedKernel) -> str:
    lines = [f"application: {kernel.name}", "max_batch: 30", "goal_slots: 1", "buffers:"]
    for argument in kernel.arguments:
        if argument.fixed:
            continue
        if argument.pointer:
            role, size = _ROLES[argument.access], argument.bytes
        else:
            given = "input" if argument.element_bits else "constant"
            role, size = "output" if argument.output else given, scalar_bytes(argument.width)
        shape = size // int(argument.dtype[-1])
        lines.append(f'  {argument.name}: {{role: {role}, dtype: "{argument.dtype}", shape: [{shape}]}}')
    item_us = kernel.cycles / CLOCK_HZ * 1e6
    # A run that is stuck says so before its time is over.
    stall_ms = 2 * kernel.run.stall_cycles / CLOCK_HZ * 1e3 if kernel.run else 0
    lines += [
        "tasks:",
        f"  - name: {kernel.name}",
        f"    module: {kernel.name}",
        "    arguments: {"
        + ", ".join(f"{each.name}: {each.value if each.fixed else each.name}" for each in kernel.arguments)
        + "}",
        f"    estimate_us: {max(item_us, 1.0):.1f}",
        f"    time_limit_ms: {max(MARGIN * item_us / 1e3, 20) + stall_ms:.0f}",
        "edges: []",
    ]
    return "\n".join(lines) + "\n"


def _constants(kernel: ImportedKernel) -> dict[str, bytes]:
    """The scalars' values, which a tenant may replace."""
    return {
        each.name: each.value.to_bytes(scalar_bytes(each.width), "little")
        for each in kernel.arguments
        if not each.pointer and not each.output and not each.fixed and not each.element_bits
    }


def _readme(kernel: ImportedKernel) -> str:
    rows = [
        f"| `{each.name}` | {'result' if each.output else 'buffer, ' + each.access if each.pointer else 'scalar'} |"
        f" {each.width} bits at {each.offset:#x} | {each.bytes or ''} |"
        for each in kernel.arguments
    ]
    return (
        "\n".join(
            [
                f"# {kernel.name}",
                "",
                f"`hw/ip/{kernel.name}`. The kernel `{kernel.design.top}`, imported: its sources are copies, and",
                f"`rtl/{kernel.name}_slot.sv` is written by `eddy module import`.",
                "",
                "| argument | is | register | bytes in the trial |",
                "|---|---|---|---|",
                *rows,
                "",
                *(f"- {note}" for note in kernel.notes),
            ]
        )
        + "\n"
    )
