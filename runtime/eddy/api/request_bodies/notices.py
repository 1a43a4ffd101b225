# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The bodies that subscribe to notices and plan maintenance."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from eddy.api.request_bodies.base import LINE, Request
from eddy.api.request_bodies.numbers import Whole
from eddy.core.notices import NoticeKind
from eddy.notices.targets import MAX_TARGET

MAX_SLOTS = 64
MAX_WINDOW_S = 30 * 86400.0
_CHOSEN = [kind.value for kind in NoticeKind if kind is not NoticeKind.TEST]


class SubscriptionSubmission(Request):
    """Where notices go, and which."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"target": "https://hooks.example.org/eddy", "kinds": ["job.ended"]}]}
    )

    target: str = Field(
        min_length=8,
        max_length=MAX_TARGET,
        description="`https://HOST/PATH`, `http://HOST/PATH` or `mailto:NAME@HOST`.",
    )
    kinds: list[str] = Field(
        min_length=1,
        max_length=16,
        description="What is told.",
        json_schema_extra={"items": {"type": "string", "enum": _CHOSEN}},
    )
    everyone: bool = Field(default=False, description="Of everyone's jobs (operators); else of yours.")
    label: str = Field(default="", max_length=100, pattern=LINE, description="What you call it.")


class WindowSubmission(Request):
    """A maintenance window."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"title": "a new fan", "begins_unix_s": 1795000000.0, "lasts_s": 3600.0, "drain_s": 900.0}]
        }
    )

    title: str = Field(min_length=1, max_length=100, pattern=LINE, description="What is done, for everyone.")
    begins_unix_s: float = Field(ge=0, le=1e11, description="From when, by wall time.")
    lasts_s: float = Field(gt=0, le=MAX_WINDOW_S, description="For how long, in wall seconds.")
    drain_s: float = Field(
        default=0.0, ge=0, le=MAX_WINDOW_S, description="How long before its beginning its slots take nothing new."
    )
    slots: Annotated[list[Whole], Field(max_length=MAX_SLOTS)] = Field(
        default_factory=list, description="Which slots; none named means all of the board."
    )
