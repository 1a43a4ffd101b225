# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What there is on the server: applications, slots, the market."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eddy.client import answers
from eddy.client.calls.views import MarketView, Timeline
from eddy.client.transport.call_modes import Caller, call
from eddy.client.transport.exchange import Exchange
from eddy.client.transport.operations import Operation
from eddy.client.transport.request_values import quote_segment
from eddy.core.errors import EddyError

if TYPE_CHECKING:
    from eddy.client.transport.arrays import BufferInfo


class LookupCalls(Caller):
    """The part of a client that looks things up."""

    @call
    def apps(self) -> Operation[list[answers.App]]:
        """Every application."""
        return list((yield from self.transport.read_answer(answers.AppList, "GET", "/v1/apps"))["apps"])

    @call
    def app(self, name: str) -> Operation[answers.App]:
        """One application.

        Raises:
            NotFound: There is none of that name.
        """
        return self.transport.read_answer(answers.App, "GET", f"/v1/apps/{quote_segment(name)}")

    @call
    def buffers(self, application: str) -> Operation[list[BufferInfo]]:
        """The buffers of an application."""
        return buffers_of(self.transport, application)

    @call
    def slots(self) -> Operation[answers.SlotList]:
        """What every slot does now: `now_s` and `slots`."""
        return self.transport.read_answer(answers.SlotList, "GET", "/v1/slots")

    @call
    def overview(self) -> Operation[answers.Overview]:
        """The board at a glance: slots, jobs under way and ended last, what slots did of late."""
        return self.transport.read_answer(answers.Overview, "GET", "/v1/overview")

    @call
    def timeline(self) -> Operation[Timeline]:
        """What slots did of late; a notebook draws it."""
        return Timeline.of((yield from LookupCalls.overview.steps(self)))

    @call
    def sessions(self, tenant: str = "") -> Operation[list[answers.Session]]:
        """Your sessions, those that ended lately among them; a tenant's, or everyone's, for operators."""
        params = {"tenant": tenant} if tenant else {}
        found = yield from self.transport.read_answer(answers.SessionList, "GET", "/v1/sessions", params=params)
        return found["sessions"]

    @call
    def profile_session(self, session: str) -> Operation[answers.KernelProfiles]:
        """Where the cycles of an open session's launches went, by kernel; see `profile`.

        Raises:
            NotFound: You have none of that name, or it has ended.
        """
        path = f"/v1/sessions/{quote_segment(session)}/profile"
        return self.transport.read_answer(answers.KernelProfiles, "GET", path)

    @call
    def market(self) -> Operation[MarketView]:
        """Prices of the clusters, and one's own shares of them; a notebook draws them."""
        return MarketView((yield from self.transport.read_answer(answers.MarketAnswer, "GET", "/v1/market")))

    @call
    def market_history(self, after: int = -1) -> Operation[list[answers.MarketEpoch]]:
        """Epochs that ended, with a number above `after`, in which one had work; oldest first."""
        path = self.transport.read_answer(answers.MarketHistory, "GET", f"/v1/market/history?after={after}")
        return list((yield from path)["epochs"])

    @call
    def board_history(self, hours: float = 6.0, points: int = 360) -> Operation[list[answers.HistoryPoint]]:
        """What the board did over hours, oldest first, a point a minute or means of several (operators).

        Args:
            hours: How far back; a week at most.
            points: Most points.

        Raises:
            Forbidden: You are no operator.
        """
        params = {"hours": hours, "points": points}
        found = yield from self.transport.read_answer(answers.BoardHistory, "GET", "/v1/history", params=params)
        return found["points"]

    @call
    def market_explained(self) -> Operation[answers.MarketExplanation]:
        """Why one has the shares one has: `words`, what a PE more is worth by cluster, and a doubled weight."""
        return self.transport.read_answer(answers.MarketExplanation, "GET", "/v1/market/explain")

    @call
    def ready(self) -> Operation[bool]:
        """Whether the server takes jobs at this moment."""
        try:
            found = yield from self.transport.read_answer(answers.Health, "GET", "/readyz", retries=0)
        except EddyError:
            return False
        return bool(found.get("status") == "ok")


def buffers_of(exchange: Exchange, application: str) -> Operation[list[BufferInfo]]:
    """The buffers of an application."""
    from eddy.client.transport.arrays import BufferInfo

    app = yield from exchange.read_answer(answers.App, "GET", f"/v1/apps/{quote_segment(application)}")
    return [BufferInfo.parse(buffer) for buffer in app["buffers"]]
