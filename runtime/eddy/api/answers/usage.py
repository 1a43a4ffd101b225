# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Accounts of tenants by day, as boards and heads of pools answer them."""

from __future__ import annotations

from datetime import date

from pydantic import ConfigDict, Field

from eddy.api.request_bodies import examples
from eddy.api.request_bodies.base import Answer
from eddy.core.errors import InvalidRequest


class UsageEntry(Answer):
    """What a tenant had on a day, in nanoseconds of board time."""

    day: str = Field(description="By UTC.")
    tenant: str = Field(description="Whose; empty for nobody's, which only the operator sees.")
    slot_ns: int = Field(description="Of slots held whole.")
    shared_ns: int = Field(description="Of slots with a cluster to be shared; nobody's, and then only.")
    core_ns: int = Field(description="Of the cores of such clusters.")


class BoardTime(Answer):
    """What `slot_ns` and `shared_ns` of all entries of all days add up to: `before_ns + slots * (to_ns - from_ns)`."""

    from_ns: int = Field(description="Board time since which so many slots are charged.")
    to_ns: int = Field(description="Board time up to which everything is charged.")
    slots: int = Field(description="So many are charged.")
    before_ns: int = Field(description="Charged before, while the board had more slots or fewer; 0 where it never had.")


class UsageReport(Answer):
    """Accounts by day and tenant."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [examples.USAGE]})

    entries: list[UsageEntry] = Field(description="By day, then tenant.")
    board: BoardTime | None = Field(description="For the operator: what they add up to; null for tenants.")


def check_days(first: str, last: str) -> None:
    """See that these are days, in order, as far as they are given.

    Raises:
        InvalidRequest: They are not; an empty account would look as if nothing had been used.
    """
    for field, day in (("from", first), ("to", last)):
        try:
            date.fromisoformat(day or "2000-01-01")
        except ValueError:
            raise InvalidRequest(f"There is no day {day}.", field=field, asked=day) from None
    if first and last and first > last:
        raise InvalidRequest(f"The first day, {first}, is after the last, {last}.", field="from", asked=first)
