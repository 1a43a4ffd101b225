# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Leases in turn: tenants that hold fewer slots come first, then who asked first; an operator's board goes before all.

A slot is not taken from a lease at once. Where it is wanted for something else (the board for an operator, a drained
slot), the lease is given notice, and ends when that is over. A lease never starves jobs: only so many slots are held
at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from eddy.core.leases import LeaseKind, LeaseRecord, LeaseRules, LeaseState

EXPIRED, GONE, REMOVED = "expired", "holder-gone", "tenant-removed"
_HOLDING = (LeaseState.PREPARING, LeaseState.ACTIVE)


@dataclass(frozen=True, slots=True)
class LeasableSlot:
    """A slot that jobs are given.

    Attributes:
        single: Whether a person may hold it by itself: a slot of the pipeline pool.
        modules: What it can be loaded with.
        free: Whether nothing runs there now.
        drained: Why nobody is given it; "" where somebody is.
    """

    index: int
    single: bool
    modules: frozenset[str]
    free: bool
    drained: str = ""


@dataclass(frozen=True, slots=True)
class LeaseView:
    """What there is to decide about.

    Attributes:
        now_unix_s: Wall time.
        leases: Those that have not ended, in the order in which they were asked for.
        used_unix_s: By lease, when its holder was last heard of.
        rules: What holds for all.
        removed: Tenants that are being removed.
    """

    now_unix_s: float
    slots: tuple[LeasableSlot, ...]
    leases: tuple[LeaseRecord, ...]
    used_unix_s: Mapping[int, float] = field(default_factory=dict)
    rules: LeaseRules = field(default_factory=LeaseRules)
    removed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class LeaseDecision:
    """What is to be done.

    Attributes:
        ends: By lease that is to end: why.
        notices: By lease that is to end earlier than it knows: when, and why.
        grants: By lease that is given slots: which.
    """

    ends: Mapping[int, str] = field(default_factory=dict)
    notices: Mapping[int, tuple[float, str]] = field(default_factory=dict)
    grants: Mapping[int, tuple[int, ...]] = field(default_factory=dict)


def decide_leases(view: LeaseView) -> LeaseDecision:
    """Who ends, who is told, and who is given slots now."""
    ends = {lease.number: why for lease in view.leases if (why := _end(view, lease))}
    left = [lease for lease in view.leases if lease.number not in ends]
    queue = queue_order(left)
    return LeaseDecision(ends, _notices(view, left, queue), _grants(view, queue))


def queue_order(leases: Iterable[LeaseRecord]) -> tuple[LeaseRecord, ...]:
    """Those that wait for slots, the next one first: what the k-th one is given does not depend on who asks often."""
    leases = tuple(leases)
    held = [lease.tenant for lease in leases if lease.state in _HOLDING]
    counts = {tenant: held.count(tenant) for tenant in held}
    waiting = [lease for lease in leases if lease.state is LeaseState.QUEUED]
    order: list[LeaseRecord] = []
    while waiting:
        first = min(
            waiting,
            key=lambda each: (each.options.kind is not LeaseKind.BOARD, counts.get(each.tenant, 0), each.number),
        )
        waiting.remove(first)
        order.append(first)
        counts[first.tenant] = counts.get(first.tenant, 0) + 1
    return tuple(order)


def expected_begin_s(view: LeaseView, number: int) -> float | None:
    """When a queued lease should begin, by what is held now and asked for before it; None where a slot has to be
    undrained first. Holders who go earlier make it earlier."""
    left = [lease for lease in view.leases if lease.state in _HOLDING]
    frees = sorted(view.now_unix_s if lease.ends_unix_s is None else lease.ends_unix_s for lease in left)
    most = view.rules.most_slots(sum(slot.single for slot in view.slots))
    if not any(slot.single and not slot.drained for slot in view.slots):
        return None
    frees = [view.now_unix_s] * max(0, most - len(frees)) + frees
    for lease in queue_order(view.leases):
        if lease.options.kind is LeaseKind.BOARD:
            begins = max(frees)
            frees = [begins + lease.options.lasts_s] * len(frees)
        else:
            begins = frees.pop(0)
            frees = sorted([*frees, begins + lease.options.lasts_s])
        if lease.number == number:
            return begins
    return None


def _end(view: LeaseView, lease: LeaseRecord) -> str:
    """Why a lease is to end now; "" where it is not."""
    if lease.state is LeaseState.CLOSING:
        return ""
    if lease.tenant in view.removed:
        return REMOVED
    if lease.state is not LeaseState.ACTIVE:
        return ""
    if lease.ends_unix_s is not None and lease.ends_unix_s <= view.now_unix_s:
        return (lease.notice and "notice") or EXPIRED
    used_s = view.used_unix_s.get(lease.number, view.now_unix_s)
    held = lease.options.kind is LeaseKind.SLOT
    return GONE if held and used_s + view.rules.idle_s <= view.now_unix_s else ""


def _notices(
    view: LeaseView, leases: Iterable[LeaseRecord], queue: tuple[LeaseRecord, ...]
) -> dict[int, tuple[float, str]]:
    """Leases whose slot is wanted for something else; each is told once."""
    board = bool(queue) and queue[0].options.kind is LeaseKind.BOARD
    drained = {slot.index for slot in view.slots if slot.drained}
    by_s = view.now_unix_s + view.rules.notice_s
    found: dict[int, tuple[float, str]] = {}
    for lease in leases:
        if lease.state is not LeaseState.ACTIVE or lease.notice or lease.options.kind is LeaseKind.BOARD:
            continue
        why = "an operator takes the board" if board else "its slot is drained" if drained & {*lease.slots} else ""
        if why:
            found[lease.number] = min(by_s, by_s if lease.ends_unix_s is None else lease.ends_unix_s), why
    return found


def _grants(view: LeaseView, queue: tuple[LeaseRecord, ...]) -> dict[int, tuple[int, ...]]:
    """Slots for those at the head of the queue; who cannot be given one keeps nobody behind it from another. What is
    about to end has its slots until they are closed."""
    taken = {slot for lease in view.leases for slot in lease.slots}
    holders = sum(1 for lease in view.leases if lease.slots)
    grants: dict[int, tuple[int, ...]] = {}
    most = view.rules.most_slots(sum(slot.single for slot in view.slots))
    for lease in queue:
        if lease.options.kind is LeaseKind.BOARD:
            if not taken and not grants:
                grants[lease.number] = tuple(slot.index for slot in view.slots)
            return grants
        able = [slot for slot in view.slots if _fits(slot, lease.options.module) and slot.index not in taken]
        if able and holders < most:
            best = min(able, key=lambda slot: (not slot.free, slot.index))
            grants[lease.number] = (best.index,)
            taken.add(best.index)
            holders += 1
    return grants


def _fits(slot: LeasableSlot, module: str) -> bool:
    return slot.single and not slot.drained and (not module or module in slot.modules)
