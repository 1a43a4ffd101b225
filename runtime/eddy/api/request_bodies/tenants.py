# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The bodies that make and change tenants, their bounds and their keys."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from eddy.api.request_bodies import examples
from eddy.api.request_bodies.base import LINE, NAME, Request
from eddy.api.request_bodies.names import DisplayName
from eddy.api.request_bodies.numbers import Whole
from eddy.core.leases import MAX_S
from eddy.core.names import label_value
from eddy.core.tenants import DISPLAY_NAME, MAX_WEIGHT, MIN_WEIGHT, Quota


def _attributes(value: dict[str, Any]) -> dict[str, Any]:
    """Attributes whose `weight`, if there is one, is a weight: one that would count as 1 is no answer."""
    weight = value.get("weight", 1.0)
    number = isinstance(weight, (int, float)) and not isinstance(weight, bool)
    if not number or not MIN_WEIGHT <= weight <= MAX_WEIGHT:
        text = f"has a weight of {weight!r}; it must be a number from {MIN_WEIGHT:g} to {MAX_WEIGHT:g}"
        raise PydanticCustomError("weight", "{text}", {"text": text, "ge": MIN_WEIGHT, "le": MAX_WEIGHT})
    if not isinstance(value.get(DISPLAY_NAME, ""), str):
        raise PydanticCustomError("display_name", "{text}", {"text": f"has a {DISPLAY_NAME} that is no text"})
    try:
        called = {DISPLAY_NAME: label_value(value[DISPLAY_NAME])} if DISPLAY_NAME in value else {}
    except ValueError as failure:
        raise PydanticCustomError("display_name", "{text}", {"text": f"{DISPLAY_NAME} {failure}"}) from None
    return {**value, **called}


Attributes = Annotated[dict[str, Any], AfterValidator(_attributes), Field(max_length=32)]


class QuotaSubmission(Request):
    """Bounds of a tenant; what is left out takes the default."""

    max_jobs: Whole = Field(default=64, ge=1, le=1 << 20, description="Jobs that have not ended, at once.")
    max_blob_bytes: Whole = Field(default=1 << 30, ge=0, le=1 << 50, description="Bytes of blobs kept.")
    max_priority: Literal[1, 3, 9] = Field(default=1, description="Highest priority of its jobs.")
    max_requests_per_s: float | None = Field(default=None, gt=0, le=1e6, description="Requests a second; null for any.")
    max_slot_s: float | None = Field(default=None, ge=0, le=1e12, description="Board seconds of slots in a day (UTC).")
    max_core_s: float | None = Field(default=None, ge=0, le=1e12, description="Board seconds of GPU cores in a day.")
    max_leases: Whole = Field(default=2, ge=0, le=1000, description="Leases that have not ended, at once.")
    max_lease_s: float = Field(default=14400.0, ge=0, le=MAX_S, description="Wall seconds that a lease may last.")

    def applied(self, quota: Quota) -> Quota:
        """A quota with what was named here, and the rest as it was."""
        return dataclasses.replace(quota, **{name: getattr(self, name) for name in self.model_fields_set})


class PurgeSubmission(Request):
    """Which jobs that have ended are to go."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"older_than_s": 2592000, "tenant": "ada", "keep": 100}]})

    older_than_s: float = Field(ge=0, le=1e10, description="Those that ended at least so many wall seconds ago.")
    tenant: str | None = Field(default=None, pattern=NAME, description="Of this tenant; null for everyone's.")
    keep: Whole = Field(default=0, ge=0, le=1 << 40, description="So many of each tenant's stay: the last that ended.")


class TenantSubmission(Request):
    """A new tenant."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.TENANT_SUBMISSION]})

    id: str = Field(pattern=NAME, description="Its name: letters, digits, `_`, `.` and `-`, a letter first.")
    admin: bool = Field(default=False, description="Whether it may do what the operator may.")
    display_name: DisplayName = Field(default="", description="What people call it, in any script.")
    quota: QuotaSubmission = Field(default_factory=QuotaSubmission, description="Its bounds.")
    attributes: Attributes = Field(
        default_factory=dict,
        description="Data of the operator's own; `weight`, from 1e-6 to 1e6, is what it is entitled to, 1 else.",
    )

    @property
    def stored_attributes(self) -> dict[str, Any]:
        """The attributes, with what it is called."""
        return {**self.attributes, **({DISPLAY_NAME: self.display_name} if self.display_name else {})}


class TenantChange(Request):
    """What changes of a tenant, at once; what is left out stays."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"quota": {"max_jobs": 16, "max_requests_per_s": 50}, "weight": 2.0}]}
    )

    quota: QuotaSubmission = Field(default_factory=QuotaSubmission, description="Bounds; those left out stay.")
    weight: float | None = Field(
        default=None, ge=MIN_WEIGHT, le=MAX_WEIGHT, description="What it is entitled to; null stays."
    )
    min_progress: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Part of their speed alone that its kernels are promised to keep beside others; null stays.",
    )
    display_name: DisplayName | None = Field(default=None, description="What people call it; null stays.")
    attributes: Attributes | None = Field(
        default=None, description="Data of the operator's own, instead of all there was; null stays."
    )


class KeySubmission(Request):
    """A new key."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"scope": "read", "label": "the lab's screen", "expires_in_s": 86400}]}
    )

    tenant: str | None = Field(default=None, pattern=NAME, description="For whom (operators); null for yourself.")
    scope: Literal["tenant", "operator", "read"] | None = Field(
        default=None,
        description="`tenant` does what a tenant may, `read` changes nothing, `operator` everything; null for that of"
        " the key it replaces, or `tenant`.",
    )
    label: str = Field(default="", max_length=64, pattern=LINE, description="Name you give it.")
    expires_in_s: float | None = Field(
        default=None, gt=0, le=1e9, description="Wall seconds until it ends; null: never."
    )
    replaces: str | None = Field(
        default=None, max_length=64, description="A key that is revoked for it: rotation, in one request."
    )
    grace_s: float = Field(default=0.0, ge=0, le=1e9, description="Wall seconds for which that one stays good.")
