# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What somebody may do whom an identity provider vouches for: by groups, as the operator's settings say."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eddy.api.http.problems import Forbidden
from eddy.core.errors import InvalidRequest
from eddy.core.tenants import KeyScope

OPERATOR = "operator"
"""The tenant of operators."""
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
Members = Callable[[str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Role:
    """What somebody may do."""

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
        projects: Projects by group, in the order in which they are looked for.
    """

    claim: str = "groups"
    operators: frozenset[str] = frozenset()
    tenants: tuple[tuple[str, str], ...] = ()
    readers: frozenset[str] = frozenset()
    projects: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, claim: str, operators: str, tenants: str, readers: str, projects: str = "") -> RoleRules:
        """Read the settings.

        Raises:
            InvalidRequest: One cannot be read.
        """
        return cls(
            claim,
            frozenset(_words(operators)),
            parse_pairs("oidc_tenants", tenants, "GROUP=TENANT"),
            frozenset(_words(readers)),
            parse_pairs("oidc_projects", projects, "GROUP=PROJECT"),
        )

    def role(self, claims: Mapping[str, Any], wanted: str = "", members: Members = lambda _: ()) -> Role:
        """What the owner of an ID token may do.

        Args:
            claims: Of the token, which was checked.
            wanted: The tenant that is asked for; "" for the first that fits.
            members: Tenants of a project, by its name.

        Raises:
            Forbidden: Nothing, or not for that tenant.
        """
        groups = self._groups(claims)
        found = [Role(OPERATOR, KeyScope.OPERATOR)] if groups & self.operators else []
        scope = KeyScope.READ if groups & self.readers else KeyScope.TENANT
        found += [Role(tenant, scope) for group, tenant in self.tenants if group in groups]
        mine = [project for group, project in self.projects if group in groups]
        found += [Role(tenant, scope) for project in mine for tenant in members(project)]
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


def parse_pairs(setting: str, text: str, form: str) -> tuple[tuple[str, str], ...]:
    """Names by what leads to them, as settings have them.

    Args:
        form: What a pair looks like, as ``GROUP=TENANT``.

    Raises:
        InvalidRequest: It cannot be read.
    """
    pairs = []
    for word in _words(text):
        given, equals, name = word.rpartition("=")
        if not equals or not given.strip() or not _NAME.fullmatch(name.strip()):
            allowed = f"{form}, with commas between"
            message = f"--{setting.replace('_', '-')} has {word!r:.80}; give {allowed}."
            raise InvalidRequest(message, field=setting, allowed=allowed)
        pairs.append((given.strip(), name.strip()))
    return tuple(pairs)


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]
