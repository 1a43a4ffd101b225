# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""AXI4-Stream ports of a kernel: what each is given or leaves in a run, and the blocks that stand around it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from eddy.core.errors import InvalidRequest
from eddy_drivers.regs import kernel_run, kernel_stream

from eddy_sim.importing.interfaces import StreamInterface
from eddy_sim.importing.trial import KernelTrial, TrialRun, find_run

MOST_STREAMS = 16
FIRST, STRIDE = 0x20, 0x20
"""Where the registers of the first stream lie in the window, and how far they are apart."""
MOST_BEAT_BYTES = 64
TRIAL_BEATS, TRIAL_BYTES = 256, 4096
"""How much a stream to the kernel is given in the trial: so many beats, or so many bytes where that is less."""
ROOM_BYTES = 1 << 16
"""Room of a stream from the kernel in the trial, at least; four times what is sent to it where that is more."""
MOST_FED_BYTES = 1 << 20
"""How much a stream to the kernel is given at most where the trial finds out how much it takes."""
PREFETCHED_BEATS = 3
"""How many beats a kernel may take without use for them: what a register slice at its port holds, and one."""
UNTAKEN, UNENDED = 1 << kernel_run.STATUS_UNTAKEN.low, 1 << kernel_run.STATUS_UNENDED.low
UNDONE = 1 << kernel_run.STATUS_UNDONE.low
THROWN = 1 << kernel_run.STATUS_OVERLONG.low | 1 << kernel_run.STATUS_RAGGED.low
ENDS = ("tlast", "length")
"""What ends a stream from a kernel."""
_SIDEBANDS = ("tid", "tdest", "tuser")


