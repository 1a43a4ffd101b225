# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`/v1/market`: prices, and the asking tenant's shares of the clusters; `/v1/admin/price`: which policy sets them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from eddy.api.answers.market import MarketAnswer, MarketExplanation, MarketHistory, PriceInForce, PriceSubmission
from eddy.api.dependencies.audit import record_action_async
from eddy.api.dependencies.callers import Caller, Ctx, Operator, require_running
from eddy.api.dependencies.context import Context
from eddy.api.dependencies.policy import PRICE, policy_record
from eddy.api.dependencies.progress import UNCALIBRATED
from eddy.api.http.openapi import refusals
from eddy.api.request_bodies.strict_json import JsonRoute
from eddy.core.errors import Conflict, NotFound
from eddy.hypervisor.cores.market_explain import explain_market
from eddy.hypervisor.cores.market_loop import PriceLoop
from eddy.hypervisor.cores.market_report import HISTORY, history_answer, market_answer
from eddy.policy.price import POLICIES

router = APIRouter(prefix="/v1/market", tags=["market"], responses=refusals(404))
admin = APIRouter(prefix="/v1/admin", tags=["operator"], route_class=JsonRoute, responses=refusals(403, 404))


def _loop(context: Context) -> PriceLoop:
    loop = context.hypervisor.price
    if loop is None:
        message = "Kernels get whole clusters here; `eddy serve --price NAME` shares them."
        raise NotFound(message, field="price", allowed=sorted(POLICIES))
    return loop


@router.get("", operation_id="show_market", response_model=MarketAnswer, summary="Prices, and your shares")
async def show_market(context: Ctx, viewer: Caller) -> MarketAnswer:
    """Prices of all clusters; of bids, shares and speedups your own, and nobody else's."""
    return MarketAnswer.model_validate(market_answer(_loop(context), viewer.id))


@router.get(
    "/history",
    operation_id="show_market_history",
    response_model=MarketHistory,
    summary="Epochs that ended",
    responses=refusals(410),
)
def show_history(
    context: Ctx,
    viewer: Caller,
    after: Annotated[int, Query(ge=-1, description="Only epochs with a higher number.")] = -1,
    limit: Annotated[int, Query(ge=1, le=4096, description="Most epochs; the latest.")] = HISTORY,
) -> MarketHistory:
    """The epochs in which you had work, oldest first."""
    # In a thread, as `explain`: thousands of epochs, or a market to be solved again, keep nobody else waiting.
    return MarketHistory.model_validate(history_answer(_loop(context), viewer.id, after, limit))


@router.get("/explain", operation_id="explain_market", response_model=MarketExplanation, summary="Why, in words")
def explain(context: Ctx, viewer: Caller) -> MarketExplanation:
    """Why you have the shares you have, what another PE of each cluster is worth to you, and a doubled weight."""
    return MarketExplanation.model_validate(explain_market(_loop(context), viewer.id))


@admin.get("/price", operation_id="show_price_policy", response_model=PriceInForce, summary="The price policy")
async def show_price(context: Ctx, operator: Operator) -> PriceInForce:
    """Which one is in force, and which there are."""
    _loop(context)
    return _in_force(context.hypervisor.price_policy)


@admin.put(
    "/price",
    operation_id="set_price_policy",
    response_model=PriceInForce,
    summary="Another price policy, at once",
    responses=refusals(409),
)
async def set_price(body: PriceSubmission, context: Ctx, operator: Operator) -> PriceInForce:
    """Kernels that run go on; shares follow the new policy from its first epoch, which begins at once.

    It stays in force over restarts, until the server is told another one than before.
    """
    loop = _loop(context)
    policy = POLICIES.make(body.policy)
    if policy.traits.by_progress and not loop.watch.machines:
        message = f"{body.policy} goes by progress, which is not measured here: {UNCALIBRATED}."
        raise Conflict(message, field="policy", asked=body.policy)
    require_running(context)
    await record_action_async(
        context, operator, "set-price-policy", policy=body.policy, before=context.hypervisor.price_policy
    )
    await context.hypervisor.operator.switch_price(policy, policy_record(body.policy, PRICE))
    return _in_force(body.policy)


def _in_force(name: str) -> PriceInForce:
    return PriceInForce(policy=name, allowed=sorted(POLICIES))
