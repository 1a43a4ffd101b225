# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A kernel that others wrote, as a module and an application of ours: what was understood, or why it is refused."""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from eddy.core.errors import InvalidRequest

from eddy_sim.importing.arrays import KernelArray, array_arguments, find_arrays
from eddy_sim.importing.control import (
    MOST_SCALAR_WORDS,
    RunChoices,
    RunControl,
    needs_run,
    plan_run,
    with_registers,
)
from eddy_sim.importing.design import KernelDesign, read_design
from eddy_sim.importing.interfaces import AxiInterface, KernelPorts, group_ports
from eddy_sim.importing.package import ImportedKernel, KernelArgument, describe, preliminary_texts
from eddy_sim.importing.registers import ArgumentType, RegisterBundle, read_bundles, read_types
from eddy_sim.importing.sources import KernelSources, find_sources
from eddy_sim.importing.streams import (
    ROOM_BYTES,
    KernelStream,
    StreamsStuck,
    find_stream_run,
    name_streams,
    sideband_notes,
    stream_refusals,
    watched,
)
from eddy_sim.importing.trial import CYCLES, LONGEST_CYCLES, KernelTrial, find_pointers, find_run
from eddy_sim.importing.vendor import FP_MODEL, FloatPart, is_watcher, models_for, read_float_part
from eddy_sim.importing.wrapper import STATUS_OFFSET, PlacedBundle
from eddy_sim.tools.filelist import read_filelist, source_files
from eddy_sim.tools.products import HARDWARE, Progress, ignore_progress
from eddy_sim.tools.toolchain import BuildFailed

MOST_MEMORIES = 16
PATIENT_STALL_CYCLES = 1 << 22
"""Cycles without a move after which a run with streams counts as stuck where it did after fewer."""
_MODULE_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
MOST_BUFFERS = 16
"""Windows of the firewall in front of a slot."""
AROUND = HARDWARE / "ip" / "kernel_stream" / "kernel_stream.f"
"""The blocks around every kernel."""


@dataclass(frozen=True)
class KernelChoices:
    """What whoever imports a kernel says of it.

    Attributes:
        name: Of the module; the kernel's own in small letters where it is "".
        top: The kernel's top; found where it is "".
        values: Of scalars, for the run that buffers are measured by and for the application.
        types: Element types of buffers, as numpy names them.
        start: What starts it, where it is not by AP_CTRL or `ap_start`: `PORT`, `OFFSET.BIT`, `REGISTER.BIT`.
        done: What says that it is done, likewise.
        ends: What ends a stream from it: `tlast` or `length`.
        packets: Of a stream to it, bytes after which TLAST comes each time.
        ties: What inputs are tied to.
        registers: Registers that no source tells of, as `OFFSET`, `OFFSET:BITS` or with `:out` behind.
        elements: How many a memory block's array has, where no file says it.
        parameters: What parameters of the top are set to, instead of their defaults.
        stall_cycles: Cycles without a move after which a run counts as stuck; 0 for what is usual.
        cycles: How long the trial waits for a run where no scalar makes it shorter.
    """

    name: str = ""
    top: str = ""
    values: Mapping[str, int] | None = None
    types: Mapping[str, str] | None = None
    start: str = ""
    done: str = ""
    ends: Mapping[str, str] | None = None
    packets: Mapping[str, int] | None = None
    ties: Mapping[str, str] | None = None
    registers: Mapping[str, str] | None = None
    elements: Mapping[str, int] | None = None
    parameters: Mapping[str, int] | None = None
    stall_cycles: int = 0
    cycles: int = LONGEST_CYCLES


_LACKS = re.compile(r"it reads \"([^\"]*)\", which is no data file")
"""How a model says that a data file of the kernel's is not there."""


