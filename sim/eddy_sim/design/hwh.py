# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Hardware handoff files (`.hwh`): what PYNQ reads to know the cores, clocks and interrupts of a design.

Vivado writes these from a block design. Here they are written from `eddy_sim.design.addressmap`, with just what stock
PYNQ
reads: its metadata parser (`pynqmetadata`, for a whole design) and its older one (`pynq.pl_server.hwh_parser`, for
partial designs). Every slot appears as a hierarchy with one core in it: without one, `Overlay.pr_download` knows no
region of that name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.etree import ElementTree as Xml

from eddy_sim.design.addressmap import INTC_INPUTS, INTC_NAME, Ip, RegisterSpec

PS = "zynq_ultra_ps_e_0"
CONCAT = "xlconcat_0"
GROUND = "xlconstant_0"
MASTER = "M_AXI_HPM0_FPD"
SUBORDINATE = "S_AXI"
PLL_MHZ = 33.333 * 90 / 2
"""The IO PLL as PYNQ computes it: 33.333 MHz times FBDIV 90, halved."""
_AXIMM = "xilinx.com:interface:aximm:1.0"
_SCALAR_NET = "{}_{}"


def clock_divisor(clk_hz: float) -> int:
    """Divisor of the IO PLL for a PL clock of `clk_hz`: the rate is not exceeded by more than 1 %."""
    return max(1, min(63, math.ceil(0.99 * PLL_MHZ * 1e6 / clk_hz)))


def overlay_hwh(name: str, part: str, shell_hz: float, ips: Sequence[Ip]) -> str:
    """The `.hwh` of the static region.

    Args:
        name: Name of the block design.
        part: Device part, ``device-package-speed``.
        shell_hz: PL clock 0.
        ips: Its addressable cores, one of them the interrupt controller.
    """
    root = _root(name, part)
    Xml.SubElement(root, "EXTERNALPORTS")
    modules = Xml.SubElement(root, "MODULES")
    _processing_system(modules, shell_hz, ips)
    for ip in ips:
        _core(modules, ip, wired=True)
    _concat(modules, ips)
    return _text(root)


def partial_hwh(name: str, part: str, ip: Ip) -> str:
    """The `.hwh` of a reconfigurable module; `ip.path` is relative to its slot."""
    root = _root(name, part)
    ports = Xml.SubElement(root, "EXTERNALPORTS")
    for pin, _ in ip.interrupts:
        Xml.SubElement(ports, "PORT", DIR="O", NAME="irq", SIGIS="undef", SIGNAME=_SCALAR_NET.format(ip.instance, pin))
    modules = Xml.SubElement(root, "MODULES")
    core = _core(modules, ip, wired=False)
    memory = Xml.SubElement(core, "MEMORYMAP")
    _memrange(memory, ip, "S_AXIL")
    return _text(root)


def _root(name: str, part: str) -> Xml.Element:
    device, _, rest = part.partition("-")
    package, _, speed = rest.partition("-")
    root = Xml.Element("EDKSYSTEM", EDWVERSION="1.2", VIVADOVERSION="none", TIMESTAMP="")
    Xml.SubElement(root, "SYSTEMINFO", ARCH="zynquplus", DEVICE=device, NAME=name, PACKAGE=package, SPEEDGRADE=speed)
    return root


def _text(root: Xml.Element) -> str:
    Xml.indent(root, "  ")
    return Xml.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _module(parent: Xml.Element, path: str, instance: str, vlnv: str, is_pl: bool = True) -> Xml.Element:
    return Xml.SubElement(
        parent,
        "MODULE",
        FULLNAME="/" + path,
        INSTANCE=instance,
        IPTYPE="PERIPHERAL",
        IS_ENABLE="1",
        IS_PL="TRUE" if is_pl else "FALSE",
        MODCLASS="PERIPHERAL",
        MODTYPE=vlnv.split(":")[2],
        VLNV=vlnv,
    )


def _parameters(module: Xml.Element, values: dict[str, str]) -> None:
    parameters = Xml.SubElement(module, "PARAMETERS")
    for name, value in values.items():
        Xml.SubElement(parameters, "PARAMETER", NAME=name, VALUE=value)


def _port(
    ports: Xml.Element, name: str, direction: str, net: str, ends: Sequence[tuple[str, str]], sigis: str = "undef"
) -> None:
    port = Xml.SubElement(ports, "PORT", DIR=direction, NAME=name, SIGIS=sigis, SIGNAME=net)
    connections = Xml.SubElement(port, "CONNECTIONS")
    for instance, pin in ends:
        Xml.SubElement(connections, "CONNECTION", INSTANCE=instance, PORT=pin)


def _bus(module: Xml.Element, name: str, kind: str) -> None:
    interfaces = Xml.SubElement(module, "BUSINTERFACES")
    Xml.SubElement(interfaces, "BUSINTERFACE", NAME=name, TYPE=kind, VLNV=_AXIMM, DATAWIDTH="32")


def _memrange(memory: Xml.Element, ip: Ip, master: str) -> None:
    Xml.SubElement(
        memory,
        "MEMRANGE",
        ADDRESSBLOCK="Reg",
        BASENAME="C_BASEADDR",
        BASEVALUE=f"0x{ip.base:08X}",
        HIGHNAME="C_HIGHADDR",
        HIGHVALUE=f"0x{ip.base + ip.bytes - 1:08X}",
        INSTANCE=ip.instance,
        IS_DATA="TRUE",
        IS_INSTRUCTION="FALSE",
        MASTERBUSINTERFACE=master,
        MEMTYPE="REGISTER",
        SLAVEBUSINTERFACE=SUBORDINATE,
    )


