# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds one module of several: their cores in a row, each streaming into the next, nothing of what lies between in
memory.

A module can be a stage where its manifest says how its core is connected::

    stream:
      cores:                          # in the order in which words pass through them
        - {core: dct8_core, parameters: {Inverse: "1'b0"}, ports: {}}
      legal: "blocks != '0 && blocks <= 32'd65536"   # whether the arguments allow a run
      in_words: "{blocks[19:0], 4'd0}"               # words of 64 bits read, and written
      out_words: "{blocks[19:0], 4'd0}"

The expressions are SystemVerilog over the module's scalars, by name. In the fused module the first stage's words are
read and the last one's are written. A scalar of a stage is an argument of the fused module, once for all stages that
have it, unless it is bound to an expression over the others.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eddy.core.errors import InvalidRequest
from eddy.packages import fields
from eddy.packages.manifests import load_module_manifest
from eddy.packages.modules import ModuleManifest, RegisterKind

FIRST = 0x10
"""Offset of the first argument."""
_BLOCK = re.compile(r"^\s*module\s+(?:automatic\s+)?(\w+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Core:
    """One core of a stage.

    Attributes:
        core: Its RTL module; it has `clear_i`, and streams `in_*` and `out_*` of 64-bit words.
        parameters: RTL parameters.
        ports: Further inputs, as expressions over scalars.
    """

    core: str
    parameters: Mapping[str, str]
    ports: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Stage:
    """A module as a stage of a fused one.

    Attributes:
        manifest: What it is by itself.
        cores: In the order in which words pass.
        legal: Whether its scalars allow a run.
        in_words: Words it takes.
        out_words: Words it gives.
        wires: Names that the expressions use, beside scalars, and what they stand for: [type, expression].
    """

    manifest: ModuleManifest
    cores: tuple[Core, ...]
    legal: str
    in_words: str
    out_words: str
    wires: Mapping[str, Sequence[str]]

    @property
    def scalars(self) -> tuple[str, ...]:
        """Names of its scalars, in order of their offsets."""
        return tuple(r.name for r in self.manifest.registers if r.kind is RegisterKind.SCALAR)


def read_stage(path: Path) -> Stage:
    """A module's manifest as a stage.

    Raises:
        InvalidRequest: It does not say how its core is connected, or reads or writes more than one buffer.
    """
    manifest = load_module_manifest(path)
    raw = fields.read_yaml(path / "manifest.yaml" if path.is_dir() else path)
    if "stream" not in raw:
        message = f"module {manifest.module} does not say how its core is connected; give its manifest a `stream`"
        raise InvalidRequest(message, field="stream")
    stream = fields.mapping(raw["stream"], "stream")
    fields.check_names(stream, ("cores", "legal", "in_words", "out_words", "wires"))
    pointers = [r.access for r in manifest.registers if r.kind is RegisterKind.POINTER]
    if len(pointers) != 2:
        message = f"module {manifest.module} has {len(pointers)} pointers; a stage reads one buffer and writes one"
        raise InvalidRequest(message, field="registers", allowed=2)
    return Stage(
        manifest,
        tuple(_core(each, i) for i, each in enumerate(fields.sequence(stream.get("cores"), "stream.cores"))),
        str(stream["legal"]),
        str(stream["in_words"]),
        str(stream["out_words"]),
        fields.mapping(stream.get("wires", {}), "stream.wires"),
    )


def _core(raw: Any, number: int) -> Core:
    at = f"stream.cores[{number}]"
    raw = fields.mapping(raw, at)
    fields.check_names(raw, ("core", "parameters", "ports"))
    parameters, ports = (fields.mapping(raw.get(key, {}), f"{at}.{key}") for key in ("parameters", "ports"))
    return Core(str(raw["core"]), {k: str(v) for k, v in parameters.items()}, {k: str(v) for k, v in ports.items()})


def fuse(name: str, stages: Sequence[Stage], bound: Mapping[str, str], root: Path) -> dict[str, str]:
    """The files of a module that does what these do one after the other, by path from the root of the source tree.

    Args:
        name: Of the fused module.
        stages: In order.
        bound: Scalars that are no arguments, and what they are: expressions over the other scalars, 32 bits wide.
        root: Where the files will be; their list names the stages' files from there.

    Raises:
        InvalidRequest: Fewer than two stages, a scalar that no stage has, or clocks that differ.
    """
    if len(stages) < 2:
        raise InvalidRequest("a fused module has two stages at least", field="stages", allowed="two or more modules")
    scalars = list(dict.fromkeys(scalar for stage in stages for scalar in stage.scalars))
    for scalar in bound:
        if scalar not in scalars:
            raise InvalidRequest(f"no stage has a scalar {scalar}", field="bind", allowed=scalars)
    clocks = {stage.manifest.clk_hz for stage in stages}
    if len(clocks) > 1:
        raise InvalidRequest("stages of different clocks cannot be fused", field="clk_hz", allowed=min(clocks))
    arguments = [scalar for scalar in scalars if scalar not in bound]
    return {
        f"hw/ip/{name}/rtl/{name}.sv": _rtl(name, stages, arguments, bound),
        f"hw/ip/{name}/{name}.f": _list(name, stages, root.resolve() / "hw/ip" / name),
        f"hw/ip/{name}/README.md": _readme(name, stages),
        f"bitstreams/{name}/manifest.yaml": _manifest(name, stages, arguments, bound),
    }


def _names(stages: Sequence[Stage]) -> str:
    return ", ".join(stage.manifest.module for stage in stages)


def _rtl(name: str, stages: Sequence[Stage], arguments: Sequence[str], bound: Mapping[str, str]) -> str:
    cores = [core for stage in stages for core in stage.cores]
    wires = {wire: value for stage in stages for wire, value in stage.wires.items()}
    lines = [
        f"/// {_names(stages)} in one module.",
        "///",
        "/// Words stream from stage to stage, and what lies between never is in memory.",
        "/// Written by `eddy module fuse`. Arguments are those of the stages, each once.",
        f"module {name} #(",
        "  /// Hash of sources and toolchain, read back from the identity block.",
        "  parameter logic [63:0] BuildHash = '0",
        ") (",
        '  `include "slot_ports.svh"',
        ");",
        "",
        f"  localparam int unsigned NumPointers = 2, NumScalars = {len(arguments)}, NumReads = 1, NumWrites = 1;",
        '  `include "hls_run.svh"',
        "",
        f"  logic [31:0] {', '.join([*arguments, *bound])};",
        *(f"  assign {scalar} = scalars[{i}];" for i, scalar in enumerate(arguments)),
        *(f"  assign {scalar} = {value};" for scalar, value in bound.items()),
        *(
            line
            for wire, (kind, value) in wires.items()
            for line in (f"  {kind} {wire};", f"  assign {wire} = {value};")
        ),
        "",
        "  assign legal =",
        " &&\n".join(f"    ({stage.legal})" for stage in stages) + ";",
        "  assign read_addr[0]   = pointers[0][39:0];",
        "  assign write_addr[0]  = pointers[1][39:0];",
        f"  assign read_beats[0]  = BeatsWidth'({stages[0].in_words});",
        f"  assign write_beats[0] = BeatsWidth'({stages[-1].out_words});",
        "",
        f"  // Between core i-1 and core i; {len(cores)} cores.",
        f"  logic [{len(cores)}:0] valid, ready;",
        f"  logic [{len(cores)}:0][63:0] data;",
        "  assign valid[0]  = in_valid;",
        "  assign data[0]   = in_data;",
        "  assign in_ready  = ready[0];",
        f"  assign out_valid = valid[{len(cores)}];",
        f"  assign out_data  = data[{len(cores)}];",
        f"  assign ready[{len(cores)}] = out_ready;",
    ]
    for i, core in enumerate(cores):
        values = ", ".join(f".{parameter}({value})" for parameter, value in core.parameters.items())
        ports = "".join(f", .{port}({value})" for port, value in core.ports.items())
        lines += [
            "",
            f"  {core.core} {f'#({values}) ' if values else ''}u_core_{i} (",
            f"    .clk_i, .rst_ni, .clear_i(start){ports},",
            f"    .in_valid_i(valid[{i}]), .in_ready_o(ready[{i}]), .in_data_i(data[{i}]),",
            f"    .out_valid_o(valid[{i + 1}]), .out_ready_i(ready[{i + 1}]), .out_data_o(data[{i + 1}])",
            "  );",
        ]
    return "\n".join([*lines, "", "endmodule", ""])


def _list(name: str, stages: Sequence[Stage], folder: Path) -> str:
    """All that the stages' lists name but the stages' own tops, each once, as seen from a folder; and the fused top."""
    found: dict[str, None] = {}
    for stage in stages:
        for line in stage.manifest.files.read_text(encoding="utf-8").splitlines():
            *option, entry = re.split(r"//|#", line)[0].split() or [""]
            prefix = entry[: entry.rindex("+") + 1] if entry.startswith("+") else ""
            path = (stage.manifest.files.parent / entry.removeprefix(prefix)).resolve()
            if entry and not (path.is_file() and _is_top(path, stage)):
                found[" ".join([*option, prefix + os.path.relpath(path, folder)])] = None
    return "\n".join([*found, f"rtl/{name}.sv", ""])


def _is_top(source: Path, stage: Stage) -> bool:
    """Whether a file holds the stage's own top and none of its cores."""
    blocks = set(_BLOCK.findall(source.read_text(encoding="utf-8", errors="replace")))
    return stage.manifest.top in blocks and not blocks & {core.core for core in stage.cores}


def _readme(name: str, stages: Sequence[Stage]) -> str:
    return (
        f"# {name}\n\n`hw/ip/{name}`. Module {name}: {_names(stages)}, one streaming into the next. Written by"
        f" `eddy module fuse`.\n\nArguments, cycles and numbers: `docs/reference/modules.md`.\n"
    )


def _example(stages: Sequence[Stage], bound: Mapping[str, str]) -> tuple[int, int]:
    """Bytes read and written in the example run of a stage whose scalars are all arguments, passed on to both ends."""
    sizes = []
    for stage in stages:
        example = dict(stage.manifest.example)
        pointers = [r.name for r in stage.manifest.registers if r.kind is RegisterKind.POINTER]
        sizes.append((example[pointers[0]], example[pointers[1]]))
    anchor = next((i for i, stage in enumerate(stages) if not set(stage.scalars) & set(bound)), 0)
    read, written = sizes[anchor]
    for taken, given in reversed(sizes[:anchor]):
        read = read * taken // given
    for taken, given in sizes[anchor + 1 :]:
        written = written * given // taken
    return read, written


def _manifest(name: str, stages: Sequence[Stage], arguments: Sequence[str], bound: Mapping[str, str]) -> str:
    first = stages[0].manifest
    values = {scalar: value for stage in reversed(stages) for scalar, value in stage.manifest.example}
    pointers = [r.name for r in first.registers if r.kind is RegisterKind.POINTER]
    sizes = _example(stages, bound)
    offset, lines = FIRST, []
    for pointer, access in zip(pointers, "rw", strict=True):
        lines.append(f"  {pointer}: {{offset: {offset:#x}, width: 64, kind: pointer, access: {access}}}")
        offset += 12
    for scalar in arguments:
        lines.append(f"  {scalar}: {{offset: {offset:#x}, width: 32, kind: scalar}}")
        offset += 8
    lines.append(f"  status: {{offset: {offset:#x}, width: 32, kind: status}}")
    run = ", ".join(
        [f"{pointer}: {size}" for pointer, size in zip(pointers, sizes, strict=True)]
        + [f"{scalar}: {values[scalar]}" for scalar in arguments]
    )
    return "\n".join(
        [
            f"module: {name}",
            f'summary: "{_names(stages)}, streaming from one to the next"',
            "kind: hls",
            f"top: {name}",
            f"files: ../../hw/ip/{name}/{name}.f",
            'register_map: "1.0"',
            f"clk_hz: {first.clk_hz:.0f}",
            "registers:",
            *lines,
            "scrub: reset",
            f"example: {{{run}}}",
            "",
        ]
    )
