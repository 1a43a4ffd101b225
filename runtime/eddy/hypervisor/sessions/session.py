# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""One open session: its buffers, and its commands carried out in their order. It belongs to the engine's thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from eddy.core.counters import CoreCounters
from eddy.core.errors import BoardUnreachable, EddyError, InvalidRequest, MemoryExhausted, NotFound, QuotaExceeded
from eddy.core.profiles import KernelTotals
from eddy.core.sessions import SESSION_TRANSITIONS, CommandResult, SessionFigures, SessionRecord, SessionState
from eddy.core.units import format_bytes
from eddy.hypervisor.jobs.buffers import EVERY_ITEM
from eddy.hypervisor.jobs.work import JobMemory
from eddy.hypervisor.sessions.commands import (
    Command,
    Copy,
    Create,
    Fill,
    LaunchCommand,
    Read,
    Refused,
    Release,
    StartCommand,
    Write,
)
from eddy.hypervisor.sessions.directory import FATES, Directory, Fate, Found
from eddy.hypervisor.sessions.heap import ALIGNMENT, Heap
from eddy.hypervisor.sessions.launches import (
    CODE_BYTES,
    DIRECTORY,
    REGION,
    BuiltProgram,
    EngineLaunch,
    LaunchTarget,
    Layouts,
    SessionLaunch,
    SessionRegion,
)
from eddy.hypervisor.sessions.moves import PIECE_BYTES, RUN_BYTES, Move, find_buffer, move_bytes
from eddy.hypervisor.sessions.starts import ImageStart
from eddy.hypervisor.sessions.stream import MAX_RESULTS, MAX_WAITING, CommandStream, Entry

MAX_PROGRAMS = 256
MAX_PROFILED = 256
"""Kernels whose counters are kept for a profile; what comes later is not."""
MAX_BROUGHT_BYTES = 128 << 20
"""Of writes that have not been carried out."""
MAX_READ_BYTES = 128 << 20
"""Of reads whose client has not taken them; the session does nothing more until it has."""
MAX_TENANT_BYTES = 256 << 20
"""Of writes that have not been carried out in all sessions of a tenant together, and of reads as many."""
STEP_BYTES = 16 << 20
"""Bytes a session copies before others have their turn; a piece costs `RUN_BYTES` more."""
INTERRUPTED = "interrupted"
"""Code of a command of which nobody knows what it did, because the server was restarted meanwhile."""
WHY_INTERRUPTED = "the server was restarted meanwhile: what it did, or read, is not known"


@dataclass(slots=True)
class Counts:
    """What a session did; only grows."""

    launches: int = 0
    failed_launches: int = 0
    failures: int = 0
    bytes_up: int = 0
    bytes_down: int = 0
    bytes_kept: int = 0
    core_s: float = 0.0


@dataclass(frozen=True, slots=True)
class EndedLaunch:
    """How a launch ended.

    Attributes:
        module: The cluster's it ran on.
        started_s: Board seconds at which it began; None where it did not.
        ended_s: Board seconds.
        core_s: Core-seconds it took.
        cores: What its cores counted.
        code: Why it failed; "" where it is complete.
        message: The same for people.
    """

    module: str
    started_s: float | None
    ended_s: float
    core_s: float
    cores: tuple[CoreCounters, ...] = ()
    code: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Clusters:
    """What launches may run on.

    Attributes:
        offers: By module.
        time_limit_s: Board seconds one slice may take.
    """

    offers: Mapping[str, LaunchTarget]
    time_limit_s: float


