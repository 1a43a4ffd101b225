# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The top that puts a kernel into a slot: the slot's ports, the blocks of `hw/ip/kernel_port`, and the kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from eddy_sim.importing.arrays import KernelArray, array_connections, array_lines
from eddy_sim.importing.control import POKED, SCALARS_FROM, RunControl, run_connections, run_lines, run_parameters
from eddy_sim.importing.interfaces import AxiInterface, KernelPorts
from eddy_sim.importing.streams import FIRST, STRIDE, stream_connections, stream_lines

STATUS_OFFSET = 0xEF00
"""Where `kernel_axil` shows what went wrong with memory."""
_DEFAULTS = {
    **{f"a{way}{name}": value for way in "rw" for name, value in (("id", "'0"), ("addr", "'0"), ("len", "8'd0"))},
    **{
        f"a{way}{name}": value
        for way in "rw"
        for name, value in (("burst", "2'b01"), ("lock", "1'b0"), ("valid", "1'b0"))
    },
    **{"wdata": "'0", "wstrb": "'1", "wlast": "1'b1", "wvalid": "1'b0", "bready": "1'b1", "rready": "1'b1"},
}
"""What a signal is that a kernel's port has not."""
_ASKS = (
    *(f"a{way}{name}" for way in "wr" for name in ("id", "addr", "len", "size", "burst", "lock", "valid")),
    *("wdata", "wstrb", "wlast", "wvalid", "bready", "rready"),
)
_ANSWERS = ("awready", "wready", "bid", "bresp", "bvalid", "arready", "rid", "rdata", "rresp", "rlast", "rvalid")


@dataclass(frozen=True)
class PlacedBundle:
    """A register bundle in the slot's window, or a part of one.

    Attributes:
        interface: Its ports.
        base: Where it begins.
        bytes: How much of the window it has.
        offset: Where the part begins in the bundle.
    """

    interface: AxiInterface
    base: int
    bytes: int
    offset: int = 0


def slot_top(
    name: str,
    kernel: str,
    ports: KernelPorts,
    bundles: Sequence[PlacedBundle],
    stubs: Mapping[str, Sequence[str]],
    run: RunControl | None = None,
    arrays: Sequence[KernelArray] = (),
) -> str:
    """The text of a top.

    Args:
        name: Of the module; the top is `<name>_slot`.
        kernel: The kernel's own top, with its parameters behind it where they are set.
        ports: Its ports.
        bundles: Its register bundles, the one with AP_CTRL first.
        stubs: Names and ports of modules that only watch, for which empty ones stand in.
        run: How it is run, where the shell's library does; None where its own AP_CTRL is what a slot sees.
        arrays: What lies behind its ports to memory blocks.
    """
    lines = [
        "// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0",
        f"/// The kernel `{kernel}` in a slot. Written by `eddy module import`; import it again rather than change it.",
        f"module {name}_slot #(",
        "  /// Hash of sources and toolchain, read back from the identity block.",
        "  parameter logic [63:0] BuildHash = '0",
        ") (",
        '  `include "slot_ports.svh"',
        ");",
        "",
        *_declared(ports, bundles, run, arrays),
        "",
    ]
    for number, memory in enumerate(ports.memories):
        lines += _memory(number, memory)
    streams = run.streams if run else ()
    if not ports.memories and not streams:
        lines += _no_memory()
    for number, stream in enumerate(streams, len(ports.memories)):
        lines += stream_lines(stream, number, run.ties or {} if run else {})
    if run:
        lines += run_lines(run, len(ports.memories), [each.interface.prefix for each in bundles])
    for number, array in enumerate(arrays):
        lines += array_lines(array, number, number + len(bundles) + (run.first_bundle if run else 0))
    lines += _answers_of_parts(bundles, run)
    connections = [*_connections(ports, bundles, run)]
    connections += [pair for number, array in enumerate(arrays) for pair in array_connections(array, number)]
    lines += [f"  {kernel} u_kernel (", ",\n".join(f"    .{port}({net})" for port, net in connections), "  );", ""]
    lines += ["endmodule", *_stubs(stubs)]
    return "\n".join(lines) + "\n"


