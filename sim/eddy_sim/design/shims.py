# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Text generated from the boundary table: C structures, adapters of Verilated models, the wrapper of the shell.

A Verilated model is reached through a plain C interface (`cpp/slot_abi.h`), so that the board's program never sees
Verilator's classes and each model can be its own shared object. Copying between C structures and Verilator's ports is
the same few dozen assignments everywhere; they are generated here, never written by hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from eddy_sim.design.boundary import (
    CONFIGURATION,
    CPU_DOWN,
    CPU_UP,
    ENGINE_UP,
    MAX_SLOTS,
    MEMORY_DOWN,
    MEMORY_UP,
    SLOT_DOWN,
    SLOT_UP,
    Signal,
    upper_halves,
)

WRAPPER_TOP = "eddy_board_top"
"""Name of the generated wrapper around `shell`."""

_RESET = Signal("rst_n", 1)
_IRQ = Signal("irq", 1)
_BIT = Signal("irq_o", 1)
SLOT_DOWN_FIELDS = (*SLOT_DOWN, *upper_halves(SLOT_DOWN), _RESET)
"""What the structure `SlotDown` has."""
SLOT_UP_FIELDS = (*SLOT_UP, *upper_halves(SLOT_UP), _IRQ)
"""What the structure `SlotUp` has."""
_PORTS = """\
// A port of memory's data: a scalar, or words of 32 bits where it has 128; its strobes: 8 or 16 bits.
template <class P> static inline void put(P& port, uint64_t low, uint64_t high) {
  if constexpr (!std::is_integral_v<P>) {
    port[0] = static_cast<uint32_t>(low);
    port[1] = static_cast<uint32_t>(low >> 32);
    port[2] = static_cast<uint32_t>(high);
    port[3] = static_cast<uint32_t>(high >> 32);
  } else if constexpr (sizeof(P) == 2) {
    port = static_cast<P>(low | high << 8);
  } else {
    port = static_cast<P>(low);
  }
}
template <class P> static inline uint64_t low(const P& port) {
  if constexpr (!std::is_integral_v<P>) return port[0] | static_cast<uint64_t>(port[1]) << 32;
  else if constexpr (sizeof(P) == 2) return port & 0xFF;
  else return port;
}
template <class P> static inline uint64_t high(const P& port) {
  if constexpr (!std::is_integral_v<P>) return port[2] | static_cast<uint64_t>(port[3]) << 32;
  else if constexpr (sizeof(P) == 2) return port >> 8;
  else return 0;
}
"""


def _struct(name: str, doc: str, signals: Iterable[Signal]) -> str:
    # Widest first leaves padding only at the end, so that structures can be compared as memory.
    ordered = sorted(signals, key=lambda signal: -int(signal.c_type[4:-2]))
    fields = "\n".join(f"  {signal.c_type} {signal.name};" for signal in ordered)
    return f"/// {doc}\ntypedef struct {{\n{fields}\n}} {name};\n"


def boundary_header() -> str:
    """The C structures of the slot boundary and of the shell's outer ports."""
    parts = [
        "#pragma once\n#include <stdint.h>\n",
        f"#define EDDY_MAX_SLOTS {MAX_SLOTS}\n",
        _struct("SlotDown", "From the shell to one module.", SLOT_DOWN_FIELDS),
        _struct("SlotUp", "From one module to the shell.", SLOT_UP_FIELDS),
        _struct("CpuDown", "From the CPU to the shell.", CPU_DOWN),
        _struct("CpuUp", "From the shell to the CPU.", (*CPU_UP, _IRQ)),
        _struct("MemoryUp", "From the shell to memory.", (*MEMORY_UP, *upper_halves(MEMORY_UP))),
        _struct("MemoryDown", "From memory to the shell.", (*MEMORY_DOWN, *upper_halves(MEMORY_DOWN))),
        _struct("Configuration", "From the configuration port to the shell.", CONFIGURATION),
        _struct("EngineUp", "From the shell's engine to the configuration port.", ENGINE_UP),
        _masks(),
    ]
    return "\n".join(parts)


