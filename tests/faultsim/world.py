# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""One seed: what happens next is drawn, time is virtual, and the server dies and is started again."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

from eddy.api.access.request_limits import TenantRateLimits, TokenBuckets
from eddy.api.service.app import compose
from eddy.core.errors import BoardUnreachable, StorageFailed
from eddy.hypervisor import Hypervisor
from eddy.hypervisor.engine.board_events import BoardRestarted
from eddy.hypervisor.engine.engine import Engine
from eddy.policy.dispatch import POLICIES
from eddy.store import Store
from hypervisor_kit import MODULES

from faultsim import parts as shared
from faultsim.clients import TENANTS, Clients, Wanted
from faultsim.disk import SimDisk
from faultsim.parts import Parts
from faultsim.port import BadPort
from faultsim.promises import Promises

ACTIONS = 150
"""Draws of a seed before everything is well again, and work ends."""
MAX_STEPS = 3000
"""Steps within which everything ends, once all is well."""
MAX_LOG_BYTES = 1 << 18
"""Of the write-ahead log, before it goes into the data base."""
DAY_S = 86400.0
TIMED = (
    *("hypervisor.engine.board_events", "hypervisor.engine.engine", "hypervisor.engine.loop"),
    *("hypervisor.forecast.estimator_feed", "hypervisor.intake.preparation_hold", "store.bytes.partial"),
)
"""Modules that ask how long something took: what they do then must not depend on how fast this machine is."""


class Killed(BaseException):
    """The server's process is gone."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What a seed was like.

    Attributes:
        jobs: Accepted.
        ended: Jobs by final state.
        crashes: Ends of the server, by kind.
        restarts: Of the half with the board.
        torn: Files that a loss of power left between old and new.
        board_s: Board time.
        answers: Requests that were answered.
    """

    jobs: int
    ended: Counter[str]
    crashes: Counter[str]
    restarts: int
    torn: int
    board_s: float
    answers: int


