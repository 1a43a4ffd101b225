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
    example: {in: 256, out: 256, blocks: 2}   # a short legal run: bytes of each buffer, value of each scalar

A `pointer` takes a buffer's address and `access` says what the module does with it (r, w, rw); a `scalar` takes an
integer; a `status` is written by the module when it is done, zero meaning that all went well.

`scrub: reset` counts only with a record beside the manifest that names the build it was verified for: `scrub.yaml`,
written by `eddy module check NAME --record`. Any other build is loaded again between tenants.
"""

from __future__ import annotations

import dataclasses
import enum
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from eddy.board.port import Access
from eddy.core.applications import BufferRole, BufferSpec, TaskSpec
from eddy.core.errors import InvalidRequest

HLS_CONTROL_BYTES = 0x10
"""Offsets below belong to ap_ctrl and the interrupt registers."""
RECORD = "scrub.yaml"
"""Name of the record beside a manifest."""
IDENTITY_OFFSET = 0xF000
"""Offset of the identity block; arguments end below it."""


class ModuleKind(str, enum.Enum):
    """What the identity block says a module is."""

    HLS = "hls"
    GPU = "gpu"

    @property
    def identity(self) -> int:
        """The `kind` field of the identity block."""
        return {"hls": 1, "gpu": 2}[self.value]


class RegisterKind(str, enum.Enum):
    """What is put into a register."""

    POINTER = "pointer"
    SCALAR = "scalar"
    STATUS = "status"


class Scrub(str, enum.Enum):
    """What leaves nothing of one tenant's data behind in a module."""

    LOAD = "load"
    """Only loading it again. Manifests may also say ``reload``."""
    RESET = "reset"
    """Holding its reset: whoever comes next can tell nothing of who was there before."""


