# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the metrics say of the moment: of slots, jobs, the market, the disk. Sums over tenants, never one tenant's."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Iterator, Mapping, Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from eddy.api.dependencies.context import Context
from eddy.core.faults import Fault
from eddy.core.jobs import JobState
from eddy.core.leases import LeaseState
from eddy.core.records import JobEventKind, SlotStatus, WaitCause
from eddy.core.sessions import SessionFigures, SessionRecord, SessionState
from eddy.host import distribution
from eddy.hypervisor.cores.market_loop import PriceLoop
from eddy.hypervisor.cores.market_report import market_answer
from eddy.hypervisor.engine.lease_service import LeaseStatus
from eddy.hypervisor.sessions.session import Counts
from eddy.store import Store

_UNFINISHED = tuple(state.value for state in JobState if not state.is_final)
_FINAL = tuple(state.value for state in JobState if state.is_final)
_LEASES = tuple(state.value for state in LeaseState if not state.is_final)
_OPEN = tuple(state.value for state in SessionState if not state.is_final)
_PHASES = ("empty", "loading", "idle", "running", "waiting", "faulted", "unknown")
_SPENT = ("running", "reconfiguring", *(cause.value for cause in WaitCause))
_VERSION = distribution.version()


class GaugeCollector(Collector):
    """Gauges and counters read from the hypervisor and the store at each scrape."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def collect(self) -> Iterator[Metric]:
        """The figures of this moment."""
        context = self._context
        hypervisor = context.hypervisor
        yield _gauge("eddy_board_seconds", "Board time, as last seen.", hypervisor.now_s())
        up = float(context.ready and not context.unavailable)
        yield _gauge("eddy_up", "1 while the hypervisor accepts jobs and its board answers.", up)
        yield _labelled("eddy_build", "1 for the version that runs.", "version", {_VERSION: 1})
        yield _labelled("eddy_policy", "1 for the dispatch policy in force.", "policy", {hypervisor.policy: 1})
        yield from _slots(hypervisor.slots())
        yield from _jobs(context.store)
        yield from _sessions(*hypervisor.sessions.overview())
        yield from _leases(hypervisor.leases.standings(None))
        yield from _kept(context)
        if hypervisor.price is not None:
            yield from _market(hypervisor.price)


def _slots(slots: Iterable[SlotStatus]) -> Iterator[Metric]:
    slots = tuple(slots)
    phases = Tally(status.phase for status in slots)
    yield _labelled("eddy_slots", "Slots, by phase.", "phase", {name: phases[name] for name in _PHASES})
    each = GaugeMetricFamily("eddy_slot", "1 for each slot, with what it does.", labels=["slot", "pool", "phase"])
    for status in slots:
        each.add_metric([str(status.slot), status.pool, status.phase], 1.0)
    yield each
    drained = {str(status.slot): float(bool(status.drained)) for status in slots}
    yield _labelled("eddy_slot_drained", "1 where nothing new is placed in a slot.", "slot", drained)


def _jobs(store: Store) -> Iterator[Metric]:
    states, happened = store.jobs.unfinished_by_state(), store.happened
    yield _labelled("eddy_jobs", "Jobs that have not ended, by state.", "state", _with_absent(_UNFINISHED, states))
    yield _gauge(
        "eddy_tenants_with_jobs", "Tenants with jobs that have not ended.", len(store.jobs.unfinished_by_tenant())
    )
    yield _counted("eddy_jobs_ended", "Jobs that ended since the start.", "state", _with_absent(_FINAL, happened.ended))
    text = "Entries of jobs' event logs since the start: loads, items, preemptions, faults, by kind."
    kinds = [kind.value for kind in JobEventKind]
    yield _counted("eddy_events", text, "what", _with_absent(kinds, happened.events))
    text = "Faults since the start, by their codes; docs/reference/faults.md has what becomes of each."
    yield _counted("eddy_faults", text, "fault", _with_absent((fault.value for fault in Fault), happened.faults))
    text = "Board seconds of jobs that ended since the start, by what they went to; waits by cause."
    yield _counted("eddy_job_seconds", text, "spent", _with_absent(_SPENT, happened.spent_s))


def _kept(context: Context) -> Iterator[Metric]:
    store = context.store
    size, free = store.sizes
    yield _gauge("eddy_storage_ok", "0 while nothing can be kept: the log says why.", float(store.problem is None))
    text = "Damaged records that were met since the start and passed over, by kind."
    yield _labelled("eddy_damaged_records", text, "kind", store.damage.counts())
    yield _gauge("eddy_disk_free_bytes", "Room left where the data folder lies.", free)
    yield _gauge("eddy_database_bytes", "Bytes of the data base with its log.", size)
    yield _gauge(
        "eddy_blob_bytes",
        "Bytes of blobs, with those on their way, and of outputs that tenants hold.",
        store.blobs.ledger.total(),
    )
    yield _gauge("eddy_output_bytes", "Bytes of outputs and logs on disk.", store.retention.kept_bytes)
    yield _gauge("eddy_jobs_kept", "Jobs that have ended and are kept.", sum(store.jobs.tally.count_ended().values()))
    text = "Jobs that were removed after their end, with their events and outputs, since the start."
    yield CounterMetricFamily("eddy_jobs_purged", text, value=store.purge.jobs_gone)
    yield _gauge("eddy_tenants_leaving", "Tenants that are being removed.", len(store.tenants.list_leaving()))
    jobs, freed = context.collected
    text = "Jobs whose outputs were removed to make room, since the start."
    yield CounterMetricFamily("eddy_outputs_collected_jobs", text, value=jobs)
    text = "Bytes of outputs removed to make room, since the start."
    yield CounterMetricFamily("eddy_outputs_collected_bytes", text, value=freed)


def _sessions(did: Counts, there: Sequence[tuple[SessionRecord, SessionFigures]]) -> Iterator[Metric]:
    states = Tally(figures.state.value for _, figures in there)
    yield _labelled("eddy_sessions", "Sessions that are open, by state.", "state", _with_absent(_OPEN, states))
    held = sum(figures.buffer_bytes for _, figures in there)
    yield _gauge("eddy_session_buffer_bytes", "Bytes of buffers of sessions.", held)
    ended = {"complete": did.launches - did.failed_launches, "failed": did.failed_launches}
    yield _counted("eddy_session_launches", "Launches of sessions that ended since the start.", "state", ended)
    text = "Bytes of buffers of sessions since the start: brought, fetched, and found on the board by launches."
    ways = {"up": did.bytes_up, "down": did.bytes_down, "kept": did.bytes_kept}
    yield _counted("eddy_session_bytes", text, "way", ways)


def _leases(standings: Sequence[LeaseStatus]) -> Iterator[Metric]:
    there = [each for each in standings if not each.record.state.is_final]
    states = Tally(each.record.state.value for each in there)
    yield _labelled("eddy_leases", "Leases that have not ended, by state.", "state", _with_absent(_LEASES, states))
    slots = sum(len(each.record.slots) for each in there)
    yield _gauge("eddy_leased_slots", "Slots that leases hold.", slots)


def _market(loop: PriceLoop) -> Iterator[Metric]:
    now = market_answer(loop, "")
    yield _labelled("eddy_price_policy", "1 for the price policy in force.", "policy", {loop.policy_name: 1})
    yield _gauge("eddy_market_epoch", "Number of the epoch.", now["epoch"])
    prices = {str(cluster["slot"]): cluster["price"] for cluster in now["clusters"]}
    yield _labelled("eddy_cluster_price", "Price of one core of a cluster.", "slot", prices)
    cores = {str(cluster["slot"]): cluster["cores"] for cluster in now["clusters"]}
    yield _labelled("eddy_cluster_cores", "Cores of a cluster.", "slot", cores)


def _with_absent(names: Iterable[str], found: Mapping[str, float]) -> dict[str, float]:
    """Every name that may come, so that a figure is there before it is first above zero; and what else was found."""
    return {**dict.fromkeys(names, 0.0), **found}


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, value=value)


def _labelled(name: str, text: str, label: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=[label])
    for each, value in values.items():
        family.add_metric([each], value)
    return family


def _counted(name: str, text: str, label: str, values: Mapping[str, float]) -> Metric:
    family = CounterMetricFamily(name, text, labels=[label])
    for each, value in values.items():
        family.add_metric([each], value)
    return family
