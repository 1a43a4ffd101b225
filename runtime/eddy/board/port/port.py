# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The board port: everything the hypervisor may ask of a board, coarse and serialisable.

Three boards stand behind it (`pynq`, `rtl`, `model`), and two ways to reach one (in process, over a UNIX socket). One
suite in `tests/contract/` runs over all of them. Arguments and results are plain frozen dataclasses of numbers,
strings and bytes, so that any of them can cross a socket or be written into a trace.

Time is the board's: `now_s` and every `at_s` are seconds since the board started. It advances by an access's own bus
cycles and by `wait`; on the simulated boards by nothing else.

Nothing here blocks for long but `wait`: `load` and `launch` start something and answer at once; how it ended comes as
an event. A caller that dies loses nothing: events carry a growing sequence number and are kept until a later `wait`
acknowledges them, and `state` tells a new caller what is loaded, what runs, and which buffers are whose.

A module reaches memory only while an item runs. What changes hands (a buffer, a core, a slot) is closed, quiesced and
drained first: when an item's end is reported, or `stop`, `close`, `load` or `free` returns, nothing that the item, the
slot or the buffer's user had asked of memory is outstanding, and nothing can follow.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Protocol

from eddy.core.counters import CoreCounters, SharingCounters
from eddy.core.records import KERNEL
from eddy.core.slots import Access as Access
from eddy.core.slots import Image, SlotDescription


class Cause(str, enum.Enum):
    """Why something ended badly: the names of the shell's cause register, and what software adds to them."""

    NONE = "none"
    TIME_LIMIT = "time-limit"
    """The item ran longer than its time limit."""
    STOPPED = "stopped"
    """Stopped on request."""
    CONTROL_TIMEOUT = "control-timeout"
    """The module did not answer a register access within the firewall's bound."""
    CONTROL_REFUSED = "control-refused"
    """A register access met a closed decoupler, or an address nothing answers at."""
    READ_OUTSIDE_WINDOW = "read-outside-window"
    WRITE_OUTSIDE_WINDOW = "write-outside-window"
    ILLEGAL_BURST = "illegal-burst"
    """A burst AXI forbids: across 4 KiB, a reserved type, a WRAP of a wrong length, a beat wider than the bus."""
    WRITE_STALLED = "write-stalled"
    """An accepted write's data did not come within the bound; the firewall finished it with dummy beats."""
    RESPONSE_STALLED = "response-stalled"
    """The module did not take its responses within the bound; the firewall sank them."""
    CLOCK_LOST = "clock-lost"
    CONFIGURATION_ERROR = "configuration-error"
    """The configuration port reported an error."""
    IDENTITY_MISMATCH = "identity-mismatch"
    """The slot does not hold what was loaded."""
    MODULE_ERROR = "module-error"
    """The module says in its status register that it went wrong; or it says that it is done and its memory accesses go
    on; or it was not at rest before the start, and was not started; or a cluster does not stop when it is told to."""
    STREAM_LOST = "stream-lost"
    """What the item reads from another slot was not all sent: the item there failed, or did not write it in order."""
    ILLEGAL_INSTRUCTION = "illegal-instruction"
    """A kernel executed an instruction, or named a CSR, that the cluster does not have."""
    MISALIGNED_ACCESS = "misaligned-access"
    """A kernel loaded or stored at an address that is not a multiple of the access's size."""
    BARRIER_DEADLOCK = "barrier-deadlock"
    """Every warp of a kernel waited at a barrier, or for others to end, and none could go on."""
    STACK_OVERFLOW = "stack-overflow"
    """A kernel moved its stack pointer out of its stack."""
    KERNEL_TRAP = "kernel-trap"
    """A kernel trapped in another way: ecall, ebreak, a jump to nowhere; the core reports say which."""
    BOARD_RESTARTED = "board-restarted"
    """The privileged half died; the slot was closed."""
    INTERNAL_ERROR = "internal-error"
    """Eddy's own software failed in a way nobody foresaw; the log has where."""