def _processing_system(modules: Xml.Element, shell_hz: float, ips: Sequence[Ip]) -> None:
    module = _module(modules, PS, PS, "xilinx.com:ip:zynq_ultra_ps_e:3.5", is_pl=False)
    divisors = [clock_divisor(shell_hz), 15, 15, 15]
    values = {"C_MAXIGP0_DATA_WIDTH": "32", "PSU__PSS_REF_CLK__FREQMHZ": "33.333"}
    for index, divisor in enumerate(divisors):
        control = f"PSU__CRL_APB__PL{index}_REF_CTRL"
        values[f"{control}__DIVISOR0"] = str(divisor)
        values[f"{control}__DIVISOR1"] = "1"
        values[f"{control}__SRCSEL"] = "IOPLL"
        values[f"{control}__ACT_FREQMHZ"] = f"{PLL_MHZ / divisor:.6f}"
        values[f"PSU__FPGA_PL{index}_ENABLE"] = "1" if index == 0 else "0"
    _parameters(module, values)
    ports = Xml.SubElement(module, "PORTS")
    _port(ports, "pl_ps_irq0", "I", f"{INTC_NAME}_irq", [(INTC_NAME, "irq")], "INTERRUPT")
    _port(ports, "pl_clk0", "O", "pl_clk0", [], "clk")
    _bus(module, MASTER, "MASTER")
    memory = Xml.SubElement(module, "MEMORYMAP")
    for ip in ips:
        _memrange(memory, ip, MASTER)


def _core(modules: Xml.Element, ip: Ip, wired: bool) -> Xml.Element:
    """A core; `wired` where the design holds the interrupt controller its pins lead to."""
    module = _module(modules, ip.path, ip.instance, ip.vlnv)
    blocks = Xml.SubElement(module, "ADDRESSBLOCKS")
    block = Xml.SubElement(
        blocks, "ADDRESSBLOCK", ACCESS="read-write", INTERFACE=SUBORDINATE, NAME="Reg", RANGE=str(ip.bytes),
        USAGE="register",
    )  # fmt: skip
    registers = Xml.SubElement(block, "REGISTERS")
    for register in ip.registers:
        _register(registers, register)
    ends = {"C_BASEADDR": f"0x{ip.base:08X}", "C_HIGHADDR": f"0x{ip.base + ip.bytes - 1:08X}"}
    _parameters(module, {**ends, **dict(ip.parameters)})
    ports = Xml.SubElement(module, "PORTS")
    if ip.path == INTC_NAME:
        _port(ports, "intr", "I", f"{CONCAT}_dout", [(CONCAT, "dout")], "INTERRUPT")
        _port(ports, "irq", "O", f"{INTC_NAME}_irq", [(PS, "pl_ps_irq0")], "INTERRUPT")
    for pin, index in ip.interrupts:
        sinks = [(CONCAT, f"In{index}")] if wired else []
        _port(ports, pin, "O", _SCALAR_NET.format(ip.instance, pin), sinks, "INTERRUPT")
    _bus(module, SUBORDINATE, "SLAVE")
    return module


def _register(parent: Xml.Element, spec: RegisterSpec) -> None:
    register = Xml.SubElement(parent, "REGISTER", NAME=spec.name)
    properties = {
        "DESCRIPTION": spec.description or spec.name,
        "ADDRESS_OFFSET": f"0x{spec.offset:X}",
        "SIZE": str(spec.bits),
        "ACCESS": spec.access,
        "IS_ENABLED": "true",
    }
    _properties(register, properties)
    fields = Xml.SubElement(register, "FIELDS")
    for bits in spec.fields:
        entry = Xml.SubElement(fields, "FIELD", NAME=bits.name)
        values = {"DESCRIPTION": bits.name, "BIT_OFFSET": str(bits.low), "BIT_WIDTH": str(bits.width)}
        _properties(entry, {**values, "ACCESS": spec.access})


def _properties(parent: Xml.Element, values: dict[str, str]) -> None:
    for name, value in values.items():
        Xml.SubElement(parent, "PROPERTY", NAME=name, VALUE=value)


def _concat(modules: Xml.Element, ips: Sequence[Ip]) -> None:
    """Gather the interrupt pins; inputs nothing drives are tied low, so that an input's number is its place."""
    sources = {index: (ip.instance, pin) for ip in ips for pin, index in ip.interrupts}
    free = [f"In{index}" for index in range(INTC_INPUTS) if index not in sources]
    module = _module(modules, CONCAT, CONCAT, "xilinx.com:ip:xlconcat:2.1")
    _parameters(module, {"NUM_PORTS": str(INTC_INPUTS)})
    ports = Xml.SubElement(module, "PORTS")
    for index in range(INTC_INPUTS):
        instance, pin = sources.get(index, (GROUND, "dout"))
        _port(ports, f"In{index}", "I", _SCALAR_NET.format(instance, pin), [(instance, pin)])
    _port(ports, "dout", "O", f"{CONCAT}_dout", [(INTC_NAME, "intr")])
    ground = _module(modules, GROUND, GROUND, "xilinx.com:ip:xlconstant:1.1")
    _parameters(ground, {"CONST_VAL": "0", "CONST_WIDTH": "1"})
    ports = Xml.SubElement(ground, "PORTS")
    _port(ports, "dout", "O", _SCALAR_NET.format(GROUND, "dout"), [(CONCAT, pin) for pin in free])