def import_kernel(given: Path, choices: KernelChoices, progress: Progress = ignore_progress) -> ImportedKernel:
    """Read a kernel, put it into a slot's top, try it, and give all files of it.

    Args:
        given: A folder that a tool exported, or one of sources, or a source.
        choices: What is said of it.
        progress: Told what is being done.

    Raises:
        NotFound: There is no such folder.
        InvalidRequest: It cannot run in a slot; says why and what to do.
        BuildFailed: It does not compile.
    """
    progress("reading the sources")
    sources, design, models, floats = _read(given, choices)
    ports = group_ports(design.ports)
    texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in (*design.files, *_headers(sources))}
    prefixes = [control.prefix for control in ports.controls]
    bundles = with_registers(read_bundles(design.top, prefixes, texts), ports.controls, choices.registers or {})
    run = _planned(ports, bundles, choices)
    arrays, wrong = find_arrays(ports.blocks, design.top, sources.about, choices.elements or {})
    reasons = [*_refusals(ports, bundles, run), *wrong, *_name_clashes(design)]
    if reasons:
        raise InvalidRequest(
            f"{design.top} cannot run in a slot: " + "; ".join(reasons),
            field="source",
        )
    name = _module_name(choices.name, design.top)
    poked = run.start.bundle if run and run.pokes and run.start else ""
    placed, arrays = _place(ports.controls, bundles, arrays, run.bundles_from if run else 0, poked)
    types = read_types(sources.about, design.top)
    arguments = (*_arguments(placed, bundles, types), *_array_arguments(arrays, types))
    if run:
        scalars = (
            KernelArgument(*each[:4], pointer=False if each[4] else None, element_bits=each[4], type=each[5])
            for each in run.scalar_registers()
        )
        arguments = (*scalars, *arguments)
        arguments = (*(each for stream in run.streams for each in _stream_arguments(stream)), *arguments)
    control = "chain" if not run and any(each.chain for each in bundles.values()) else "hs"
    notes = _unread(sources, design, ports, run)
    kernel = ImportedKernel(name, design, ports, placed, control, arguments, models, notes, 0, floats, run, arrays)
    try:
        return _patiently_tried(kernel, choices, progress)
    except BuildFailed as failed:
        lacks = _LACKS.search(failed.message)
        if lacks is None:
            raise
        raise InvalidRequest(
            f"{design.top} reads {lacks[1]}, which {sources.folder} does not hold: add it. In a project of Vivado, data"
            " files lie beside a block's instance (ip/NAME) or in mem_init_files: name the project's folder, with --top"
            f" {design.top}",
            field="source",
        ) from failed


def _patiently_tried(kernel: ImportedKernel, choices: KernelChoices, progress: Progress) -> ImportedKernel:
    """Try a kernel, and again where nothing moved at its streams: it may say neither which bytes count nor when it
    ends, or compute for longer before it sends. The former is believed of what leaves as little in a longer time."""
    run, patient = kernel.run, None
    if run and kernel.streams and not choices.stall_cycles and run.stall_cycles < PATIENT_STALL_CYCLES:
        patient = replace(kernel, run=replace(run, stall_cycles=PATIENT_STALL_CYCLES))
    try:
        found = _tried(kernel, choices, progress)
        untold = {*_lengths_by_stall(found, choices)}
        if patient is None or not untold or _says_as_little(patient, found, set(), untold, choices, progress):
            return found
    except StreamsStuck as stuck:
        added = (run.ties or {}).keys() - (choices.ties or {}).keys() if run else set()
        if any(_keep(each) in added for each in stuck.silent):
            raise  # no beat came whose TKEEP was zero
        amended = None if stuck.undone else _amended(kernel, stuck, choices)
        patient = patient if stuck.waits else None
        if amended:
            progress(f"it may be that {amended.notes[-1]}")
        if amended and patient:
            silent, endless = ({each.name for each in streams} for streams in (stuck.silent, stuck.endless))
            with contextlib.suppress(InvalidRequest):
                found = _patiently_tried(amended, choices, progress)
                if _says_as_little(patient, found, silent, endless, choices, progress):
                    return found
        elif amended:
            return _patiently_tried(amended, choices, progress)
        if patient is None:
            raise
    progress(f"it may be slow; trying it with {PATIENT_STALL_CYCLES} cycles without a move")
    return _patiently_tried(patient, choices, progress)


def _lengths_by_stall(found: ImportedKernel, choices: KernelChoices) -> Iterator[str]:
    """Streams without TLAST, or of which it is passed over, that were taken to have ended when nothing moved."""
    sizes = {each.name: each.value for each in found.arguments}
    sent = sum(sizes[each.bytes_name] for each in found.streams if not each.outward)
    for each in found.streams:
        own = each.outward and ("tlast" not in each.interface.ports or each.name in (choices.ends or {}))
        said = each.bytes_name in (choices.values or {})
        # What fills its room ended by that.
        if own and each.ends == "length" and not said and sizes[each.bytes_name] < max(ROOM_BYTES, 4 * sent):
            yield each.name


