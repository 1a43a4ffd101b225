"""Which dispatch policy is in force: the one `eddy serve` was told, or the one the operator has put in its place since.

A policy that was put in force while the server runs stays in force over restarts, until the server is told another
one than before: then that is what the operator said last.
"""

from __future__ import annotations

from eddy.policy.dispatch import POLICIES
from eddy.store import Store

_TOLD, _LIVE = "policy.told", "policy.live"


def policy_in_force(store: Store, told: str) -> str:
    """The name of the policy a server starts with.

    Args:
        store: Remembers what was put in force.
        told: What the server was told, now.
    """
    if store.meta(_TOLD) != told:
        store.remember(_LIVE, "")
        store.remember(_TOLD, told)
    live = store.meta(_LIVE)
    return live if live in POLICIES else told


def put_in_force(store: Store, name: str) -> None:
    """Remember durably that another policy is in force."""
    store.remember(_LIVE, name)