def _declared(
    ports: KernelPorts, bundles: Sequence[PlacedBundle], run: RunControl | None, arrays: Sequence[KernelArray]
) -> Iterator[str]:
    """What the slot's blocks around every kernel want to be declared, and they."""
    places = [(each.base, each.bytes) for each in bundles]
    streams = len(run.streams) if run else 0
    if run:
        own = [(0, FIRST + STRIDE * streams)]
        places = [
            *own,
            *([(SCALARS_FROM, 4 * (run.scalar_words + run.result_words))] if run.has_words else []),
            *places,
        ]
    places += [(array.base, array.bytes) for array in arrays]
    yield f"  localparam int unsigned NumBundles = {len(places)}, NumPorts = {max(len(ports.memories) + streams, 1)};"
    yield f"  localparam logic [NumBundles-1:0][15:0] BundleBase = {_packed(base for base, _ in places)};"
    yield f"  localparam logic [NumBundles-1:0][15:0] BundleBytes = {_packed(size for _, size in places)};"
    if run:
        yield from run_parameters(run)
    else:
        yield "  logic [20:0] trouble;"
        yield "  assign trouble = '0;"
    yield '  `include "kernel_slot.svh"'
    if run:
        yield '  `include "kernel_run.svh"'


def _connections(
    ports: KernelPorts, bundles: Sequence[PlacedBundle], run: RunControl | None
) -> Iterator[tuple[str, str]]:
    """The kernel's ports, and what each is connected to."""
    taken = dict(run_connections(run)) if run else {}
    for port, net in _common(ports, run):
        if port not in taken:
            yield port, net
    yield from taken.items()
    for number, memory in enumerate(ports.memories):
        yield from _to_memory(number, memory)
    for prefix, parts in _parts_of(bundles, run).items():
        poked = run is not None and run.pokes and run.start is not None and run.start.bundle == prefix
        yield from _to_bundle(parts, poked)
    for stream in run.streams if run else ():
        yield from stream_connections(stream, run.ties or {} if run else {})


def _parts_of(bundles: Sequence[PlacedBundle], run: RunControl | None) -> dict[str, list[tuple[int, PlacedBundle]]]:
    """The parts of each bundle, with their numbers."""
    found: dict[str, list[tuple[int, PlacedBundle]]] = {}
    for number, part in enumerate(bundles, run.first_bundle if run else 0):
        found.setdefault(part.interface.prefix, []).append((number, part))
    return found


def _answers_of_parts(bundles: Sequence[PlacedBundle], run: RunControl | None) -> Iterator[str]:
    """A bundle in several parts answers by the first one's nets: no more than one of them is asked at a time."""
    for (first, _), *others in _parts_of(bundles, run).values():
        for number, _ in others:
            for name in ("awready", "wready", "bvalid", "arready", "rvalid", "rdata"):
                yield f"  assign bundle_{name}[{number}] = bundle_{name}[{first}];"


def _packed(values: Iterator[int]) -> str:
    """A packed array's value, the first element lowest."""
    return "{" + ", ".join(f"16'h{value:04X}" for value in reversed(list(values))) + "}"


def _memory(number: int, memory: AxiInterface) -> Iterator[str]:
    """The adapter of a memory port, and the nets between it and the kernel."""
    p, ids = f"m{number}", max(memory.id_width, 1)
    widths = {"bid": ids, "rid": ids, "rdata": memory.data_width, "bresp": 2, "rresp": 2}
    yield f"  // {memory.prefix}: {memory.data_width} bits of data, {memory.addr_width} of address."
    for signal in _ASKS:
        if signal in memory.ports:
            yield f"  logic [{memory.ports[signal].width - 1}:0] {p}_{signal};"
    for signal in _ANSWERS:
        yield f"  logic [{widths.get(signal, 1) - 1}:0] {p}_{signal};"
    yield f"  kernel_mem #(.KernelDataWidth({memory.data_width}), .KernelAddrWidth({memory.addr_width}), "
    yield f"    .KernelIdWidth({ids})) u_{p} ("
    yield "    .clk_i, .rst_ni(mem_rst_n),"
    for signal in _ASKS:
        yield f"    .s_axi_{signal}({_ask(p, signal, memory, ids)}),"
    for signal in _ANSWERS:
        yield f"    .s_axi_{signal}({p}_{signal}),"
    yield f"    .req_o(port_req[{number}]), .rsp_i(port_rsp[{number}]), .read_error_o(port_read_error[{number}]),"
    yield f"    .write_error_o(port_write_error[{number}]), .refused_o(port_refused[{number}]),"
    yield f"    .quiet_o(port_quiet[{number}])"
    yield "  );"
    yield ""


