# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Notices: what people and programs elsewhere are told, who asked for it, and what became of each message."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from eddy.core.maintenance import WindowStage


class NoticeKind(str, enum.Enum):
    """What is told."""

    JOB_ENDED = "job.ended"
    """A job reached a final state."""
    SLOT_DRAINED = "slot.drained"
    """A slot is given to no job any more: by an operator, a maintenance window, or because it keeps failing."""
    SLOT_UNDRAINED = "slot.undrained"
    LEASE_BEGAN = "lease.began"
    """A lease has its slots, and its holder may drive them."""
    LEASE_NOTICED = "lease.noticed"
    """A lease ends earlier than asked: its slots are wanted for something else."""
    LEASE_ENDED = "lease.ended"
    MAINTENANCE_PLANNED = "maintenance.planned"
    MAINTENANCE_BEGAN = "maintenance.began"
    MAINTENANCE_ENDED = "maintenance.ended"
    MAINTENANCE_CANCELLED = "maintenance.cancelled"
    TEST = "test"
    """Sent when somebody asks for it, whatever else was chosen."""


OPERATORS_ONLY = frozenset({NoticeKind.SLOT_DRAINED, NoticeKind.SLOT_UNDRAINED})
"""Why a slot is drained is for operators."""


class DeliveryState(str, enum.Enum):
    """Where a message is."""

    WAITING = "waiting"
    """It is sent as soon as its time has come; also between two attempts."""
    DELIVERED = "delivered"
    FAILED = "failed"
    """Every attempt failed; it is sent again on request only."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """Who is told what, and where.

    Attributes:
        target: ``https://...``, ``http://...`` or ``mailto:...``.
        everyone: Whether it is told of everyone's jobs (operators).
        label: What its owner calls it.
        created_unix_s: When it was made.
        since: Events of jobs up to this number are not told.
        off: Why nothing is sent any more; "" while it is.
        dropped: Messages that were not kept, because too many were waiting.
    """

    id: str
    tenant: str
    target: str
    kinds: tuple[NoticeKind, ...]
    everyone: bool = False
    label: str = ""
    created_unix_s: float = 0.0
    since: int = 0
    off: str = ""
    dropped: int = 0

    @property
    def is_mail(self) -> bool:
        """Whether it goes by e-mail."""
        return self.target.startswith("mailto:")

    def wants(self, kind: NoticeKind, tenant: str | None) -> bool:
        """Whether it is told of something of a tenant; None for what concerns everyone."""
        return not self.off and kind in self.kinds and (tenant is None or self.everyone or tenant == self.tenant)


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message to one subscriber.

    Attributes:
        id: Its name; the same at every attempt, so that a receiver knows a message it has had.
        body: JSON, as it is sent and signed.
        created_unix_s: When it was made.
        attempts: How often it was sent, since it was last asked for.
        next_unix_s: When it is sent next, while it waits.
        tried_unix_s: When it was sent last; None for never.
        status: What the receiver answered last, as HTTP or SMTP count it; None where nothing was answered.
        said: What went wrong the last time; "" where nothing did.
    """

    id: str
    subscription: str
    tenant: str
    kind: NoticeKind
    body: str
    created_unix_s: float
    state: DeliveryState = DeliveryState.WAITING
    attempts: int = 0
    next_unix_s: float = 0.0
    tried_unix_s: float | None = None
    status: int | None = None
    said: str = ""


DELAYS_S: Sequence[float] = (5, 30, 120, 600, 3600, 10_800, 21_600, 43_200)
"""Wall seconds after each attempt that failed before the next one; after the last of them there is none. A day in all,
so that a receiver that is repaired the next morning misses nothing."""


def next_delay_s(attempts: int) -> float | None:
    """How long to wait after so many attempts that failed; None where it has been tried enough."""
    return DELAYS_S[attempts - 1] if attempts <= len(DELAYS_S) else None


def stage_notice(told: str, stage: WindowStage) -> NoticeKind | None:
    """What is to be told of a maintenance window; None for nothing.

    Args:
        told: The stage that was told last; "" for none.
        stage: How far it is. Of stages that passed while nobody looked, only the last one is told.
    """
    if told == stage.value:
        return None
    if stage in (WindowStage.PLANNED, WindowStage.DRAINING):
        return None if told else NoticeKind.MAINTENANCE_PLANNED
    return {
        WindowStage.OPEN: NoticeKind.MAINTENANCE_BEGAN,
        WindowStage.ENDED: NoticeKind.MAINTENANCE_ENDED,
        WindowStage.CANCELLED: NoticeKind.MAINTENANCE_CANCELLED,
    }[stage]
