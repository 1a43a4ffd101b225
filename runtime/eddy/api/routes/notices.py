# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`/v1/subscriptions`: who is told what by webhook or e-mail, and what became of each message."""

from __future__ import annotations

import dataclasses
import json
import time
from typing import Annotated

import anyio.to_thread
from fastapi import APIRouter, Path, Query, Response

from eddy.api.answers.notices import (
    DeliveryAnswer,
    DeliveryList,
    SubscriptionAnswer,
    SubscriptionList,
    SubscriptionMade,
    delivery_answer,
    subscription_answer,
)
from eddy.api.dependencies.audit import record_action_async
from eddy.api.dependencies.callers import Caller, Ctx, visible_tenant
from eddy.api.dependencies.context import Context
from eddy.api.http.openapi import Responses, refusals
from eddy.api.http.problems import Forbidden
from eddy.api.request_bodies.notices import SubscriptionSubmission
from eddy.api.request_bodies.numbers import Decimal
from eddy.api.request_bodies.strict_json import JsonRoute
from eddy.core.errors import Conflict, InvalidRequest
from eddy.core.notices import OPERATORS_ONLY, Delivery, DeliveryState, NoticeKind, Subscription
from eddy.core.tenants import TenantRecord
from eddy.notices.signature import subscription_secret
from eddy.notices.targets import parse_mail, parse_webhook
from eddy.notices.webhook import AttemptFailed, addresses_of
from eddy.store.tables.notices import Notice, new_delivery, new_subscription_id

router = APIRouter(prefix="/v1/subscriptions", tags=["notices"], route_class=JsonRoute)
_Name = Annotated[str, Path(max_length=64, description="The subscription's name.")]
_Message = Annotated[str, Path(max_length=64, description="The message's name.")]
_Limit = Annotated[Decimal, Query(ge=1, le=500, description="At most so many, the latest.")]
_GONE: Responses = {204: {"description": "Nothing is sent to it any more."}}


@router.get("", operation_id="list_subscriptions", response_model=SubscriptionList, summary="Who is told what")
async def list_subscriptions(context: Ctx, viewer: Caller) -> SubscriptionList:
    """Yours; everyone's, for the operator."""
    found = context.store.notices.all(visible_tenant(viewer))
    return SubscriptionList(subscriptions=[subscription_answer(each) for each in found])


@router.post(
    "",
    operation_id="subscribe",
    status_code=201,
    response_model=SubscriptionMade,
    summary="Have notices sent",
    responses=refusals(403, 429),
)
async def subscribe(body: SubscriptionSubmission, response: Response, context: Ctx, viewer: Caller) -> SubscriptionMade:
    """By webhook, signed as Standard Webhooks has it, or by e-mail. The secret is in this answer and nowhere else."""
    kinds = _kinds(body.kinds, viewer)
    if body.everyone and not viewer.admin:
        raise Forbidden("Only operators are told of everyone's jobs.", field="everyone")
    await _check_target(context, viewer, body.target)
    now_s = time.time()
    asked = Subscription(
        new_subscription_id(), viewer.id, body.target, kinds, body.everyone, body.label, created_unix_s=now_s
    )
    facts = {"subscription": asked.id, "target": body.target, "kinds": body.kinds, "everyone": body.everyone}
    await record_action_async(context, viewer, "subscribe", **facts)
    made = await anyio.to_thread.run_sync(context.store.notices.add, asked)
    secret = "" if made.is_mail else subscription_secret(context.hasher.hash, made.id)
    response.headers["Cache-Control"] = "no-store"
    return SubscriptionMade(**subscription_answer(made).model_dump(), secret=secret)


@router.get(
    "/{subscription}",
    operation_id="show_subscription",
    response_model=SubscriptionAnswer,
    summary="A subscription",
    responses=refusals(404),
)
async def show_subscription(subscription: _Name, context: Ctx, viewer: Caller) -> SubscriptionAnswer:
    """With why nothing is sent any more, where that is so."""
    return subscription_answer(_subscription_of(context, viewer, subscription))


@router.delete(
    "/{subscription}",
    operation_id="unsubscribe",
    status_code=204,
    response_class=Response,
    summary="Have no more notices sent",
    responses={**_GONE, **refusals(404)},
)
async def unsubscribe(subscription: _Name, context: Ctx, viewer: Caller) -> Response:
    """Messages that wait are dropped, and its log goes."""
    found = _subscription_of(context, viewer, subscription)
    await record_action_async(context, viewer, "unsubscribe", subscription=found.id, target=found.target)
    await anyio.to_thread.run_sync(context.store.notices.remove, found.id)
    return Response(status_code=204)


