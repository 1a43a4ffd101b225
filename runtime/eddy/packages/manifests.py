# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Manifests of reconfigurable modules: what a module is, and how its registers lie.

A manifest is `bitstreams/<module>/manifest.yaml`::

    module: dct                       # the folder's name
    kind: hls                         # or gpu: the `kind` field of the identity block
    top: dct                          # name of the top module
    files: ../../hw/ip/dct/dct.f      # sources, relative to the manifest
    register_map: "1.0"               # major.minor, as the identity block says
    clk_hz: 100000000                 # clock it closes timing at
    registers:                        # byte offsets in the module's 64 KiB window
      in: {offset: 0x10, width: 64, kind: pointer, access: r}
      out: {offset: 0x1c, width: 64, kind: pointer, access: w}
      blocks: {offset: 0x28, width: 32, kind: scalar}
      status: {offset: 0x30, width: 32, kind: status}
    resources: {lut: 2100, ff: 1900, dsp: 32, bram: 0, command: "..."}
    scrub: load                       # or reset: what makes it clean for another tenant
    control: hs                       # or chain, none: how it is started and says that it is done
    memory_bits: 64                   # or 128: the widest port to memory that its RTL can be built for
    example: {in: 256, out: 256, blocks: 2}   # a short legal run: bytes of each buffer, value of each scalar
    stream: {...}                     # how its core is connected; see `eddy.packages.fuse`

A `pointer` takes a buffer's address and `access` says what the module does with it (r, w, rw); a `scalar` takes an
integer; a `status` is written by the module when it is done, zero meaning that all went well, and its `causes` are
names of its bits, from the lowest on. `timed: true`, of a result or of a pointer that the module writes to, says that
what a run leaves there measures time: `eddy module check` does not compare it where memory takes longer.
`streamed: true`, of a pointer that is read or written, says that a run does so once, in whole words of 8 bytes from the
first byte on: where the board has streams between slots, it may come from another module's slot, or go to one.

`control` is the block-level control protocol of Vitis HLS: `ap_ctrl_hs` where nothing is said, `ap_ctrl_chain`, or
`ap_ctrl_none`. A GPU cluster has none of them.

Two records lie beside the manifest, written by `eddy module check NAME`; each names the build it holds for.
`check.yaml` says that the build passed. `scrub.yaml` says that a reset scrubs it; without it, `scrub: reset` counts as
`load`.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from eddy.core.errors import InvalidRequest
from eddy.core.slots import MEMORY_BITS, Access, Control
from eddy.packages import fields
from eddy.packages.modules import (
    FIRST_ARGUMENT,
    IDENTITY_OFFSET,
    MAX_REGISTER_BITS,
    WORD_BYTES,
    ArgumentRegister,
    ModuleKind,
    ModuleManifest,
    RegisterKind,
    Resources,
    Scrub,
)

SCRUB_RECORD, CHECK_RECORD = "scrub.yaml", "check.yaml"
"""Names of the records beside a manifest."""
ALIGNMENTS = [8, 16, 32, 64, 128]
"""Of what pointers may be multiples: the bytes of a beat of the widest memory port."""
FIELDS = (
    *("module", "kind", "top", "files", "register_map", "clk_hz"),
    *("registers", "resources", "scrub", "control", "summary", "example", "parameters", "stream"),
    "memory_bits",
)


def load_module_manifest(path: str | Path) -> ModuleManifest:
    """Read a manifest.

    Args:
        path: A `manifest.yaml`, or the folder that holds it.

    Raises:
        InvalidRequest: It cannot be read, or a field is wrong; `field` names it.
    """
    path = Path(path)
    path = path / "manifest.yaml" if path.is_dir() else path
    raw = fields.read_yaml(path)
    if not isinstance(raw, dict):
        raise InvalidRequest(f"{path} must hold a mapping", field="path")
    folder = path.parent
    manifest = parse_module_manifest(raw, folder)
    return dataclasses.replace(
        manifest,
        verified_build=recorded_build(folder / SCRUB_RECORD),
        checked_build=recorded_build(folder / CHECK_RECORD, manifest.interface),
    )