@dataclass(frozen=True, slots=True)
class Buffer:
    """A range of the board's memory arena, page aligned, scrubbed before it is handed out.

    Attributes:
        id: Handle, never reused while the board runs.
        address: Physical address, as a module sees it.
        bytes: Size asked for; the range is rounded up to whole 4 KiB pages.
        owner: Who asked for it (a job id), so that a new caller can find what belongs to whom.
    """

    id: int
    address: int
    bytes: int
    owner: str


@dataclass(frozen=True, slots=True)
class Grant:
    """What a launch lets its module touch: a buffer, and how."""

    buffer: int
    access: Access


@dataclass(frozen=True, slots=True)
class KernelLaunch:
    """What a GPU cluster needs beside what every module does.

    Attributes:
        region: Id of the buffer that is the kernel's memory. Its first byte is at 0x8000_0000 as the cores see it
            (`eddy.gpu.programs.layout.REGION_BASE`); it must be granted to read and write, and is all the kernel can
            reach.
        entry: First address of the program, as the cores see it.
        argument: What warp 0 of each core finds in mscratch: the address of the launch block.
        cores: Which cores of the cluster run it; () means all.
        family: Whose slice this is: slices of one kernel, side by side on disjoint cores, name the same family and may
            work on one region. "" for a kernel by itself, which shares its region with nobody.
        groups: Work-groups it runs; 0 where nobody says. Only a board that models time asks.
    """

    region: int
    entry: int
    argument: int
    cores: tuple[int, ...] = ()
    family: str = ""
    groups: int = 0


@dataclass(frozen=True, slots=True)
class Result:
    """What a module leaves in registers at the end of an item, and where it goes.

    Attributes:
        offset: Byte offset of the first of its words of 32 bits, the lowest first.
        bytes: How many bytes of them, at most `MAX_RESULT_BYTES`.
        buffer: Id of the buffer whose first bytes they become, once the item has succeeded.
    """

    offset: int
    bytes: int
    buffer: int


@dataclass(frozen=True, slots=True)
class Stream:
    """A granted buffer that does not go through memory: what its writer writes, its reader in another slot reads.

    Which end a launch has is what it is granted: to write, or to read. Each side's launch names the other's slot; the
    reader's is launched first. A launch has one stream of each kind at most.

    Attributes:
        buffer: Id of the buffer, granted to both. It is written from its first byte on and read once in that order;
            what lies in memory stays as it is.
        slot: Where the other end is.
    """

    buffer: int
    slot: int


MAX_RESULT_BYTES = 0xEF00
"""Most bytes of one result: an array takes at most a module's own part of the window. It is read word by word."""


@dataclass(frozen=True, slots=True)
class Launch:
    """One item for the module a slot holds.

    Attributes:
        item: The caller's name for it, echoed in the event; unique among what runs.
        registers: (byte offset, 32-bit value) writes before the start, in order.
        grants: The buffers it may touch; nothing else is reachable while it runs.
        time_limit_s: Board seconds after which it is stopped.
        status: Byte offset of the register in which the module says how it went, zero meaning well; -1 where it has
            none. Anything else there ends the item with `MODULE_ERROR`.
        kernel: For a GPU cluster, instead of `registers` and `status`; None for every other module.
        task: Of what it is an item, as ``application/task``; "" where nobody says. Only a board that models time asks.
        account: On whose account `sharing` counts what it does, a tenant's name; "" on nobody's.
        results: What is read of its registers when it has succeeded.
        causes: Names of the status register's bits, from the lowest on; () where nothing says them.
    """

    item: str
    registers: tuple[tuple[int, int], ...]
    grants: tuple[Grant, ...]
    time_limit_s: float
    status: int = -1
    kernel: KernelLaunch | None = None
    task: str = ""
    account: str = ""
    results: tuple[Result, ...] = ()
    causes: tuple[str, ...] = ()
    held: bool = False
    """The module is not started: the caller drives its registers itself (`access`, `listen`) until `stop`. The time
    limit counts from the last `access` then, so a slot whose caller is gone closes by itself."""
    streams: tuple[Stream, ...] = ()
    """Buffers that come from another slot, or go to one, where the board has streams between slots."""


