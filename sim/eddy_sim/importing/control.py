# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How a kernel is started and says that it is done, where it is not by AP_CTRL and an interrupt of its own.

The shell's library then has the AP_CTRL that a slot sees (`kernel_run`), and starts the kernel: by ports, by a bit in
one of its registers (`kernel_poke`), or not at all, where it runs whenever it is out of reset (`ap_ctrl_none`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from eddy.core.errors import InvalidRequest

from eddy_sim.importing.arrays import element_bits
from eddy_sim.importing.design import TopPort
from eddy_sim.importing.interfaces import AxiInterface, KernelPorts
from eddy_sim.importing.registers import KernelRegister, RegisterBundle
from eddy_sim.importing.streams import KernelStream

STALL_CYCLES, LONGEST_STALL_CYCLES = 65_536, 1 << 24
"""Cycles without a move after which a run counts as stuck, with streams, and without: those may compute for long."""
BUNDLES_FROM = 0x400
"""Where the kernel's own registers begin in the window, behind those of the run and of 16 streams, at least."""
SCALARS_FROM, MOST_SCALAR_WORDS = 0x300, 1024
"""Where the words lie that inputs and outputs without an interface have, and how many there can be."""
FEWEST_ELEMENTS = 4
"""Of how many ports of one name with numbers behind it an array is made."""
VALID = "_ap_vld"
"""Behind the name of an output, that of the port by which HLS says that it is valid."""
_WORDS = {"start": ("pulse", "level", "hold"), "done": ("low", "clear")}
RESULT = "result_"
"""Before the names of nets that results come by."""
_REGISTER = re.compile(r"(?P<offset>0x[0-9a-fA-F]+|\d+)(?::(?P<bits>\d+))?(?P<out>:out)?")
_FORM = "PORT, OFFSET.BIT or REGISTER.BIT, and "


@dataclass(frozen=True)
class ControlBit:
    """A port, or a bit in a register.

    Attributes:
        port: Name of the port; "" for a register.
        bundle: Prefix of the register's interface.
        offset: Of the register.
        bit: Its number.
        word: How it is meant: of a start `pulse`, `level` or `hold`, of done `low` or `clear`; or "".
    """

    port: str = ""
    bundle: str = ""
    offset: int = 0
    bit: int = 0
    word: str = ""

    def __str__(self) -> str:
        return (self.port or f"{self.bundle} {self.offset:#x}.{self.bit}") + (f" ({self.word})" if self.word else "")


@dataclass(frozen=True)
class RunControl:
    """How a kernel is started and ends.

    Attributes:
        streams: Its streams.
        start: What starts it; None where it just runs.
        done: What says that it is done; None where nothing does.
        ready: The port that says that a start was taken, or "".
        goes_on: The port that lets it go on after its end (`ap_continue`), or "".
        chain: Whether a one in bit 4 of AP_CTRL lets it go on.
        reset_at_start: Whether each run begins with a reset.
        stall_cycles: Cycles without a move after which a run counts as stuck.
        ties: What inputs are tied to, by port.
        scalars: Inputs without an interface, which are given what stands in registers.
        results: Outputs without an interface, which registers hold, each with the name of the port that says when it
            is valid, or "".
    """

    streams: tuple[KernelStream, ...]
    start: ControlBit | None = None
    done: ControlBit | None = None
    ready: str = ""
    goes_on: str = ""
    chain: bool = False
    reset_at_start: bool = True
    stall_cycles: int = STALL_CYCLES
    ties: Mapping[str, str] | None = None
    scalars: tuple[TopPort, ...] = ()
    results: tuple[tuple[TopPort, str], ...] = ()

    @property
    def first_bundle(self) -> int:
        """Number of the kernel's own first register bundle: behind the run's, and that of the scalars."""
        return 1 + self.has_words

    @property
    def has_words(self) -> bool:
        """Whether ports without an interface have registers."""
        return bool(self.scalars or self.results)

    @property
    def scalar_words(self) -> int:
        """Words of all scalars."""
        return sum(words_of(port) for port in self.scalars)

    @property
    def result_words(self) -> int:
        """Words of all results."""
        return sum(words_of(port) for port, _ in self.results)

    @property
    def bundles_from(self) -> int:
        """Where the kernel's own registers begin."""
        return max(BUNDLES_FROM, -(-(SCALARS_FROM + 4 * (self.scalar_words + self.result_words)) // 256) * 256)

    def scalar_registers(self) -> Iterator[tuple[str, int, int, bool, int, str]]:
        """The arguments of ports without an interface: name, offset, bits, whether it is a result, of an array that is
        a port an element, the bits that each element takes, else 0, and its type in C where it is signed, else ""."""
        offset = SCALARS_FROM
        for ports in (self.scalars, tuple(port for port, _ in self.results)):
            arrays = {port.name: (name, each) for name, each in _port_arrays(ports).items() for port in each}
            told: set[str] = set()
            for port in ports:
                name, elements = arrays.get(port.name, (port.name, (port,)))
                bits, many = 32 * words_of(port), len(elements)
                if name not in told:
                    width, step = (many * bits, bits) if many > 1 else (held_bits(port), 0)
                    kind = f"int{step or width}_t" if port.signed else ""
                    yield name, offset, width, port.output, step, kind
                told.add(name)
                offset += 4 * words_of(port)

    def notes(self) -> list[str]:
        """What its ports without an interface are."""
        valid = {port.name: name for port, name in self.results}
        arrays = {**_port_arrays(self.scalars), **_port_arrays([port for port, _ in self.results])}
        notes = []
        for name, *_, output, bits, _ in self.scalar_registers():
            ports = f"ports {arrays[name][0].name} to {arrays[name][-1].name} are" if bits else ""
            if output:
                said = valid[arrays[name][0].name if bits else name]
                held = f"when {said} said so" if said else "at the end"
                notes.append(f"{ports or f'output {name} is'} a result: a register holds what it was {held}")
            else:
                notes.append(f"{ports or f'input {name} is'} an argument: it is given what stands in a register")
        return notes

    @property
    def says_done(self) -> bool:
        """Whether the kernel says when it is done."""
        return self.done is not None

    @property
    def pokes(self) -> bool:
        """Whether registers of the kernel are written and read to run it."""
        return self.start is not None and not self.start.port

    @property
    def kind(self) -> str:
        """In a word."""
        return "none" if self.done is None else "ports" if self.done.port else "registers"

    @property
    def taken(self) -> set[str]:
        """Ports that it is connected to."""
        ports = {each.port for each in (self.start, self.done) if each} | {self.ready, self.goes_on}
        ports |= {name for port, valid in self.results for name in (port.name, valid)}
        return ports - {""}

    def report(self) -> dict[str, object]:
        """For `--json`."""
        return {
            "by": self.kind,
            "start": str(self.start) if self.start else None,
            "done": str(self.done) if self.done else None,
            "reset_at_start": self.reset_at_start,
            "stall_cycles": self.stall_cycles,
            "streams": [
                {
                    "port": each.interface.prefix,
                    "buffer": each.name,
                    "to_kernel": not each.outward,
                    "beat_bytes": each.beat_bytes,
                    **({"ends": each.ends} if each.outward else {"packet_beats": each.packet_beats}),
                }
                for each in self.streams
            ],
        }


def words_of(port: TopPort) -> int:
    """Words of 32 bits that a port's value takes."""
    return -(-port.width // 32)


def held_bits(port: TopPort) -> int:
    """Bits of a port's value in its register: a signed one's sign fills what its element type has more."""
    return element_bits(port.width) if port.signed and port.width <= 64 else port.width


_ELEMENT = re.compile(r"(?P<stem>.*?\D)(?P<place>(?:_\d+)+)(?P<end>_V|_r)?")


def _port_arrays(ports: Sequence[TopPort]) -> dict[str, tuple[TopPort, ...]]:
    """Arrays that HLS has given a port for each element (`x_0`, `x_1`; `x_0_0`), by name, in the order of their
    elements."""
    found: dict[tuple[str, int, int], dict[tuple[int, ...], TopPort]] = {}
    for port in ports:
        told = _ELEMENT.fullmatch(port.name)
        if told and words_of(port) <= 2:
            place = tuple(int(number) for number in told["place"][1:].split("_"))
            found.setdefault((told["stem"] + (told["end"] or ""), port.width, len(place)), {})[place] = port
    names = [port.name for port in ports] + [name for name, _, _ in found]
    arrays = {}
    for (name, _, sides), elements in found.items():
        sizes = [1 + max(place[side] for place in elements) for side in range(sides)]
        if len(elements) == math.prod(sizes) >= FEWEST_ELEMENTS and names.count(name) == 1:
            arrays[name] = tuple(port for _, port in sorted(elements.items()))
    return arrays


def _in_order(ports: Sequence[TopPort]) -> tuple[TopPort, ...]:
    """Ports with those of an array one after the other, where the first of them stood."""
    arrays = {port: each for each in _port_arrays(ports).values() for port in each}
    return tuple(dict.fromkeys(port for each in ports for port in arrays.get(each, (each,))))


def needs_run(ports: KernelPorts, bundles: Mapping[str, RegisterBundle], start: str) -> bool:
    """Whether a kernel is run by the shell's library rather than by its own AP_CTRL and interrupt."""
    starts = [prefix for prefix, bundle in bundles.items() if bundle.start]
    by_ports = "ap_start" in ports.block and not starts
    plain = bool(starts) and bool(ports.inputs or any(valid for _, valid in result_ports(ports)))
    return bool(
        ports.streams or ports.blocks or start or by_ports or plain or (len(starts) == 1 and ports.interrupt is None)
    )


def result_ports(ports: KernelPorts) -> Iterator[tuple[TopPort, str]]:
    """Outputs without an interface that a kernel leaves a result at, each with the port that says when, or ""."""
    names = {port.name for port in ports.outputs}
    for port in ports.outputs:
        base = port.name.removesuffix(VALID)
        if base == port.name or base not in names:
            yield port, port.name + VALID if port.name + VALID in names else ""


@dataclass(frozen=True)
class RunChoices:
    """What somebody says of a run.

    Attributes:
        start: What starts it; "" for what there is.
        done: What says that it is done; "" likewise.
        stall_cycles: Cycles without a move after which a run counts as stuck; 0 for what is usual.
        ties: What inputs are tied to, by port.
    """

    start: str
    done: str
    stall_cycles: int
    ties: Mapping[str, str]


def plan_run(
    ports: KernelPorts,
    bundles: Mapping[str, RegisterBundle],
    streams: tuple[KernelStream, ...],
    said: RunChoices,
) -> RunControl:
    """How a kernel is run: as somebody says, else by its AP_CTRL, else by `ap_start`; else it just runs.

    Raises:
        InvalidRequest: What is said is malformed, or names what there is not, or start comes without done.
    """
    reset = not bundles
    own = next(((prefix, bundle) for prefix, bundle in bundles.items() if bundle.start), None)
    if said.start or said.done:
        first, last = _said_bits(ports, bundles, bool(streams), said)
        planned = RunControl(streams, first, last, goes_on=_if_there("ap_continue", ports), reset_at_start=reset)
    elif own:
        prefix, bundle = own
        bits = ControlBit(bundle=prefix, bit=0), ControlBit(bundle=prefix, bit=1)
        planned = RunControl(streams, *bits, chain=bundle.chain, reset_at_start=False)
    elif "ap_start" in ports.block:
        others = _if_there("ap_ready", ports), _if_there("ap_continue", ports)
        planned = RunControl(streams, ControlBit("ap_start"), ControlBit("ap_done"), *others, reset_at_start=reset)
    else:
        planned = RunControl(streams, reset_at_start=reset)
    _check_ties(ports, said.ties)
    usual = STALL_CYCLES if streams else LONGEST_STALL_CYCLES
    planned = replace(planned, stall_cycles=said.stall_cycles or usual, ties=dict(said.ties))
    left = tuple(port for port in ports.inputs if port.name not in {*said.ties, *planned.taken})
    planned = replace(planned, scalars=_in_order(left))
    return replace(planned, results=tuple(_fitting_results(ports, planned)))


def _fitting_results(ports: KernelPorts, run: RunControl) -> Iterator[tuple[TopPort, str]]:
    """Those of the results that there are registers for, the ones that say when they are valid first."""
    room = MOST_SCALAR_WORDS - run.scalar_words
    left = [each for each in sorted(result_ports(ports), key=lambda each: not each[1]) if each[0].name not in run.taken]
    valid = dict(left)
    for port in _in_order(list(valid)):
        if words_of(port) <= room:
            room -= words_of(port)
            yield port, valid[port]


def _check_ties(ports: KernelPorts, ties: Mapping[str, str]) -> None:
    """See that what is tied is there, and to what it can be."""
    words: dict[str, tuple[str, ...]] = {port.name: () for port in ports.inputs}
    for stream in ports.streams:
        for signal, port in stream.ports.items():
            if signal == "tkeep" and stream.manager:
                words[port.name] = ("all",)
            elif not stream.manager and signal in ("tuser", "tid", "tdest"):
                words[port.name] = ("first",)
    for name, value in ties.items():
        if name not in words:
            raise InvalidRequest(f"--tie {name}: there is no such port to tie", field="tie", allowed=sorted(words))
        if value not in words[name] and (words[name] == ("all",) or not re.fullmatch(r"0x[0-9a-fA-F]+|\d+", value)):
            allowed = "all" if words[name] == ("all",) else "a number" + "".join(f", or {word}" for word in words[name])
            raise InvalidRequest(f"--tie {name}={value}: it is tied to {allowed}", field="tie", allowed=allowed)


def _if_there(name: str, ports: KernelPorts) -> str:
    return name if name in ports.block else ""


def _said_bits(
    ports: KernelPorts, bundles: Mapping[str, RegisterBundle], streams: bool, said: RunChoices
) -> tuple[ControlBit, ControlBit | None]:
    """What starts a kernel and says its end, as somebody says it."""
    held = said.start.endswith(":hold")
    if not said.start or (not said.done and not held):
        raise InvalidRequest("--start and --done go together", field="start" if said.done else "done")
    first = _bit(said.start, "start", ports, bundles)
    if held and (said.done or not first.port or not streams):
        why = "what is held is a port of a kernel whose streams say the end, without --done"
        raise InvalidRequest(f"--start {said.start}: {why}", field="start")
    last = None if held else _bit(said.done, "done", ports, bundles)
    if last and bool(first.port) != bool(last.port):
        raise InvalidRequest("--start and --done are both ports, or both bits of registers", field="done")
    return first, last


def _bit(text: str, field: str, ports: KernelPorts, bundles: Mapping[str, RegisterBundle]) -> ControlBit:
    what, _, word = text.partition(":")
    names = _WORDS[field]
    if word and word not in names:
        raise InvalidRequest(
            f"--{field} takes {_FORM}:{' or :'.join(names)} behind it", field=field, allowed=list(names)
        )
    register, dot, bit = what.rpartition(".")
    if not dot:
        return ControlBit(_port(what, field, ports), word=word)
    if not bit.isdigit() or int(bit) > 31:
        raise InvalidRequest(f"--{field} {text}: the bit is 0 to 31", field=field, allowed="0 to 31")
    if re.fullmatch(r"0x[0-9a-fA-F]+|\d+", register):
        if not bundles and not ports.controls:
            raise InvalidRequest(f"--{field} {text}: the kernel has no registers; name a port", field=field)
        return ControlBit("", ports.controls[0].prefix, int(register, 0) & ~3, int(bit), word)
    for prefix, bundle in bundles.items():
        for each in bundle.registers:
            if each.name == register:
                return ControlBit("", prefix, each.offset, int(bit), word)
    allowed = sorted(each.name for bundle in bundles.values() for each in bundle.registers)
    raise InvalidRequest(f"--{field} {text}: no register {register}", field=field, allowed=allowed)


def _port(name: str, field: str, ports: KernelPorts) -> str:
    others = [*ports.block.values(), *((ports.interrupt,) if ports.interrupt else ())]
    found = [
        port
        for port in (*ports.inputs, *ports.outputs, *others)
        if port.width == 1 and port.output == (field == "done")
    ]
    if name not in [port.name for port in found]:
        allowed = sorted(port.name for port in found)
        way = "output" if field == "done" else "input"
        raise InvalidRequest(
            f"--{field} {name}: the kernel has no {way} of one bit with that name", field=field, allowed=allowed
        )
    return name


def with_registers(
    bundles: Mapping[str, RegisterBundle], controls: Sequence[AxiInterface], said: Mapping[str, str]
) -> dict[str, RegisterBundle]:
    """Bundles with the registers that somebody says of the first: `OFFSET`, `OFFSET:BITS`, either with `:out` behind.

    Raises:
        InvalidRequest: One is malformed, or the kernel has no bundle.
    """
    found = dict(bundles)
    for name, text in said.items():
        if not controls:
            raise InvalidRequest(f"--register {name}: the kernel has no AXI4-Lite subordinate port", field="register")
        given = _REGISTER.fullmatch(text)
        if not given or int(given["offset"], 0) % 4:
            form = "NAME=OFFSET[:BITS][:out], OFFSET a multiple of 4"
            raise InvalidRequest(f"--register {name}={text}: write it as {form}", field="register", allowed=form)
        bundle = found.setdefault(controls[0].prefix, RegisterBundle())
        register = KernelRegister(name, int(given["offset"], 0), int(given["bits"] or 32), bool(given["out"]))
        bundle.registers = [*(each for each in bundle.registers if each.name != name), register]
    return found


# The top --------------------------------------------------------------------------------------------------------------


def run_parameters(run: RunControl) -> Iterator[str]:
    """What `kernel_run.svh` wants to be declared."""
    count = max(len(run.streams), 1)
    inward = "".join(str(int(not each.outward)) for each in reversed(run.streams)) or "0"
    yield f"  localparam int unsigned NumStreams = {len(run.streams)}, StallCycles = {run.stall_cycles};"
    yield f"  localparam logic [{count - 1}:0] ToKernel = {count}'b{inward};"
    yield (
        f"  localparam bit SaysDone = 1'b{int(run.says_done)}, SaysReady = 1'b{int(bool(run.ready))},"
        f" ResetAtStart = 1'b{int(run.reset_at_start)};"
    )
    yield "  logic [20:0] trouble;"


def run_lines(run: RunControl, memories: int, bundles: Sequence[str]) -> Iterator[str]:
    """What stands between the run and the kernel: the kernel's done, and what starts it by its registers.

    Args:
        run: How it is run.
        memories: Its memory ports, the first of the slot's.
        bundles: Prefixes of its register bundles, which follow the run's.
    """
    quiet = [f"port_quiet[{number}]" for number in range(memories)]
    if not run.streams:
        yield "  assign {stream_moved, stream_busy, stream_overlong, stream_ragged, stream_moves} = '0;"
    if run.has_words:
        yield from _scalars(run)
    if run.pokes:
        yield from _poke(run, bundles)
        quiet.append("poke_quiet")
    others = [
        number for number, prefix in enumerate(bundles, run.first_bundle) if not run.pokes or prefix != _poked(run)
    ]
    quiet += [f"!(bundle_awvalid[{n}] || bundle_wvalid[{n}] || bundle_arvalid[{n}])" for n in others]
    quiet += [f"!(bundle_bready[{n}] || bundle_rready[{n}])" for n in others]
    yield f"  assign kernel_quiet = {' && '.join(quiet) or chr(49) + chr(39) + 'b1'};"
    if run.done is None:
        yield "  assign {kernel_done, kernel_ready} = '0;"
    elif run.done.port:
        low = "!" if run.done.word == "low" else ""
        yield "  logic said_done, said_ready;"
        yield f"  assign kernel_done = {low}said_done;"
        yield f"  assign kernel_ready = {'said_ready' if run.ready else chr(39) + '0'};"
        if not run.ready:
            yield "  assign said_ready = 1'b0;"
    yield "  logic unused_run;"
    yield "  assign unused_run = ^{kernel_start, stream_addr, stream_bytes, streams_start, streams_stop, running};"
    yield ""


def _poked(run: RunControl) -> str:
    assert run.start
    return run.start.bundle


POKED = {
    "awaddr": "poke_awaddr", "awvalid": "poke_awvalid", "awready": "poke_awready", "wdata": "poke_wdata",
    "wstrb": "poke_wstrb", "wvalid": "poke_wvalid", "wready": "poke_wready", "bvalid": "poke_bvalid",
    "bready": "poke_bready", "araddr": "poke_araddr", "arvalid": "poke_arvalid", "arready": "poke_arready",
    "rvalid": "poke_rvalid", "rready": "poke_rready",
}  # fmt: skip
"""Nets of the bundle behind `kernel_poke`."""
_FROM_SLOT = ("awvalid", "wvalid", "bready", "arvalid", "rready")
"""Handshakes of a bundle that the slot's side drives."""


def _poke(run: RunControl, bundles: Sequence[str]) -> Iterator[str]:
    start, done, n = run.start, run.done, bundles.index(_poked(run)) + run.first_bundle
    assert start
    assert done
    clear = done.word == "clear"
    ack = (1, 0, 0x10) if run.chain else (1, done.offset, 1 << done.bit) if clear else (0, 0, 0)
    yield "  logic [15:0] poke_awaddr, poke_araddr;"
    yield "  logic [31:0] poke_wdata;"
    yield "  logic [3:0] poke_wstrb;"
    yield "  logic poke_awvalid, poke_awready, poke_wvalid, poke_wready, poke_bvalid, poke_bready, poke_quiet;"
    yield "  logic poke_arvalid, poke_arready, poke_rvalid, poke_rready;"
    yield "  kernel_poke #("
    yield f"    .StartAddr(16'h{start.offset:04X}), .StartValue(32'h{1 << start.bit:08X}),"
    yield f"    .DoneAddr(16'h{done.offset:04X}), .DoneMask(32'h{1 << done.bit:08X}),"
    yield f"    .DoneLow(1'b{int(done.word == 'low')}), .Release(1'b{int(start.word == 'level')}),"
    yield f"    .Acknowledge(1'b{ack[0]}), .AcknowledgeAddr(16'h{ack[1]:04X}), .AcknowledgeValue(32'h{ack[2]:08X})"
    yield "  ) u_poke ("
    yield "    .clk_i, .rst_ni, .go_i(streams_start), .stop_i(streams_stop), .done_o(kernel_done),"
    yield f"    .quiet_o(poke_quiet), .rdata_i(bundle_rdata[{n}]),"
    for name in ("awaddr", "wdata", "wstrb", "araddr"):
        yield f"    .{name}_i(bundle_{name}), .{name}_o({POKED[name]}),"
    handshakes = [name for name in POKED if name.endswith(("valid", "ready"))]
    for name in handshakes:
        inward, outward = (name in _FROM_SLOT), (name not in _FROM_SLOT)
        mark = "," if name != handshakes[-1] else ""
        yield (
            f"    .{name}_{'i' if inward else 'o'}(bundle_{name}[{n}]),"
            f" .{name}_{'i' if outward else 'o'}({POKED[name]}){mark}"
        )
    yield "  );"
    yield "  assign kernel_ready = 1'b0;"


def _scalars(run: RunControl) -> Iterator[str]:
    words, held = run.scalar_words, run.result_words
    yield f"  logic [{32 * max(words, 1) - 1}:0] scalars;"
    yield f"  logic [{max(held, 1) - 1}:0][31:0] results;"
    yield f"  logic [{max(held, 1) - 1}:0] takes;"
    word = 0
    for port, valid in run.results:
        bits, net = 32 * words_of(port), f"{RESULT}{port.name}"
        yield f"  logic{' signed' if port.signed else ''} [{port.width - 1}:0] {net};"
        if valid:
            yield f"  logic {net}_valid;"
        # What says nothing of itself holds at the end; of a kernel that says no end, at any time.
        take = f"{net}_valid" if valid else "kernel_done" if run.says_done else "1'b1"
        yield f"  assign results[{word + words_of(port) - 1}:{word}] = {bits}'({net});"
        yield f"  assign takes[{word + words_of(port) - 1}:{word}] = {{{words_of(port)}{{{take}}}}};"
        word += words_of(port)
    if not held:
        yield "  assign {results, takes} = '0;"
    if not words:
        yield "  logic unused_scalars;"
        yield "  assign unused_scalars = ^scalars;"
    # An array's register is as wide as all of its elements' words.
    elements = {port for each in _port_arrays(run.scalars).values() for port in each}
    widths = [(port, 32 * words_of(port) if port in elements else held_bits(port)) for port in run.scalars]
    masks = [min(32, width - 32 * i) for port, width in widths for i in range(words_of(port))]
    kept = ", ".join(f"32'h{(1 << bits) - 1:08X}" for bits in reversed(masks))
    kept = f", .Kept({{{kept}}})" if words else ""
    yield f"  kernel_scalars #(.Words({words}), .Results({held}){kept}) u_scalars ("
    yield "    .results_i(results), .take_i(takes),"
    yield "    .clk_i, .rst_ni, .awaddr_i(bundle_awaddr), .awvalid_i(bundle_awvalid[1]), .awready_o(bundle_awready[1]),"
    yield "    .wdata_i(bundle_wdata), .wstrb_i(bundle_wstrb), .wvalid_i(bundle_wvalid[1]),"
    yield "    .wready_o(bundle_wready[1]), .bvalid_o(bundle_bvalid[1]), .bready_i(bundle_bready[1]),"
    yield "    .araddr_i(bundle_araddr), .arvalid_i(bundle_arvalid[1]), .arready_o(bundle_arready[1]),"
    yield "    .rdata_o(bundle_rdata[1]), .rvalid_o(bundle_rvalid[1]), .rready_i(bundle_rready[1]), .values_o(scalars)"
    yield "  );"


def run_connections(run: RunControl) -> Iterator[tuple[str, str]]:
    """Ports of the kernel that start it and say its end."""
    if run.start and run.start.port:
        nets = {"pulse": "streams_start", "hold": "1'b1"}
        yield run.start.port, nets.get(run.start.word, "kernel_start")
        if run.done:
            yield run.done.port, "said_done"
        if run.ready:
            yield run.ready, "said_ready"
        if run.goes_on:
            yield run.goes_on, "1'b1"
    word = 0
    for port in run.scalars:
        yield port.name, f"{port.width}'(scalars >> {32 * word})"
        word += words_of(port)
    for port, valid in run.results:
        yield port.name, f"{RESULT}{port.name}"
        if valid:
            yield valid, f"{RESULT}{port.name}_valid"
