"""What only an operator's key may ask for: slots, policies, tenants, the audit log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eddy.client import answers
from eddy.client.sendable import quoted
from eddy.client.transport import Transport


class OperatorCalls:
    """The operator's part of a client."""

    transport: Transport

    def price_policy(self) -> answers.PriceInForce:
        """The price policy in force, and the names `allowed` (operators)."""
        return self.transport.answer(answers.PriceInForce, "GET", "/v1/admin/price")

    def set_price_policy(self, policy: str) -> answers.PriceInForce:
        """Put another price policy in force (operators)."""
        return self.transport.answer(answers.PriceInForce, "PUT", "/v1/admin/price", body={"policy": policy})

    def add_app(self, package: Mapping[str, Any]) -> answers.App:
        """Add an application (operators): its package, with its `signature` where the server asks for one; answers it.

        Raises:
            PackageRefused: Nobody whom the server trusts signed it.
            Conflict: Another application has that name.
        """
        return self.transport.answer(answers.App, "POST", "/v1/apps", body=dict(package))

    def drain(self, slot: int, because: str = "") -> answers.Slot:
        """Give a slot to nobody any more (operators): what runs there ends, its job goes on elsewhere.

        Raises:
            NotFound: There is no such slot that jobs are given.
        """
        return self.transport.answer(
            answers.Slot, "PUT", f"/v1/admin/slots/{slot}", body={"drained": True, "because": because}
        )

    def undrain(self, slot: int) -> answers.Slot:
        """Give a slot to jobs again (operators); answers it."""
        return self.transport.answer(answers.Slot, "PUT", f"/v1/admin/slots/{slot}", body={"drained": False})

    def policy_in_force(self) -> answers.PolicyInForce:
        """The dispatch `policy` in force, and the names `allowed` (operators)."""
        return self.transport.answer(answers.PolicyInForce, "GET", "/v1/admin/policy")

    def set_policy(self, policy: str) -> answers.PolicyInForce:
        """Put another dispatch policy in force, at once (operators)."""
        return self.transport.answer(answers.PolicyInForce, "PUT", "/v1/admin/policy", body={"policy": policy})

    def add_tenant(
        self, name: str, *, admin: bool = False, weight: float | None = None, **quota: int
    ) -> answers.TenantWithKey:
        """Add a tenant (operators); the answer has its `key`, this once. `weight` is what it is entitled to, 1 else."""
        body: dict[str, Any] = {"id": name, "admin": admin, "quota": quota}
        if weight is not None:
            body["attributes"] = {"weight": weight}
        return self.transport.answer(answers.TenantWithKey, "POST", "/v1/admin/tenants", body=body)

    def tenants(self) -> list[answers.Tenant]:
        """Every tenant (operators)."""
        return list(self.transport.answer(answers.TenantList, "GET", "/v1/admin/tenants")["tenants"])

    def change_tenant(
        self,
        name: str,
        *,
        weight: float | None = None,
        min_progress: float | None = None,
        attributes: Mapping[str, Any] | None = None,
        **quota: Any,
    ) -> answers.Tenant:
        """Change a tenant's weight, the progress it is promised beside others, attributes or bounds at once
        (operators); what is left out stays."""
        body: dict[str, Any] = {
            "quota": quota,
            "weight": weight,
            "min_progress": min_progress,
            "attributes": attributes,
        }
        given = {field: value for field, value in body.items() if value is not None}
        return self.transport.answer(answers.Tenant, "PATCH", f"/v1/admin/tenants/{quoted(name)}", body=given)

    def audit(self) -> list[answers.AuditLine]:
        """The audit log, in order (operators)."""
        found: list[answers.AuditLine] = []
        while True:
            after = found[-1]["seq"] if found else 0
            page = self.transport.answer(answers.AuditPage, "GET", "/v1/admin/audit", params={"after": after})[
                "entries"
            ]
            found += page
            if not page:
                return found