@dataclass(frozen=True, slots=True)
class RegisterAccess:
    """One access of a module's registers.

    Attributes:
        offset: Byte offset in the module's window, a multiple of 4.
        value: What is written, 32 bits; None reads.
    """

    offset: int
    value: int | None = None


WINDOW_BYTES = 0x1_0000
"""Bytes of a module's register window, its identity block included."""
MAX_IMAGE_BYTES = 8 << 20
"""Most bytes of an image of a tenant's own: it crosses to the board in one piece."""
MAX_ACCESSES = 256
"""Register accesses of one call at most: each is bounded by the firewall, so the call is, too."""


@dataclass(frozen=True, slots=True)
class CoreReport:
    """What one core of a GPU cluster counted and met while it ran a kernel.

    Attributes:
        core: Which core of the cluster.
        counters: What it counted; its cycles are those of the slot's clock.
        fault: Why it was stopped, a name of `eddy.gpu.launches.executor.CAUSES`; empty where it came to its end, or was
        halted.
        fault_pc: Address of the instruction at fault; 0 where memory refused.
        fault_value: The instruction, or the address of the access (of its line where memory refused).
    """

    core: int
    counters: CoreCounters
    fault: str = ""
    fault_pc: int = 0
    fault_value: int = 0


class EventKind(str, enum.Enum):
    """What ended, and how."""

    CONFIGURED = "configured"
    CONFIGURATION_FAILED = "configuration-failed"
    ITEM_DONE = "item-done"
    """The item is done, and so are all its memory accesses: what it wrote can be read, and stays as it is."""
    ITEM_FAILED = "item-failed"
    INTERRUPT = "interrupt"
    """The module in a slot that is held raised its interrupt after `listen`."""


@dataclass(frozen=True, slots=True)
class BoardEvent:
    """Something that ended.

    Attributes:
        seq: Grows by one an event, over the life of the board.
        at_s: Board time at which it happened.
        kind: What happened.
        slot: Where.
        item: The launch's name, for item events.
        image: sha256 of the image, for configuration events.
        cause: Why it failed; `NONE` where it did not.
        detail: For people: the faulting address, the register that differed.
        started_s: Board time at which the load or the item began.
        cores: For the end of a kernel on a GPU cluster: what each of its cores did.
    """

    seq: int
    at_s: float
    kind: EventKind
    slot: int
    item: str = ""
    image: str = ""
    cause: Cause = Cause.NONE
    detail: str = ""
    started_s: float = 0.0
    cores: tuple[CoreReport, ...] = ()


class SlotPhase(str, enum.Enum):
    """What a slot is doing."""

    EMPTY = "empty"
    """Closed: decoupled and held in reset; nothing trusted inside."""
    LOADING = "loading"
    IDLE = "idle"
    """Loaded, open for control, no item."""
    RUNNING = "running"
    FAULTED = "faulted"
    """Closed after a fault; needs a load before it serves again."""


@dataclass(frozen=True, slots=True)
class SlotState:
    """What one slot is doing now.

    `items` names everything it runs: kernels on disjoint cores of a GPU cluster run at once. `item` is the first.
    """

    index: int
    phase: SlotPhase
    image: str = ""
    item: str = ""
    since_s: float = 0.0
    items: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MonitorCounters:
    """What the monitor of a slot counted; 64 bits each. Stalls are shell-clock cycles in which a request waited."""

    cycles: int
    read_bytes: int
    write_bytes: int
    read_requests: int
    write_requests: int
    row_hits: int
    row_misses: int
    read_stall_cycles: int
    write_stall_cycles: int
    regulator_stall_cycles: int


