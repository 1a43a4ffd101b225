"""What a client for event loops asks beside jobs: what there is, one's account, and the operator's calls.

Calls take and give what those of `Client` of the same names do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from eddy.client import answers
from eddy.client.async_transport import AsyncTransport
from eddy.client.sendable import quoted
from eddy.client.views import MarketView, Timeline
from eddy.core.errors import EddyError

if TYPE_CHECKING:
    from eddy.client.arrays import BufferInfo


class AsyncLookups:
    """What there is on the server."""

    transport: AsyncTransport

    async def apps(self) -> list[answers.App]:
        """Every application."""
        return list((await self.transport.answer(answers.AppList, "GET", "/v1/apps"))["apps"])

    async def app(self, name: str) -> answers.App:
        """One application.

        Raises:
            NotFound: There is none of that name.
        """
        return await self.transport.answer(answers.App, "GET", f"/v1/apps/{quoted(name)}")

    async def buffers(self, application: str) -> list[BufferInfo]:
        """The buffers of an application."""
        from eddy.client.arrays import BufferInfo

        return [BufferInfo.parse(buffer) for buffer in (await self.app(application))["buffers"]]

    async def slots(self) -> answers.SlotList:
        """What every slot does now: `now_s` and `slots`."""
        return await self.transport.answer(answers.SlotList, "GET", "/v1/slots")

    async def overview(self) -> answers.Overview:
        """The board at a glance: slots, jobs under way and ended last, what slots did of late."""
        return await self.transport.answer(answers.Overview, "GET", "/v1/overview")

    async def timeline(self) -> Timeline:
        """What slots did of late; a notebook draws it."""
        return Timeline.of(await self.overview())

    async def market(self) -> MarketView:
        """Prices of the clusters, and one's own shares of them; a notebook draws them."""
        return MarketView(await self.transport.answer(answers.MarketAnswer, "GET", "/v1/market"))

    async def market_history(self, after: int = -1) -> list[answers.MarketEpoch]:
        """Epochs that ended, with a number above `after`, in which one had work; oldest first."""
        return list(
            (await self.transport.answer(answers.MarketHistory, "GET", f"/v1/market/history?after={after}"))["epochs"]
        )

    async def market_explained(self) -> answers.MarketExplanation:
        """Why one has the shares one has: `words`, what a PE more is worth by cluster, and a doubled weight."""
        return await self.transport.answer(answers.MarketExplanation, "GET", "/v1/market/explain")

    async def ready(self) -> bool:
        """Whether the server takes jobs at this moment."""
        try:
            return bool((await self.transport.answer(answers.Health, "GET", "/readyz")).get("status") == "ok")
        except EddyError:
            return False


class AsyncAccountCalls:
    """One's tenant: who one is, one's keys, bounds and use."""

    transport: AsyncTransport

    async def who_am_i(self) -> answers.SessionAnswer:
        """Who you are: `tenant`, and whether you are an `operator`."""
        return await self.transport.answer(answers.SessionAnswer, "GET", "/v1/session")

    async def keys(self, tenant: str = "") -> list[answers.Key]:
        """Your API keys, without the keys themselves; a tenant's, or everyone's, for operators."""
        return list(
            (await self.transport.answer(answers.KeyList, "GET", "/v1/keys", params={"tenant": tenant}))["keys"]
        )

    async def make_key(self, **fields: Any) -> answers.KeyMade:
        """A new API key, which the answer has as `key`, this once; `fields` as `POST /v1/keys` takes them."""
        given = {name: value for name, value in fields.items() if value is not None}
        return await self.transport.answer(answers.KeyMade, "POST", "/v1/keys", body=given)

    async def revoke_key(self, key: str) -> None:
        """Revoke a key, by its name.

        Raises:
            Conflict: It is the last operator's key.
        """
        await self.transport.request("DELETE", f"/v1/keys/{quoted(key)}")

    async def usage(self, first: str = "", last: str = "", tenant: str = "") -> answers.UsageReport:
        """What you had of slots and cores, by day (UTC), from `first` to `last`; operators may name a `tenant`."""
        params = {name: value for name, value in (("from", first), ("to", last), ("tenant", tenant)) if value}
        return await self.transport.answer(answers.UsageReport, "GET", "/v1/usage", params=params)

    async def quota(self) -> answers.QuotaAnswer:
        """Your bounds, and how much of each is used."""
        return await self.transport.answer(answers.QuotaAnswer, "GET", "/v1/quota")