@router.get(
    "/{subscription}/deliveries",
    operation_id="list_deliveries",
    response_model=DeliveryList,
    summary="The log of a subscription",
    responses=refusals(404),
)
async def list_deliveries(subscription: _Name, context: Ctx, viewer: Caller, limit: _Limit = 50) -> DeliveryList:
    """Messages that wait, and the latest of those that were delivered or given up."""
    found = _subscription_of(context, viewer, subscription)
    deliveries = await anyio.to_thread.run_sync(context.store.notices.deliveries, found.id, limit)
    return DeliveryList(deliveries=[_answer(each) for each in deliveries])


@router.post(
    "/{subscription}/test",
    operation_id="send_test_notice",
    status_code=202,
    response_model=DeliveryAnswer,
    summary="Send a test message",
    responses=refusals(404, 409, 429),
)
async def send_test(subscription: _Name, context: Ctx, viewer: Caller) -> DeliveryAnswer:
    """It goes the way of any other; the log says what came of it."""
    found, now_s = _subscription_of(context, viewer, subscription), time.time()
    _check_on(found)
    notice = Notice(NoticeKind.TEST, None, {"subscription": found.id}, now_s)
    made = new_delivery(found, notice, now_s)
    await anyio.to_thread.run_sync(context.store.notices.add_delivery, made)
    context.hurried.add(found.id)
    return _answer(made)


@router.post(
    "/{subscription}/deliveries/{delivery}/redeliver",
    operation_id="redeliver",
    status_code=202,
    response_model=DeliveryAnswer,
    summary="Send a message again",
    responses=refusals(404, 409),
)
async def redeliver(subscription: _Name, delivery: _Message, context: Ctx, viewer: Caller) -> DeliveryAnswer:
    """Under the same id, with all attempts before it. One that waits is sent at once."""
    found = _subscription_of(context, viewer, subscription)
    _check_on(found)
    known = await anyio.to_thread.run_sync(context.store.notices.delivery, found.id, delivery)
    again = dataclasses.replace(known, state=DeliveryState.WAITING, attempts=0, next_unix_s=time.time())
    await anyio.to_thread.run_sync(context.store.notices.put, again)
    context.hurried.add(found.id)
    return _answer(again)


def _answer(delivery: Delivery) -> DeliveryAnswer:
    return delivery_answer(delivery, json.loads(delivery.body))


def _subscription_of(context: Context, viewer: TenantRecord, subscription: str) -> Subscription:
    return context.store.notices.get(subscription, visible_tenant(viewer))


def _check_on(subscription: Subscription) -> None:
    """See that something may be sent.

    Raises:
        Conflict: It is off.
    """
    if subscription.off:
        message = f"Nothing is sent to {subscription.id} any more ({subscription.off}): remove it and add it again."
        raise Conflict(message, field="subscription")


def _kinds(names: list[str], viewer: TenantRecord) -> tuple[NoticeKind, ...]:
    """What is to be told.

    Raises:
        InvalidRequest: One is unknown.
        Forbidden: One is for operators.
    """
    chosen = [kind for kind in NoticeKind if kind is not NoticeKind.TEST]
    allowed = [kind.value for kind in chosen if viewer.admin or kind not in OPERATORS_ONLY]
    found = [next((kind for kind in chosen if kind.value == name), None) for name in dict.fromkeys(names)]
    for name, kind in zip(dict.fromkeys(names), found, strict=True):
        if kind is None:
            raise InvalidRequest(f"There are no notices {name!r:.60}.", field="kinds", allowed=allowed)
        if kind in OPERATORS_ONLY and not viewer.admin:
            raise Forbidden(f"Notices {name} are for operators.", field="kinds", allowed=allowed)
    return tuple(kind for kind in found if kind is not None)


async def _check_target(context: Context, viewer: TenantRecord, target: str) -> None:
    """See that notices may go there, now; it is looked at again each time.

    Raises:
        InvalidRequest: It is no target, or none that a tenant may name.
    """
    rules, mail = context.settings.notices.rules, context.settings.notices.mail
    if target.startswith("mailto:"):
        _, domain = parse_mail(target)
        if not mail.host:
            message = "This server sends no mails: the operator's setting --smtp-host is not set."
            raise InvalidRequest(message, field="target")
        if not viewer.admin:
            rules.check_mail(domain)
        return
    parsed = parse_webhook(target)
    if viewer.admin:
        return
    try:
        found = await addresses_of(parsed, viewer.id)
    except AttemptFailed as failure:
        raise InvalidRequest(f"The target cannot be reached: {failure}.", field="target") from failure
    rules.check_addresses(parsed.host, found)