def _masks() -> str:
    """A function that cuts random bytes down to what the module's ports can carry."""
    lines = "\n".join(
        f"  up->{signal.name} &= ({signal.c_type}){(1 << signal.width) - 1:#x}ull;" for signal in SLOT_UP_FIELDS
    )
    return f"/// Clear the bits that no port carries.\nstatic inline void slot_up_mask(SlotUp* up) {{\n{lines}\n}}\n"


def _put(port: str, field: str, signal: Signal) -> str:
    return f"  put({port}, {field}, {field}_hi);" if signal.wide else f"  {port} = {field};"


def _get(field: str, port: str, signal: Signal) -> str:
    if not signal.wide:
        return f"  {field} = {port};"
    halves = ((field, "low"), (f"{field}_hi", "high"))
    return "\n".join(f"  {half} = static_cast<{signal.c_type}>({which}({port}));" for half, which in halves)


def module_copies() -> str:
    """C++ functions that copy between the structures and a module's Verilated ports."""
    inputs = [_put(f"m.{signal.name}", f"down.{signal.name}", signal) for signal in SLOT_DOWN]
    inputs.append("  m.rst_ni = down.rst_n;")
    outputs = [_get(f"up.{signal.name}", f"m.{signal.name}", signal) for signal in SLOT_UP] + ["  up.irq = m.irq_o;"]
    return (
        _PORTS
        + "template <class M> static inline void copy_in(M& m, const SlotDown& down) {\n"
        + "\n".join(inputs)
        + "\n}\ntemplate <class M> static inline void copy_out(const M& m, SlotUp& up) {\n"
        + "\n".join(outputs)
        + "\n}\n"
    )


def shell_copies() -> str:
    """C++ functions that copy between the structures and the wrapper's Verilated ports."""
    slot_in = [_put(f"m.slot_{signal.name}[k]", f"up.{signal.name}", signal) for signal in SLOT_UP]
    slot_out = [_get(f"down.{signal.name}", f"m.slot_{signal.name}[k]", signal) for signal in SLOT_DOWN]
    outer_in = [f"  m.{signal.name} = cpu.{signal.name};" for signal in CPU_DOWN]
    memory_in = [_put(f"m.{signal.name}", f"memory.{signal.name}", signal) for signal in MEMORY_DOWN]
    config_in = [f"  m.{signal.name} = config.{signal.name};" for signal in CONFIGURATION]
    cpu_out = [f"  cpu.{signal.name} = m.{signal.name};" for signal in CPU_UP]
    memory_out = [_get(f"memory.{signal.name}", f"m.{signal.name}", signal) for signal in MEMORY_UP]
    engine_out = [f"  engine.{signal.name} = m.{signal.name};" for signal in ENGINE_UP]

    def function(signature: str, lines: list[str]) -> str:
        return f"template <class M> static inline void {signature} {{\n" + "\n".join(lines) + "\n}\n"

    return "".join(
        [
            _PORTS,
            function(
                "slot_in(M& m, unsigned k, const SlotUp& up)",
                [*slot_in, "  m.slot_irq_i[k] = up.irq;"],
            ),
            function(
                "slot_out(const M& m, unsigned k, SlotDown& down)",
                [*slot_out, "  down.rst_n = m.slot_rst_no[k];"],
            ),
            function("cpu_in(M& m, const CpuDown& cpu)", outer_in),
            function("memory_in(M& m, const MemoryDown& memory)", memory_in),
            function("config_in(M& m, const Configuration& config)", config_in),
            function("cpu_out(const M& m, CpuUp& cpu)", [*cpu_out, "  cpu.irq = m.irq_o;"]),
            function("memory_out(const M& m, MemoryUp& memory)", memory_out),
            function("engine_out(const M& m, EngineUp& engine)", engine_out),
        ]
    )


