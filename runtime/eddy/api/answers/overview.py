# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""One answer with all that a page, or a terminal, shows at a glance: `/v1/overview`."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from eddy.api.answers.schemas import Job, Slot
from eddy.api.request_bodies import examples
from eddy.api.request_bodies.base import Answer
from eddy.core.leases import LeaseState
from eddy.core.sessions import SessionState

JOBS = 40
"""Jobs that have not ended, at most; the oldest."""
ENDED = 12
"""Jobs that ended last, at most."""


SESSIONS = 40
"""Sessions, at most; the oldest."""


class Span(Answer):
    """A stretch of a slot's time, in board seconds: a load, or an item."""

    slot: int = Field(description="The slot's index.")
    kind: Literal["load", "item"] = Field(description="Loading a module, or running an item.")
    start_s: float = Field(description="Its beginning.")
    end_s: float = Field(description="Its end.")
    tenant: str = Field(description="For whom.")
    job: int = Field(description="For which job.")
    task: int | None = Field(description="Task of that job.")
    item: int | None = Field(description="Item of the batch; null for a load.")
    ok: bool = Field(description="False where it ended in a fault.")


class TenantLoad(Answer):
    """What a tenant has under way."""

    tenant: str = Field(description="Its name.")
    display_name: str = Field(description="What people call it; empty where it has no other name.")
    jobs: dict[str, int] = Field(description="Its jobs that have not ended, by state.")


class SessionGlance(Answer):
    """A session that is open."""

    session: str = Field(description="Its name.")
    tenant: str = Field(description="Whose it is.")
    state: SessionState = Field(description="Where it is in its life.")
    memory_bytes: int = Field(description="Board memory it has.")
    buffers: int = Field(description="Buffers it has.")
    queued: int = Field(description="Commands that have not begun.")
    running: int = Field(description="Launches that wait for cores or have some.")
    launches: int = Field(description="Launches that ended since the server started.")
    core_seconds: float = Field(description="What these had of cores.")


class LeaseGlance(Answer):
    """A lease that has not ended."""

    lease: str = Field(description="Its name.")
    tenant: str = Field(description="Whose it is.")
    state: LeaseState = Field(description="Where it is in its life.")
    slots: list[int] = Field(description="What it holds.")
    module: str = Field(description="What its slots hold; empty for nothing.")
    ends_unix_s: float | None = Field(description="When it ends by itself; null before it began.")
    idle_s: float = Field(description="Wall seconds since its holder was last heard of.")


class Overview(Answer):
    """The board at a glance. A tenant sees its own jobs and what slots did for it; the operator sees everyone's."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [examples.OVERVIEW]})

    now_s: float = Field(description="Board time.")
    ready: bool = Field(description="Whether jobs are taken and would run.")
    detail: str = Field(description="Why not; empty where they are.")
    viewer: str = Field(description="Who you are.")
    board: str = Field(default="", description="What the board is called; empty of a pool.")
    operator: bool = Field(description="Whether you may do what the operator may.")
    policy: str = Field(description="Dispatch policy of the pipeline slots.")
    slots: list[Slot] = Field(description="Slots, by index.")
    counts: dict[str, int] = Field(description="Jobs that have not ended, by state.")
    jobs: list[Job] = Field(
        description="Jobs that have not ended: those in a slot, then those that have begun, then those in the "
        f"queue, the oldest first of each; at most {JOBS}."
    )
    ended: list[Job] = Field(description=f"Jobs that have ended, of the newest {ENDED}, newest first.")
    spans: list[Span] = Field(description="What slots did of late, oldest first.")
    faults: dict[str, int] = Field(
        description="For the operator: faults since the start, by code. Empty for a tenant, whose jobs say theirs."
    )
    tenants: list[TenantLoad] = Field(description="For the operator: who has jobs under way. Empty for a tenant.")
    sessions: list[SessionGlance] = Field(
        default_factory=list, description=f"Sessions that are open, oldest first; at most {SESSIONS}."
    )
    leases: list[LeaseGlance] = Field(
        default_factory=list, description=f"Leases that have not ended, oldest first; at most {SESSIONS}."
    )
    damaged: dict[str, int] = Field(
        default_factory=dict,
        description="For the operator: damaged records that were met since the start, by kind, where there are any.",
    )
