# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Reconfigurable modules as their manifests state them: kind, arguments, resources, and what scrubs them."""

from __future__ import annotations

import enum
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from eddy.core.applications import BufferRole, BufferSpec, TaskSpec
from eddy.core.errors import InvalidRequest
from eddy.core.slots import Access, Control
from eddy.core.units import format_bytes

FIRST_ARGUMENT = 0x10
"""Offsets below belong to ap_ctrl and the interrupt registers."""
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
    RESULT = "result"
    """Read when a run has ended, and put into a buffer."""


WORD_BYTES = 8
"""Of what pointers are multiples, unless their manifest says otherwise: a word of the memory port."""
MAX_REGISTER_BITS = 8 * 0xEF00
"""Bits of the widest register: all of the window that is a module's own, for arrays that it has there."""


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
        width: Its bits, 1 to 489,472, in words of 32, the lowest first; of the last one those above it read zero.
        kind: Pointer, scalar, status or result.
        access: What the module does with the buffer a pointer names; None for the other kinds.
        align: Of what a pointer is a multiple, in bytes; boards' buffers begin pages.
        causes: Of a status, names of its bits, from the lowest on; none where nothing says them.
        timed: Whether what a run leaves there measures time, of a result or of a buffer that the module writes.
        streamed: Whether a run writes, or reads, the buffer a pointer names once, from its first byte on: it may come
            from another slot, or go to one, instead of lying in memory.
    """

    name: str
    offset: int
    width: int
    kind: RegisterKind
    access: Access | None = None
    align: int = WORD_BYTES
    causes: tuple[str, ...] = ()
    timed: bool = False
    streamed: bool = False

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
        raw = (value & (1 << self.width) - 1).to_bytes(4 * self.word_count, "little")
        return tuple((self.offset + at, int.from_bytes(raw[at : at + 4], "little")) for at in range(0, len(raw), 4))

    @property
    def word_count(self) -> int:
        """Words of 32 bits that it takes."""
        return -(-self.width // 32)

    @property
    def bytes(self) -> int:
        """Bytes that hold its bits."""
        return -(-self.width // 8)


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
        kind: HLS accelerator or GPU cluster.
        top: Name of its top-level RTL module.
        files: The `.f` list of its sources.
        register_map: (major, minor), as the identity block reads.
        clk_hz: Clock it was built for.
        registers: Its arguments, by offset.
        scrub: What makes it clean for another tenant.
        summary: One line for people.
        example: A short legal run, for `eddy module check`: (pointer, bytes of its buffer) and (scalar, value) pairs.
        parameters: Overrides of the top's RTL parameters, as (name, value) pairs.
        verified_build: Build hash, 16 hex digits, for which a record says that a reset scrubs it; "" without one.
        checked_build: Build hash for which a record says that it passed `eddy module check` with this `interface`; ""
            without one.
        control: How it is started and says that it is done.
        memory_bits: Bits of the widest port to memory that its RTL can be built for.
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
    checked_build: str = ""
    control: Control = Control.HS
    memory_bits: int = 64

    def scrubs(self, build: str) -> bool:
        """Whether a reset makes this build of it clean for another tenant: it says so, and was verified."""
        return self.scrub is Scrub.RESET and bool(build) and self.verified_build == build

    def checked(self, build: str) -> bool:
        """Whether this build of it passed `eddy module check`."""
        return bool(build) and self.checked_build == build

    @property
    def interface(self) -> str:
        """What a check holds a module against and a board uses: 16 hex digits of a hash over protocol and registers."""
        registers = [(r.name, r.offset, r.width, r.kind.value, r.access and r.access.value) for r in self.registers]
        # What is not compared belongs to what was checked; where all is, the hash is that of records without this.
        timed = [[r.name for r in self.registers if r.timed]] if any(r.timed for r in self.registers) else []
        text = json.dumps([self.kind.value, self.control.value, self.register_map, registers, *timed])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def endless(self) -> str:
        """Why no task can run on it; "" where one can."""
        if self.control is not Control.NONE:
            return ""
        return (
            f"module {self.module} has no block-level control protocol (control: none): nothing starts it and nothing"
            " says when an item has ended, so no task can run on it; build it with ap_ctrl_hs or ap_ctrl_chain"
        )

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
        return tuple(r for r in self.registers if r.kind in (RegisterKind.POINTER, RegisterKind.SCALAR))

    def results(self) -> tuple[ArgumentRegister, ...]:
        """Every register that a run leaves a result in."""
        return tuple(r for r in self.registers if r.kind is RegisterKind.RESULT)

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
        """Check that a task's arguments fit this module: all inputs are there, and of results those that it names.

        Pointers and results take buffers, scalars integers or buffers.

        Raises:
            InvalidRequest: They do not; `field` names the argument. Or no task can run on the module.
        """
        if self.endless:
            raise InvalidRequest(f"task {task.name}: {self.endless}", field=f"tasks.{task.name}.module")
        known = {b.name: b for b in buffers}
        given = dict(task.arguments)
        for name in given:
            self.register(name)
        for register in (*self.inputs(), *(r for r in self.results() if r.name in given)):
            field = f"tasks.{task.name}.arguments.{register.name}"
            if register.name not in given:
                raise InvalidRequest(
                    f"task {task.name}: argument {register.name} of {self.module} is not set", field=field
                )
            _check_argument(register, given[register.name], known, field)


def no_check(module: str) -> str:
    """Why no job is given a module whose build has no check on record."""
    return (
        f"no check of module {module} is on record as its sources and manifest are; `eddy module check {module}` makes"
        " and records one, or the operator starts the server with --unchecked-modules allow"
    )


def _check_argument(
    register: ArgumentRegister, value: str | int, buffers: Mapping[str, BufferSpec], field: str
) -> None:
    """Check one value of a task against the register it goes to, or comes from."""
    if isinstance(value, int):
        if register.kind is not RegisterKind.SCALAR:
            raise InvalidRequest(
                f"{field}: a {register.kind.value} takes a buffer's name, not {value}",
                field=field,
                allowed=sorted(buffers),
            )
        register.words(value)
        return
    if value not in buffers:
        raise InvalidRequest(f"{field}: no buffer {value}", field=field, allowed=sorted(buffers))
    buffer = buffers[value]
    written = register.kind is RegisterKind.RESULT or (
        register.kind is RegisterKind.POINTER and register.access is not Access.READ
    )
    if written and buffer.role in (BufferRole.INPUT, BufferRole.CONSTANT):
        raise InvalidRequest(
            f"{field}: the module writes here, but {value} is an {buffer.role.value} buffer",
            field=field,
            allowed=["output", "intermediate", "update"],
        )
    if register.kind is not RegisterKind.POINTER and buffer.bytes > 4 * register.word_count:
        raise InvalidRequest(
            f"{field}: the register has {register.width} bits, and {value} {format_bytes(buffer.bytes)}",
            field=field,
            allowed=f"at most {format_bytes(4 * register.word_count)}",
        )