class AsyncOperatorCalls:
    """What only an operator's key may ask for."""

    transport: AsyncTransport

    async def price_policy(self) -> answers.PriceInForce:
        """The price policy in force, and the names `allowed` (operators)."""
        return await self.transport.answer(answers.PriceInForce, "GET", "/v1/admin/price")

    async def set_price_policy(self, policy: str) -> answers.PriceInForce:
        """Put another price policy in force (operators)."""
        return await self.transport.answer(answers.PriceInForce, "PUT", "/v1/admin/price", body={"policy": policy})

    async def add_app(self, package: Mapping[str, Any]) -> answers.App:
        """Add an application (operators): its package, with its `signature` where the server asks for one.

        Raises:
            PackageRefused: Nobody whom the server trusts signed it.
            Conflict: Another application has that name.
        """
        return await self.transport.answer(answers.App, "POST", "/v1/apps", body=dict(package))

    async def drain(self, slot: int, because: str = "") -> answers.Slot:
        """Give a slot to nobody any more (operators): what runs there ends, its job goes on elsewhere.

        Raises:
            NotFound: There is no such slot that jobs are given.
        """
        return await self.transport.answer(
            answers.Slot, "PUT", f"/v1/admin/slots/{slot}", body={"drained": True, "because": because}
        )

    async def undrain(self, slot: int) -> answers.Slot:
        """Give a slot to jobs again (operators); answers it."""
        return await self.transport.answer(answers.Slot, "PUT", f"/v1/admin/slots/{slot}", body={"drained": False})

    async def policy_in_force(self) -> answers.PolicyInForce:
        """The dispatch `policy` in force, and the names `allowed` (operators)."""
        return await self.transport.answer(answers.PolicyInForce, "GET", "/v1/admin/policy")

    async def set_policy(self, policy: str) -> answers.PolicyInForce:
        """Put another dispatch policy in force, at once (operators)."""
        return await self.transport.answer(answers.PolicyInForce, "PUT", "/v1/admin/policy", body={"policy": policy})

    async def add_tenant(
        self, name: str, *, admin: bool = False, weight: float | None = None, **quota: int
    ) -> answers.TenantWithKey:
        """Add a tenant (operators); the answer has its `key`, this once. `weight` is what it is entitled to, 1 else."""
        body: dict[str, Any] = {"id": name, "admin": admin, "quota": quota}
        if weight is not None:
            body["attributes"] = {"weight": weight}
        return await self.transport.answer(answers.TenantWithKey, "POST", "/v1/admin/tenants", body=body)

    async def tenants(self) -> list[answers.Tenant]:
        """Every tenant (operators)."""
        return list((await self.transport.answer(answers.TenantList, "GET", "/v1/admin/tenants"))["tenants"])

    async def change_tenant(
        self, name: str, *, weight: float | None = None, attributes: Mapping[str, Any] | None = None, **quota: Any
    ) -> answers.Tenant:
        """Change a tenant's weight, attributes or bounds at once (operators); what is left out stays."""
        body: dict[str, Any] = {"quota": quota, "weight": weight, "attributes": attributes}
        given = {field: value for field, value in body.items() if value is not None}
        return await self.transport.answer(answers.Tenant, "PATCH", f"/v1/admin/tenants/{quoted(name)}", body=given)

    async def audit(self) -> list[answers.AuditLine]:
        """The audit log, in order (operators)."""
        found: list[answers.AuditLine] = []
        while True:
            after = found[-1]["seq"] if found else 0
            page = (await self.transport.answer(answers.AuditPage, "GET", "/v1/admin/audit", params={"after": after}))[
                "entries"
            ]
            found += page
            if not page:
                return found
