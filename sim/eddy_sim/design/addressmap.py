# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What answers where in the CPU's window of the static region, as IP cores with register maps.

One description serves the `.hwh` writer (`eddy_sim.design.hwh`), the device and the documentation. Register maps come
from the generated modules of `eddy_drivers.regs`, and thereby from `hw/regs/*.rdl`; addresses from
`hw/regs/top/window.rdl`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from eddy.core.slots import Control
from eddy.packages.modules import ArgumentRegister, RegisterKind
from eddy_drivers.regs import axi_intc, icap_engine, memory_counters, shell, slot_ctrl, stream_port, window
from eddy_drivers.regs.base import Register as GeneratedRegister

PL_BASE = window.BASE
"""Physical address of the static region's window (M_AXI_HPM0_FPD)."""
PL_BYTES = window.BYTES
INTC_OFFSET, MODULE_OFFSET = window.INTC.offset, window.MODULE.offset

INTC_NAME = "axi_intc_0"
INTC_INPUTS = 32
STUB = "module"
"""Name of the IP that stands for a slot's contents in the static design."""


@dataclass(frozen=True, slots=True)
class RegisterField:
    """Bits of a register: name, lowest bit, width."""

    name: str
    low: int
    width: int


@dataclass(frozen=True, slots=True)
class RegisterSpec:
    """A register as a `.hwh` describes it.

    Attributes:
        name: Attribute of the `register_map`.
        offset: Bytes from the core's base.
        bits: 32 or 64.
        access: ``read-write``, ``read-only`` or ``write-only``.
        description: For people.
        fields: May be empty.
    """

    name: str
    offset: int
    bits: int = 32
    access: str = "read-write"
    description: str = ""
    fields: tuple[RegisterField, ...] = ()


@dataclass(frozen=True, slots=True)
class Ip:
    """An addressable core.

    Attributes:
        path: Full name in the block design, without the leading slash.
        vlnv: Vendor, library, name and version, by which drivers bind.
        base: Physical address.
        bytes: Size of its range.
        registers: Its register map.
        interrupts: Output pin to input of the interrupt controller.
        parameters: What a driver may want to know of how it was built.
    """

    path: str
    vlnv: str
    base: int
    bytes: int
    registers: tuple[RegisterSpec, ...] = ()
    interrupts: tuple[tuple[str, int], ...] = field(default=())
    parameters: tuple[tuple[str, str], ...] = field(default=())

    @property
    def instance(self) -> str:
        """Name of the instance: flat and unique."""
        return self.path.replace("/", "_")


def control_base(slot: int) -> int:
    """Physical address of a slot's control bank."""
    return PL_BASE + window.CONTROL.at(slot)


def module_base(slot: int) -> int:
    """Physical address of the registers of the module a slot holds."""
    return PL_BASE + window.MODULE.at(slot)


def wizard_base(slot: int) -> int:
    """Physical address of a slot's clocking wizard."""
    return PL_BASE + window.WIZARD.at(slot)


def static_ips(num_slots: int, shell_hz: float, engine: bool, streams: bool = False) -> tuple[Ip, ...]:
    """Every core of the static region, each slot's contents as a stub.

    Args:
        num_slots: How many slots it has.
        shell_hz: Its clock.
        engine: Whether it has a configuration engine.
        streams: Whether it has streams between slots.
    """
    wizard = (("PRIM_IN_FREQ", f"{shell_hz / 1e6:.6f}"),)
    ips = [
        Ip(
            "shell",
            "eddy:ip:shell:1.0",
            PL_BASE + window.SHELL.offset,
            window.SHELL.bytes,
            generated_map(shell.REGISTERS),
            (("config_irq", axi_intc.Input.CONFIGURATION),),
        ),
        Ip(
            INTC_NAME,
            "xilinx.com:ip:axi_intc:4.1",
            PL_BASE + window.INTC.offset,
            window.INTC.bytes,
            generated_map(axi_intc.REGISTERS),
        ),
        Ip(
            "memory_counters",
            "eddy:ip:memory_counters:1.0",
            PL_BASE + window.MEMORY.offset,
            window.MEMORY.bytes,
            generated_map(memory_counters.REGISTERS),
        ),
    ]
    if engine:
        ips.append(
            Ip(
                "icap_engine",
                "eddy:ip:icap_engine:1.0",
                PL_BASE + window.ENGINE.offset,
                window.ENGINE.bytes,
                generated_map(icap_engine.REGISTERS),
            )
        )
    if streams:
        ips.append(
            Ip(
                "streams",
                "eddy:ip:stream_port:1.0",
                PL_BASE + window.STREAMS.offset,
                window.STREAMS.bytes,
                generated_map(stream_port.REGISTERS),
            )
        )
    for slot in range(num_slots):
        ips += [
            Ip(
                f"slot_clk{slot}",
                "xilinx.com:ip:clk_wiz:6.0",
                wizard_base(slot),
                window.WIZARD.bytes,
                WIZARD_MAP,
                parameters=wizard,
            ),
            Ip(
                f"slot_ctrl{slot}",
                "eddy:ip:slot_ctrl:1.0",
                control_base(slot),
                window.CONTROL.bytes,
                generated_map(slot_ctrl.REGISTERS),
                (("fault", axi_intc.Input.FAULT + slot),),
            ),
            slot_ip(slot, STUB, "eddy:ip:slot:1.0", IDENTITY_MAP),
        ]
    return tuple(ips)


