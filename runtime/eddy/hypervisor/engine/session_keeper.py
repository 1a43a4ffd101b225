# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Sessions inside the engine: what is asked of them comes in, what the state machine is told of them goes out.

A session is a job that holds memory and runs nothing; each of its launches is a job of one kernel, as that of a
kernel job is, and gets cores by the same shares. Neither has a record, so a launch writes nothing to the disk: what
survives a restart of the server is in the session's directory, on the board, and is written there before a launch is
begun and before the event of its end is acknowledged.
"""

from __future__ import annotations

import dataclasses
import logging
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from eddy.board.port.port import BoardEvent, EventKind
from eddy.core.applications import Application, BufferRole, BufferSpec
from eddy.core.errors import BoardUnreachable, NotFound, StorageFailed
from eddy.core.jobs import JobState
from eddy.core.records import KernelRecord
from eddy.core.sessions import SessionOptions, SessionRecord, SessionState
from eddy.core.slots import Pool
from eddy.hypervisor.engine.output_writer import Spawn
from eddy.hypervisor.engine.session_room import MemoryRoom
from eddy.hypervisor.intake.kernels import KernelPlanner
from eddy.hypervisor.jobs import messages as m
from eddy.hypervisor.jobs.buffers import JobBuffers, needed
from eddy.hypervisor.jobs.job import BufferState, Job
from eddy.hypervisor.jobs.work import BoardWork, JobMemory
from eddy.hypervisor.machine.machine import Machine
from eddy.hypervisor.sessions.commands import Command
from eddy.hypervisor.sessions.directory import DIRECTORY_BYTES, Fate, Found, read_directory
from eddy.hypervisor.sessions.launches import DIRECTORY, REGION, EngineLaunch, LaunchTarget
from eddy.hypervisor.sessions.memory import SessionMemory, unpack_memory
from eddy.hypervisor.sessions.numbers import launch_job, launch_of, session_job, session_of
from eddy.hypervisor.sessions.session import Clusters, Counts, EndedLaunch, Session
from eddy.store import Store

LOOK_S = 0.5
"""Wall seconds between two looks for sessions that nobody uses."""
LOST = "board-lost"
SESSION = "session"
_log = logging.getLogger(__name__)


class SessionKeeper:
    """The open sessions of one board. Any thread may open, close and feed them; the rest is the engine's thread's.

    Args:
        store: Keeps which sessions there are.
        buffers: The memory of jobs on the board.
        work: Of every job that has not ended.
        spawn: Who waits for the disk.
        awaken: Called, from the thread of `spawn`, when there is something to do again.

    Attributes:
        life: Drawn at each recovery: results count from 1 again then, and what was not answered is to be sent again.
    """

    def __init__(
        self,
        store: Store,
        buffers: JobBuffers,
        work: dict[int, BoardWork],
        planner: KernelPlanner,
        spawn: Spawn,
        awaken: Callable[[], None],
    ) -> None:
        self._store, self._buffers, self._work, self._planner = store, buffers, work, planner
        self._awaken = awaken
        self.life = secrets.token_hex(8)
        self._open: dict[str, Session] = {}
        self._by_number: dict[int, Session] = {}
        self._inbox: deque[Callable[[float], Iterable[m.Input]]] = deque()
        self._active: dict[int, Session] = {}
        """Those to be looked at in the next step."""
        self.room = MemoryRoom(store, spawn, self._put, self.keep)
        """Brings memory that nobody uses to the disk."""
        self._there: tuple[frozenset[str], Mapping[str, int], Clusters] = frozenset(), {}, Clusters({}, 0.0)
        """What the planner has, and what follows from it."""
        self._gone = Counts()
        """What those did that have ended."""
        self._look_s = 0.0
        self._recording = threading.Lock()
        """A session's record is changed by one thread at a time."""
        self._feeding = threading.Lock()
        """Batches of a session go into the inbox in the order in which they were checked."""
        self._waiters: dict[str, set[Callable[[], None]]] = {}

    # Any thread ---------------------------------------------------------------------------------------------------

    def open(self, tenant: str, options: SessionOptions) -> SessionRecord:
        """Open a session; durable when this returns. Its memory is asked for in the next step.

        Raises:
            QuotaExceeded: The tenant has as many as it may.
        """
        record = self._store.sessions.add(
            lambda name: SessionRecord(0, name, tenant, options, opened_unix_s=time.time())
        )
        session = self._open[record.id] = self._make(record)
        self._inbox.append(partial(self._begin, session))
        return record

    def get(self, name: str, tenant: str | None = None) -> Session:
        """An open session, of that tenant where one is named.

        Raises:
            NotFound: There is none of that id, it is another tenant's, or it has ended; says why.
            BoardUnreachable: It is being recovered.
        """
        record = self._store.sessions.get(name, tenant)
        session = self._open.get(name)
        if session is None and not record.state.is_final:
            raise BoardUnreachable("The hypervisor is recovering its sessions; try again in a moment.")
        if session is None or record.state.is_final:
            why = f"Session {name} has ended ({record.cause or record.state.value}); open another one."
            raise NotFound(why, field="session", asked=name, state=record.state.value, cause=record.cause)
        return session

    def submit(self, session: Session, commands: tuple[Command, ...], known: int) -> None:
        """Feed a session; the next step takes it in.

        Args:
            known: Serial number of the last result that the client has.

        Raises:
            InvalidRequest: The numbers do not go on.
            QuotaExceeded: Too much waits already.
        """
        with self._feeding:
            session.check(commands, sum(each.brought_bytes for each in self._others(session.record)))
            self._inbox.append(partial(self._feed, session, commands, known))

    def close(self, session: Session, cause: str = "closed") -> None:
        """Have a session end; that it is to is durable when this returns."""
        self.keep(session, SessionState.CLOSING, cause)
        self._store.database.settle()
        self._inbox.append(partial(self._begin_close, session, cause))

    def has_ended(self, name: str) -> bool:
        """Whether a session is not open any more."""
        return self._store.sessions.get(name).state.is_final

    def _others(self, record: SessionRecord) -> Iterator[Session]:
        """Other open sessions of a session's tenant."""
        return (each for each in self.sessions if each.record.tenant == record.tenant and each.record.id != record.id)

    def _put(self, what: Callable[[float], Iterable[m.Input]]) -> None:
        """Into the inbox, from any thread."""
        self._inbox.append(what)
        self._awaken()

    def follow(self, name: str, wake: Callable[[], None]) -> None:
        """Have something called, from the engine's thread, whenever a session has more results or ends."""
        self._waiters.setdefault(name, set()).add(wake)

    def leave(self, name: str, wake: Callable[[], None]) -> None:
        """Have it called no more."""
        self._waiters.get(name, set()).discard(wake)

    @property
    def totals(self) -> Counts:
        """What all sessions have done since the start, those that ended among them."""
        counted = [self._gone, *(session.counts for session in self.sessions)]
        return Counts(*map(sum, zip(*map(dataclasses.astuple, counted), strict=True)))

    @property
    def sessions(self) -> tuple[Session, ...]:
        """Those that are open."""
        return tuple(self._open.values())

    # The engine's thread ------------------------------------------------------------------------------------------

    @property
    def pending(self) -> bool:
        """Whether there is something to do at once."""
        return bool(self._inbox or self._active or self.room.is_reading)

    def take_inputs(self, now_s: float, machine: Machine) -> list[m.Input]:
        """What the machine is told now.

        Args:
            now_s: Board time.
            machine: Has the sessions' memory.
        """
        inputs: list[m.Input] = []
        for _ in range(len(self._inbox)):
            inputs += self._inbox.popleft()(now_s)
        self.expire()
        if machine.state.memory.waiting:
            self.room.make(machine, self._by_number.values())
        for number, session in [*self._active.items()]:
            inputs += self._advance_or_end(session, now_s)
            if not (session.has_work and session.state is SessionState.RESIDENT and session.may_go_on):
                del self._active[number]
            self._wake(session)
        return inputs

    def observe(self, ended: Iterable[int], machine: Machine, now_s: float) -> list[m.Input]:
        """Take note of what a step did: of launches that ended, of memory that was granted or given back.

        Args:
            ended: Jobs that ended in it.
            now_s: Its time.
        """
        for number in ended:
            launch, session = launch_of(number), session_of(number)
            if launch is not None:
                self._launch_ended(*launch, machine.job(number))
            elif session is not None:
                self._memory_gone(session, machine.job(number))
        for each in self._by_number.values():
            job = machine.jobs.get(session_job(each.record.number)) if each.state is SessionState.WAITING else None
            if job is not None and job.memory is BufferState.HELD:
                self._granted(each)
        return self.take_inputs(now_s, machine) if self.pending else []

    def begin_slices(self, commands: Iterable[m.Command]) -> None:
        """Write down on the board, before they are begun, which launches begin."""
        for command in commands:
            found = launch_of(command.job) if isinstance(command, m.LaunchSlice) else None
            session = None if found is None else self._by_number.get(found[0])
            if found is None or session is None or not isinstance(command, m.LaunchSlice):
                continue
            variant = session.running[found[1]].variants[command.module]
            whole = command.first == 0 and command.count == variant.groups
            session.directory.note(found[1], Fate.WHOLE if whole else Fate.BEGUN)
        self.keep_marks()

    def keep_marks(self) -> None:
        """Write down on the board what began and ended."""
        for session in self._by_number.values():
            if session.state is SessionState.RESIDENT:
                session.keep_marks()

    def expire(self) -> None:
        """Close sessions that nobody has used for as long as they allow, and those whose clients are gone."""
        now_s = time.monotonic()
        if now_s < self._look_s:
            return
        self._look_s = now_s + LOOK_S
        for session in self.sessions:
            if session.streams and session.is_at_rest:
                session.streams = False
                quiet = m.LaunchStreamReport(session_job(session.record.number), on=False)
                self._inbox.append(partial(_say, quiet))
            rests = session.is_at_rest and now_s - session.asked_s > session.record.options.idle_timeout_s
            lease_s = session.record.options.lease_s
            causes = {
                "idle": rests,
                "client-gone": lease_s is not None and not session.waiting and now_s - session.heard_s > lease_s,
                "tenant-removed": self._store.tenants.is_removed(session.record.tenant),
            }
            cause = next((name for name, is_so in causes.items() if is_so), "")
            if cause and session.state is not SessionState.CLOSING:
                self.close(session, cause)

    # Its parts ----------------------------------------------------------------------------------------------------

    def _make(self, record: SessionRecord) -> Session:
        return self._session(record, JobMemory(self._buffers, session_job(record.number)))

    def _session(self, record: SessionRecord, memory: JobMemory, found: Found | None = None) -> Session:
        def others_bytes() -> int:
            return sum(each.stream.data_bytes for each in self._others(record))

        return Session(record, memory, self.clusters, found, others_bytes)

    def clusters(self) -> Clusters:
        """The clusters there are, by any thread; the same object as long as they are the same."""
        there = self._planner.available, self._planner.slots
        if there != self._there[:2]:
            shapes = self._planner.clusters()
            offers = {module: LaunchTarget(shape, there[1].get(module, 1)) for module, shape in shapes.items()}
            self._there = (*there, Clusters(offers, self._planner.limits.time_limit_s))
        return self._there[2]

    def _begin(self, session: Session, now_s: float) -> list[m.Input]:
        """A session that was opened, or has never had memory, gets some."""
        self._by_number[session.record.number] = session
        return [self._arrive(session, now_s)]

    def _arrive(self, session: Session, now_s: float) -> m.Input:
        """Ask for a session's memory."""
        number = session_job(session.record.number)
        self._work[number] = SessionMemory(session, self._store.sessions)
        return m.Arrive(session_spec(session.record, now_s))

    def _touched(self, session: Session) -> None:
        self._active[session.record.number] = session

    def _feed(self, session: Session, commands: tuple[Command, ...], known: int, now_s: float) -> list[m.Input]:
        if self._open.get(session.record.id) is not session:
            return []  # it was recovered meanwhile: its client hears of another life, and sends again
        session.stream.take(known)
        session.accept(commands, now_s)
        self._touched(session)
        return []

    def _advance_or_end(self, session: Session, now_s: float) -> list[m.Input]:
        """Advance a session. An error that nobody foresaw is its own: it ends, and others go on."""
        try:
            return self._advance(session, now_s)
        except (BoardUnreachable, StorageFailed):
            raise
        except Exception:
            _log.exception("session %s cannot go on", session.record.id)
            self.keep(session, SessionState.CLOSING, "internal-error")
            return self._begin_close(session, "internal-error", now_s)

    def _advance(self, session: Session, now_s: float) -> list[m.Input]:
        if session.state is SessionState.SPILLED and session.has_work:
            session.move(SessionState.WAITING)
            return [self._arrive(session, now_s)]
        if session.state is not SessionState.RESIDENT:
            return []
        inputs: list[m.Input] = []
        for entry, launch in session.advance(now_s):
            if not session.streams:
                session.streams = True
                inputs.append(m.LaunchStreamReport(session_job(session.record.number), on=True))
            number = launch_job(session.record.number, entry.command.number)
            self._work[number] = launch
            inputs.append(m.Arrive(launch_spec(session.record, number, launch, now_s)))
        return inputs

    def _launch_ended(self, number: int, command: int, job: Job) -> None:
        session = self._by_number.get(number)
        if session is None or command not in session.running:
            return
        code = "" if job.state is JobState.SUCCEEDED else job.cause or job.state.value
        ended_s = job.arrival_s if job.ended_s is None else job.ended_s
        module = "" if job.spec.kernel is None else job.spec.kernel.module
        how = EndedLaunch(module, job.started_s, ended_s, job.core_seconds, job.cores, code, job.detail)
        session.end_launch(command, how)
        self._touched(session)
        if session.state is SessionState.CLOSING and not session.running:
            self._inbox.append(lambda _: [m.Cancel(session_job(number))])

    def _granted(self, session: Session) -> None:
        """A session has its memory, filled."""
        session.move(SessionState.RESIDENT)
        self.keep(session, SessionState.RESIDENT)
        self._store.sessions.drop_memory(session.record.number)
        self._touched(session)

    def _memory_gone(self, number: int, job: Job) -> None:
        """A session's memory was given back: it has ended, or is on the disk."""
        session = self._by_number.get(number)
        if session is None:
            return
        if session.state is SessionState.SPILLING:
            session.move(SessionState.SPILLED)
            session.left_board()
            self._touched(session)
        elif session.state is SessionState.CLOSING:
            self._over(session, SessionState.CLOSED, session.record.cause or "closed")
        else:
            self._over(session, SessionState.LOST, job.cause or LOST)

    def _over(self, session: Session, state: SessionState, cause: str) -> None:
        """A session has ended."""
        session.move(state)
        session.cause = cause
        session.fail_all(0.0, f"session-{state.value}", f"the session has ended: {cause}")
        self.keep(session, state, cause)
        number, name = session.record.number, session.record.id
        self._store.sessions.drop_memory(number)
        for known in (self._active, self._by_number):
            known.pop(number, None)
        if self._open.pop(name, None) is not None:
            both = zip(dataclasses.astuple(self._gone), dataclasses.astuple(session.counts), strict=True)
            self._gone = Counts(*(a + b for a, b in both))
        self._wake(session)
        self._waiters.pop(name, None)

    def _begin_close(self, session: Session, cause: str, now_s: float) -> list[m.Input]:
        if session.record.number not in self._by_number or session.state is SessionState.CLOSING:
            return []
        was = session.state
        session.move(SessionState.CLOSING)
        session.cause = cause
        session.fail_all(now_s, "session-closed", "the session was closed before it began")
        if was is SessionState.SPILLED:
            self._over(session, SessionState.CLOSED, cause)
            return []
        number = session.record.number
        if session.running:
            return [m.Cancel(launch_job(number, command)) for command in session.running]
        return [m.Cancel(session_job(number))]

    def keep(self, session: Session, state: SessionState, cause: str = "") -> None:
        """Write a session's state down, on disk a little later; one that is to end only goes on to its end."""
        with self._recording:
            if session.record.state is SessionState.CLOSING and not state.is_final:
                return
            ended = time.time() if state.is_final else None
            session.record = dataclasses.replace(session.record, state=state, cause=cause, ended_unix_s=ended)
            self._store.sessions.put(session.record, wait=False)

    def _wake(self, session: Session) -> None:
        for wake in [*self._waiters.get(session.record.id, ())]:
            wake()

    # After a restart ----------------------------------------------------------------------------------------------

    def recover(self, machine: Machine, events: Iterable[BoardEvent]) -> dict[int, BoardWork]:
        """Take over sessions of an earlier life, as far as the board still has their memory; answers their work.

        Args:
            machine: Is given the sessions that hold memory.
            events: The board's, those of slices among them that nobody was told of.
        """
        self.life = secrets.token_hex(8)
        self._inbox.clear()
        self._active.clear()
        self.room.forget()
        done = _ended_launches(events)
        before, self._open, self._by_number = self._open, {}, {}
        for record in self._store.sessions.open():
            try:
                self._recover(record, before.get(record.id), machine, done.get(record.number, frozenset()))
            except (BoardUnreachable, StorageFailed):
                raise
            except Exception:
                _log.exception("session %s cannot be recovered", record.id)
                self._over(self._make(record), SessionState.LOST, "internal-error")
        for wakes in [*self._waiters.values()]:
            for wake in [*wakes]:
                wake()
        holding = {session_job(number): session for number, session in self._by_number.items()}
        held = {job: session for job, session in holding.items() if job in machine.jobs}
        return {job: SessionMemory(session, self._store.sessions) for job, session in held.items()}

    def _recover(self, record: SessionRecord, before: Session | None, machine: Machine, done: frozenset[int]) -> None:
        number, spec = session_job(record.number), session_spec(record, machine.state.now_s)
        complete = self._buffers.complete(number, needed(spec.application, 1))
        if record.state is SessionState.CLOSING:
            self._buffers.free(number)
            session = self._make(record)
            self._over(session, SessionState.CLOSED, record.cause)
        elif record.state is SessionState.SPILLED:
            self._buffers.free(number)
            self._resume_spilled(record, before)
        elif record.state is SessionState.WAITING:
            self._buffers.free(number)
            session = self._open[record.id] = self._make(record)
            self._inbox.append(partial(self._begin, session))
        elif complete:
            self._resume_resident(record, before, machine, done)
        else:
            self._buffers.free(number)
            self._over(self._make(dataclasses.replace(record, state=SessionState.RESIDENT)), SessionState.LOST, LOST)

    def _resume_resident(
        self, record: SessionRecord, before: Session | None, machine: Machine, done: frozenset[int]
    ) -> None:
        memory = JobMemory(self._buffers, session_job(record.number))
        found = read_directory(partial(memory.read, DIRECTORY, -1), record.options.memory_bytes)
        if found is None:
            self._over(self._make(record), SessionState.LOST, "directory-damaged")
            return
        for command in done:
            if found.fates.get(command) is Fate.WHOLE:
                found = found.with_fate(command, Fate.COMPLETE)
        session = self._session(record, memory, found)
        self._adopt(session, before)
        spec = session_spec(record, machine.state.now_s)
        job = Job(spec, machine.graph(spec))
        job.memory, job.placed = BufferState.HELD, True
        machine.adopt_job(job)

    def _resume_spilled(self, record: SessionRecord, before: Session | None) -> None:
        packed = self._store.sessions.read_memory(record.number)
        found = None if packed is None else unpack_memory(packed, record.options.memory_bytes)
        if found is None:
            self._over(self._make(record), SessionState.LOST, "memory-file-lost")
            return
        memory = JobMemory(self._buffers, session_job(record.number))
        self._adopt(self._session(record, memory, found.directory), before)

    def _adopt(self, session: Session, before: Session | None) -> None:
        if before is not None:
            session.programs, session.counts, session.asked_s = before.programs, before.counts, before.asked_s
        self._open[session.record.id] = self._by_number[session.record.number] = session
        self._touched(session)