def wrapper_source(with_build_hash: bool) -> str:
    """SystemVerilog around `shell`: the slots' packed arrays become unpacked ones.

    Verilator keeps a packed array of wide elements as one long word; an unpacked array is a C array that can be
    copied element by element.
    """
    outer = [
        *(f"  input  logic {s.range}{s.name}" for s in (*CPU_DOWN, *MEMORY_DOWN, *CONFIGURATION)),
        *(f"  output logic {s.range}{s.name}" for s in (*CPU_UP, *MEMORY_UP, *ENGINE_UP, _BIT)),
    ]
    slot_in = [(f"slot_{s.name}", s.range) for s in SLOT_UP] + [("slot_irq_i", "")]
    slot_out = [(f"slot_{s.name}", s.range) for s in SLOT_DOWN] + [("slot_rst_no", "")]
    ports = [
        "  input  logic clk_i",
        "  input  logic rst_ni",
        "  input  logic bus_clk_i",
        "  output logic bus_wake_o",
        "  input  logic [NumSlots-1:0] path_clk_i",
        "  output logic [NumSlots-1:0] path_wake_o",
        "  input  logic [NumSlots-1:0] slot_clk_i",
        "  input  logic icap_clk_i",
        *outer,
        *(f"  input  logic {width}{name} [NumSlots]" for name, width in slot_in),
        *(f"  output logic {width}{name} [NumSlots]" for name, width in slot_out),
    ]
    packed = [f"  logic [NumSlots-1:0]{width}{name}_p;" for name, width in (*slot_in, *slot_out)]
    assigns = [f"    assign {name}_p[k] = {name}[k];" for name, _ in slot_in]
    assigns += [f"    assign {name}[k] = {name}_p[k];" for name, _ in slot_out]
    plain = ["clk_i", "rst_ni", "bus_clk_i", "bus_wake_o", "path_clk_i", "path_wake_o", "slot_clk_i"]
    plain += ["icap_clk_i", "irq_o"]
    plain += [s.name for s in (*CPU_DOWN, *CPU_UP, *MEMORY_UP, *MEMORY_DOWN, *CONFIGURATION, *ENGINE_UP)]
    connections = [f"    .{name}({name})" for name in plain]
    connections += [f"    .{name}({name}_p)" for name, _ in (*slot_in, *slot_out)]
    passed = (
        "NumSlots",
        "CacheBytes",
        "Engine",
        "Streams",
        "MemRequests",
        "MemBeats",
        *(("BuildHash",) if with_build_hash else ()),
    )
    parameters = ", ".join(f".{name}({name})" for name in passed)
    return "\n".join(
        [
            f"module {WRAPPER_TOP} #(",
            "  parameter int unsigned NumSlots = 4,",
            "  parameter int unsigned CacheBytes = 0,",
            "  parameter bit Engine = 1'b0,",
            "  parameter bit Streams = 1'b0,",
            "  parameter int unsigned MemRequests = 8,",
            "  parameter int unsigned MemBeats = 32,",
            "  parameter logic [63:0] BuildHash = '0",
            ") (",
            ",\n".join(ports),
            ");",
            *packed,
            "  for (genvar k = 0; k < int'(NumSlots); k++) begin : gen_slot",
            *assigns,
            "  end",
            f"  shell #({parameters}) u_shell (",
            ",\n".join(connections),
            "  );",
            "endmodule\n",
        ]
    )


_MEMBER = re.compile(r"^\s*(?:VL_IN8\((?P<port>\w*clk\w*),|(?P<type>[\w:]+(?:<.*>)?)(?:/\*.*?\*/)?\s+(?P<name>\w+);)")
_SCRATCH = re.compile(r"^__V(?:\w*Triggered|\w*PhaseResult|\w*FirstIteration|actIterCount|trigprevexpr\w*)$")


