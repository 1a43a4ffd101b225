# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What must hold, whatever goes wrong.

- A job that was acknowledged is there, as it was asked for, and comes to an end.
- An idempotency key names one job, however often and across whatever it is sent.
- No item is committed twice, and what it left is right to the bit.
- A job that was shown to have ended stays ended, just so.
- Nobody reaches another's jobs or memory.
- A tenant has no more jobs than it may, and is refused none it may have.
- What is charged adds up to the board's time.
- What ended without success says why.
- A request for a job's end that was accepted took effect, or is said to have come too late.
- What the operator said last of a slot is what is shown, and what is in force.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from eddy.core.jobs import TRANSITIONS, JobState
from eddy.core.records import JobEvent, JobEventKind, JobRecord
from eddy.hypervisor.engine.engine import Engine
from eddy.hypervisor.jobs.slot import DRAINED
from eddy.store import Store
from eddy.store.account_tables.usage import ACCOUNTED, ACCOUNTED_FROM
from hypervisor_kit import expected

from faultsim.clients import TENANTS, Answer, Clients, Wanted
from faultsim.parts import MAX_JOBS
from faultsim.port import BadPort

UNAVAILABLE = (503, 507)


class Promises:
    """Those of one seed.

    Args:
        wanted: The jobs clients want.
    """

    def __init__(self, wanted: Sequence[Wanted]) -> None:
        self._wanted = wanted
        self._heard: dict[int, JobEvent] = {}

    # At every moment ----------------------------------------------------------------------------------------------

    def always(self, store: Store, port: BadPort) -> None:
        """Between any two draws."""
        assert not port.wrong, port.wrong
        for tenant in TENANTS:
            count = self.unfinished(store, tenant)
            assert count <= MAX_JOBS, f"{tenant} has {count} jobs"
            kept = sum(store.jobs.unfinished_by_tenant().get(tenant, {}).values())
            assert kept == count, f"{tenant} is counted {kept} jobs and has {count}"

    def unfinished(self, store: Store, tenant: str) -> int:
        """Jobs of a tenant that have not ended, counted in the data base."""
        (row,) = store.database.fresh_rows("SELECT count(*) AS n FROM job WHERE final = 0 AND tenant = ?", tenant)
        return int(row["n"])

    def submitted(
        self, store: Store, asked: Sequence[Wanted], answers: Sequence[Answer | None], before: Mapping[str, int]
    ) -> None:
        """Some submissions were answered; `before` says how many jobs each tenant had."""
        for each, answer in zip(asked, answers, strict=True):
            each.refused = answer is not None and answer.status == 429
            if answer is None or answer.status in UNAVAILABLE:
                continue
            if answer.status == 429:
                assert each.job is None, f"{each.key} is job {each.job}, and was refused"
                full = before[each.tenant] + sum(other.tenant == each.tenant for other in asked) > MAX_JOBS
                assert full, f"{each.tenant} was refused a job with {before[each.tenant]} of {MAX_JOBS}"
                continue
            assert answer.status == 202, (answer.status, answer.body)
            job = answer.json["id"]
            assert each.job in (None, job), f"{each.key} was job {each.job}, and is {job}"
            assert (answer.json["tenant"], answer.json["batch"]) == (each.tenant, each.batch)
            each.job = job
        numbers = [each.job for each in self._wanted if each.job is not None]
        assert len(set(numbers)) == len(numbers), "two keys name one job"

    def shown(self, each: Wanted, answer: Answer | None) -> None:
        """A client saw its job."""
        if answer is None or answer.status in UNAVAILABLE:
            return
        assert answer.status == 200, f"job {each.job} was accepted and is answered {answer.status} {answer.body!r}"
        self._seen(each, answer.json)

    def _seen(self, each: Wanted, job: Mapping[str, Any]) -> None:
        assert (job["tenant"], job["batch"]) == (each.tenant, each.batch)
        state = job["state"]
        assert each.final in ("", state), f"job {each.job} was {each.final}, and is {state}"
        if JobState(state).is_final:
            each.final = state
            assert state != "failed" or job["error"]["cause"], f"job {each.job} failed without a cause"
            assert state != "cancelled" or each.cancelled, f"job {each.job} was cancelled by nobody"

        said = job["cancellation"]
        assert said or not each.cancel_accepted, f"job {each.job} is {state}, and its cancellation is forgotten"
        if said:
            too_late = each.final not in ("", "cancelled")
            assert said["outcome"] == ("too-late" if too_late else each.final or "pending"), (said, state)

    def cancelled(self, each: Wanted, answer: Answer | None) -> None:
        """Somebody asked for the end of a job."""
        if answer is None or answer.status in UNAVAILABLE:
            return
        assert answer.status in (202, 409), (answer.status, answer.body)
        if answer.status == 202:
            each.cancel_accepted = True
            self._seen(each, answer.json)

    def output(self, each: Wanted, answer: Answer | None) -> None:
        """A client fetched its result."""
        if answer is None or answer.status in UNAVAILABLE:
            return
        assert answer.status == 200, f"the output of job {each.job} is answered {answer.status} {answer.body!r}"
        assert answer.body == expected(each.batch, each.salt), f"the output of job {each.job} is wrong"

    def hidden(self, answer: Answer | None) -> None:
        """Somebody asked for another's job."""
        assert answer is None or answer.status == 404, f"another's job is answered {answer.status}"

    def hear(self, store: Store) -> None:
        """The operator reads the log of events on."""
        for event in store.events.list_events(None, None, max(self._heard, default=0)):
            self._heard[event.seq] = event

    def after_crash(self, store: Store, power: bool) -> None:
        """What was heard is still so: all of it, or after a loss of power what clients rely on."""
        now = {event.seq: event for event in store.events.list_events(None, None)}
        if not power:
            for number, event in self._heard.items():
                assert now.get(number) == event, f"event {event} is gone, or is {now.get(number)}"
            return
        log = Counter((event.job, event.what, event.state) for event in now.values())
        for event in self._heard.values():
            if event.what is JobEventKind.SUBMITTED or (event.state is not None and event.state.is_final):
                assert log[event.job, event.what, event.state], f"event {event} was lost with the power"
        self._heard = {number: event for number, event in self._heard.items() if now.get(number) == event}

    # In the end ---------------------------------------------------------------------------------------------------

    def in_the_end(self, clients: Clients, store: Store, engine: Engine, port: BadPort) -> None:
        """When everything has come to its end."""
        listed = self._listed(clients)
        told = [each for each in self._wanted if not each.refused]
        assert set(listed) == {each.job for each in told}, "there is a job that nobody wants"
        for each in told:
            assert each.job is not None
            self._seen(each, listed[each.job])
            assert each.final, f"job {each.job} never ended"
            if each.final == "succeeded":
                self.output(each, clients.ask(each.tenant, "GET", f"/v1/jobs/{each.job}/outputs/out"))
            self._log(store, store.jobs.get(each.tenant, store.numbers.job.resolve_id(each.job)))
        assert port.board.state().buffers == (), "a buffer was left"
        for index, slot in engine.machine.slots.items():
            kept = store.meta(DRAINED.format(index)), engine.intake.drained.get(index, "")
            assert kept == (slot.drained, slot.drained), f"slot {index}: {kept} is kept and shown of {slot.drained!r}"
        self._accounts(store, engine)

    def _listed(self, clients: Clients) -> dict[int, Mapping[str, Any]]:
        """By number: every job, as its tenant sees it in its list."""
        found = dict[int, Mapping[str, Any]]()
        for tenant in TENANTS:
            answer = clients.ask(tenant, "GET", "/v1/jobs?limit=500")
            assert answer is not None
            assert answer.status == 200, answer.body
            assert answer.json["next"] is None
            found.update((job["id"], job) for job in answer.json["jobs"])
        return found

    def _log(self, store: Store, record: JobRecord) -> None:
        log = store.events.list_events(None, record.id)
        done: Counter[tuple[int | None, int | None]] = Counter()
        noted: set[tuple[int | None, int | None]] = set()
        for event in log:
            if event.what is JobEventKind.RECOVERED and event.detail:
                done.clear()  # what lay between tasks is gone: items that left no outputs are run again
            if event.what is JobEventKind.ITEM_DONE:
                done[event.task, event.item] += 1
                noted.add((event.task, event.item))
                assert done[event.task, event.item] == 1, f"job {record.id}: an item is noted twice: {event}"
        if record.state is JobState.SUCCEEDED:
            assert len(noted) == 3 * record.batch, (
                f"job {record.id}: {len(noted)} of {3 * record.batch} items are noted"
            )
        states = [JobState.QUEUED] + [event.state for event in log if event.state is not None]
        for before, after in itertools.pairwise(states):
            assert after in TRANSITIONS[before], f"job {record.id} went from {before} to {after}"
        assert states[-1] is record.state
        rows = store.database.rows(
            "SELECT name, item, count(*) AS n FROM result WHERE job = ? GROUP BY name, item", record.id
        )
        assert all(row["n"] == 1 for row in rows)

    def _accounts(self, store: Store, engine: Engine) -> None:
        engine.account()
        whole = sum(row.spent_ns for row in store.usage.rows(None) if row.unit in ("slot", "shared"))
        passed_ns = int(store.meta(ACCOUNTED)) - int(store.meta(ACCOUNTED_FROM))
        assert int(store.meta(ACCOUNTED)) == round(engine.now_s * 1e9)
        slots = len(engine.machine.slots)
        assert whole == passed_ns * slots, f"{whole} ns are charged of {passed_ns} ns of {slots} slots"
