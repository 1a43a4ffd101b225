# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Notices by webhook and e-mail, and the maintenance calendar."""

from __future__ import annotations

from collections.abc import Sequence

from eddy.client import answers
from eddy.client.transport.call_modes import Caller, call
from eddy.client.transport.operations import Operation
from eddy.client.transport.request_values import quote_segment


class NoticeCalls(Caller):
    """The part of a client that has notices sent."""

    @call
    def subscriptions(self) -> Operation[list[answers.SubscriptionAnswer]]:
        """Who is told what, and where: yours; everyone's, for operators."""
        found = yield from self.transport.read_answer(answers.SubscriptionList, "GET", "/v1/subscriptions")
        return found["subscriptions"]

    @call
    def subscribe(
        self, target: str, kinds: Sequence[str], *, everyone: bool = False, label: str = ""
    ) -> Operation[answers.SubscriptionMade]:
        """Have notices sent; the answer has a webhook's `secret`, this once.

        Args:
            target: `https://...`, `http://...` or `mailto:...`.
            kinds: What is told, as `job.ended`.
            everyone: Of everyone's jobs (operators).
            label: What you call it.
        """
        body = {"target": target, "kinds": list(kinds), "everyone": everyone, "label": label}
        return self.transport.read_answer(answers.SubscriptionMade, "POST", "/v1/subscriptions", body=body)

    @call
    def unsubscribe(self, subscription: str) -> Operation[None]:
        """Have no more notices sent; messages that wait are dropped."""
        yield from self.transport.send_request("DELETE", f"/v1/subscriptions/{quote_segment(subscription)}")

    @call
    def deliveries(self, subscription: str, limit: int = 50) -> Operation[list[answers.DeliveryAnswer]]:
        """What was sent to a subscriber, and what waits, newest first."""
        path = f"/v1/subscriptions/{quote_segment(subscription)}/deliveries"
        found = yield from self.transport.read_answer(answers.DeliveryList, "GET", path, params={"limit": limit})
        return found["deliveries"]

    @call
    def send_test_notice(self, subscription: str) -> Operation[answers.DeliveryAnswer]:
        """Send a test message."""
        path = f"/v1/subscriptions/{quote_segment(subscription)}/test"
        return self.transport.read_answer(answers.DeliveryAnswer, "POST", path)

    @call
    def redeliver(self, subscription: str, delivery: str) -> Operation[answers.DeliveryAnswer]:
        """Send a message again, under the same id."""
        path = f"/v1/subscriptions/{quote_segment(subscription)}/deliveries/{quote_segment(delivery)}/redeliver"
        return self.transport.read_answer(answers.DeliveryAnswer, "POST", path)

    @call
    def maintenance(self) -> Operation[list[answers.Window]]:
        """Maintenance windows: those to come first."""
        found = yield from self.transport.read_answer(answers.WindowList, "GET", "/v1/maintenance")
        return found["windows"]

    @call
    def plan_maintenance(
        self, title: str, begins_unix_s: float, lasts_s: float, *, drain_s: float = 0.0, slots: Sequence[int] = ()
    ) -> Operation[answers.Window]:
        """Close slots by calendar (operators).

        Args:
            title: What is done, for everyone.
            begins_unix_s: From when.
            lasts_s: For how long.
            drain_s: How long before the slots take nothing new.
            slots: Which; none for all of the board.
        """
        body = {
            **{"title": title, "begins_unix_s": begins_unix_s, "lasts_s": lasts_s},
            **{"drain_s": drain_s, "slots": list(slots)},
        }
        return self.transport.read_answer(answers.Window, "POST", "/v1/admin/maintenance", body=body)

    @call
    def cancel_maintenance(self, window: str) -> Operation[answers.Window]:
        """Cancel a window, or end it early (operators)."""
        return self.transport.read_answer(answers.Window, "DELETE", f"/v1/admin/maintenance/{quote_segment(window)}")