def slot_ip(slot: int, name: str, vlnv: str, registers: tuple[RegisterSpec, ...]) -> Ip:
    """The core that answers in a slot's module window."""
    return Ip(
        f"slot{slot}/{name}",
        vlnv,
        module_base(slot),
        window.MODULE.bytes,
        registers,
        (("interrupt", axi_intc.Input.MODULE + slot),),
    )


def generated_map(registers: Iterable[GeneratedRegister]) -> tuple[RegisterSpec, ...]:
    """A generated register map as a `.hwh` describes it; arrays are flattened to NAME_0, NAME_1, ..."""
    specs = []
    for register in registers:
        fields = tuple(RegisterField(bits.name.upper(), bits.low, bits.width) for bits in register.fields)
        for index in range(register.count):
            name = register.name if register.count == 1 else f"{register.name}_{index}"
            specs.append(RegisterSpec(name, register.at(index), fields=fields))
    return tuple(specs)


WIZARD_MAP = (
    RegisterSpec("SW_RESET", 0x000, description="Write 0xA to reset."),
    RegisterSpec("STATUS", 0x004, access="read-only", fields=(RegisterField("LOCKED", 0, 1),)),
    RegisterSpec("CLK_CONFIG_0", 0x200, description="Multiplier and input divider."),
    RegisterSpec("CLK_CONFIG_2", 0x208, description="Divider of output 0, with eighths."),
    RegisterSpec("CLK_CONFIG_23", 0x25C, fields=(RegisterField("LOAD", 0, 1), RegisterField("SADDR", 1, 1))),
)
"""What of a clocking wizard's map (Ref: PG065, "Register Space") the slots' wizards have."""

IDENTITY_MAP = (
    RegisterSpec("EDDY_MAGIC", 0xF000, access="read-only", description="0x45444459."),
    RegisterSpec(
        "EDDY_KIND",
        0xF004,
        access="read-only",
        description="Kind and register-map version.",
        fields=(RegisterField("MINOR", 0, 8), RegisterField("MAJOR", 8, 8), RegisterField("KIND", 16, 16)),
    ),
    RegisterSpec("EDDY_BUILD_LO", 0xF008, access="read-only", description="Build hash, bits 31 to 0."),
    RegisterSpec("EDDY_BUILD_HI", 0xF00C, access="read-only", description="Build hash, bits 63 to 32."),
)
"""The identity block every module has."""

_HS_FIELDS = (
    RegisterField("AP_START", 0, 1),
    RegisterField("AP_DONE", 1, 1),
    RegisterField("AP_IDLE", 2, 1),
    RegisterField("AP_READY", 3, 1),
    RegisterField("AUTO_RESTART", 7, 1),
)
_CHAIN_FIELDS = (*_HS_FIELDS[:4], RegisterField("AP_CONTINUE", 4, 1), *_HS_FIELDS[4:])
_CONTROL_REGISTERS = {
    Control.HS: (
        RegisterSpec("CTRL", 0x00, description="Control signals; AP_DONE clears on read.", fields=_HS_FIELDS),
    ),
    Control.CHAIN: (
        RegisterSpec("CTRL", 0x00, description="Control signals; AP_DONE stays to AP_CONTINUE.", fields=_CHAIN_FIELDS),
    ),
    Control.NONE: (),
}
_INTERRUPT_REGISTERS = (
    RegisterSpec("GIER", 0x04, description="Global interrupt enable.", fields=(RegisterField("Enable", 0, 1),)),
    RegisterSpec(
        "IP_IER",
        0x08,
        description="Interrupt enable: channel 0 done, channel 1 ready.",
        fields=(RegisterField("CHAN0_INT_EN", 0, 1), RegisterField("CHAN1_INT_EN", 1, 1)),
    ),
    RegisterSpec(
        "IP_ISR",
        0x0C,
        description="Interrupt status, toggled by writing 1.",
        fields=(RegisterField("CHAN0_INT_ST", 0, 1), RegisterField("CHAN1_INT_ST", 1, 1)),
    ),
)


def control_registers(control: Control) -> tuple[RegisterSpec, ...]:
    """Control registers of an accelerator as Vitis HLS names them (Ref: UG1399, S_AXILITE Control Register Map)."""
    registers = _CONTROL_REGISTERS[control]
    return (*registers, *_INTERRUPT_REGISTERS) if registers else ()


def argument_map(arguments: Sequence[ArgumentRegister], control: Control = Control.HS) -> tuple[RegisterSpec, ...]:
    """The register map of a module: control registers (of accelerators with a protocol), arguments, identity block.

    A pointer appears as Vitis HLS names its halves, ``NAME_1`` and ``NAME_2``, and as one 64-bit ``NAME``.
    """
    specs = list(control_registers(control))
    for argument in arguments:
        offset, text = argument.offset, f"{argument.kind.value.capitalize()} {argument.name}"
        access = "read-only" if argument.kind is RegisterKind.STATUS else "read-write"
        specs.append(RegisterSpec(argument.name, offset, argument.width, access, text + "."))
        if argument.width == 64:
            specs.append(RegisterSpec(f"{argument.name}_1", offset, 32, access, text + ", bits 31 to 0."))
            specs.append(RegisterSpec(f"{argument.name}_2", offset + 4, 32, access, text + ", bits 63 to 32."))
    return (*specs, *IDENTITY_MAP)