@dataclass(frozen=True, slots=True)
class ArgumentRegister:
    """One argument of a module.

    Attributes:
        name: As application task graphs name it.
        offset: Byte offset of its first 32-bit word.
        width: 32 or 64 bits; 64 takes two words, the low one first.
        kind: Pointer, scalar or status.
        access: What the module does with the buffer a pointer names; None for the other kinds.
    """

    name: str
    offset: int
    width: int
    kind: RegisterKind
    access: Access | None = None

    def words(self, value: int) -> tuple[tuple[int, int], ...]:
        """The (byte offset, 32-bit value) writes that put `value` into the register.

        Raises:
            InvalidRequest: The value does not fit.
        """
        if not -(1 << (self.width - 1)) <= value < 1 << self.width:
            raise InvalidRequest(
                f"register {self.name} has {self.width} bits; {value} does not fit",
                field=self.name,
                allowed=f"{self.width}-bit integers",
            )
        return tuple((self.offset + 4 * i, value >> (32 * i) & 0xFFFF_FFFF) for i in range(self.width // 32))


@dataclass(frozen=True, slots=True)
class Resources:
    """What a module takes of the fabric, and the command that says so; zeros where not measured."""

    lut: int = 0
    ff: int = 0
    dsp: int = 0
    bram: int = 0
    command: str = ""


@dataclass(frozen=True, slots=True)
class ModuleManifest:
    """A reconfigurable module, as its manifest states it.

    Attributes:
        module: Its name.
        kind: HLS accelerator or GPU cluster.
        top: Name of its top-level RTL module.
        files: The `.f` list of its sources.
        register_map: (major, minor), as the identity block reads.
        clk_hz: Clock it was built for.
        registers: Its arguments, by offset.
        resources: Fabric it takes.
        scrub: What makes it clean for another tenant.
        summary: One line for people.
        example: A short legal run, for `eddy module check`: (pointer, bytes of its buffer) and (scalar, value) pairs.
        parameters: Overrides of the top's RTL parameters, as (name, value) pairs.
        verified_build: Build hash, 16 hex digits, for which a record says that a reset scrubs it; "" without one.
    """

    module: str
    kind: ModuleKind
    top: str
    files: Path
    register_map: tuple[int, int]
    clk_hz: float
    registers: tuple[ArgumentRegister, ...]
    resources: Resources = Resources()
    scrub: Scrub = Scrub.LOAD
    summary: str = ""
    example: tuple[tuple[str, int], ...] = ()
    parameters: tuple[tuple[str, str], ...] = ()
    verified_build: str = ""

    def scrubs(self, build: str) -> bool:
        """Whether a reset makes this build of it clean for another tenant: it says so, and was verified."""
        return self.scrub is Scrub.RESET and bool(build) and self.verified_build == build

    def register(self, name: str) -> ArgumentRegister:
        """The argument of that name.

        Raises:
            InvalidRequest: There is none.
        """
        for register in self.registers:
            if register.name == name:
                return register
        allowed = [r.name for r in self.registers]
        raise InvalidRequest(
            f"module {self.module} has no argument {name}; it has {', '.join(allowed)}", field=name, allowed=allowed
        )

    @property
    def status(self) -> ArgumentRegister | None:
        """The register that reads non-zero after a run that went wrong, if the module has one."""
        return next((r for r in self.registers if r.kind is RegisterKind.STATUS), None)

    def inputs(self) -> tuple[ArgumentRegister, ...]:
        """Every register a launch must set: pointers and scalars."""
        return tuple(r for r in self.registers if r.kind is not RegisterKind.STATUS)

    def writes(self, values: Mapping[str, int]) -> tuple[tuple[int, int], ...]:
        """The register writes of a launch, given every pointer's address and every scalar.

        Raises:
            InvalidRequest: An argument is missing, unknown or too large.
        """
        for name in values:
            self.register(name)
        result: list[tuple[int, int]] = []
        for register in self.inputs():
            if register.name not in values:
                raise InvalidRequest(f"module {self.module} needs argument {register.name}", field=register.name)
            result += register.words(values[register.name])
        return tuple(result)

    def check_task(self, task: TaskSpec, buffers: Sequence[BufferSpec]) -> None:
        """Check that a task's arguments fit this module: all present, buffers to pointers, integers to scalars.

        Raises:
            InvalidRequest: They do not; `field` names the argument.
        """
        roles = {b.name: b.role for b in buffers}
        given = dict(task.arguments)
        for name in given:
            self.register(name)
        for register in self.inputs():
            field = f"tasks.{task.name}.arguments.{register.name}"
            if register.name not in given:
                raise InvalidRequest(
                    f"task {task.name}: argument {register.name} of {self.module} is not set", field=field
                )
            _check_argument(register, given[register.name], roles, field)


def _check_argument(register: ArgumentRegister, value: str | int, roles: Mapping[str, BufferRole], field: str) -> None:
    """Check one value of a task against the register it goes to."""
    if isinstance(value, int):
        if register.kind is not RegisterKind.SCALAR:
            raise InvalidRequest(
                f"{field}: a pointer takes a buffer's name, not {value}", field=field, allowed=sorted(roles)
            )
        register.words(value)
        return
    if register.kind is not RegisterKind.POINTER:
        raise InvalidRequest(f"{field}: a scalar takes an integer, not {value!r}", field=field, allowed="an integer")
    if value not in roles:
        raise InvalidRequest(f"{field}: no buffer {value}", field=field, allowed=sorted(roles))
    if register.access is not Access.READ and roles[value] in (BufferRole.INPUT, BufferRole.CONSTANT):
        raise InvalidRequest(
            f"{field}: the module writes here, but {value} is an {roles[value].value} buffer",
            field=field,
            allowed=["output", "intermediate"],
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
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidRequest(f"cannot read {path}: {error.strerror}", field="path") from error
    except yaml.YAMLError as error:
        raise InvalidRequest(f"{path} is not YAML: {error}", field="path") from error
    if not isinstance(raw, dict):
        raise InvalidRequest(f"{path} must hold a mapping", field="path")
    return dataclasses.replace(parse_module_manifest(raw, path.parent), verified_build=recorded_build(path.parent))


def recorded_build(folder: Path) -> str:
    """The build that the record in a module's folder names; "" where there is none, or none that can be read."""
    try:
        raw = yaml.safe_load((folder / RECORD).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return ""
    build = raw.get("build") if isinstance(raw, dict) else None
    return build if isinstance(build, str) and re.fullmatch("[0-9a-f]{16}", build) else ""


def parse_module_manifest(raw: Mapping[str, Any], folder: Path) -> ModuleManifest:
    """Turn a manifest's mapping into its type; `folder` is what its paths are relative to.

    Raises:
        InvalidRequest: A field is missing, unknown or wrong; `field` names it.
    """
    known = {
        "module",
        "kind",
        "top",
        "files",
        "register_map",
        "clk_hz",
        "registers",
        "resources",
        "scrub",
        "summary",
        "example",
        "parameters",
    }
    for name in raw:
        if name not in known:
            raise InvalidRequest(f"unknown field {name}", field=str(name), allowed=sorted(known))
    for name in ("module", "kind", "files", "register_map", "clk_hz"):
        if name not in raw:
            raise InvalidRequest(f"field {name} is missing", field=name)
    registers = tuple(_register(str(n), r) for n, r in _mapping(raw.get("registers", {}), "registers").items())
    _check_overlaps(registers)
    example = _example(raw.get("example", {}), registers)
    return ModuleManifest(
        module=str(raw["module"]),
        kind=ModuleKind(_choice(raw["kind"], "kind", [k.value for k in ModuleKind])),
        top=str(raw.get("top", raw["module"])),
        files=(folder / str(raw["files"])).resolve(),
        register_map=_version(raw["register_map"]),
        clk_hz=_clock(raw["clk_hz"]),
        registers=tuple(sorted(registers, key=lambda r: r.offset)),
        resources=_resources(_mapping(raw.get("resources", {}), "resources")),
        scrub=_scrub(raw.get("scrub", Scrub.LOAD.value)),
        summary=str(raw.get("summary", "")),
        example=example,
        parameters=tuple((str(n), str(v)) for n, v in _mapping(raw.get("parameters", {}), "parameters").items()),
    )


def _mapping(value: Any, field: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InvalidRequest(f"{field} must be a mapping", field=field)
    return value


def _choice(value: Any, field: str, allowed: Sequence[Any]) -> Any:
    if value not in allowed:
        raise InvalidRequest(
            f"{field} is {value!r}; allowed: {', '.join(map(str, allowed))}", field=field, allowed=list(allowed)
        )
    return value


def _scrub(value: Any) -> Scrub:
    return Scrub(_choice(Scrub.LOAD.value if value == "reload" else value, "scrub", [s.value for s in Scrub]))


def _clock(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        raise InvalidRequest(f"clk_hz is {value!r}; it must be a positive number of hertz", field="clk_hz")
    return float(value)


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
        value = raw.get(name, 0)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise InvalidRequest(f"resources.{name} is {value!r}; it must be a count", field=f"resources.{name}")
        counts[name] = value
    return Resources(**counts, command=str(raw.get("command", "")))


def _register(name: str, raw: Any) -> ArgumentRegister:
    field = f"registers.{name}"
    raw = _mapping(raw, field)
    kind = RegisterKind(_choice(raw.get("kind"), f"{field}.kind", [k.value for k in RegisterKind]))
    offset, width = raw.get("offset"), raw.get("width", 32)
    _choice(width, f"{field}.width", [32, 64])
    if not isinstance(offset, int) or offset % 4 or not HLS_CONTROL_BYTES <= offset <= IDENTITY_OFFSET - width // 8:
        raise InvalidRequest(
            f"{field}.offset is {offset!r}; it must be a multiple of 4 from 0x10 to below 0xF000",
            field=f"{field}.offset",
        )
    access = None
    if kind is RegisterKind.POINTER:
        access = Access(_choice(raw.get("access"), f"{field}.access", [a.value for a in Access]))
    return ArgumentRegister(name, offset, width, kind, access)


def _example(raw: Any, registers: Sequence[ArgumentRegister]) -> tuple[tuple[str, int], ...]:
    """The example's values; where there is one, every input has its value."""
    raw = _mapping(raw, "example")
    inputs = [r.name for r in registers if r.kind is not RegisterKind.STATUS]
    for name, value in raw.items():
        _choice(name, "example", inputs)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise InvalidRequest(f"example.{name} is {value!r}; it must be a count", field=f"example.{name}")
    missing = [name for name in inputs if name not in raw]
    if raw and missing:
        raise InvalidRequest(f"the example lacks {', '.join(missing)}", field="example", allowed=inputs)
    return tuple((str(name), int(value)) for name, value in raw.items())


def _check_overlaps(registers: Sequence[ArgumentRegister]) -> None:
    taken: dict[int, str] = {}
    for register in registers:
        for offset in range(register.offset, register.offset + register.width // 8, 4):
            if offset in taken:
                raise InvalidRequest(
                    f"registers {taken[offset]} and {register.name} share offset {offset:#x}",
                    field=f"registers.{register.name}.offset",
                )
            taken[offset] = register.name