def _says_as_little(
    patient: ImportedKernel,
    found: ImportedKernel,
    silent: set[str],
    endless: set[str],
    choices: KernelChoices,
    progress: Progress,
) -> bool:
    """Whether a kernel, in the run that was found of it, leaves no more in a longer time: no byte of streams that were
    silent, and as much of those that were endless and that their length ends now."""
    sizes = {each.name: each.value for each in found.arguments if not each.pointer and not each.output}
    lengths = {each.name: sizes[each.bytes_name] for each in found.streams if each.outward and each.ends == "length"}
    rooms = {each.bytes_name: max(ROOM_BYTES, 4 * sizes[each.bytes_name]) for each in found.streams if each.outward}
    known = {each.name: each.pointer for each in found.arguments}
    same = replace(patient, arguments=tuple(replace(each, pointer=known[each.name]) for each in patient.arguments))
    progress(f"looking whether it is only slow: the same with {PATIENT_STALL_CYCLES} cycles without a move")
    try:
        _tried(same, replace(choices, values={**sizes, **rooms, **(choices.values or {})}), progress)
    except StreamsStuck as late:
        again = {each.name: late.lengths[each.name] for each in late.endless}
        return silent <= {each.name for each in late.silent} and all(
            again.get(name) == lengths[name] for name in endless & lengths.keys()
        )
    return False


def _keep(stream: KernelStream) -> str:
    """What a stream's TKEEP is called; "" where it has none."""
    port = stream.interface.ports.get("tkeep")
    return port.name if port else ""


def _amended(kernel: ImportedKernel, stuck: StreamsStuck, choices: KernelChoices) -> ImportedKernel | None:
    """A kernel that is stuck with its streams, without what it may leave at zero: TKEEP of what no byte came from, then
    TLAST of what did not end. None where there is no such thing, or where somebody said what ends it."""
    run = kernel.run
    assert run is not None
    ties, notes = dict(run.ties or {}), []
    for name in (name for name in map(_keep, stuck.silent) if name and name not in ties):
        ties[name] = "all"
        notes.append(f"{name} stayed zero in its trial: every byte of every beat counts (--tie {name}=all)")
    if notes:
        return replace(kernel, run=replace(run, ties=ties), notes=[*kernel.notes, *notes])
    lasting = {
        stream.name for stream in stuck.endless if stream.ends == "tlast" and stream.name not in (choices.ends or {})
    }
    notes = [
        f"{name} sent no TLAST in its trial: its length ends it (--ends {name}=length)" for name in sorted(lasting)
    ]
    streams = tuple(replace(each, ends="length") if each.name in lasting else each for each in run.streams)
    amended = replace(kernel, run=replace(run, streams=streams), notes=[*kernel.notes, *notes])
    return amended if lasting else None


def _module_name(said: str, top: str) -> str:
    """What the module is called, which names folders and files too.

    Raises:
        InvalidRequest: It cannot be called so.
    """
    name = said or top.lower().strip("_")
    if not _MODULE_NAME.fullmatch(name):
        allowed = "a small letter, then up to 63 small letters, digits and _"
        raise InvalidRequest(f"{name!r:.80} is no module's name: say --name, {allowed}", field="name", allowed=allowed)
    return name


def _planned(ports: KernelPorts, bundles: Mapping[str, RegisterBundle], choices: KernelChoices) -> RunControl | None:
    """How it is run, where that is not by its own AP_CTRL and interrupt."""
    if not needs_run(ports, bundles, choices.start or choices.done):
        return None
    taken = {each.name for bundle in bundles.values() for each in bundle.registers}
    streams = name_streams(ports.streams, choices.ends or {}, choices.packets or {}, taken)
    said = RunChoices(choices.start, choices.done, choices.stall_cycles, choices.ties or {})
    return plan_run(ports, bundles, streams, said)


