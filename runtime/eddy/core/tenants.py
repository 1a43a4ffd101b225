# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Tenants: their bounds and their keys."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from eddy.core.jobs import PRIORITIES

MIN_WEIGHT, MAX_WEIGHT = 1e-6, 1e6
"""What a tenant may be entitled to, relative to one of weight 1."""


@dataclass(frozen=True, slots=True)
class Quota:
    """Bounds of one tenant.

    Attributes:
        max_jobs: Jobs that have not ended, at once.
        max_blob_bytes: Bytes of blobs it may keep.
        max_priority: Highest priority of its jobs; they order its own jobs only.
        max_requests_per_s: Requests of all its keys together, by wall time; None for any number.
        max_slot_s: Board seconds of slots it may use in a day (UTC) before no more jobs are taken; None for any number.
        max_core_s: The same of GPU cores.
        max_leases: Leases that have not ended, at once.
        max_lease_s: Wall seconds that one may last.
    """

    max_jobs: int = 64
    max_blob_bytes: int = 1 << 30
    max_priority: int = PRIORITIES[0]
    max_requests_per_s: float | None = None
    max_slot_s: float | None = None
    max_core_s: float | None = None
    max_leases: int = 2
    max_lease_s: float = 4 * 3600.0


class KeyScope(str, enum.Enum):
    """What a key may do."""

    TENANT = "tenant"
    """What a tenant may, for its own tenant."""
    OPERATOR = "operator"
    """Everything; only for tenants that are operators."""
    READ = "read"
    """Look at what its tenant may look at, and change nothing."""


@dataclass(frozen=True, slots=True)
class ApiKey:
    """An API key; the key itself is kept nowhere.

    Attributes:
        key_hash: Keyed SHA-256 of it, hex.
        label: What its owner calls it.
        created_unix_s: When it was made.
        expires_unix_s: When it ends by itself, or None.
        revoked_unix_s: When it was, or will be, revoked, or None.
        revoked_for_good: Whether it was revoked at once: it stays so where the wall clock goes back.
    """

    id: str
    tenant: str
    key_hash: str
    scope: KeyScope = KeyScope.TENANT
    label: str = ""
    created_unix_s: float = 0.0
    expires_unix_s: float | None = None
    revoked_unix_s: float | None = None
    revoked_for_good: bool = False

    def ended(self, now_unix_s: float) -> str:
        """Why it is no good any more: `expired` or `revoked`; "" while it is."""
        at_unix_s = self.revoked_unix_s
        if self.revoked_for_good or (at_unix_s is not None and at_unix_s <= now_unix_s):
            return "revoked"
        return "expired" if self.expires_unix_s is not None and self.expires_unix_s <= now_unix_s else ""


DISPLAY_NAME = "display_name"
"""The attribute that says what people call a tenant."""


@dataclass(frozen=True, slots=True)
class TenantRecord:
    """A tenant of the hypervisor.

    Attributes:
        id: Name, as jobs carry it.
        key_hash: Keyed SHA-256 of the API key it was added with, hex; never the key. It may have more (`ApiKey`).
        admin: Whether it may use the operator's part of the API.
        attributes: Whatever else the operator notes: plan, contact, entitlement.
    """

    id: str
    key_hash: str = ""
    admin: bool = False
    quota: Quota = Quota()
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def display_name(self) -> str:
        """What people call it, in any script; "" where it has no other name than its id."""
        return str(self.attributes.get(DISPLAY_NAME, ""))
