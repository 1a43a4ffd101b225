# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Messages are made of what happened, and sent: each subscriber has one on its way at most, and each tenant few, so
that a receiver that is slow or dead keeps nobody but itself waiting."""

from __future__ import annotations

import dataclasses
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial

import anyio
import anyio.abc
import anyio.to_thread
import structlog

from eddy.api.answers.notices import format_instant
from eddy.api.dependencies.context import Context
from eddy.core.errors import EddyError, NotFound
from eddy.core.leases import LeaseRecord
from eddy.core.maintenance import MaintenanceWindow
from eddy.core.notices import Delivery, DeliveryState, NoticeKind, Subscription, next_delay_s, stage_notice
from eddy.core.records import JobEvent, JobEventKind
from eddy.notices import mail, webhook
from eddy.notices.signature import sign, subscription_secret
from eddy.notices.targets import TargetRules, parse_mail
from eddy.notices.webhook import Outcome
from eddy.store.tables.notices import Notice

PERIOD_S = 0.5
"""Wall seconds between two looks."""
AT_ONCE = 2
"""Messages of one tenant that are on their way at the same time."""
MAILS_AT_ONCE = 2
"""Mails that are handed over at the same time."""
JITTER = 0.2
"""Part of a pause by which it is longer or shorter, so that messages that failed together do not come together."""
_log = structlog.get_logger("eddy.api")


class NoticeService:
    """Makes messages, and sends them.

    Args:
        wall_s: Seconds since 1970.
    """

    def __init__(self, context: Context, wall_s: Callable[[], float] = time.time) -> None:
        self._context, self._wall_s = context, wall_s
        self._busy: dict[str, str] = {}
        """Subscriptions that a message is on its way to, and whose they are."""
        self._rests: dict[str, tuple[float, float]] = {}
        """Since when and until when a subscriber rests whose receiver failed, whatever else waits for it."""
        self._mails = anyio.CapacityLimiter(MAILS_AT_ONCE)

    async def run(self) -> None:
        """Look again and again, until cancelled. What is on its way then is sent again at the next start."""
        async with anyio.create_task_group() as group:
            while True:
                try:
                    await anyio.to_thread.run_sync(self.collect)
                    await self.dispatch(group)
                except EddyError as error:  # the store says so too, and is asked again
                    _log.warning("notices wait", code=error.code, cause=error.message)
                await anyio.sleep(PERIOD_S)

    # What happened ------------------------------------------------------------------------------------------------

    def collect(self) -> None:
        """Make messages of what has happened since the last time.

        Raises:
            StorageFailed: They cannot be kept; nothing is lost, and the next look makes them.
        """
        store, now_s = self._context.store, self._wall_s()
        if any(not each.off for each in store.notices.all()):
            ends, cursor = store.notices.read_ends()
            notices = [self._of_end(event) for event in ends if event.what is JobEventKind.STATE]
            if ends:
                self._context.store.notices.enqueue(notices, now_s, cursor=cursor)
        self._collect_slots(now_s)
        self._collect_windows(now_s)
        self._collect_leases(now_s)

    def _of_end(self, event: JobEvent) -> Notice:
        store, data = self._context.store, dict[str, object]()
        data["job"] = store.numbers.job.public_id(event.job)
        data["tenant"], data["state"] = event.tenant, event.state.value if event.state is not None else ""
        at_unix_s = self._wall_s()
        try:
            record = store.jobs.get(event.tenant, event.job)
        except (NotFound, EddyError):  # it was purged meanwhile, or its record is damaged: its end is told all the same
            return Notice(NoticeKind.JOB_ENDED, event.tenant, data, at_unix_s, event.seq)
        data |= {"application": record.application, "cause": record.cause, "labels": dict(record.asked.labels)}
        return Notice(NoticeKind.JOB_ENDED, event.tenant, data, record.ended_unix_s or at_unix_s, event.seq)

    def _collect_slots(self, now_s: float) -> None:
        """Tell of slots that were drained, or are in use again, by whomever."""
        hypervisor = self._context.hypervisor
        if not self._context.ready or hypervisor.unreachable_reason:
            return
        drained = {status.slot: status.drained for status in hypervisor.slots() if status.drained}
        told = self._context.store.notices.notified_slots()
        if drained == told:
            return
        notices = []
        for slot in sorted(drained.keys() | told.keys()):
            because = drained.get(slot, "")
            if because != told.get(slot, ""):
                kind = NoticeKind.SLOT_DRAINED if because else NoticeKind.SLOT_UNDRAINED
                notices.append(Notice(kind, None, {"slot": slot, "because": because}, now_s))
        self._context.store.notices.enqueue(notices, now_s, slots=drained)

    def _collect_windows(self, now_s: float) -> None:
        maintenance = self._context.store.maintenance
        told = maintenance.notified()
        notices, stages = [], dict[str, str]()
        for window in maintenance.all():
            stage = window.stage(now_s)
            if told[window.id] == stage.value:
                continue
            kind = stage_notice(told[window.id], stage)
            if kind is not None:
                notices.append(Notice(kind, None, window_facts(window), now_s))
            stages[window.id] = stage.value
        if stages:
            self._context.store.notices.enqueue(
                notices, now_s, beside=lambda db: maintenance.write_notified(db, stages)
            )

    def _collect_leases(self, now_s: float) -> None:
        """Tell of leases that began, were given notice, or ended."""
        notices, told = [], self._context.store.notices.notified_leases()
        records = self._context.store.leases.all()
        stages = {record.id: kind.value if (kind := lease_notice(record)) else "" for record in records}
        if stages == told:
            return
        for record in records if told is not None else ():
            kind = lease_notice(record)
            if kind is not None and told is not None and kind.value != told.get(record.id, ""):
                notices.append(Notice(kind, record.tenant, lease_facts(record), now_s))
        self._context.store.notices.enqueue(notices, now_s, leases=stages)

    # Sending ------------------------------------------------------------------------------------------------------

    async def dispatch(self, group: anyio.abc.TaskGroup) -> None:
        """Begin to send what is due."""
        now_s, hurried = self._wall_s(), self._context.hurried
        while hurried:
            self._rests.pop(hurried.pop(), None)
        resting = {name for name, (since_s, until_s) in self._rests.items() if since_s <= now_s < until_s}
        due = await anyio.to_thread.run_sync(self._context.store.notices.due, now_s, {*self._busy, *resting})
        for each in self._admit(due):
            self._busy[each.subscription] = each.tenant
            group.start_soon(self._send, each)

    def _admit(self, due: Iterable[Delivery]) -> list[Delivery]:
        """Of what is due, what may begin: a tenant's share at most."""
        counts, found = Counter(self._busy.values()), []
        for each in sorted(due, key=lambda each: each.next_unix_s):
            if counts[each.tenant] < AT_ONCE:
                counts[each.tenant] += 1
                found.append(each)
        return found

    async def _send(self, delivery: Delivery) -> None:
        """Send one message and write down what came of it."""
        try:
            subscription = self._context.store.notices.get(delivery.subscription)
            outcome = await self._attempt(subscription, delivery)
            await anyio.to_thread.run_sync(self._settle, delivery, outcome)
        except EddyError as error:  # it was removed meanwhile, or the disk refuses: then it is sent again
            _log.info("what came of a notice is not kept", code=error.code, cause=error.message)
        except Exception:  # one message must not end the service
            _log.exception("a notice could not be sent", delivery=delivery.id)
            await anyio.to_thread.run_sync(self._settle, delivery, Outcome(False, said="it could not be sent"))
        finally:
            self._busy.pop(delivery.subscription, None)

    async def _attempt(self, subscription: Subscription, delivery: Delivery) -> Outcome:
        settings = self._context.settings.notices
        operator = self._is_operator(subscription.tenant)
        if subscription.is_mail:
            address, domain = parse_mail(subscription.target)
            if not operator:
                settings.rules.check_mail(domain)
            message = mail.compose(delivery, settings.mail.sender, address, "Eddy")
            return await anyio.to_thread.run_sync(partial(mail.send, settings.mail, message), limiter=self._mails)
        rules: TargetRules | None = None if operator else settings.rules
        body = delivery.body.encode()
        secret = subscription_secret(self._context.hasher.hash, subscription.id)
        headers = sign(secret, delivery.id, int(self._wall_s()), body)
        return await webhook.post(subscription.target, headers, body, rules, subscription.tenant)

    def _is_operator(self, tenant: str) -> bool:
        return self._context.store.tenants.get(tenant).admin

    def _settle(self, delivery: Delivery, outcome: Outcome) -> None:
        """Write down what came of an attempt."""
        now_s, notices = self._wall_s(), self._context.store.notices
        attempts = delivery.attempts + 1
        state, next_s = DeliveryState.DELIVERED, delivery.next_unix_s
        self._rests.pop(delivery.subscription, None)
        if not outcome.delivered:
            delay_s = next_delay_s(attempts)
            state = DeliveryState.FAILED if delay_s is None else DeliveryState.WAITING
            next_s = now_s + (delay_s or 0.0) * random.uniform(1 - JITTER, 1 + JITTER)
            if delay_s is not None:
                self._rests[delivery.subscription] = now_s, next_s
        changed = dataclasses.replace(
            delivery,
            state=state,
            attempts=attempts,
            next_unix_s=next_s,
            tried_unix_s=now_s,
            status=outcome.status,
            said=outcome.said,
        )
        notices.put(changed)
        if outcome.ends:
            notices.switch_off(delivery.subscription, "the receiver answered 410: it wants no more messages")


def window_facts(window: MaintenanceWindow) -> dict[str, object]:
    """What is told of a maintenance window."""
    begins, ends = (format_instant(each) for each in (window.begins_unix_s, window.ends_unix_s))
    return {"window": window.id, "title": window.title, "begins": begins, "ends": ends, "slots": list(window.slots)}


def lease_notice(record: LeaseRecord) -> NoticeKind | None:
    """What there is to tell of a lease as it stands; None for one that waits."""
    if record.state.is_final:
        return NoticeKind.LEASE_ENDED
    if record.begins_unix_s is None:
        return None
    return NoticeKind.LEASE_NOTICED if record.notice else NoticeKind.LEASE_BEGAN


def lease_facts(record: LeaseRecord) -> dict[str, object]:
    """What is told of a lease."""
    ends_s = record.ended_unix_s if record.ended_unix_s is not None else record.ends_unix_s
    return {
        "lease": record.id,
        "tenant": record.tenant,
        "slots": list(record.slots),
        "ends": format_instant(ends_s) if ends_s is not None else "",
        "notice": record.notice,
        "cause": record.cause,
    }