def _stream_arguments(stream: KernelStream) -> Iterator[KernelArgument]:
    for name, offset, width, output in stream.registers():
        pointer = name == stream.name
        kind = f"ap_uint<{8 * stream.beat_bytes}>" if pointer else "uint32_t"
        yield KernelArgument(name, offset, width, output, None if output else pointer, kind)


def _headers(sources: KernelSources) -> list[Path]:
    return [path for path in sources.about if path.suffix == ".h"]


def _read(
    given: Path, choices: KernelChoices
) -> tuple[KernelSources, KernelDesign, tuple[Path, ...], tuple[FloatPart, ...]]:
    """The sources and the design; of a solution whose export is not whole, of what it was made from."""
    sources = find_sources(given, choices.top)
    try:
        return sources, *_with_models(sources, choices.top or None, choices.parameters or {})
    except _Absent as absent:
        others = find_sources(given, choices.top, absent.names)
        if others.folder == sources.folder:
            raise
        return others, *_with_models(others, choices.top or None, choices.parameters or {})


class _Absent(InvalidRequest):
    """Modules that no source holds and no model stands for; says which."""

    def __init__(self, message: str, names: Sequence[str]) -> None:
        super().__init__(message, field="source")
        self.names = names


def _with_models(
    sources: KernelSources, top: str | None, parameters: Mapping[str, int]
) -> tuple[KernelDesign, tuple[Path, ...], tuple[FloatPart, ...]]:
    """The design, with models of the vendor's parts where it has such."""
    design = read_design(sources, top, parameters)
    scripts = {path.stem.removesuffix("_ip"): path for path in sources.scripts}
    floats, absent = [], []
    for name, _ in design.missing:
        script = scripts.get(name.removesuffix("_ip"))
        part = read_float_part(name, script.read_text(encoding="utf-8") if script else "")
        if part:
            floats.append(part)
        elif not is_watcher(name):
            absent.append(name)
    models, unknown = models_for(absent)
    models += (FP_MODEL,) if floats else ()
    if unknown:
        made = [path.name for stem, path in scripts.items() if stem in "".join(unknown)]
        how = f" (IP that {made[0]} makes)" if made else ""
        raise _Absent(
            f"{design.top} instantiates {', '.join(unknown)}{how}, of which {sources.folder} holds no Verilog and Eddy"
            " has no model: add its source to the folder, or write the kernel without it",
            unknown,
        )
    return design, models, tuple(floats)


def _refusals(ports: KernelPorts, bundles: Mapping[str, RegisterBundle], run: RunControl | None) -> list[str]:
    """Why a kernel cannot run in a slot, each with a way out."""
    found = list(stream_refusals(ports.streams))
    if not ports.clocks:
        found.append("no input is a clock by its name (ap_clk, aclk, clk); rename it")
    for port in ports.inputs:
        if not run:
            found.append(
                f"nothing tells what the input {port.name} ({port.width} bits) is; make it an s_axilite argument"
            )
    if run and run.scalar_words > MOST_SCALAR_WORDS:
        found.append(f"its inputs without an interface have more than {32 * MOST_SCALAR_WORDS} bits; --tie some")
    found += _register_refusals(ports, bundles, run)
    registers = [each for bundle in bundles.values() for each in bundle.registers]
    results = any(each.output or each.updated for each in registers) or bool(run and run.results)
    leaves = any(stream.manager for stream in ports.streams) or any(block.writes for block in ports.blocks)
    if not ports.memories and not results and not leaves:
        found.append("it has neither a memory port nor a result in registers: no job could tell what it does")
    for memory in ports.memories:
        if memory.data_width not in (8, 16, 32, 64, 128, 256, 512, 1024) or not 12 <= memory.addr_width <= 64:
            found.append(f"{memory.prefix} has {memory.data_width} bits of data and {memory.addr_width} of address")
    if len(ports.memories) + len(ports.streams) > MOST_MEMORIES:
        what = f"{len(ports.memories)} memory ports" + (f" and {len(ports.streams)} streams" if ports.streams else "")
        found.append(f"it has {what}, more than {MOST_MEMORIES}: bundle them")
    return found


