# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`/v1/admin/slots`, `/v1/admin/policy`: what the operator changes while jobs run."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import ConfigDict, Field

from eddy.api.answers.rendering import slot_answer
from eddy.api.answers.schemas import Slot
from eddy.api.dependencies.audit import record_action_async
from eddy.api.dependencies.callers import Ctx, Operator, require_running
from eddy.api.dependencies.policy import policy_record
from eddy.api.http.openapi import refusals
from eddy.api.request_bodies.base import LINE, Answer, Request
from eddy.api.request_bodies.numbers import Decimal
from eddy.api.request_bodies.strict_json import JsonRoute
from eddy.policy.dispatch import POLICIES

router = APIRouter(prefix="/v1/admin", tags=["operator"], route_class=JsonRoute, responses=refusals(403, 404))
_SlotIndex = Annotated[Decimal, Path(ge=0, le=65_535, description="The slot's index.")]


class DrainSubmission(Request):
    """Whether a slot is given to jobs."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"drained": True, "because": "a new fan on Monday"}]})

    drained: bool = Field(description="True: what runs in it ends, its job goes on elsewhere, nothing new is placed.")
    because: str = Field("", max_length=200, pattern=LINE, description="Why, for the operators who see it later.")


class PolicySubmission(Request):
    """Another dispatch policy."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"policy": "nimblock"}]})

    policy: str = Field(
        description="Its name, as `eddy serve --policy` takes it.", json_schema_extra={"enum": [*sorted(POLICIES)]}
    )


class PolicyInForce(Answer):
    """The dispatch policy in force, and those there are."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"policy": "nimblock", "allowed": ["eddy", "nimblock"]}]},
    )

    policy: str = Field(description="Decides about the pipeline slots from the next step on.")
    allowed: list[str] = Field(description="Names there are.")


@router.put("/slots/{slot}", operation_id="drain_slot", response_model=Slot, summary="Drain a slot, or bring it back")
async def drain(slot: _SlotIndex, body: DrainSubmission, context: Ctx, operator: Operator) -> Slot:
    """Durable, and safe to repeat. What runs in the slot ends; `phase` says when it has."""
    require_running(context)
    because = (body.because.strip() or "drained by the operator") if body.drained else ""
    await record_action_async(
        context, operator, "drain-slot" if because else "undrain-slot", slot=slot, because=because
    )
    await context.hypervisor.operator.drain(slot, because)
    (status,) = (status for status in context.hypervisor.slots() if status.slot == slot)
    return slot_answer(status, context.store.numbers, operator)


@router.get("/policy", operation_id="show_policy", response_model=PolicyInForce, summary="The dispatch policy")
async def show_policy(context: Ctx, operator: Operator) -> PolicyInForce:
    """Which one is in force, and which there are."""
    return _in_force(context.hypervisor.policy)


@router.put("/policy", operation_id="set_policy", response_model=PolicyInForce, summary="Another policy, at once")
async def set_policy(body: PolicySubmission, context: Ctx, operator: Operator) -> PolicyInForce:
    """What runs goes on; the new policy decides from now on, also after a restart with the same settings."""
    policy = POLICIES.make(body.policy)
    require_running(context)
    await record_action_async(context, operator, "set-policy", policy=body.policy, before=context.hypervisor.policy)
    await context.hypervisor.operator.switch(policy, kept=policy_record(body.policy))
    return _in_force(body.policy)


def _in_force(name: str) -> PolicyInForce:
    return PolicyInForce(policy=name, allowed=sorted(POLICIES))