@dataclass(frozen=True, slots=True)
class SlotCounters(MonitorCounters):
    """The counters of one slot since it was last loaded, taken as one consistent snapshot.

    Attributes:
        slot: Its number.
        context: Whose; None for the sum over contexts.
    """

    slot: int
    context: int | None


@dataclass(frozen=True, slots=True)
class BoardDescription:
    """What a board is; fixed while it runs.

    `computes` is false where items only take their time: what they leave in memory is not what they should. Kernels may
    be computed all the same, where `computes_kernels` says so.
    `storage_bytes_per_s` is the rate at which an image is read that is not in memory, 0 where that takes no board time;
    `image_cache_bytes` is the memory for images, 0 where none is kept; `memory_bytes_per_s` is what memory gives all
    its users together at most, 0 where that is not known. `streams` says whether a launch may have any.
    """

    board: str
    profile: str
    shell: str
    clk_hz: float
    slots: tuple[SlotDescription, ...]
    arena_bytes: int
    configuration_bytes_per_s: float
    requires_signature: bool
    computes: bool = True
    storage_bytes_per_s: float = 0.0
    image_cache_bytes: int = 0
    memory_bytes_per_s: float = 0.0
    computes_kernels: bool = False
    streams: bool = False

    def computes_kind(self, kind: str) -> bool:
        """Whether jobs of a kind are computed."""
        return self.computes or (self.computes_kernels and kind == KERNEL)


