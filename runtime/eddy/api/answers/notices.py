# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Subscriptions, their messages, and maintenance windows as answers."""

from __future__ import annotations

import time
from typing import Any

from pydantic import Field

from eddy.api.request_bodies import examples
from eddy.api.request_bodies.base import Answer, with_example
from eddy.core.maintenance import MaintenanceWindow
from eddy.core.notices import Delivery, Subscription


class SubscriptionAnswer(Answer):
    """Who is told what, and where."""

    model_config = with_example({name: value for name, value in examples.SUBSCRIPTION.items() if name != "secret"})

    id: str = Field(description="Its name.")
    tenant: str = Field(description="Whose it is.")
    target: str = Field(description="Where notices go.")
    kinds: list[str] = Field(description="What is told.")
    everyone: bool = Field(description="Whether of everyone's jobs.")
    label: str = Field(description="What its owner calls it.")
    created_unix_s: float = Field(description="When it was made, by wall time.")
    off: str = Field(description="Why nothing is sent any more; empty while it is.")
    dropped: int = Field(description="Messages that were not kept, because too many waited.")


class SubscriptionMade(SubscriptionAnswer):
    """A subscription just made; a webhook's secret is shown this once."""

    model_config = with_example(examples.SUBSCRIPTION)

    secret: str = Field(description="What webhooks are signed with (`whsec_...`); empty for mails.")


class SubscriptionList(Answer):
    """Subscriptions, oldest first."""

    model_config = with_example(
        {"subscriptions": [{name: value for name, value in examples.SUBSCRIPTION.items() if name != "secret"}]}
    )

    subscriptions: list[SubscriptionAnswer] = Field(description="Yours; everyone's, for operators.")


class DeliveryAnswer(Answer):
    """One message to one subscriber."""

    model_config = with_example(examples.DELIVERY)

    id: str = Field(description="Its name; the same at every attempt.")
    kind: str = Field(description="What it tells.")
    body: dict[str, Any] = Field(description="As it is sent.")
    created_unix_s: float = Field(description="When it was made, by wall time.")
    state: str = Field(description="`waiting`, `delivered` or `failed`.")
    attempts: int = Field(description="How often it was sent since it was last asked for.")
    next_unix_s: float | None = Field(description="When it is sent next; null where it is not.")
    tried_unix_s: float | None = Field(description="When it was sent last; null for never.")
    status: int | None = Field(description="What the receiver answered last; null for nothing.")
    said: str = Field(description="What went wrong the last time; empty for nothing.")


class DeliveryList(Answer):
    """Messages to a subscriber."""

    model_config = with_example({"deliveries": [examples.DELIVERY]})

    deliveries: list[DeliveryAnswer] = Field(description="Newest first.")


class WindowAnswer(Answer):
    """A maintenance window."""

    model_config = with_example(examples.WINDOW)

    id: str = Field(description="Its name.")
    title: str = Field(description="What is done.")
    stage: str = Field(description="`planned`, `draining`, `open`, `ended` or `cancelled`.")
    begins_unix_s: float = Field(description="From when, by wall time.")
    ends_unix_s: float = Field(description="Until when.")
    drains_unix_s: float = Field(description="From when its slots take nothing new.")
    slots: list[int] = Field(description="Which slots; none named means all of the board.")


class WindowList(Answer):
    """Maintenance windows."""

    model_config = with_example({"windows": [examples.WINDOW]})

    windows: list[WindowAnswer] = Field(description="Those to come first, by their beginnings.")


def subscription_answer(each: Subscription) -> SubscriptionAnswer:
    """A subscription as answers have it."""
    return SubscriptionAnswer(
        id=each.id,
        tenant=each.tenant,
        target=each.target,
        kinds=[kind.value for kind in each.kinds],
        everyone=each.everyone,
        label=each.label,
        created_unix_s=each.created_unix_s,
        off=each.off,
        dropped=each.dropped,
    )


def delivery_answer(each: Delivery, body: dict[str, Any]) -> DeliveryAnswer:
    """A message as answers have it."""
    return DeliveryAnswer(
        id=each.id,
        kind=each.kind.value,
        body=body,
        created_unix_s=each.created_unix_s,
        state=each.state.value,
        attempts=each.attempts,
        next_unix_s=each.next_unix_s if each.state.value == "waiting" else None,
        tried_unix_s=each.tried_unix_s,
        status=each.status,
        said=each.said,
    )


def format_instant(unix_s: float) -> str:
    """``2026-12-24T08:00:00Z``."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(unix_s))


def window_answer(each: MaintenanceWindow, now_unix_s: float) -> WindowAnswer:
    """A window as answers have it."""
    ends = each.ends_unix_s if each.cancelled_unix_s is None else min(each.ends_unix_s, each.cancelled_unix_s)
    return WindowAnswer(
        id=each.id,
        title=each.title,
        stage=each.stage(now_unix_s).value,
        begins_unix_s=each.begins_unix_s,
        ends_unix_s=max(ends, each.begins_unix_s),
        drains_unix_s=each.drains_unix_s,
        slots=list(each.slots),
    )