class SimStore(Store):
    """The store; the process may die before or after whatever it writes."""

    effect: Callable[[Callable[[], Any]], Any] = staticmethod(lambda call: call())

    def commit(self, *arguments: Any, **named: Any) -> None:
        self.effect(lambda: super(SimStore, self).commit(*arguments, **named))

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        for part, call in (
            (self.submissions, "write_jobs"),
            (self.outputs, "write"),
            (self.usage, "add"),
            (self.jobs, "request_cancel"),
        ):
            setattr(part, call, self._perilous(getattr(part, call)))

    def _perilous(self, call: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *arguments, **named: self.effect(lambda: call(*arguments, **named))


class World:
    """One seed.

    Args:
        seed: Of everything that is drawn.
        made: What seeds share.
    """

    def __init__(self, seed: int, made: Parts) -> None:
        self.draw = random.Random(seed)
        self._made = made
        self._root = Path(tempfile.mkdtemp(dir=made.folder))
        self.wall_s = 1.8e9 + self.draw.uniform(0.0, DAY_S)
        self._fuse, self._dies_after = -1, False
        self.dead = False
        self.crashes: Counter[str] = Counter()
        self.disk = SimDisk(self._root, made.template, self.draw, self.effect)
        make = shared.board(self.draw.randint(1, 4), self.draw.choice((None, 1, 2)))
        self.port = BadPort(make, self.draw, self.effect)
        self._late: list[Callable[[], None]] = []
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(lambda *_: None)  # a dead process says nothing of what it left
        self.clients = Clients(made.app, self._loop, lambda: self.dead)
        self.promises = Promises(self.clients.wanted)
        self._policy = self.draw.choice(sorted(POLICIES))
        self._full = False
        self.store: SimStore
        self.engine: Engine
        self._hypervisor: Hypervisor
        self._started = False

    # The process --------------------------------------------------------------------------------------------------

    def effect(self, call: Callable[[], Any]) -> Any:
        """Do something that stays; the process may die before or after it."""
        if self.dead:
            raise Killed
        if self._fuse == 0 and not self._dies_after:
            self._die()
        made = call()
        if self._fuse == 0:
            self._die()
        self._fuse -= self._fuse >= 0
        return made

    def _die(self) -> None:
        self.dead = True
        raise Killed

    def _begin(self) -> None:
        """A new process over what the last one left."""
        self._started, self._full = False, False
        self._late.clear()
        self._fuse = -1
        self.disk.refuses = False
        self.store = SimStore(self.disk.folder / shared.DATABASE)
        self.store.effect = self.effect
        self._pragma("wal_autocheckpoint = 0")
        self.store.sweep()
        policy = POLICIES[self._policy]()
        port: Any = self.port
        # Room for a job of each batch that is drawn, and not for everything that a tenant has.
        self._hypervisor = Hypervisor(
            port, policy, self.store, self._made.catalogue.applications, MODULES, memory_part=0.8
        )
        self.engine = self._hypervisor._engine
        self.engine.accounts._wall_s = self.engine._overdue._wall_s = lambda: self.wall_s
        self.engine.preparing._now_s = lambda: self.wall_s
        self.engine.keeping._spawn = self._late.append
        context = compose(self._hypervisor, self.store, self._made.catalogue, self._made.hasher)
        context.running = True
        # Who asks too often is answered 429: by the world's time, not by how fast this machine is.
        context.rates = TokenBuckets(lambda: self.wall_s)
        one, two, three, four = (TokenBuckets(lambda: self.wall_s) for _ in range(4))
        context.rate_limits = TenantRateLimits(one, two, three, four)
        self._made.app.state.context = context

    def _pragma(self, text: str) -> Any:
        return self.store.database._connection.execute(f"PRAGMA {text}").fetchone()

    def crash(self, power: bool) -> None:
        """The process is gone; what it left is found by the next one."""
        self.crashes["power" if power else "process"] += 1
        left = self.store
        self.disk.after_crash(power)
        with contextlib.suppress(sqlite3.Error, StorageFailed):
            left.close()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._turn_loop()
        if power:
            self.port.restart(power=True)
        self.dead = False
        self._begin()
        self.promises.after_crash(self.store, power)

    def _turn_loop(self) -> None:
        self._loop.call_soon(self._loop.stop)
        self._loop.run_forever()

    # What happens -------------------------------------------------------------------------------------------------

    def run(self) -> Summary:
        """Live through it all.

        Raises:
            AssertionError: A promise was broken; the message says which.
        """
        with self._patched():
            try:
                self._begin()
                for _ in range(ACTIONS):
                    self._act()
                    self.promises.always(self.store, self.port)
                self._finish()
                return self._summary()
            finally:
                self.store.close()
                self._hypervisor._disk.shutdown()
                self._turn_loop()
                self._loop.close()
                shutil.rmtree(self._root, ignore_errors=True)

    @contextlib.contextmanager
    def _patched(self) -> Iterator[None]:
        async def at_once(call: Callable[..., Any], *arguments: Any, **_: Any) -> Any:
            return call(*arguments)

        monotonic = iter(range(1 << 60))
        clock = SimpleNamespace(time=lambda: self.wall_s, monotonic=lambda: next(monotonic) * 1e-6)
        with contextlib.ExitStack() as stack:
            for name, stand_in in (
                ("os.fsync", self.disk.sync),
                ("os.fdatasync", self.disk.sync),
                ("time.time", lambda: self.wall_s),
                ("secrets.token_hex", lambda count=8: self.draw.randbytes(count).hex()),
                ("anyio.to_thread.run_sync", at_once),
                *((f"eddy.{module}.time", clock) for module in TIMED),
            ):
                stack.enter_context(mock.patch(name, stand_in))
            yield

    def _act(self) -> None:
        with contextlib.suppress(Killed):
            self._draw_action()()
        if self.dead:
            self.crash(self.draw.random() < 0.5)
        log = self.disk.folder / f"{shared.DATABASE}-wal"
        if log.exists() and log.stat().st_size > MAX_LOG_BYTES:
            self._checkpoint()

    def _draw_action(self) -> Callable[[], None]:
        chances: tuple[tuple[int, Callable[[], None]], ...] = (
            (52, self.turn),
            (12, self._submit),
            (9, self._look),
            (8, self._write_late),
            (4, self._cancel),
            (2, self._account),
            (2, self._operate),
            (2, self._clock_jumps),
            (3, self._spoil),
            (2, self._connection),
            (2, self._disk_trouble),
            (1, self._checkpoint),
            (1, lambda: self.port.restart(power=False)),
            (1, self._die_now),
            (2, self._light_fuse),
        )
        return self.draw.choices([what for _, what in chances], [weight for weight, _ in chances])[0]

    def turn(self) -> None:
        """What the hypervisor's loop does next; see `eddy.hypervisor.engine.engine_worker`."""
        worker = self._hypervisor._worker
        try:
            if self._started:
                self.engine.step(self.draw.choice((1e-3, 0.1, 10.0, float("inf"))))
            else:
                self._write_late()  # an engine waits for what is being written before it begins again
                self.engine.start()
                self._started = True
                worker.watch.mark_answering()
                worker.ready.set()
        except BoardUnreachable as failure:
            self._started = False
            worker.watch.mark_unreachable(failure.message)
        except BoardRestarted:
            self._started = False
        except StorageFailed as failure:
            self._started = False
            self.store.failed(failure)
            self.store.probe()
        if len(self._late) > 3:
            self._write_late()
        self.wall_s += self.draw.uniform(0.0, 1.0)

    def _write_late(self) -> None:
        while self._late:
            self._late.pop(0)()

    def _submit(self) -> None:
        """One or several at once; some ask again for what they were not answered."""
        if not self._hypervisor.ready:
            return
        count = self.draw.choice((1, 1, 1, 3, 6))
        asked = [self._another() for _ in range(count)]
        before = {tenant: self.promises.unfinished(self.store, tenant) for tenant in TENANTS}
        answers = self.clients.together(
            [self.clients.request(each.tenant, "POST", "/v1/jobs", each.body, each.key) for each in asked]
        )
        self.promises.submitted(self.store, asked, answers, before)

    def _another(self) -> Wanted:
        unanswered = [each for each in self.clients.wanted if each.job is None]
        again = unanswered if self.draw.random() < 0.6 else self.clients.wanted
        if again and self.draw.random() < 0.4:
            found = self.draw.choice(again)
        else:
            found = self._fresh()
            self.clients.wanted.append(found)
        found.tries += 1
        return found

    def _fresh(self) -> Wanted:
        batch, salt = self.draw.randint(1, shared.MAX_BATCH), self.draw.randrange(shared.SALTS)
        body = {
            "application": shared.SLOW_CHAIN.name,
            "batch": batch,
            "priority": self.draw.choice((1, 3, 9)),
            "inputs": {"in": [shared.blob(salt, number) for number in range(batch)]},
            "constants": {"key": shared.CONSTANT},
        }
        number = len(self.clients.wanted)
        return Wanted(self.draw.choice(TENANTS), f"key-{number}", json.dumps(body).encode(), salt, batch)

    def _look(self) -> None:
        """A client looks at a job of its own, and tries one of another.

        While the disk refuses, what is shown may be lost with the power; the server says so (`/readyz`).
        """
        if self.disk.refuses:
            return
        known = [each for each in self.clients.wanted if each.job is not None]
        if known:
            each = self.draw.choice(known)
            self.promises.shown(each, self.clients.ask(each.tenant, "GET", f"/v1/jobs/{each.job}"))
            if each.final == "succeeded":
                answer = self.clients.ask(each.tenant, "GET", f"/v1/jobs/{each.job}/outputs/out")
                self.promises.output(each, answer)
            other = next(tenant for tenant in TENANTS if tenant != each.tenant)
            self.promises.hidden(self.clients.ask(other, "GET", f"/v1/jobs/{each.job}"))
        self.promises.hear(self.store)

    def _cancel(self) -> None:
        known = [each for each in self.clients.wanted if each.job is not None]
        if known and self._hypervisor.ready:
            each = self.draw.choice(known)
            each.cancelled = True
            self.promises.cancelled(each, self.clients.ask(each.tenant, "DELETE", f"/v1/jobs/{each.job}"))

    def _account(self) -> None:
        if self._started:
            with contextlib.suppress(StorageFailed):
                self.engine.account()

    def _operate(self) -> None:
        """The operator drains a slot, gives one back, or has another policy decide."""
        if not self._started:
            return
        slot = self.draw.choice(sorted(self.engine.machine.slots))
        with contextlib.suppress(StorageFailed):
            if self.draw.random() < 0.4:
                self._policy = self.draw.choice(sorted(POLICIES))
                self.engine.intake.switch(self.draw.choice(list(self.engine.intake.policies)), POLICIES[self._policy]())
            else:
                self.engine.intake.drain(slot, self.draw.choice(("", "", "for a look")))

    def _clock_jumps(self) -> None:
        self.wall_s += self.draw.choice((-DAY_S, -3600.0, 3600.0, DAY_S, 40 * DAY_S))

    def _spoil(self) -> None:
        meant = self.store.numbers.job.resolve_id
        known = [meant(each.job) for each in self.clients.wanted if each.job is not None]
        if self.draw.random() < 0.5 and known:
            job = max(known) + self.draw.randint(-3, 1)
            self.port.spoil_item(f"{job}.{self.draw.randrange(3)}.{self.draw.randrange(shared.MAX_BATCH)}")
        else:
            self.port.spoil_load()

    def _connection(self) -> None:
        """It becomes slow, bad, or good; or nobody answers for a while."""
        self.port.slow_s = self.draw.choice((0.0, 0.1, 1.0))
        self.port.bad = self.draw.choice((0.0, 0.1, 0.4))
        self.port.away = self.draw.choice((0, 0, 1, 5))

    def _disk_trouble(self) -> None:
        """The disk is full, or refuses to synchronise; or it does again what it should."""
        self.disk.refuses = self.draw.random() < 0.3
        self._set_full(self.draw.random() < 0.4)

    def _set_full(self, full: bool) -> None:
        if full != self._full:
            pages = self._pragma("page_count")[0] if full else 1 << 30
            self._pragma(f"max_page_count = {pages}")
            self._full = full

    def _checkpoint(self) -> None:
        """The log goes into the data base; SQLite synchronises both by itself."""
        database = self.disk.folder / shared.DATABASE
        self._pragma("wal_checkpoint(TRUNCATE)")
        self.disk.durable(database, database.with_name(f"{database.name}-wal"))

    def _die_now(self) -> None:
        self.dead = True

    def _light_fuse(self) -> None:
        """The process will die at one of the next things it does."""
        self._fuse, self._dies_after = self.draw.randint(0, 40), self.draw.random() < 0.5

    # The end ------------------------------------------------------------------------------------------------------

    def _finish(self) -> None:
        """All is well from now on: whoever was not told whether it has a job asks again, and everything ends.

        Of those that were told that they have none, one asks again.
        """
        self._fuse = -1
        self.disk.lives_on = True
        self.port.heal()
        self.disk.refuses = False
        self._set_full(False)
        while not self._started:
            self.turn()
        for slot in sorted(self.engine.machine.slots):
            self.engine.intake.drain(slot, "")
        refused = [each for each in self.clients.wanted if each.refused]
        for each in refused[:1]:
            each.refused = False
        for step in range(MAX_STEPS):
            left = [each for each in self.clients.wanted if each.job is None and not each.refused]
            for each in left[:1] if step % 8 == 0 else ():
                before = {tenant: self.promises.unfinished(self.store, tenant) for tenant in TENANTS}
                answer = self.clients.ask(each.tenant, "POST", "/v1/jobs", each.body, each.key)
                self.promises.submitted(self.store, [each], [answer], before)
            if not self._started or not self.engine.is_idle:
                self.turn()
            self._write_late()
            if self._started and self.engine.is_idle and not self.engine.keeping.has_work and not left:
                break
        else:
            raise AssertionError(
                f"not all ends: {self.store.jobs.unfinished_by_state()}, stalled {self.engine.stalled},"
                f" {self.engine.status}"
            )
        self.promises.always(self.store, self.port)
        self.promises.in_the_end(self.clients, self.store, self.engine, self.port)

    def _summary(self) -> Summary:
        ended = Counter(each.final for each in self.clients.wanted)
        return Summary(
            jobs=len(self.clients.wanted),
            ended=ended,
            crashes=self.crashes,
            restarts=self.port.restarts,
            torn=self.disk.torn,
            board_s=self.engine.now_s,
            answers=self.clients.answers,
        )
