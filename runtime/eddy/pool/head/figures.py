# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Metrics of a pool at one head: gauges of the moment, and counts of what this head has seen since it began."""

from __future__ import annotations

import time
from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from eddy.pool.jetstream.link import Link
from eddy.pool.mirror.flood_guard import LEASES, REQUESTS
from eddy.pool.placement.leader import Leader
from eddy.pool.placement.shares import WeightRounds
from eddy.pool.records.records import FINAL, PLACED, QUEUED, RUNNING

NOW = (QUEUED, PLACED, RUNNING)


class PoolFigures(Collector):
    """Sums over tenants, never one tenant's. What is counted begins with this head: sum rates over heads no further
    than by `max`, as each sees all of the pool.

    Args:
        lead: This head's part in deciding.
        rounds: Its rounds of weights.
    """

    def __init__(self, link: Link, lead: Leader, rounds: WeightRounds) -> None:
        self._link, self._lead, self._rounds = link, lead, rounds

    def collect(self) -> Iterator[Metric]:
        """The figures of this moment."""
        lead, mirror = self._lead, self._lead.mirror
        yield _gauge("eddy_pool_up", "1 while a server of the pool answers this head.", float(self._link.connected))
        yield _gauge("eddy_pool_leads", "1 where this head places.", float(lead.lease.is_leader))
        yield _count("eddy_pool_reconnects", "Connections to a server that were made again.", self._link.reconnects)
        jobs = [*mirror.jobs.values()]
        states = {state: float(sum(job.state == state for job in jobs)) for state in NOW}
        yield _by("eddy_pool_jobs", "Jobs that have not ended, by state.", "state", states)
        oldest = min((job.submitted_unix_s for job in jobs if job.state == QUEUED), default=None)
        waits_s = 0.0 if oldest is None else max(time.time() - oldest, 0.0)
        yield _gauge("eddy_pool_oldest_waiting_seconds", "Wall time the job has waited that came first.", waits_s)
        yield from self._boards()
        yield from self._floods()
        seen = mirror.seen
        ended = CounterMetricFamily("eddy_pool_jobs_ended", "Jobs that ended, by state.", labels=["state"])
        for state in FINAL:
            ended.add_metric([state], seen.ended[state])
        yield ended
        yield _count("eddy_pool_items", "Items committed.", seen.items)
        yield _count("eddy_pool_moves", "Jobs taken back from boards.", seen.moves)
        yield _count("eddy_pool_sent_bytes", "Inputs sent to boards for what was committed.", seen.sent_bytes)
        yield _count("eddy_pool_decisions", "Times this head has decided where jobs go.", lead.decisions)
        yield _count("eddy_pool_decision_seconds", "Wall time of these decisions.", lead.deciding_s)
        yield _count("eddy_pool_replans", "Times this head has planned again what boards have.", lead.replans.made)
        yield _count("eddy_pool_replanned", "Jobs it took from boards then.", lead.replans.moved)
        text = "Numbers of submissions that were another's already: the servers lost the last of them."
        yield _count("eddy_pool_numbers_passed_over", text, self._link.troubles.passed_over)
        text = "Records of the pool that cannot be read, and are set aside."
        yield _gauge("eddy_pool_unreadable_records", text, len(self._link.troubles.unreadable))
        yield _count("eddy_pool_weight_rounds", "Rounds of tenants' weights.", self._rounds.number)

    def _floods(self) -> Iterator[Metric]:
        floods, names = self._lead.mirror.floods, sorted(self._lead.mirror.boards)
        family = CounterMetricFamily(
            "eddy_pool_board_sent",
            "Leases and requests of a board that came to this head.",
            labels=["board", "what"],
        )
        for name in names:
            for what in (LEASES, REQUESTS):
                family.add_metric([name, what], floods.came[name, what])
        yield family
        flooding = {name: float(bool(floods.describe_flood(name))) for name in names}
        yield _by("eddy_pool_board_floods", "1 while a board floods the pool: revoke it.", "board", flooding)

    def _boards(self) -> Iterator[Metric]:
        mirror = self._lead.mirror
        names = sorted(mirror.boards)
        boards = [mirror.boards[name] for name in names]
        alive = {name: mirror.alive(name) for name in names}
        drained = {board.name for board in boards if board.drained and alive[board.name]}
        states = {
            "present": float(sum(alive.values()) - len(drained)),
            "drained": float(len(drained)),
            "away": float(len(names) - sum(alive.values())),
        }
        yield _by("eddy_pool_boards", "Boards, by state.", "state", states)
        there = {name: float(alive[name]) for name in names}
        yield _by("eddy_pool_board_present", "1 while a board's lease holds.", "board", there)
        given = dict.fromkeys(names, 0.0)
        for job in mirror.jobs.jobs_on_boards:
            given[job.board] = given.get(job.board, 0.0) + 1
        yield _by("eddy_pool_board_jobs", "Jobs of the pool that a board has.", "board", given)
        width = {board.name: float(board.width) for board in boards}
        yield _by("eddy_pool_board_width", "Jobs of the pool that a board runs at once.", "board", width)
        link = {board.name: board.link_bps for board in boards}
        yield _by("eddy_pool_board_link_bps", "Rate of a board's transfers as measured; 0 before.", "board", link)


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, value=value)


def _count(name: str, text: str, value: float) -> Metric:
    return CounterMetricFamily(name, text, value=value)


def _by(name: str, text: str, label: str, values: dict[str, float]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=[label])
    for each, value in values.items():
        family.add_metric([each], value)
    return family
