# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A kernel that others wrote, as a module and an application of ours: what was understood, or why it is refused."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from eddy.core.errors import InvalidRequest

from eddy_sim.importing.design import KernelDesign, read_design
from eddy_sim.importing.interfaces import AxiInterface, KernelPorts, group_ports
from eddy_sim.importing.package import ImportedKernel, KernelArgument, describe, preliminary_texts
from eddy_sim.importing.registers import ArgumentType, RegisterBundle, read_bundles, read_types
from eddy_sim.importing.sources import KernelSources, find_sources
from eddy_sim.importing.trial import KernelTrial, find_pointers, find_run
from eddy_sim.importing.vendor import FP_MODEL, FloatPart, is_watcher, models_for, read_float_part
from eddy_sim.importing.wrapper import STATUS_OFFSET, PlacedBundle
from eddy_sim.tools.filelist import read_filelist, source_files
from eddy_sim.tools.products import HARDWARE, Progress, ignore_progress

MOST_MEMORIES = 16
MOST_BUFFERS = 16
"""Windows of the firewall in front of a slot."""
KERNEL_PORT = HARDWARE / "ip" / "kernel_port" / "kernel_port.f"
"""The blocks around every kernel."""


@dataclass(frozen=True)
class KernelChoices:
    """What whoever imports a kernel says of it.

    Attributes:
        name: Of the module; the kernel's own in small letters where it is "".
        top: The kernel's top; found where it is "".
        values: Of scalars, for the run that buffers are measured by and for the application.
        types: Element types of buffers, as numpy names them.
    """

    name: str = ""
    top: str = ""
    values: Mapping[str, int] | None = None
    types: Mapping[str, str] | None = None


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
    sources = find_sources(given)
    design, models, floats = _with_models(sources, choices.top or None)
    ports = group_ports(design.ports)
    texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in (*design.files, *_headers(sources))}
    prefixes = [control.prefix for control in ports.controls]
    bundles = read_bundles(design.top, prefixes, texts)
    reasons = [*_refusals(ports, bundles), *_name_clashes(design)]
    if reasons:
        raise InvalidRequest(
            f"{design.top} cannot run in a slot: " + "; ".join(reasons),
            field="source",
        )
    name = choices.name or design.top.lower().strip("_")
    placed = _place(ports.controls, bundles)
    arguments = _arguments(placed, bundles, read_types(sources.about))
    control = "chain" if any(each.chain for each in bundles.values()) else "hs"
    kernel = ImportedKernel(name, design, ports, placed, control, arguments, models, _unread(sources, ports), 0, floats)
    return _tried(kernel, choices, progress)


def _headers(sources: KernelSources) -> list[Path]:
    return [path for path in sources.about if path.suffix == ".h"]


def _with_models(
    sources: KernelSources, top: str | None
) -> tuple[KernelDesign, tuple[Path, ...], tuple[FloatPart, ...]]:
    """The design, with models of the vendor's parts where it has such."""
    design = read_design(sources, top)
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
        raise InvalidRequest(
            f"{design.top} instantiates {', '.join(unknown)}{how}, of which {sources.folder} holds no Verilog and Eddy"
            " has no model: add its source to the folder, or write the kernel without it",
            field="source",
        )
    return design, models, tuple(floats)


