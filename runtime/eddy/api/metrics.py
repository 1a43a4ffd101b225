"""Metrics of one server, gathered when they are asked for."""

from __future__ import annotations

import time
from collections import Counter as Tally
from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from eddy.api.context import Context
from eddy.core.jobs import JobState

_UNFINISHED = tuple(state.value for state in JobState if not state.is_final)
_PHASES = ("empty", "loading", "idle", "running", "waiting", "faulted", "unknown")


class _State(Collector):
    """Gauges read from the hypervisor and the store at each scrape."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def collect(self) -> Iterator[Metric]:
        """The gauges of this moment."""
        hypervisor, store = self._context.hypervisor, self._context.store
        yield GaugeMetricFamily("eddy_board_seconds", "Board time, as last seen.", value=hypervisor.now_s())
        up = float(self._context.ready and not self._context.unavailable)
        yield GaugeMetricFamily("eddy_up", "1 while the hypervisor accepts jobs and its board answers.", value=up)
        jobs = Tally(store.unfinished_by_state())
        yield _gauge("eddy_jobs", "Jobs that have not ended, by state.", "state", _UNFINISHED, jobs)
        slots = hypervisor.slots()
        phases = Tally(status.phase for status in slots)
        yield _gauge("eddy_slots", "Slots, by phase.", "phase", _PHASES, phases)
        drained = GaugeMetricFamily("eddy_slot_drained", "1 where nothing new is placed in a slot.", labels=["slot"])
        for status in slots:
            drained.add_metric([str(status.slot)], float(bool(status.drained)))
        yield drained
        policy = GaugeMetricFamily("eddy_policy", "1 for the dispatch policy in force.", labels=["policy"])
        policy.add_metric([hypervisor.policy], 1.0)
        yield policy


def _gauge(name: str, text: str, label: str, values: Iterable[str], counts: Tally[str]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, text, labels=[label])
    for value in values:
        family.add_metric([value], counts[value])
    return family


class Metrics:
    """The registry of one server."""

    def __init__(self, context: Context) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_State(context))
        labels = ["method", "route", "status"]
        self.requests = Counter("eddy_http_requests", "Answered requests.", labels, registry=self._registry)
        self.latency = Histogram(
            "eddy_http_request_seconds",
            "Wall time to the first byte of the answer.",
            labels[:2],
            registry=self._registry,
        )

    def render(self) -> tuple[bytes, str]:
        """The exposition and its content type."""
        return generate_latest(self._registry), CONTENT_TYPE_LATEST


class Measured:
    """Counts every answer by method, route template and status."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and note when and with what it was answered."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start = time.perf_counter()

        async def watch(message: Message) -> None:
            if message["type"] == "http.response.start":
                route = getattr(scope.get("route"), "path", "none")
                method = scope["method"] if scope.get("route") else "any"
                self._metrics.requests.labels(method, route, str(message["status"])).inc()
                self._metrics.latency.labels(method, route).observe(time.perf_counter() - start)
            await send(message)

        await self._app(scope, receive, watch)
