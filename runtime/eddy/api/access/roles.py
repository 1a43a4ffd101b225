# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What somebody may do whom an identity provider vouches for: by groups, as the operator's settings say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from eddy.api.http.problems import Forbidden
from eddy.core.errors import InvalidRequest
from eddy.core.tenants import KeyScope

OPERATOR = "operator"
"""The tenant of operators."""
_TENANT = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True, slots=True)
class Role:
    """What somebody may do.

    Attributes:
        tenant: For which tenant.
        scope: What.
    """

    tenant: str
    scope: KeyScope


@dataclass(frozen=True, slots=True)
class RoleRules:
    """Which groups may do what.

    Attributes:
        claim: The claim of the ID token that has the groups.
        operators: Groups of operators.
        tenants: Tenants by group, in the order in which they are looked for.
        readers: Groups whose members only look, at what the tenant they are in may look at.
    """

    claim: str = "groups"
    operators: frozenset[str] = frozenset()
    tenants: tuple[tuple[str, str], ...] = ()
    readers: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, claim: str, operators: str, tenants: str, readers: str) -> RoleRules:
        """Read the settings.

        Raises:
            InvalidRequest: One cannot be read.
        """
        pairs = []
        for word in _words(tenants):
            group, given, tenant = word.rpartition("=")
            if not given or not group.strip() or not _TENANT.fullmatch(tenant.strip()):
                allowed = "GROUP=TENANT, with commas between"
                message = f"--oidc-tenants has {word!r:.80}; give {allowed}."
                raise InvalidRequest(message, field="oidc_tenants", allowed=allowed)
            pairs.append((group.strip(), tenant.strip()))
        return cls(claim, frozenset(_words(operators)), tuple(pairs), frozenset(_words(readers)))

    def role(self, claims: Mapping[str, Any], wanted: str = "") -> Role:
        """What the owner of an ID token may do.

        Args:
            claims: Of the token, which was checked.
            wanted: The tenant that is asked for; "" for the first that fits.

        Raises:
            Forbidden: Nothing, or not for that tenant.
        """
        groups = self._groups(claims)
        found = [Role(OPERATOR, KeyScope.OPERATOR)] if groups & self.operators else []
        scope = KeyScope.READ if groups & self.readers else KeyScope.TENANT
        found += [Role(tenant, scope) for group, tenant in self.tenants if group in groups]
        role = next((each for each in found if wanted in ("", each.tenant)), None)
        if role is None:
            where = f" for tenant {wanted}" if wanted else ""
            message = f"You are logged in at your provider, and none of your groups may do anything{where} here."
            raise Forbidden(f"{message} Ask the operator.", field=self.claim, allowed=[each.tenant for each in found])
        return role

    def _groups(self, claims: Mapping[str, Any]) -> frozenset[str]:
        """Groups as the claim has them: a list, or one name. Dots lead into it, as ``realm_access.roles``."""
        value: Any = claims.get(self.claim)
        if value is None:
            value = claims
            for part in self.claim.split("."):
                value = value.get(part) if isinstance(value, Mapping) else None
        if isinstance(value, str):
            return frozenset([value])
        return frozenset(each for each in value if isinstance(each, str)) if isinstance(value, list) else frozenset()


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]
