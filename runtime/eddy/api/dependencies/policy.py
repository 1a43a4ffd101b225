# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Which policies are in force: those `eddy serve` was told, or those the operator has put in their place since.

A policy that was put in force while the server runs stays in force over restarts, until the server is told another
one than before: then that is what the operator said last.
"""

from __future__ import annotations

from collections.abc import Collection

from eddy.policy.dispatch import POLICIES
from eddy.store import Store

DISPATCH, PRICE = "policy", "price"
"""What policies are of; names of what is remembered begin with it."""


def policy_in_force(store: Store, told: str, of: str = DISPATCH, known: Collection[str] = POLICIES) -> str:
    """The name of the policy a server starts with.

    Args:
        store: Remembers what was put in force.
        told: What the server was told, now.
        of: `DISPATCH` or `PRICE`.
        known: Policies there are of that; one that is remembered and not among them counts for nothing.
    """
    if store.meta(f"{of}.told") != told:
        store.remember(f"{of}.live", "")
        store.remember(f"{of}.told", told)
    live = store.meta(f"{of}.live")
    return live if live in known else told


def policy_record(name: str, of: str = DISPATCH) -> tuple[str, str]:
    """Name and value by which the store remembers that another policy is in force."""
    return f"{of}.live", name


def replaced_policy(store: Store, told: str, of: str, known: Collection[str]) -> str:
    """The name of the policy in force where it is not the one the server was told; "" where it is."""
    live = policy_in_force(store, told, of, known)
    return "" if live == told else live
