# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What is answered about leases, and how their records become that."""

from __future__ import annotations

from pydantic import Field

from eddy.api.request_bodies import examples
from eddy.api.request_bodies.base import Answer, with_example
from eddy.core.leases import LeaseFigures, LeaseKind, LeaseState
from eddy.core.tenants import TenantRecord
from eddy.hypervisor.engine.lease_service import LeaseStatus


class Lease(Answer):
    """A lease."""

    model_config = with_example(examples.LEASE)

    lease: str = Field(description="Its name.")
    tenant: str = Field(description="Whose it is.")
    kind: LeaseKind = Field(description="A slot, or the board.")
    state: LeaseState = Field(description="Where it is in its life.")
    slots: list[int] = Field(description="What it holds; empty while it is queued.")
    module: str = Field(description="What its slot is loaded with at first; empty: nothing.")
    lasts_s: float = Field(description="Wall seconds that it lasts, from its beginning.")
    memory_bytes: int = Field(description="Board memory for its holder's buffers.")
    memory_address: int = Field(description="Where that begins, as modules see it; 0 before it has any.")
    asked_unix_s: float = Field(description="When it was asked for, in seconds since 1970.")
    begins_unix_s: float | None = Field(description="When it became active; null before.")
    ends_unix_s: float | None = Field(description="When it ends by itself; null before it began.")
    ended_unix_s: float | None = Field(description="When it ended; null before.")
    position: int = Field(description="Its place in the queue, from 1; 0 once it has slots.")
    expected_unix_s: float | None = Field(description="When one that waits should begin; null where nobody can say.")
    notice: str = Field(description="Why it ends earlier than asked; empty where it does not.")
    cause: str = Field(
        description="Why it ended: `released`, `released-by-operator`, `expired`, `holder-gone`, `notice`, `no-memory`,"
        " `board-lost` or `tenant-removed`; empty before."
    )
    holds: dict[str, str] = Field(description="Module in each slot that can be driven now, by the slot's index.")
    loading: list[int] = Field(description="Slots that are being loaded.")
    said: str = Field(description="Why a slot of it was closed, or could not be loaded; empty where none was.")
    accesses: int = Field(description="Register accesses since the server started.")
    interrupts: int = Field(description="Interrupts that were reported since the server started.")
    bytes_moved: int = Field(description="Bytes of its memory that went over the network since the server started.")
    idle_s: float = Field(description="Wall seconds since its holder was last heard of.")
    idle_limit_s: float = Field(description="Wall seconds of silence after which it ends.")
    token: str = Field(description="What driving it takes, beside the key; empty for all but its tenant.")


class LeaseList(Answer):
    """Leases."""

    model_config = with_example({"leases": [examples.LEASE]})

    leases: list[Lease] = Field(description="Oldest first.")


class LeaseSpan(Answer):
    """A stretch of time in which slots are held, or are asked for."""

    kind: str = Field(description="`lease`, or `maintenance` for a window of the calendar.")
    slots: list[int] = Field(description="Which; empty where that is not decided yet.")
    begins_unix_s: float = Field(description="From when.")
    ends_unix_s: float = Field(description="Until when, at the latest.")
    state: str = Field(description="Of the lease, or of the window.")
    mine: bool = Field(description="Whether it is yours.")
    name: str = Field(description="Of the lease or window; empty where it is another tenant's.")
    tenant: str = Field(description="Whose; empty where it is another's and you are no operator.")


class LeaseCalendar(Answer):
    """When slots are held."""

    model_config = with_example(
        {
            "now_unix_s": 1795991880.0,
            "slots": [0, 1, 2, 3],
            "most_at_once": 2,
            "spans": [
                {
                    "kind": "lease",
                    "slots": [2],
                    "begins_unix_s": 1795991875.28,
                    "ends_unix_s": 1795993675.28,
                    "state": "active",
                    "mine": True,
                    "name": "l5ad1a5cbca4f",
                    "tenant": "ada",
                }
            ],
        }
    )

    now_unix_s: float = Field(description="Wall time.")
    slots: list[int] = Field(description="Slots that can be leased one by one.")
    most_at_once: int = Field(description="How many of them are leased at once, at most.")
    spans: list[LeaseSpan] = Field(description="By their beginning.")


class RegisterValues(Answer):
    """What was read of registers."""

    model_config = with_example({"values": [4], "notice": ""})

    values: list[int] = Field(description="Of the reads, in order.")
    notice: str = Field(description="Why the lease ends earlier than asked; empty where it does not.")


class InterruptAnswer(Answer):
    """Whether an interrupt came."""

    model_config = with_example({"rang": True})

    rang: bool = Field(description="Whether it came within the time.")


def lease_answer(standing: LeaseStatus, viewer: TenantRecord, idle_limit_s: float, token: str) -> Lease:
    """A lease as it is shown to somebody who may see it."""
    record, now = standing.record, standing.figures or LeaseFigures()
    mine = record.tenant == viewer.id and not record.state.is_final
    return Lease(
        lease=record.id,
        tenant=record.tenant,
        kind=record.options.kind,
        state=record.state,
        slots=list(record.slots),
        module=record.options.module,
        lasts_s=record.options.lasts_s,
        memory_bytes=record.options.memory_bytes,
        memory_address=now.memory_address if mine else 0,
        asked_unix_s=record.asked_unix_s,
        begins_unix_s=record.begins_unix_s,
        ends_unix_s=record.ends_unix_s,
        ended_unix_s=record.ended_unix_s,
        position=now.position,
        expected_unix_s=standing.expected_unix_s,
        notice=record.notice,
        cause=record.cause,
        holds={str(slot): module for slot, module in now.modules.items() if module},
        loading=list(now.loading),
        said=now.said,
        accesses=now.accesses,
        interrupts=now.interrupts,
        bytes_moved=now.bytes_moved,
        idle_s=now.idle_s,
        idle_limit_s=idle_limit_s,
        token=token if mine else "",
    )
