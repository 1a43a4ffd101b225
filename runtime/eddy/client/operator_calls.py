"""What only an operator's key may ask for: slots, policies, tenants, the audit log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eddy.client.sendable import quoted
from eddy.client.transport import Transport


class OperatorCalls:
    """The operator's part of a client."""

    transport: Transport

    def price_policy(self) -> dict[str, Any]:
        """The price policy in force, and the names `allowed` (operators)."""
        return self.transport.json("GET", "/v1/admin/price")

    def set_price_policy(self, policy: str) -> dict[str, Any]:
        """Put another price policy in force (operators)."""
        return self.transport.json("PUT", "/v1/admin/price", body={"policy": policy})

    def add_app(self, package: Mapping[str, Any]) -> dict[str, Any]:
        """Add an application (operators): its package, with its `signature` where the server asks for one; answers it.

        Raises:
            PackageRefused: Nobody whom the server trusts signed it.
            Conflict: Another application has that name.
        """
        return self.transport.json("POST", "/v1/apps", body=dict(package))

    def drain(self, slot: int, because: str = "") -> dict[str, Any]:
        """Give a slot to nobody any more (operators): what runs there ends, its job goes on elsewhere.

        Raises:
            NotFound: There is no such slot that jobs are given.
        """
        return self.transport.json("PUT", f"/v1/admin/slots/{slot}", body={"drained": True, "because": because})

    def undrain(self, slot: int) -> dict[str, Any]:
        """Give a slot to jobs again (operators); answers it."""
        return self.transport.json("PUT", f"/v1/admin/slots/{slot}", body={"drained": False})

    def policy_in_force(self) -> dict[str, Any]:
        """The dispatch `policy` in force, and the names `allowed` (operators)."""
        return self.transport.json("GET", "/v1/admin/policy")

    def set_policy(self, policy: str) -> dict[str, Any]:
        """Put another dispatch policy in force, at once (operators)."""
        return self.transport.json("PUT", "/v1/admin/policy", body={"policy": policy})

    def add_tenant(
        self, name: str, *, admin: bool = False, weight: float | None = None, **quota: int
    ) -> dict[str, Any]:
        """Add a tenant (operators); the answer has its `key`, this once. `weight` is what it is entitled to, 1 else."""
        body: dict[str, Any] = {"id": name, "admin": admin, "quota": quota}
        if weight is not None:
            body["attributes"] = {"weight": weight}
        return self.transport.json("POST", "/v1/admin/tenants", body=body)

    def tenants(self) -> list[dict[str, Any]]:
        """Every tenant (operators)."""
        return list(self.transport.json("GET", "/v1/admin/tenants")["tenants"])

    def change_tenant(
        self,
        name: str,
        *,
        weight: float | None = None,
        min_progress: float | None = None,
        attributes: Mapping[str, Any] | None = None,
        **quota: Any,
    ) -> dict[str, Any]:
        """Change a tenant's weight, the progress it is promised beside others, attributes or bounds at once
        (operators); what is left out stays."""
        body: dict[str, Any] = {
            "quota": quota,
            "weight": weight,
            "min_progress": min_progress,
            "attributes": attributes,
        }
        given = {field: value for field, value in body.items() if value is not None}
        return self.transport.json("PATCH", f"/v1/admin/tenants/{quoted(name)}", body=given)

    def audit(self) -> list[dict[str, Any]]:
        """The audit log, in order (operators)."""
        found: list[dict[str, Any]] = []
        while True:
            after = found[-1]["seq"] if found else 0
            page = self.transport.json("GET", "/v1/admin/audit", params={"after": after})["entries"]
            found += page
            if not page:
                return found