def _ask(p: str, signal: str, memory: AxiInterface, ids: int) -> str:
    """What a kernel's adapter sees of a signal."""
    if signal not in memory.ports:
        return f"3'd{(memory.data_width // 8).bit_length() - 1}" if signal.endswith("size") else _DEFAULTS[signal]
    widths = {"id": ids, "addr": memory.addr_width, "len": 8, "size": 3, "burst": 2}
    name = signal[2:] if signal.startswith("a") else ""
    if name == "lock":
        return f"|{p}_{signal}"
    return f"{widths[name]}'({p}_{signal})" if name in widths else f"{p}_{signal}"


def _no_memory() -> list[str]:
    quiet = ("port_read_error", "port_write_error", "port_refused")
    return [
        "  // The kernel asks nothing of memory.",
        "  always_comb begin",
        "    port_req[0] = '0;",
        "    port_req[0].b_ready = 1'b1;",
        "    port_req[0].r_ready = 1'b1;",
        "  end",
        *(f"  assign {name} = '0;" for name in quiet),
        "  assign port_quiet = '1;",
        "",
    ]


def _common(ports: KernelPorts, run: RunControl | None) -> Iterator[tuple[str, str]]:
    reset = "kernel_rst_n" if run else "rst_ni"
    yield from ((port.name, "clk_i") for port in ports.clocks)
    yield from ((port.name, reset if low else f"!{reset}") for port, low in ports.resets)
    yield from ((port.name, "1'b1") for port in ports.ones)
    if ports.interrupt:
        yield ports.interrupt.name, "" if run else "irq"
    yield from ((port.name, "") for port in (*ports.outputs, *ports.block.values()) if port.output)
    ties = run.ties or {} if run else {}
    for port in ports.inputs:
        if port.name in ties:
            yield port.name, f"{port.width}'d{int(ties[port.name], 0)}"


def _to_memory(number: int, memory: AxiInterface) -> Iterator[tuple[str, str]]:
    for signal, port in memory.ports.items():
        if port.output:
            yield port.name, f"m{number}_{signal}" if signal in _ASKS else ""
        elif signal in ("rid", "bid"):
            yield port.name, f"{port.width}'(m{number}_{signal})"
        else:
            yield port.name, f"m{number}_{signal}" if signal in _ANSWERS else "'0"


def _to_bundle(parts: Sequence[tuple[int, PlacedBundle]], poked: bool = False) -> Iterator[tuple[str, str]]:
    """A bundle's ports, of which the slot's side asks part by part."""
    number, control = parts[0][0], parts[0][1].interface
    for signal, port in control.ports.items():
        net = POKED.get(signal) if poked else None
        if signal in ("awaddr", "araddr"):
            asked = f"bundle_{signal[:2]}valid"
            moved = "".join(f" + (32'd{part.offset} & {{32{{{asked}[{n}]}}}})" for n, part in parts if part.offset)
            whole = f"32'(bundle_{signal})" if moved else f"bundle_{signal}"
            yield port.name, f"{port.width}'({net or whole + moved})"
        elif signal in ("wdata", "wstrb"):
            yield port.name, net or f"bundle_{signal}"
        elif signal == "rdata":
            yield port.name, f"bundle_rdata[{number}]"
        elif signal.endswith(("valid", "ready")):
            asked = " || ".join(f"bundle_{signal}[{n}]" for n, _ in parts)
            yield port.name, net or (f"bundle_{signal}[{number}]" if port.output else asked)
        else:
            yield port.name, "" if port.output else "'0"


def _stubs(stubs: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for name, ports in stubs.items():
        yield ""
        yield "/// Watches, and does nothing else."
        yield f"module {name} (" + ", ".join(f"input logic [1023:0] {port}" for port in ports) + ");"
        yield "endmodule"