class Session:
    """A session.

    Args:
        memory: Its buffers on the board.
        clusters: What there is, as it is when asked.
        found: What its directory says, where it was open in an earlier life.
        others_bytes: Of reads in other sessions of the tenant that their clients have not taken.

    Attributes:
        state: Where it is in its life.
        programs: By id; others add to it.
        running: Launches that the state machine has, by command.
        work: What launches counted since the server started, by program, kernel and cluster.
        streams: Whether the state machine takes its tenant to have work between its launches.
        asked_s: Wall time of its last commands.
        heard_s: Wall time of its last request, which may have brought nothing; set by any thread.
        waiting: Requests of its client that wait for an end now; changed by one thread.
        cause: Why it ended; "" while it is open.
    """

    def __init__(
        self,
        record: SessionRecord,
        memory: JobMemory,
        clusters: Callable[[], Clusters],
        found: Found | None = None,
        others_bytes: Callable[[], int] = int,
    ) -> None:
        self.record, self._memory, self._clusters = record, memory, clusters
        self.state, self.cause = record.state, record.cause
        self.stream = CommandStream(record.options.out_of_order)
        self.programs: dict[str, BuiltProgram] = {}
        self.running: dict[int, EngineLaunch] = {}
        self.counts = Counts()
        self.work: dict[tuple[str, str, str], KernelTotals] = {}
        self.streams = False
        self._others_bytes = others_bytes
        self.asked_s = self.heard_s = time.monotonic()
        self.waiting = 0
        self._brought = self._carried = self._taken = 0
        """Bytes of writes that came, those of them that were dealt with, and the number of the last command that came:
        the first and the last are counted where a batch is checked, by one thread at a time."""
        self._moving: tuple[int, Move] | None = None
        """The command on memory that was begun and has not ended, and what is left of it."""
        self._buffers: dict[int, tuple[int, int]] = {} if found is None else dict(found.buffers)
        self._heap = Heap(CODE_BYTES, record.options.memory_bytes)
        for offset, size in self._buffers.values():
            self._heap.place(offset, size)
        self._region = SessionRegion(memory, Layouts(self._heap, self._buffers))
        self.directory = Directory() if found is None else Directory.found(found)
        changes = () if found is None else (n for n, fate in found.fates.items() if fate is not Fate.READ)
        self._last_change = max(changes, default=0)
        """Of an earlier life: the last command that is known to have begun and may have changed something."""
        if found is not None:
            self._go_on()

    def _go_on(self) -> None:
        """Take over what an earlier life is known to have done, without gaps: what had begun and has no end is
        interrupted, reads that nothing was done after are done again, and of all others their ends are told again."""
        known = self.directory
        number = known.through + 1
        while known.fate(number):
            if not known.fate(number).has_ended:
                known.note(number, Fate.FAILED)
            number += 1
        while number - 1 > self._last_change and known.fate(number - 1) is Fate.READ:
            number -= 1
            known.forget(number)
        self.stream.accepted = self._taken = number - 1
        for each in range(max(1, number - FATES // 2), number):
            done = known.fate(each) is Fate.COMPLETE
            self.stream.tell(CommandResult(each) if done else CommandResult(each, INTERRUPTED, WHY_INTERRUPTED))

    def move(self, state: SessionState) -> None:
        """Go on along the table."""
        assert state in SESSION_TRANSITIONS[self.state], f"no way from {self.state.value} to {state.value}"
        self.state = state

    @property
    def taken(self) -> int:
        """Number of the last command that came; by any thread."""
        return self._taken

    @property
    def brought_bytes(self) -> int:
        """Of writes that came and were not dealt with; by any thread."""
        return self._brought - self._carried

    # What comes in ------------------------------------------------------------------------------------------------

    def check(self, commands: tuple[Command, ...], others_bytes: int = 0) -> None:
        """Whether a batch can be taken, which it is then; by one thread at a time, any one.

        Args:
            others_bytes: Of writes that wait in other sessions of the tenant.

        Raises:
            InvalidRequest: Its numbers do not go on where the last one's ended.
            QuotaExceeded: There are too many, or they bring too much.
        """
        new = [command for command in commands if command.number > self._taken]
        expected = self._taken + 1
        for place, command in enumerate(new):
            if command.number != expected + place:
                message = f"Commands are numbered without gaps: {expected + place} is next, not {command.number}."
                raise InvalidRequest(message, field="commands", allowed=expected + place)
        waiting = max(self._taken - self.directory.through, len(self.stream.open)) + len(new)
        brings = sum(map(_data_bytes, new))
        brought = self.brought_bytes + brings
        if waiting >= MAX_WAITING:
            message = f"{waiting} commands would wait; {MAX_WAITING} may: wait for some to end."
            raise QuotaExceeded(message, limit=MAX_WAITING, asked=waiting)
        for asked, most in ((brought, MAX_BROUGHT_BYTES), (brought + others_bytes, MAX_TENANT_BYTES)):
            if asked > most and brings:
                message = f"{format_bytes(asked)} would wait to be written; {most} may: wait for writes to end."
                raise QuotaExceeded(message, limit=most, asked=asked)
        self._taken += len(new)
        self._brought += brings

    def accept(self, commands: tuple[Command, ...], now_s: float) -> None:
        """Take a batch; what was taken before is passed over."""
        if commands:
            self.asked_s = time.monotonic()
        for command in commands:
            fate = self.directory.fate(command.number)
            entry = self.stream.accept(command, now_s)
            if entry is None:
                continue
            if fate:
                self._answer_again(entry, fate, now_s)

    def _answer_again(self, entry: Entry, fate: Fate, now_s: float) -> None:
        """A command that ended in an earlier life is not done again."""
        if fate is Fate.READ and entry.command.number > self._last_change:
            return  # nothing has changed since: it reads what it read
        if fate is Fate.COMPLETE:
            self.end(entry, now_s)
        else:
            self.end(entry, now_s, code=INTERRUPTED, message=WHY_INTERRUPTED)

    # What is done -------------------------------------------------------------------------------------------------

    @property
    def has_work(self) -> bool:
        """Whether a command could begin now, if the memory is there."""
        return self.stream.head() is not None and not self.is_full

    @property
    def may_go_on(self) -> bool:
        """Whether it may begin something at once, beside what it runs."""
        return self._next() is not None

    @property
    def is_full(self) -> bool:
        """Whether its client has to take results before anything more is done: its own, whatever others leave."""
        held = self.stream.data_bytes
        if held > MAX_READ_BYTES or len(self.stream.results) >= MAX_RESULTS:
            return True
        return held > PIECE_BYTES and held + self._others_bytes() > MAX_TENANT_BYTES

    @property
    def is_at_rest(self) -> bool:
        """Whether it has no command that has not ended."""
        return not self.stream.open

    def advance(self, now_s: float) -> Iterator[tuple[Entry, EngineLaunch]]:
        """Carry out what may be done; yields launches, for which a core is to be asked.

        Args:
            now_s: Board time.
        """
        left = STEP_BYTES
        while left > 0 and not self.is_full:
            entry = self._next()
            if entry is None:
                return
            if entry.broken:
                why = f"command {entry.broken}, which it comes after, failed"
                self.end(entry, now_s, code="dependency-failed", message=why)
            elif isinstance(entry.command.body, (LaunchCommand, StartCommand)):
                launch = self._prepare(entry, entry.command.body, now_s)
                if launch is not None:
                    self.stream.begin(entry, now_s)
                    self.running[entry.command.number] = launch
                    yield entry, launch
            else:
                left -= self._carry_out(entry, now_s)

    def _next(self) -> Entry | None:
        """The oldest command that may begin, where there is one."""
        if self._moving is not None:
            return self.stream.open[self._moving[0]]
        head = self.stream.head()
        if head is None or self._may_begin(head):
            return head
        return next((each for each in self.stream.ready() if self._may_begin(each)), None)

    def _may_begin(self, entry: Entry) -> bool:
        """Whether a command that comes next may begin beside the launches that run: these have one program's code."""
        body = entry.command.body
        if not isinstance(body, LaunchCommand) or not self.running or entry.broken:
            return True
        program = self.programs.get(body.program)
        running = {launch.code for launch in self.running.values()} - {""}
        return program is None or not running or (running == {program.id} and program.is_one)

    def _prepare(self, entry: Entry, body: LaunchCommand | StartCommand, now_s: float) -> EngineLaunch | None:
        """A launch laid out in memory; None where it cannot be, and has failed."""
        clusters = self._clusters()
        try:
            if isinstance(body, StartCommand):
                return self._prepare_start(body, clusters)
            if body.program not in self.programs:
                raise NotFound(f"the session has no program {body.program}: build it first", field="program")
            program = self.programs[body.program]
            family, offers = f"session-{self.record.number}", clusters.offers
            return SessionLaunch(self._region, program, body, offers, family, clusters.time_limit_s)
        except EddyError as error:
            self.end(entry, now_s, code=error.code, message=error.message)
            return None

    def _prepare_start(self, body: StartCommand, clusters: Clusters) -> EngineLaunch:
        family, limit_s = f"session-{self.record.number}", clusters.time_limit_s
        known = self._region, self._heap, body, self._buffers
        return ImageStart(*known, clusters.offers, family, limit_s, lambda size: self._take_room(size, None))

    def _carry_out(self, entry: Entry, now_s: float) -> int:
        """Do something with memory, or go on with it; answers what that cost, in bytes."""
        number, body, data = entry.command.number, entry.command.body, b""
        try:
            if isinstance(body, Refused):
                raise InvalidRequest(body.message)
            if isinstance(body, Create):
                self._create(body)
            elif isinstance(body, Release):
                self._heap.free(find_buffer(self._buffers, body.buffer)[0])
                del self._buffers[body.buffer]
                self.directory.remove_buffer(body.buffer)
            elif isinstance(body, (Write, Read, Copy, Fill)):
                if self._moving is None:
                    self._moving = number, move_bytes(self._region, self._buffers, body)
                return next(self._moving[1])
        except StopIteration as done:
            data = done.value
        except BoardUnreachable:
            raise
        except EddyError as error:
            self.end(entry, now_s, code=error.code, message=error.message)
            return RUN_BYTES
        self.counts.bytes_up += _data_bytes(entry.command)
        self.counts.bytes_down += len(data)
        self.end(entry, now_s, data=data)
        return RUN_BYTES

    def _create(self, body: Create) -> None:
        if body.buffer in self._buffers:
            raise InvalidRequest(f"the session has a buffer {body.buffer} already", field="buffer")
        if (body.at or 0) % ALIGNMENT:
            raise InvalidRequest(f"a buffer begins at a multiple of {ALIGNMENT}", field="at", asked=body.at)
        offset = self._take_room(body.bytes, body.at)
        try:
            self.directory.add_buffer(body.buffer, offset, body.bytes)
        except QuotaExceeded:
            self._heap.free(offset)
            raise
        self._buffers[body.buffer] = offset, body.bytes

    def _take_room(self, size: int, at: int | None) -> int:
        """Bytes of the region that nobody else has, there where they are asked for; layouts nobody uses make room.

        Raises:
            MemoryExhausted: There is no such room.
        """
        while True:
            try:
                if at is None:
                    return self._heap.allocate(size)
                self._heap.place(at, size)
                return at
            except MemoryExhausted:
                if not self._region.layouts.forget_oldest():
                    raise

    # What ended ---------------------------------------------------------------------------------------------------

    def end(self, entry: Entry, now_s: float, **how: object) -> None:
        """A command ended; `how` is as `CommandStream.end` has it."""
        if self._moving is not None and self._moving[0] == entry.command.number:
            self._moving = None
        self.stream.end(entry, now_s, **how)  # type: ignore[arg-type]
        failed = bool(how.get("code"))
        self.counts.failures += failed
        self._carried += _data_bytes(entry.command)
        good = Fate.READ if isinstance(entry.command.body, Read) else Fate.COMPLETE
        self.directory.note(entry.command.number, Fate.FAILED if failed else good)

    def end_launch(self, number: int, ended: EndedLaunch) -> None:
        """A launch ended on its clusters."""
        launch, entry = self.running.pop(number), self.stream.open[number]
        code = ended.code
        log = launch.log(self._memory).decode(errors="replace")
        launch.end()
        self.counts.launches += 1
        self.counts.failed_launches += bool(code)
        self.counts.core_s += ended.core_s
        self._add_work(launch, ended)
        self.counts.bytes_kept += sum(self._buffers[each][1] for each in entry.command.buffers if each in self._buffers)
        if code or not launch.code:
            self._region.code = ""  # it may have written over the program, and a started image may do so and succeed
        self.end(entry, ended.ended_s, code=code, message=ended.message, log=log, started_s=ended.started_s)

    def _add_work(self, launch: EngineLaunch, ended: EndedLaunch) -> None:
        """Take down what a launch counted, for a profile."""
        key = launch.code, launch.kernel, ended.module
        variant = launch.variants.get(ended.module)
        known = self.work.get(key)
        if known is None and len(self.work) >= MAX_PROFILED:
            return
        known = known or KernelTotals(launch.kernel, ended.module, 0, 0.0)
        self.work[key] = known.add(ended.core_s, ended.cores, known.shape if variant is None else variant.shape)

    def fail_all(self, now_s: float, code: str, message: str) -> None:
        """No command that is left will be carried out."""
        for number in sorted(self.stream.open):
            entry = self.stream.open.get(number)
            if entry is not None and number not in self.running:
                self.end(entry, now_s, code=code, message=message)

    # Its memory ---------------------------------------------------------------------------------------------------

    def keep_marks(self) -> None:
        """Write down on the board what began and ended."""
        self.directory.write(lambda at, data: self._memory.write(DIRECTORY, at, data))

    def spans(self) -> Iterator[tuple[int, int]]:
        """Offset and size of each piece of the region that holds a buffer."""
        for offset, size in sorted(self._buffers.values()):
            for at in range(offset, offset + size, PIECE_BYTES):
                yield at, min(PIECE_BYTES, offset + size - at)

    def read_piece(self, offset: int, size: int) -> bytes:
        """Bytes of the region."""
        return self._memory.read(REGION, EVERY_ITEM, offset, size)

    def left_board(self) -> None:
        """The region is gone: programs and layouts have to be put in again."""
        self._region.code = ""
        self._region.layouts.forget_all()

    def figures(self) -> SessionFigures:
        """What it has done and holds; by any thread."""
        counts, stream = self.counts, self.stream
        return SessionFigures(
            self.state,
            len(self._buffers),
            sum(size for _, size in [*self._buffers.values()]),
            len(stream.open) - len(self.running),
            len(self.running),
            counts.launches,
            counts.failures,
            counts.bytes_up,
            counts.bytes_down,
            counts.bytes_kept,
            counts.core_s,
            stream.accepted,
            stream.ended,
            time.monotonic() - self.asked_s,
        )


def _data_bytes(command: Command) -> int:
    return len(command.body.data) if isinstance(command.body, Write) else 0
