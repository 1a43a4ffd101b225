"""How often a tenant may ask for what takes a server, or a pool's head, as long as many submissions do: others wait
meanwhile."""

from __future__ import annotations

from dataclasses import dataclass, field

from eddy.api.keys import AnyTenant
from eddy.api.rates import Rates

FORECASTS_PER_S = 20.0
"""Explanations and dry runs: each is worked out by several forecasts."""
LOOKS_PER_S = 4.0
"""Looks back at more than `FEW` events."""
RESUMED_PER_S = 20.0
"""Streams that go on, with more than `FEW` events between: many of a tenant's break at the same time."""
PAGES_PER_S = 8.0
"""Pages of more than `FEW` jobs."""
FEW = 100
"""Events or jobs that anybody may have at any rate."""


@dataclass(frozen=True, slots=True)
class Looks:
    """What tenants ask for; operators are not bounded.

    Attributes:
        forecasts: Explanations and dry runs.
        back: Looks back at events.
        resumed: Streams that go on far behind.
        pages: Pages of jobs.
        forecasts_per_s: Explanations and dry runs of a tenant.
        few_events: Events that anybody may look back at, at any rate.
    """

    forecasts: Rates = field(default_factory=Rates)
    back: Rates = field(default_factory=Rates)
    resumed: Rates = field(default_factory=Rates)
    pages: Rates = field(default_factory=Rates)
    forecasts_per_s: float = FORECASTS_PER_S
    few_events: int = FEW

    def take_forecast(self, tenant: AnyTenant) -> None:
        """Let an explanation or a dry run pass.

        Raises:
            RateLimited: The tenant has had too many.
        """
        self.forecasts.take(tenant.id, _bound(tenant, self.forecasts_per_s), "ask for {} explanations or dry runs")

    def take_back(self, tenant: AnyTenant, events: int) -> None:
        """Let a look back at so many events pass.

        Raises:
            RateLimited: The tenant has had too many.
        """
        if events > self.few_events:
            most = f"more than {self.few_events} events" if self.few_events else "events"
            self.back.take(tenant.id, _bound(tenant, LOOKS_PER_S), f"look back {{}} times at {most}")

    def take_resumed(self, tenant: AnyTenant, events: int) -> None:
        """Let a stream go on that has so many events to bring first.

        Raises:
            RateLimited: The tenant has had too many.
        """
        if events > FEW:
            what = f"resume {{}} streams more than {FEW} events behind"
            self.resumed.take(tenant.id, _bound(tenant, RESUMED_PER_S), what)

    def take_page(self, tenant: AnyTenant, jobs: int) -> None:
        """Let a page of so many jobs pass.

        Raises:
            RateLimited: The tenant has had too many.
        """
        if jobs > FEW:
            self.pages.take(tenant.id, _bound(tenant, PAGES_PER_S), f"ask for {{}} pages of more than {FEW} jobs")


def _bound(tenant: AnyTenant, per_s: float) -> float | None:
    return None if tenant.admin else per_s