@dataclass(frozen=True, slots=True)
class BoardState:
    """Everything a caller that has just arrived must know."""

    now_s: float
    next_seq: int
    slots: tuple[SlotState, ...]
    buffers: tuple[Buffer, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Preparation:
    """How it stands with what the loads of a module need beforehand.

    Attributes:
        ready: Whether its images can be loaded without delay.
        doing: What is being done meanwhile, for people.
        failed: Why it cannot be had, for people; "" where that is not known to be so.
    """

    ready: bool
    doing: str = ""
    failed: str = ""


READY = Preparation(True)


class BoardPort(Protocol):
    """A board. Calls are plain and blocking; the hypervisor makes them from one worker thread."""

    def describe(self) -> BoardDescription:
        """Say what the board is."""

    def state(self) -> BoardState:
        """Say what is loaded, what runs, and which buffers are whose."""

    def now_s(self) -> float:
        """Board time in seconds."""

    def images(self) -> tuple[Image, ...]:
        """The images the board can load."""

    def load(self, slot: int, image: str) -> None:
        """Start the swap sequence for an image, named by its sha256.

        Raises:
            ImageRefused: Unknown, for another slot or shell, damaged, or without a trusted signature where one is
                required. The slot was not touched.
            Conflict: The slot runs an item, or another load is under way.
        """

    def take_image(self, image: Image, tenant: str, data: bytes) -> None:
        """Keep an image of a tenant's own in memory, to be loaded into its slot; `images` does not list it.

        The next one for that slot takes its place. It is gone when the board is given up.

        Args:
            image: Its manifest, signed by a key that is trusted for the tenant.
            tenant: Whose it is.
            data: Its `.bit` file, of at most `MAX_IMAGE_BYTES`.

        Raises:
            ImageRefused: For another slot or shell, not signed, not checked, damaged; says which.
            NotFound: There is no such slot.
        """

    def scrub(self, slot: int) -> None:
        """Leave nothing of one tenant in an idle slot's module for the next, without a load.

        One operation: the slot is closed and drained, its module reset, identified and opened again, nothing of memory
        being granted. `CONFIGURED` follows; or `CONFIGURATION_FAILED`, and the slot is closed.

        Raises:
            Conflict: The slot is not idle.
            ImageRefused: That a reset does it was not verified for what the slot holds; load it again.
        """

    def prefetch(self, image: str) -> None:
        """Bring an image into the board's memory ahead of its load; a hint, never an error."""

    def read_ahead(self, images: tuple[str, ...]) -> None:
        """Bring images into the board's memory while its storage has nothing else to do; a hint, never an error.

        They are read in this order, before those that were asked for earlier, as far as there is room: none makes an
        image leave. A load that needs its image read, and `prefetch`, go first.
        """

    def prepare(self, module: str) -> Preparation:
        """Begin what the loads of a module need beforehand, beside everything else, and say how that stands.

        Args:
            module: Its name, or the sha256 of an image of a tenant's own.

        A simulated board builds the module's model, which takes tens of seconds; others are always ready. A load that
        does not ask first is carried out all the same, and the board stands still meanwhile.
        """

    def launch(self, slot: int, launch: Launch) -> None:
        """Start an item on an idle slot, or a kernel on idle cores of a GPU cluster.

        Raises:
            Conflict: The slot, or a core, is not idle; or the kernel's region is one's that runs, and the two are
                not slices of one family.
            NotFound: A granted buffer does not exist.
            InvalidRequest: The launch is not one for the module in the slot.
        """

    def stop(self, slot: int, item: str = "") -> None:
        """Stop what a slot runs, or one of its items; an `ITEM_FAILED` with cause `STOPPED` follows for each.

        The slot is closed, unless kernels beside the one stopped go on; either way what was stopped reaches memory no
        more when this returns. Nothing happens where it does not run.
        """

    def access(self, slot: int, item: str, accesses: tuple[RegisterAccess, ...]) -> tuple[int, ...]:
        """Read and write registers of a module that an item holds (`Launch.held`), in order.

        Args:
            slot: Where.
            item: The launch's name.
            accesses: At most `MAX_ACCESSES`; () only says that the caller is there.

        Returns:
            What was read, in order; writes answer nothing.

        Raises:
            InvalidRequest: An offset is not in the module's window, or a value has more than 32 bits; none was done.
            Conflict: That item does not hold the slot.
            BoardFault: An access was not answered, or refused; the slot is closed, and `ITEM_FAILED` follows.
        """

    def listen(self, slot: int, item: str) -> None:
        """Have the next interrupt of a module that an item holds reported, once, as `INTERRUPT`.

        Raises:
            Conflict: That item does not hold the slot.
        """

    def close(self, slot: int) -> None:
        """Close a slot: decouple, hold reset. What it held must be loaded again."""

    def wait(self, until_s: float, acknowledge: int = -1) -> tuple[BoardEvent, ...]:
        """Events not yet acknowledged, in order, once there is one; or () at board time `until_s`.

        Args:
            until_s: Board time at which to return empty-handed. In the past: poll.
            acknowledge: Forget events up to and including this sequence number.
        """

    def counters(self, slot: int, context: int | None = None) -> SlotCounters:
        """Read a slot's monitor."""

    def sharing(self, slot: int) -> SharingCounters:
        """What items did on a slot, by account (`Launch.account`), as one block while everything runs.

        Totals since the board started; they never fall, also where the slot is closed and loaded in between. What a
        kernel executed that ended by its slot being closed is not in them, what it asked of memory is.
        """

    def allocate(self, bytes: int, owner: str) -> Buffer:
        """Reserve a scrubbed buffer.

        Raises:
            MemoryExhausted: No room; says what is free.
        """

    def free(self, buffer: int) -> None:
        """Give a buffer back; it is scrubbed before anyone else gets it.

        No module reaches it by then, and no access to it is outstanding; where that cannot be shown, because memory
        does not answer, its pages go to nobody until it can.

        Raises:
            Conflict: An item that may touch it still runs.
        """

    def write(self, buffer: int, offset: int, data: bytes) -> None:
        """Copy bytes into a buffer, visible to modules launched afterwards."""

    def read(self, buffer: int, offset: int, bytes: int) -> bytes:
        """Copy bytes out of a buffer, as modules that have finished left them: they change nothing any more."""

    def release(self) -> None:
        """Give the board up; again does nothing.

        A board in this process closes every slot, whatever runs or loads, and takes no further call but `state`. One
        behind a socket is hung up on: what runs goes on, and the next call connects again. It never crosses the socket.
        """
