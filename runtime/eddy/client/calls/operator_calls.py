# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What only an operator's key may ask for: slots, policies, tenants, projects, the audit log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eddy.client import answers
from eddy.client.calls.views import Listing
from eddy.client.transport.call_modes import Caller, call
from eddy.client.transport.operations import Operation
from eddy.client.transport.request_values import quote_segment


class OperatorCalls(Caller):
    """The operator's part of a client."""

    @call
    def price_policy(self) -> Operation[answers.PriceInForce]:
        """The price policy in force, and the names `allowed` (operators)."""
        return self.transport.read_answer(answers.PriceInForce, "GET", "/v1/admin/price")

    @call
    def set_price_policy(self, policy: str) -> Operation[answers.PriceInForce]:
        """Put another price policy in force (operators)."""
        return self.transport.read_answer(answers.PriceInForce, "PUT", "/v1/admin/price", body={"policy": policy})

    @call
    def add_app(self, package: Mapping[str, Any]) -> Operation[answers.App]:
        """Add an application (operators): its package, with its `signature` where the server asks for one; answers it.

        Raises:
            PackageRefused: Nobody whom the server trusts signed it.
            Conflict: Another application has that name.
        """
        return self.transport.read_answer(answers.App, "POST", "/v1/apps", body=dict(package))

    @call
    def drain(self, slot: int, because: str = "") -> Operation[answers.Slot]:
        """Give a slot to nobody any more (operators): what runs there ends, its job goes on elsewhere.

        Raises:
            NotFound: There is no such slot that jobs are given.
        """
        return self.transport.read_answer(
            answers.Slot, "PUT", f"/v1/admin/slots/{slot}", body={"drained": True, "because": because}
        )

    @call
    def undrain(self, slot: int) -> Operation[answers.Slot]:
        """Give a slot to jobs again (operators); answers it."""
        return self.transport.read_answer(answers.Slot, "PUT", f"/v1/admin/slots/{slot}", body={"drained": False})

    @call
    def policy_in_force(self) -> Operation[answers.PolicyInForce]:
        """The dispatch `policy` in force, and the names `allowed` (operators)."""
        return self.transport.read_answer(answers.PolicyInForce, "GET", "/v1/admin/policy")

    @call
    def set_policy(self, policy: str) -> Operation[answers.PolicyInForce]:
        """Put another dispatch policy in force, at once (operators)."""
        return self.transport.read_answer(answers.PolicyInForce, "PUT", "/v1/admin/policy", body={"policy": policy})

    @call
    def add_tenant(
        self,
        /,
        name: str,
        *,
        admin: bool = False,
        weight: float | None = None,
        display_name: str = "",
        **quota: int,
    ) -> Operation[answers.TenantWithKey]:
        """Add a tenant (operators); the answer has its `key`, this once. `weight` is what it is entitled to, 1 else;
        `display_name` what people call it, in any script."""
        body: dict[str, Any] = {"id": name, "admin": admin, "quota": quota}
        if display_name:
            body["display_name"] = display_name
        if weight is not None:
            body["attributes"] = {"weight": weight}
        return self.transport.read_answer(answers.TenantWithKey, "POST", "/v1/admin/tenants", body=body)

    @call
    def tenants(self) -> Operation[Listing[answers.Tenant]]:
        """Every tenant (operators)."""
        found = yield from self.transport.read_answer(answers.TenantList, "GET", "/v1/admin/tenants")
        return Listing(found["tenants"], found.get("damaged", ()))

    @call
    def change_tenant(
        self,
        /,
        name: str,
        *,
        weight: float | None = None,
        min_progress: float | None = None,
        display_name: str | None = None,
        attributes: Mapping[str, Any] | None = None,
        **quota: Any,
    ) -> Operation[answers.Tenant]:
        """Change a tenant's weight, the progress it is promised beside others, what it is called, attributes or bounds
        at once (operators); what is left out stays."""
        body: dict[str, Any] = {
            "quota": quota,
            "weight": weight,
            "min_progress": min_progress,
            "display_name": display_name,
            "attributes": attributes,
        }
        given = {field: value for field, value in body.items() if value is not None}
        return self.transport.read_answer(
            answers.Tenant, "PATCH", f"/v1/admin/tenants/{quote_segment(name)}", body=given
        )

    @call
    def remove_tenant(self, name: str, *, cancel: bool = False) -> Operation[answers.TenantLeaving]:
        """Remove a tenant with all that is its own (operators); its name stays in the accounts. `cancel` ends its jobs
        that have not ended, first.

        Raises:
            NotFound: There is none of that name.
            Conflict: It has jobs that have not ended, and `cancel` is false.
        """
        params = {"cancel": "true"} if cancel else {}
        return self.transport.read_answer(
            answers.TenantLeaving, "DELETE", f"/v1/admin/tenants/{quote_segment(name)}", params=params
        )

    @call
    def projects(self) -> Operation[answers.ProjectList]:
        """Every project, with what it is entitled to and used (operators)."""
        return self.transport.read_answer(answers.ProjectList, "GET", "/v1/projects")

    @call
    def add_project(
        self, name: str, *, share: float = 1.0, members: Sequence[str] = ()
    ) -> Operation[answers.ProjectAnswer]:
        """Add a project (operators): tenants that have a part of the board together.

        Raises:
            NotFound: One of the tenants is not there.
            Conflict: There is one of that name, or a tenant is in another project.
        """
        body = {"id": name, "share": share, "members": list(members)}
        return self.transport.read_answer(answers.ProjectAnswer, "POST", "/v1/projects", body=body)

    @call
    def change_project(
        self, name: str, *, share: float | None = None, add: Sequence[str] = (), drop: Sequence[str] = ()
    ) -> Operation[answers.ProjectAnswer]:
        """Change a project's share, and who is in it (operators); what is left out stays.

        Raises:
            NotFound: There is no such project, or no such tenant.
            Conflict: A tenant is in another project.
        """
        body = {"share": share, "add": list(add), "drop": list(drop)}
        path = f"/v1/projects/{quote_segment(name)}"
        return self.transport.read_answer(answers.ProjectAnswer, "PATCH", path, body=body)

    @call
    def remove_project(self, name: str) -> Operation[None]:
        """Remove a project (operators); its tenants stay, without one.

        Raises:
            NotFound: There is none of that name.
        """
        yield from self.transport.send_request("DELETE", f"/v1/projects/{quote_segment(name)}")

    @call
    def purge_jobs(self, older_than_s: float, *, tenant: str = "", keep: int = 0) -> Operation[int]:
        """Remove jobs that ended so many wall seconds ago (operators), but for the last `keep` of each tenant; answers
        how many."""
        body = {"older_than_s": older_than_s, "tenant": tenant or None, "keep": keep}
        removed, more = 0, True
        while more:
            found = yield from self.transport.read_answer(answers.PurgeAnswer, "POST", "/v1/admin/purge", body=body)
            removed, more = removed + found["removed"], found["more"]
        return removed

    @call
    def audit(self) -> Operation[list[answers.AuditLine]]:
        """The audit log, in order (operators)."""
        found: list[answers.AuditLine] = []
        while True:
            after = found[-1]["seq"] if found else 0
            page = yield from self.transport.read_answer(
                answers.AuditPage, "GET", "/v1/admin/audit", params={"after": after}
            )
            found += page["entries"]
            if not page["entries"]:
                return found