@dataclass(frozen=True)
class KernelStream:
    """A stream of a kernel.

    Attributes:
        name: Of its buffer.
        interface: Its ports.
        number: Of its registers.
        ends: Of one from the kernel, what ends it: `tlast` or `length`.
        packet_beats: Of one to the kernel, after how many beats TLAST comes each time; 0 for at the end alone.
    """

    name: str
    interface: StreamInterface
    number: int
    ends: str = "tlast"
    packet_beats: int = 0

    @property
    def outward(self) -> bool:
        """Whether the kernel sends."""
        return self.interface.manager

    @property
    def beat_bytes(self) -> int:
        """Bytes of a beat."""
        return -(-self.interface.ports["tdata"].width // 8)

    @property
    def offset(self) -> int:
        """Where its registers begin."""
        return FIRST + STRIDE * self.number

    @property
    def moved_offset(self) -> int:
        """Where the bytes stand that went to the kernel, or came from it."""
        return self.offset + kernel_stream.MOVED.offset

    @property
    def bytes_name(self) -> str:
        """What its length, or its room, is called."""
        return f"{self.name}_bytes"

    @property
    def length_name(self) -> str:
        """What the bytes are called that it has left."""
        return f"{self.name}_length"

    def registers(self) -> Iterator[tuple[str, int, int, bool]]:
        """Its arguments: name, offset, bits, whether it is a result."""
        yield self.name, self.offset + kernel_stream.ADDRESS_LO.offset, 40, False
        yield self.bytes_name, self.offset + kernel_stream.BYTES.offset, 32, False
        if self.outward:
            yield self.length_name, self.moved_offset, 32, True


def name_streams(
    found: Sequence[StreamInterface], ends: Mapping[str, str], packets: Mapping[str, int], taken: set[str]
) -> tuple[KernelStream, ...]:
    """Streams, those to the kernel first, by the names that their ports begin with.

    Args:
        found: Their ports.
        ends: What ends a stream, by its name, where somebody says.
        packets: Bytes after which TLAST comes each time, likewise.
        taken: Names of other arguments.

    Raises:
        InvalidRequest: One of these names none, or says what there is not.
    """
    streams: list[KernelStream] = []
    for number, each in enumerate(sorted(found, key=lambda stream: stream.manager)):
        name = each.prefix.lower().strip("_").removesuffix("_r") or "stream"
        while name in taken:
            name += "_stream"
        stream = KernelStream(name, each, number)
        taken |= {name, stream.bytes_name, stream.length_name}
        own = "tlast" if "tlast" in each.ports else "length"
        streams.append(dataclasses.replace(stream, ends=ends.get(name, own)))
    known = {stream.name: stream for stream in streams if stream.outward}
    for name, end in ends.items():
        if name not in known:
            raise InvalidRequest(f"no stream {name} comes from the kernel", field="ends", allowed=sorted(known))
        if end not in ENDS or (end == "tlast" and "tlast" not in known[name].interface.ports):
            allowed = list(ENDS) if "tlast" in known[name].interface.ports else ["length"]
            raise InvalidRequest(f"{name} cannot end by {end}", field="ends", allowed=allowed)
    _check_packets(streams, packets)
    return tuple(
        dataclasses.replace(each, packet_beats=packets.get(each.name, 0) // each.beat_bytes) for each in streams
    )


def _check_packets(streams: Sequence[KernelStream], packets: Mapping[str, int]) -> None:
    inward = {stream.name: stream for stream in streams if not stream.outward}
    for name, size in packets.items():
        if name not in inward:
            raise InvalidRequest(f"no stream {name} goes to the kernel", field="packet", allowed=sorted(inward))
        if size < 1 or size % inward[name].beat_bytes:
            allowed = f"multiples of {inward[name].beat_bytes}"
            raise InvalidRequest(f"a packet of {name} cannot have {size} bytes", field="packet", allowed=allowed)


def stream_refusals(found: Sequence[StreamInterface]) -> Iterator[str]:
    """Why streams cannot be served, each with a way out."""
    if len(found) > MOST_STREAMS:
        yield f"it has {len(found)} AXI4-Stream ports, more than {MOST_STREAMS}"
    for stream in found:
        width = stream.ports["tdata"].width
        if width > 8 * MOST_BEAT_BYTES:
            yield f"{stream.prefix} has {width} bits of data, more than {8 * MOST_BEAT_BYTES}"
        if stream.manager and "tready" not in stream.ports:
            yield f"{stream.prefix} has no TREADY, so that beats would be lost; give it one"


class StreamsStuck(InvalidRequest):
    """A trial whose streams do not come to their end.

    Attributes:
        waits: Whether nothing moved any more; else it went on, and amiss.
        undone: Whether the kernel was not done, of one that says so.
        silent: Streams from it that did not end, or did, without a byte; none where beats were thrown away.
        endless: Those that did not end and sent bytes.
        lengths: How many bytes came of each.
    """

    def __init__(self, message: str, run: TrialRun, streams: Sequence[KernelStream], field: str = "set") -> None:
        super().__init__(message, field=field)
        self.waits = bool(run.status & (UNTAKEN | UNENDED | UNDONE))
        self.undone = bool(run.status & UNDONE)
        self.lengths = {each.name: run.results[each.length_name] for each in streams if each.outward}
        about = run.status >> kernel_run.STATUS_STREAMS.low if run.status & UNENDED else 0
        left = [each for each in streams if each.outward and (about >> each.number & 1 or not run.status)]
        thrown = run.status & THROWN
        self.silent = tuple(each for each in left if not self.lengths[each.name] and not thrown)
        self.endless = tuple(each for each in left if self.lengths[each.name] and run.status)


# The trial ------------------------------------------------------------------------------------------------------------


def find_stream_run(
    trial: KernelTrial, pointers: Sequence[str], streams: Sequence[KernelStream], given: Mapping[str, int]
) -> TrialRun:
    """A run that comes to its end with all of its streams; rooms and lengths that nobody gave are those that came.

    Raises:
        InvalidRequest: There is none; says what did not come to an end.
    """
    run = find_run(trial, pointers, {**_with_room(streams, _first_values(streams)), **given})
    run = _fed(trial, pointers, streams, given, run)
    short = [each for each in streams if each.outward and each.ends == "length" and each.bytes_name not in given]
    if short and run.status & UNENDED and all(run.results[each.length_name] for each in short):
        scalars = {name: value for name, value in run.values.items() if name not in pointers}
        run = find_run(trial, pointers, {**scalars, **{e.bytes_name: run.results[e.length_name] for e in short}})
    empty = [each for each in streams if each.outward and not run.results[each.length_name]]
    if empty and not run.status and "tkeep" in empty[0].interface.ports:
        keep = empty[0].interface.ports["tkeep"].name
        raise StreamsStuck(
            f"{empty[0].name} sends a packet without a byte. If the kernel leaves its TKEEP zero, say --tie {keep}=all,"
            " and every byte of every beat counts",
            run,
            streams,
            "tie",
        )
    if run.status >> kernel_run.STATUS_OVERLONG.low:
        said = "; ".join(causes(run.status, streams))
        came = ", ".join(f"{each.name} {run.results[each.length_name]}" for each in streams if each.outward)
        raise StreamsStuck(
            f"its trial does not end well: {said}. Bytes that came: {came or 'none'}. Say how much it takes and sends,"
            " as --set NAME_bytes=N, what ends a stream, as --ends NAME=tlast|length, or that it takes longer, as"
            " --stall-cycles N",
            run,
            streams,
        )
    sizes = {
        each.bytes_name: -(-run.results[each.length_name] // each.beat_bytes) * each.beat_bytes
        for each in streams
        if each.outward and each.bytes_name not in given
    }
    return dataclasses.replace(run, values={**run.values, **sizes})


def watched(streams: Sequence[KernelStream]) -> dict[str, int]:
    """Registers that say how much of a stream to the kernel it took, for `KernelTrial`."""
    return {each.name: each.moved_offset for each in streams if not each.outward}


def _fed(
    trial: KernelTrial,
    pointers: Sequence[str],
    streams: Sequence[KernelStream],
    given: Mapping[str, int],
    run: TrialRun,
) -> TrialRun:
    """A run in which each stream to the kernel has as much as it takes, of those that nobody gave a length.

    A kernel that waits for more gets twice as much, until it ends or has had `MOST_FED_BYTES`. What it left of a stream
    is not given to it again; nor are the beats that it took before it knew that it needs none.
    """
    free = [each for each in streams if not each.outward and each.bytes_name not in given]
    scalars = {name: value for name, value in run.values.items() if name not in pointers}
    while free and run.ended and _waits(run, streams):
        hungry = [each for each in free if run.watched.get(each.name) == scalars[each.bytes_name]]
        more = {each.bytes_name: 2 * scalars[each.bytes_name] for each in hungry}
        if not more:
            break
        if max(more.values()) > MOST_FED_BYTES:
            return run
        scalars = {**_with_room(streams, {**scalars, **more}), **given}
        try:
            run = find_run(trial, pointers, scalars)
        except InvalidRequest:
            return run  # it takes more for longer than a trial lasts
    over = [each for each in free if run.watched.get(each.name, 0) < scalars[each.bytes_name]]
    if not (over and run.ended and run.status & UNTAKEN and all(run.watched.get(each.name) for each in over)):
        return run
    scalars |= {each.bytes_name: run.watched[each.name] for each in over}
    run = find_run(trial, pointers, {**_with_room(streams, scalars), **given})
    for each in over:
        for _ in range(PREFETCHED_BEATS):
            fewer = {**scalars, each.bytes_name: scalars[each.bytes_name] - each.beat_bytes}
            other = trial.run(pointers, fewer, cycles=2 * run.cycles)
            if not fewer[each.bytes_name] or not _as_well(other, run, streams):
                break
            scalars, run = fewer, other
    return find_run(trial, pointers, scalars)


def _waits(run: TrialRun, streams: Sequence[KernelStream]) -> bool:
    """Whether a kernel that has stopped waits for more of its streams: it is not done, or sent nothing, or no end."""
    if run.status & UNDONE:
        return True
    silent = [each for each in streams if each.outward and (each.ends == "tlast" or not run.results[each.length_name])]
    about = run.status >> kernel_run.STATUS_STREAMS.low
    return bool(run.status & UNENDED and any(about >> each.number & 1 for each in silent))


def _as_well(run: TrialRun, other: TrialRun, streams: Sequence[KernelStream]) -> bool:
    """Whether a run ends as well as another did: nothing more that waits, and as much from each stream."""
    lengths = [each.length_name for each in streams if each.outward]
    return run.ended and not run.status & ~other.status and all(run.results[n] == other.results[n] for n in lengths)


def _with_room(streams: Sequence[KernelStream], values: Mapping[str, int]) -> dict[str, int]:
    """Values with room for what may come back of what is sent."""
    sent = sum(values[each.bytes_name] for each in streams if not each.outward)
    return {**values, **{each.bytes_name: max(ROOM_BYTES, 4 * sent) for each in streams if each.outward}}


def _first_values(streams: Sequence[KernelStream]) -> dict[str, int]:
    values: dict[str, int] = {}
    for each in streams:
        beats = max(min(TRIAL_BEATS, TRIAL_BYTES // each.beat_bytes), 1)
        values[each.bytes_name] = 0 if each.outward else beats * each.beat_bytes
    return values


def causes(status: int, streams: Sequence[KernelStream] = ()) -> Iterator[str]:
    """What a status says, by the names of its bits, and of the streams that it is about."""
    about = [each.name for each in streams if status >> kernel_run.STATUS_STREAMS.low + each.number & 1]
    for field in kernel_run.STATUS.fields:
        if field is not kernel_run.STATUS_STREAMS and status >> field.low & 1:
            yield field.name + (
                f" ({', '.join(about)})" if about and field.low >= kernel_run.STATUS_OVERLONG.low else ""
            )


def cause_names(streams: Sequence[KernelStream]) -> list[str]:
    """Names of the status register's bits, from the lowest on."""
    own = [field.name for field in kernel_run.STATUS.fields if field is not kernel_run.STATUS_STREAMS]
    return [*own, *(each.name for each in sorted(streams, key=lambda stream: stream.number))]


# The top --------------------------------------------------------------------------------------------------------------


def stream_lines(stream: KernelStream, port: int, ties: Mapping[str, str]) -> Iterator[str]:
    """The block between a stream and memory, on this port of the slot's, and the nets between it and the kernel.

    Args:
        stream: The stream.
        port: Of the slot's.
        ties: What ports are tied to; of a stream from the kernel, TKEEP, which then counts every byte.
    """
    s, i, size = f"s{stream.number}", stream.number, stream.beat_bytes
    block = "kernel_stream_out" if stream.outward else "kernel_stream_in"
    yield f"  // {stream.interface.prefix}: beats of {size} bytes {'from' if stream.outward else 'to'} the kernel."
    yield f"  logic [{8 * size - 1}:0] {s}_tdata;"
    yield f"  logic [{size - 1}:0] {s}_tkeep;"
    yield f"  logic {s}_tlast, {s}_tvalid, {s}_tready" + ("" if stream.outward else f", {s}_first") + ";"
    packets = f", .PacketBeats({stream.packet_beats})" if stream.packet_beats else ""
    yield f"  {block} #(.Bytes({size}){packets}) u_{s} ("
    yield f"    .clk_i, .rst_ni, .start_i(streams_start), .stop_i(streams_stop), .addr_i(stream_addr[{i}]),"
    yield f"    .bytes_i(stream_bytes[{i}]), .busy_o(stream_busy[{i}]), .moved_o(stream_moved[{i}]),"
    yield f"    .req_o(port_req[{port}]), .rsp_i(port_rsp[{port}]),"
    if stream.outward:
        yield f"    .by_length_i(1'b{int(stream.ends == 'length')}), .error_o(port_write_error[{port}]),"
        yield f"    .overlong_o(stream_overlong[{i}]), .ragged_o(stream_ragged[{i}]), .tdata_i({s}_tdata),"
        yield f"    .tkeep_i({s}_tkeep), .tlast_i({s}_tlast), .tvalid_i({s}_tvalid), .tready_o({s}_tready)"
    else:
        yield f"    .error_o(port_read_error[{port}]), .tdata_o({s}_tdata), .tkeep_o({s}_tkeep), .tlast_o({s}_tlast),"
        yield f"    .first_o({s}_first), .tvalid_o({s}_tvalid), .tready_i({s}_tready)"
    yield "  );"
    quiet = "port_read_error" if stream.outward else "port_write_error"
    yield f"  assign {{{quiet}[{port}], port_refused[{port}]}} = '0;"
    yield f"  assign port_quiet[{port}] = !stream_busy[{i}];"
    yield f"  assign stream_moves[{i}] = {s}_tvalid && {s}_tready;"
    if stream.outward:
        for signal, value in (("tkeep", "'1"), ("tlast", "1'b0")):
            own = stream.interface.ports.get(signal)
            if own is None or own.name in ties:
                yield f"  assign {s}_{signal} = {value};"
        width = stream.interface.ports["tdata"].width
        if width != 8 * size:
            yield f"  assign {s}_tdata[{8 * size - 1}:{width}] = '0;"
    else:
        yield f"  assign {{stream_overlong[{i}], stream_ragged[{i}]}} = '0;"
        if "tready" not in stream.interface.ports:
            yield f"  assign {s}_tready = 1'b1;"
    yield ""


def stream_connections(stream: KernelStream, ties: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Ports of the kernel and what each is connected to."""
    s = f"s{stream.number}"
    for signal, port in stream.interface.ports.items():
        if port.name in ties and port.output:
            yield port.name, ""
        elif port.name in ties:
            value = ties[port.name]
            yield port.name, f"{port.width}'({s}_first)" if value == "first" else f"{port.width}'d{int(value, 0)}"
        elif signal in ("tvalid", "tready", "tlast", "tkeep"):
            yield port.name, f"{s}_{signal}"
        elif signal == "tdata":
            yield port.name, f"{s}_tdata[{port.width - 1}:0]"
        elif signal == "tstrb" and not stream.outward:
            yield port.name, f"{s}_tkeep"
        else:
            yield port.name, "" if port.output else "'0"


def sideband_notes(streams: Sequence[StreamInterface], ties: Mapping[str, str]) -> Iterator[str]:
    """What is lost, or not given, of what streams say beside their bytes."""
    for stream in streams:
        found = [port.name for signal, port in stream.ports.items() if signal in _SIDEBANDS and port.name not in ties]
        if found and stream.manager:
            yield f"{', '.join(found)}: not kept, memory holds the bytes alone"
        elif found:
            yield f"{', '.join(found)}: zero; --tie says another value"