def _refusals(ports: KernelPorts, bundles: Mapping[str, RegisterBundle]) -> list[str]:
    """Why a kernel cannot run in a slot, each with a way out."""
    found = []
    starts = [prefix for prefix, bundle in bundles.items() if bundle.start]
    if not ports.clocks:
        found.append("no input is a clock by its name (ap_clk, aclk, clk); rename it")
    for port in ports.inputs:
        found.append(f"nothing tells what the input {port.name} ({port.width} bits) is; make it an s_axilite argument")
    for stream in ports.streams:
        found.append(f"{stream.prefix} is an AXI4-Stream port; give the kernel an m_axi argument instead")
    if ports.block and not starts:
        found.append("it is started by ports (ap_start); give its return an s_axilite interface")
    if not ports.controls:
        found.append("it has no AXI4-Lite subordinate port; give its return an s_axilite interface")
    for control in ports.controls:
        if control.data_width != 32 or control.bursts:
            found.append(f"{control.prefix} is no AXI4-Lite port of 32 bits")
        elif control.prefix not in bundles:
            found.append(f"no comment says which registers {control.prefix} has: add the driver's *_hw.h to the folder")
    if bundles and len(starts) != 1:
        what = "no register bundle has ap_start" if not starts else f"{' and '.join(starts)} have ap_start"
        found.append(f"{what} at 0x00; a kernel of ap_ctrl_hs or ap_ctrl_chain has one")
    for bundle in bundles.values():
        found += [
            f"{each.name} is an array in registers that it reads and writes; give it two of them, or an m_axi interface"
            for each in bundle.registers
            if each.updated
        ]
    if not ports.memories and not any(each.output for bundle in bundles.values() for each in bundle.registers):
        found.append("it has neither a memory port nor a result in registers: no job could tell what it does")
    if ports.interrupt is None:
        found.append("it has no interrupt port; export it with one")
    for memory in ports.memories:
        if memory.data_width not in (8, 16, 32, 64, 128, 256, 512, 1024) or not 12 <= memory.addr_width <= 64:
            found.append(f"{memory.prefix} has {memory.data_width} bits of data and {memory.addr_width} of address")
    if len(ports.memories) > MOST_MEMORIES:
        found.append(f"it has {len(ports.memories)} memory ports, more than {MOST_MEMORIES}: bundle them")
    return found


def _name_clashes(design: KernelDesign) -> list[str]:
    """Blocks of the kernel that have the name of one that stands around it."""
    own = {path.stem for path in source_files(read_filelist(KERNEL_PORT))}
    return [f"its block {name} has the name of one of Eddy's; rename it" for name in design.blocks if name in own]


def _place(controls: Sequence[AxiInterface], bundles: Mapping[str, RegisterBundle]) -> tuple[PlacedBundle, ...]:
    """Give each bundle a part of the window, the one with AP_CTRL the first."""
    placed, base = [], 0
    for control in sorted(controls, key=lambda each: not bundles[each.prefix].start):
        ends = [register.offset + 4 * -(-register.width // 32) + 4 for register in bundles[control.prefix].registers]
        size = min(-(-max([0x10, *ends]) // 16) * 16, 1 << control.addr_width)
        placed.append(PlacedBundle(control, base, size))
        base += -(-size // 256) * 256
    if base > STATUS_OFFSET:
        raise InvalidRequest(
            f"the kernel's registers take {base:#x} bytes; a slot's window has {STATUS_OFFSET:#x}", field="source"
        )
    return tuple(placed)


def _arguments(
    placed: Sequence[PlacedBundle], bundles: Mapping[str, RegisterBundle], types: Mapping[str, ArgumentType]
) -> tuple[KernelArgument, ...]:
    """Every argument, at its place in the window."""
    found = []
    for each in placed:
        for register in bundles[each.interface.prefix].registers:
            known = next(
                (types[name] for name in (register.name, register.name.removesuffix("_r")) if name in types), None
            )
            found.append(
                KernelArgument(
                    register.name,
                    each.base + register.offset,
                    register.width,
                    register.output,
                    False if register.element_bits else None if known is None or register.output else known.pointer,
                    known.type if known else "",
                    element_bits=register.element_bits,
                )
            )
    return tuple(sorted(found, key=lambda argument: argument.offset))


def _unread(sources: KernelSources, ports: KernelPorts) -> list[str]:
    """What is there of a kernel and is not used."""
    notes = [f"output {port.name} ({port.width} bits) goes nowhere" for port in ports.outputs]
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
        trial = KernelTrial(Path(folder) / "bitstreams" / kernel.name / "manifest.yaml", progress)
        progress("trying it: which arguments are addresses, what it does there, how long it takes")
        known = [each.name for each in inputs if each.pointer]
        doubtful = [
            each.name
            for each in inputs
            if each.pointer is None and each.name not in values and kernel.may_be_address(each.width)
        ]
        pointers = (*known, *find_pointers(trial, doubtful, values)) if doubtful else tuple(known)
        run = find_run(trial, pointers, values)
    if len(pointers) > MOST_BUFFERS:
        raise InvalidRequest(
            f"{kernel.design.top} asks for memory at {len(pointers)} arguments; a slot grants {MOST_BUFFERS} buffers at"
            " once: partition its arrays less, or give it structures of several",
            field="source",
        )
    return describe(kernel, pointers, run, choices.types or {})