def recorded_build(record: Path, interface: str | None = None) -> str:
    """The build that a record names; "" where there is none, none that can be read, or one of another `interface`."""
    try:
        raw = fields.load_yaml(record.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return ""
    if not isinstance(raw, dict) or (interface is not None and raw.get("interface") != interface):
        return ""
    build = raw.get("build")
    return build if isinstance(build, str) and re.fullmatch("[0-9a-f]{16}", build) else ""


def parse_module_manifest(raw: Mapping[str, Any], folder: Path) -> ModuleManifest:
    """Turn a manifest's mapping into its type; `folder` is what its paths are relative to.

    Raises:
        InvalidRequest: A field is missing, unknown or wrong; `field` names it.
    """
    fields.check_names(raw, FIELDS)
    for name in ("module", "kind", "files", "register_map", "clk_hz"):
        if name not in raw:
            raise InvalidRequest(f"field {name} is missing", field=name)
    registers = tuple(_register(str(n), r) for n, r in fields.mapping(raw.get("registers", {}), "registers").items())
    _check_overlaps(registers)
    example = _example(raw.get("example", {}), registers)
    kind = ModuleKind(fields.choice(raw["kind"], "kind", [k.value for k in ModuleKind]))
    return ModuleManifest(
        module=str(raw["module"]),
        kind=kind,
        top=str(raw.get("top", raw["module"])),
        files=(folder / str(raw["files"])).resolve(),
        register_map=_version(raw["register_map"]),
        clk_hz=fields.positive(raw["clk_hz"], "clk_hz"),
        registers=tuple(sorted(registers, key=lambda r: r.offset)),
        resources=_resources(fields.mapping(raw.get("resources", {}), "resources")),
        scrub=_scrub(raw.get("scrub", Scrub.LOAD.value)),
        control=_control(raw, kind),
        summary=str(raw.get("summary", "")),
        example=example,
        parameters=tuple((str(n), str(v)) for n, v in fields.mapping(raw.get("parameters", {}), "parameters").items()),
        memory_bits=fields.choice(raw.get("memory_bits", MEMORY_BITS[0]), "memory_bits", list(MEMORY_BITS)),
    )


def _control(raw: Mapping[str, Any], kind: ModuleKind) -> Control:
    if kind is ModuleKind.GPU and "control" in raw:
        message = "a GPU cluster has a controller of its own; take control out of its manifest"
        raise InvalidRequest(message, field="control")
    return Control(fields.choice(raw.get("control", Control.HS.value), "control", [c.value for c in Control]))


def _scrub(value: Any) -> Scrub:
    return Scrub(fields.choice(Scrub.LOAD.value if value == "reload" else value, "scrub", [s.value for s in Scrub]))


def _version(value: Any) -> tuple[int, int]:
    parts = str(value).split(".")
    if len(parts) != 2 or not all(p.isdigit() and int(p) < 256 for p in parts):
        raise InvalidRequest(
            f'register_map is {value!r}; write it as "major.minor", each 0 to 255', field="register_map"
        )
    return int(parts[0]), int(parts[1])


def _resources(raw: Mapping[str, Any]) -> Resources:
    counts = {}
    for name in ("lut", "ff", "dsp", "bram"):
        counts[name] = fields.count(raw.get(name, 0), f"resources.{name}")
    return Resources(**counts, command=str(raw.get("command", "")))


def _register(name: str, raw: Any) -> ArgumentRegister:
    field = f"registers.{name}"
    raw = fields.mapping(raw, field)
    kind = RegisterKind(fields.choice(raw.get("kind"), f"{field}.kind", [k.value for k in RegisterKind]))
    offset, width = raw.get("offset"), raw.get("width", 32)
    width = fields.integer(width, f"{field}.width", 1, MAX_REGISTER_BITS)
    last = IDENTITY_OFFSET - 4 * -(-width // 32)
    if not isinstance(offset, int) or offset % 4 or not FIRST_ARGUMENT <= offset <= last:
        raise InvalidRequest(
            f"{field}.offset is {offset!r}; it must be a multiple of 4 from 0x10 to below 0xF000",
            field=f"{field}.offset",
        )
    access, align = None, WORD_BYTES
    if kind is RegisterKind.POINTER:
        align = fields.choice(raw.get("align", WORD_BYTES), f"{field}.align", ALIGNMENTS)
        access = Access(fields.choice(raw.get("access"), f"{field}.access", [a.value for a in Access]))
    causes = tuple(str(cause) for cause in fields.sequence(raw.get("causes", []), f"{field}.causes"))
    timed = raw.get("timed", False)
    if not isinstance(timed, bool) or (timed and kind is not RegisterKind.RESULT and access in (None, Access.READ)):
        raise InvalidRequest(
            f"{field}.timed is {timed!r}; it is true of a result, or of a pointer that the module writes to",
            field=f"{field}.timed",
        )
    streamed = raw.get("streamed", False)
    if not isinstance(streamed, bool) or (streamed and access not in (Access.READ, Access.WRITE)):
        raise InvalidRequest(
            f"{field}.streamed is {streamed!r}; it is true of a pointer that the module reads, or writes to",
            field=f"{field}.streamed",
        )
    return ArgumentRegister(name, offset, width, kind, access, align, causes, timed, streamed)


def _example(raw: Any, registers: Sequence[ArgumentRegister]) -> tuple[tuple[str, int], ...]:
    """The example's values; where there is one, every input has its value."""
    raw = fields.mapping(raw, "example")
    inputs = [r.name for r in registers if r.kind in (RegisterKind.POINTER, RegisterKind.SCALAR)]
    for name, value in raw.items():
        fields.choice(name, "example", inputs)
        fields.count(value, f"example.{name}")
    missing = [name for name in inputs if name not in raw]
    if raw and missing:
        raise InvalidRequest(f"the example lacks {', '.join(missing)}", field="example", allowed=inputs)
    return tuple((str(name), int(value)) for name, value in raw.items())


def _check_overlaps(registers: Sequence[ArgumentRegister]) -> None:
    """Registers lie apart, but for a scalar and a result at one place: what a module is given and leaves there."""
    taken: dict[int, ArgumentRegister] = {}
    for register in registers:
        for offset in range(register.offset, register.offset + 4 * register.word_count, 4):
            other = taken.setdefault(offset, register)
            if other is not register and not _is_updated(other, register):
                raise InvalidRequest(
                    f"registers {other.name} and {register.name} share offset {offset:#x}",
                    field=f"registers.{register.name}.offset",
                )


def _is_updated(first: ArgumentRegister, second: ArgumentRegister) -> bool:
    kinds = {first.kind, second.kind}
    place = (first.offset, first.width) == (second.offset, second.width)
    return place and kinds == {RegisterKind.SCALAR, RegisterKind.RESULT}