def _say(message: m.Input, _now_s: float) -> list[m.Input]:
    return [message]


def _ended_launches(events: Iterable[BoardEvent]) -> dict[int, frozenset[int]]:
    """By session: commands of which a slice ended well, as the board's events have them."""
    found: dict[int, frozenset[int]] = {}
    for event in events:
        job = event.item.partition(".")[0]
        launch = launch_of(int(job)) if event.kind is EventKind.ITEM_DONE and job.isdigit() else None
        if launch is not None:
            found[launch[0]] = found.get(launch[0], frozenset()) | {launch[1]}
    return found


def session_spec(record: SessionRecord, now_s: float) -> m.JobSpec:
    """A session as the state machine has it: a job that holds memory."""
    sizes = {REGION: record.options.memory_bytes, DIRECTORY: DIRECTORY_BYTES}
    buffers = tuple(BufferSpec(name, BufferRole.CONSTANT, size, "u1", (size,)) for name, size in sizes.items())
    return m.JobSpec(
        session_job(record.number),
        record.tenant,
        Application(SESSION, (), (), buffers),
        priority=record.options.priority,
        arrival_s=now_s,
        needs_memory=True,
        pool=Pool.GPU,
        submitted_unix_s=record.opened_unix_s,
        kind=SESSION,
        kept=False,
    )


def launch_spec(record: SessionRecord, number: int, launch: EngineLaunch, now_s: float) -> m.JobSpec:
    """A launch as the state machine has it: a kernel to be spread over cores."""
    module, variant = next(iter(launch.variants.items()))
    spread = m.CorePartition(launch.learned_as(record.tenant), launch.variants)
    kernel = KernelRecord(launch.kernel, module, variant.groups, variant.groups, ())
    return m.JobSpec(
        number,
        record.tenant,
        variant.application,
        priority=record.options.priority,
        arrival_s=now_s,
        kernel=kernel,
        in_place=True,
        pool=Pool.GPU,
        kind=SESSION,
        spread=spread,
        kept=False,
    )