def instances(symbols_header: str, names: Iterable[str]) -> str:
    """C++ that finds the state of instances in the shell that Verilator keeps apart: one object an instance.

    Args:
        symbols_header: Text of the generated `V<prefix>__Syms.h`.
        names: How the instances' names end, in the order in which they are to be numbered.

    Raises:
        ValueError: One is not there: Verilator changed how it names instances.
    """
    found = []
    for index, ending in enumerate(names):
        match = re.search(rf"^\s*\w+\s+(\w+__DOT__{ending});", symbols_header, re.MULTILINE)
        if not match:
            raise ValueError(f"no instance {ending} found in Verilator's output; its naming has changed")
        found.append((match[1], index))

    def function(signature: str, value: str) -> str:
        cases = "\n".join(f"    case {index}: return {value.format(name)};" for name, index in found)
        body = f"  switch (k) {{\n{cases}\n  }}\n  __builtin_trap();\n"
        return f"template <class S> static inline {signature} {{\n{body}}}\n"

    return function(
        "const unsigned char* part_state(const S& s, unsigned k)", "reinterpret_cast<const unsigned char*>(&s.{})"
    ) + function("size_t part_bytes(const S& s, unsigned k)", "sizeof s.{}")


def normaliser(root_header: str, counters: str) -> str:
    """C++ that clears a model's evaluation scratch and finds its linear counters.

    Verilator compares each clock with its value at the last evaluation to find edges; clearing those copies makes the
    next evaluation see an edge on every clock that is high, without an evaluation for the falling edge. This is
    exact where no logic looks at a clock's level or falling edge, which the boundary's rules forbid.

    Args:
        root_header: Text of the generated `V<prefix>___024root.h`.
        counters: Regular expression that names 64-bit variables which only count clock edges.

    Raises:
        ValueError: Verilator changed how it names what detects edges.
    """
    names = [match.group("name") for line in root_header.splitlines() if (match := _MEMBER.match(line))]
    members = [name for name in names if name]
    previous = [name for name in members if name.startswith("__Vtrigprevexpr")]
    if not previous:
        raise ValueError("no edge detection found in Verilator's output; its naming has changed")
    scratch = [name for name in members if _SCRATCH.match(name)]
    found = [name for name in members if re.search(counters, name)] if counters else []

    def clear(names: list[str]) -> str:
        return "\n".join(f"  __builtin_memset(&r.{name}, 0, sizeof r.{name});" for name in names)

    entries = "".join(f"  {{offsetof(R, {name}), sizeof(R::{name})}},\n" for name in found)
    return (
        f"template <class R> static inline void clear_edges(R& r) {{\n{clear(previous)}\n}}\n"
        f"template <class R> static inline void clear_scratch(R& r) {{\n{clear(scratch)}\n}}\n"
        f"struct Counter {{ size_t offset, size; }};\n"
        f"#define EDDY_COUNTERS {len(found)}\n"
        f"template <class R> struct Counters {{ static constexpr Counter list[] = {{\n{entries}  {{0, 0}} }}; }};\n"
    )


_EDGE = re.compile(r"region trigger index \d+ is active: (@.*?)\\n")
_PORT = re.compile(r"^\s*VL_IN\w*\(&?(\w+),", re.MULTILINE)


def check_edges(root_header: str, sources: Iterable[str]) -> list[str]:
    """Refuse a model in which anything but the rising edge of an input starts an evaluation.

    In all others one evaluation is enough: nothing that an edge changes is a further edge.

    Args:
        root_header: Text of the generated `V<prefix>___024root.h`.
        sources: Texts of the generated C++ files.

    Returns:
        What starts an evaluation: `@(posedge clk_i)`, say, in order of the alphabet.

    Raises:
        ValueError: There is another event, or Verilator changed how it names what starts an evaluation.
    """
    edges = {f"@(posedge {port})" for port in _PORT.findall(root_header)}
    found: set[str] = set()
    for source in sources:
        found.update(_EDGE.findall(source))
        if "___eval_act(" in source:
            raise ValueError("the model has logic that is evaluated before its flops; one evaluation is not enough")
    if not found:
        raise ValueError("no edges found in Verilator's output; its naming has changed")
    others = sorted(event for event in found if re.sub(r"\[\d+\]\)$", ")", event) not in edges)
    if others:
        raise ValueError(f"evaluated at what is no rising edge of an input: {', '.join(others)}")
    return sorted(found)
