# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Metrics of one server, gathered when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from starlette.types import Scope

from eddy.host.logs import count_lost_lines


class _LogLines(Collector):
    """What the log of this process lost."""

    def collect(self) -> Iterator[Metric]:
        """The figure of this moment."""
        text = "Lines of the log that could not be written, since the start."
        yield CounterMetricFamily("eddy_log_lines_lost", text, value=count_lost_lines())


class Metrics:
    """The registry of one server.

    Args:
        figures: What is read at each scrape.
    """

    def __init__(self, figures: Collector) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(figures)
        self._registry.register(_LogLines())
        labels = ["method", "route", "status"]
        self.requests = Counter("eddy_http_requests", "Answered requests.", labels, registry=self._registry)
        self.latency = Histogram(
            "eddy_http_request_seconds",
            "Wall time to the first byte of the answer.",
            labels[:2],
            registry=self._registry,
        )

        self._known: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        """Found again without a look at labels, of which there are as many as routes, methods and statuses."""

    def count_answer(self, scope: Scope, status: int, took_s: float) -> None:
        """Count an answer by method, template of the route and status; `took_s` are wall seconds to its first byte."""
        found = scope.get("route")
        method, route = ("any", "none") if found is None else (scope["method"], getattr(found, "path", "none"))
        known = self._known.get((method, route, status))
        if known is None:
            known = self.requests.labels(method, route, str(status)), self.latency.labels(method, route)
            self._known[method, route, status] = known
        known[0].inc()
        known[1].observe(took_s)

    def render(self) -> tuple[bytes, str]:
        """The exposition and its content type."""
        return generate_latest(self._registry), CONTENT_TYPE_LATEST