def _register_refusals(
    ports: KernelPorts, bundles: Mapping[str, RegisterBundle], run: RunControl | None
) -> Iterator[str]:
    """The same of its registers, and of how it is started."""
    starts = [prefix for prefix, bundle in bundles.items() if bundle.start]
    if not ports.controls and not run:
        yield "it has no AXI4-Lite subordinate port; give its return an s_axilite interface"
    for control in ports.controls:
        if control.data_width != 32 or control.bursts:
            yield f"{control.prefix} is no AXI4-Lite port of 32 bits"
        elif control.prefix not in bundles:
            yield (
                f"no comment says which registers {control.prefix} has: add the driver's *_hw.h to the folder, or say"
                " --register NAME=OFFSET for each"
            )
    if bundles and len(starts) != 1 and not run:
        what = "no register bundle has ap_start" if not starts else f"{' and '.join(starts)} have ap_start"
        yield f"{what} at 0x00; a kernel of ap_ctrl_hs or ap_ctrl_chain has one; of another, say --start and --done"


def _name_clashes(design: KernelDesign) -> list[str]:
    """Blocks of the kernel that have the name of one that stands around it."""
    own = {path.stem for path in source_files(read_filelist(AROUND))}
    return [f"its block {name} has the name of one of Eddy's; rename it" for name in design.blocks if name in own]


def _place(
    controls: Sequence[AxiInterface],
    bundles: Mapping[str, RegisterBundle],
    arrays: Sequence[KernelArray],
    base: int,
    poked: str = "",
) -> tuple[tuple[PlacedBundle, ...], tuple[KernelArray, ...]]:
    """Give each bundle a part of the window from `base` on, the one with AP_CTRL the first, and then each array.

    Arrays lie in a bundle where their length allows, with gaps between them. Where that takes more than there is, what
    lies between gaps is a part of its own; not of the one that is `poked`, which has its kernel's own addresses.
    """
    placed = []
    room = STATUS_OFFSET - base - sum(-(-array.bytes // 256) * 256 for array in arrays)
    whole = sum(-(-_bundle_bytes(control, bundles[control.prefix]) // 256) * 256 for control in controls)
    for control in sorted(controls, key=lambda each: not bundles[each.prefix].start):
        parts = [(0, _bundle_bytes(control, bundles[control.prefix]))]
        if whole > room and control.prefix != poked:
            parts = [*_held(bundles[control.prefix])]
        for offset, size in parts:
            placed.append(PlacedBundle(control, base, size, offset))
            base += -(-size // 256) * 256
    laid = []
    for array in arrays:
        laid.append(replace(array, base=base))
        base += -(-array.bytes // 256) * 256
    if base > STATUS_OFFSET:
        raise InvalidRequest(
            f"the kernel's registers, and its arrays behind ports to memory blocks, take {base:#x} bytes; a slot's"
            f" window has {STATUS_OFFSET:#x}: give the larger arrays an m_axi interface",
            field="source",
        )
    return tuple(placed), tuple(laid)


def _bundle_bytes(control: AxiInterface, bundle: RegisterBundle) -> int:
    """How much of the window a bundle takes."""
    ends = [register.offset + 4 * -(-register.width // 32) + 4 for register in bundle.registers]
    return min(-(-max([0x10, *ends]) // 16) * 16, 1 << control.addr_width)


def _held(bundle: RegisterBundle) -> Iterator[tuple[int, int]]:
    """Where there is something in a bundle: offsets, and how many bytes from there on; the first with AP_CTRL."""
    start, end = 0, 0x10
    for register in sorted(bundle.registers, key=lambda each: each.offset):
        if register.offset - end >= 256:
            yield start, -(-(end - start) // 16) * 16
            start = register.offset
        end = max(end, register.offset + 4 * -(-register.width // 32) + (0 if register.element_bits else 4))
    yield start, -(-(end - start) // 16) * 16


def _array_arguments(arrays: Sequence[KernelArray], types: Mapping[str, ArgumentType]) -> Iterator[KernelArgument]:
    for array in arrays:
        bits, name = array.element_bits, array.interface.name
        known = types.get(name) or types.get(name.removesuffix("_r"))
        for own, output in array.registers():
            kind = known.type if known else ""
            yield KernelArgument(own, array.base, array.count * bits, output, False, kind, element_bits=bits)


def _arguments(
    placed: Sequence[PlacedBundle], bundles: Mapping[str, RegisterBundle], types: Mapping[str, ArgumentType]
) -> tuple[KernelArgument, ...]:
    """Every argument, at its place in the window."""
    found = []
    for each in placed:
        for register in bundles[each.interface.prefix].registers:
            if not 0 <= register.offset - each.offset < each.bytes:
                continue
            known = next(
                (types[name] for name in (register.name, register.name.removesuffix("_r")) if name in types), None
            )
            argument = KernelArgument(
                register.name,
                each.base + register.offset - each.offset,
                register.width,
                register.output,
                False if register.element_bits else None if known is None or register.output else known.pointer,
                known.type if known else "",
                element_bits=register.element_bits,
            )
            found.append(argument)
            if register.updated:
                found += [
                    replace(argument, name=name, output=True)
                    for name, output in array_arguments(register.name, True, True)
                    if output
                ]
    return tuple(sorted(found, key=lambda argument: argument.offset))


def _unread(sources: KernelSources, design: KernelDesign, ports: KernelPorts, run: RunControl | None) -> list[str]:
    """What is there of a kernel and is not used."""
    taken, ties = (run.taken, run.ties or {}) if run else (set(), {})
    notes = [f"output {port.name} ({port.width} bits) goes nowhere" for port in ports.outputs if port.name not in taken]
    notes += sideband_notes(ports.streams, ties)
    notes += run.notes() if run else []
    if design.unread:
        names = ", ".join(path.name for path in design.unread)
        notes.append(f"{names}: passed over; they cannot be read, and the kernel does not need them")
    if len(ports.clocks) > 1:
        notes.append(f"{', '.join(port.name for port in ports.clocks)} are all the slot's clock")
    if sources.vhdl:
        notes.append(f"{len(sources.vhdl)} VHDL files are passed over")
    return notes


def _tried(kernel: ImportedKernel, choices: KernelChoices, progress: Progress) -> ImportedKernel:
    """Find out what the arguments are, by running the kernel."""
    values = dict(choices.values or {})
    inputs = [argument for argument in kernel.arguments if not argument.output]
    unknown = sorted(set(values) - {argument.name for argument in inputs})
    if unknown:
        raise InvalidRequest(
            f"{kernel.design.top} has no scalar {unknown[0]}", field="set", allowed=[each.name for each in inputs]
        )
    with tempfile.TemporaryDirectory(prefix="import-") as folder:
        for path, content in preliminary_texts(kernel, Path(folder)).items():
            target = Path(folder) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content if isinstance(content, bytes) else content.encode())
        progress("building its model")
        # Of one with streams, until it is told that nothing moves.
        cycles = CYCLES + (3 * kernel.run.stall_cycles if kernel.run and kernel.streams else 0)
        manifest = Path(folder) / "bitstreams" / kernel.name / "manifest.yaml"
        trial = KernelTrial(manifest, progress, cycles, watched(kernel.streams), choices.cycles)
        progress("trying it: which arguments are addresses, what it does there, how long it takes")
        known = [each.name for each in inputs if each.pointer]
        doubtful = [
            each.name
            for each in inputs
            if each.pointer is None and each.name not in values and kernel.may_be_address(each.width)
        ]
        pointers = (*known, *find_pointers(trial, doubtful, values)) if doubtful else tuple(known)
        find = partial(find_stream_run, streams=kernel.streams) if kernel.run else find_run
        run = find(trial, pointers, given=values)
        left = [name for name in doubtful if name not in pointers]
        if run.astray is not None and left:
            # What is no address of an argument's may be that of one that was given a number.
            again = trial.run((*pointers, *left), run.values, cycles=max(CYCLES, 2 * run.cycles))
            if any(name in again.touched for name in left):
                pointers = (*pointers, *(name for name in left if name in again.touched))
                run = find(trial, pointers, given=values)
    if run.astray is not None and not pointers:
        raise InvalidRequest(
            f"{kernel.design.top} asks for memory at {run.astray:#x}, an address of its own that no argument gives:"
            " give its pointers registers (m_axi with offset=slave)",
            field="source",
        )
    if len(pointers) > MOST_BUFFERS:
        raise InvalidRequest(
            f"{kernel.design.top} asks for memory at {len(pointers)} arguments; a slot grants {MOST_BUFFERS} buffers at"
            " once: partition its arrays less, or give it structures of several",
            field="source",
        )
    return describe(kernel, pointers, run, choices.types or {})
