# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Metrics: every figure of the dashboard has one, every one is documented, and the Grafana board names no other."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from eddy.api.answers.market import MarketAnswer
from eddy.api.answers.overview import Overview
from eddy.core.jobs import JobState
from eddy.core.records import SlotStatus
from prometheus_client.parser import text_string_to_metric_families

pytestmark = pytest.mark.anyio

DOCS = Path(__file__).parents[3] / "docs"
BOARD = json.loads((DOCS / "grafana" / "eddy.json").read_text())
PAGE = (DOCS / "how-to" / "monitor.md").read_text()
LABELS = {
    "version",
    "policy",
    "state",
    "spent",
    "phase",
    "slot",
    "pool",
    "what",
    "status",
    "route",
    "fault",
    "kind",
    "way",
}
OWN = "of one tenant, of who looks, or a name; /metrics has sums alone"
FIGURES: dict[str, str] = {
    "now_s": "eddy_board_seconds",
    "ready": "eddy_up",
    "detail": "eddy_storage_ok",
    "policy": "eddy_policy",
    "slots": "eddy_slot eddy_slots eddy_slot_drained",
    "counts": "eddy_jobs",
    "jobs": "eddy_jobs eddy_job_seconds_total",
    "ended": "eddy_jobs_ended_total eddy_job_seconds_total",
    "spans": "eddy_events_total",
    "faults": "eddy_faults_total",
    "tenants": "eddy_tenants_with_jobs",
    "damaged": "eddy_damaged_records",
    "sessions": "eddy_sessions eddy_session_buffer_bytes eddy_session_launches_total eddy_session_bytes_total",
    "leases": "eddy_leases eddy_leased_slots",
    "board": OWN,
    "viewer": OWN,
    "operator": OWN,
    "epoch": "eddy_market_epoch",
    "at_s": "eddy_board_seconds",
    "price_policy": "eddy_price_policy",
    "clusters": "eddy_cluster_price eddy_cluster_cores",
    "me": OWN,
}
"""What the pages show (`/v1/overview`, `/v1/market`), and the metrics of it."""


class Market:
    """A price loop, as far as what is shown of one."""

    policy_name = "market"

    def snapshot_epochs(self) -> tuple[None, tuple[()]]:
        return None, ()

    def weight_beside(self, tenant: str) -> float:
        return 1.0


async def samples(server: Any) -> dict[str, dict[str, float]]:
    """Every sample's value, by name and labels."""
    async with server.client("operator") as client:
        text = (await client.get("/metrics")).text
        text = (await client.get("/metrics")).text  # by now an answer was counted
    found: dict[str, dict[str, float]] = {}
    for family in text_string_to_metric_families(text):
        assert family.documentation, family.name
        found.setdefault(family.name, {})
        for sample in family.samples:
            found.setdefault(sample.name, {})[",".join(sample.labels[name] for name in sorted(sample.labels))] = (
                sample.value
            )
    return found


async def test_every_figure_of_the_dashboard_has_a_metric(server: Any) -> None:
    server.hypervisor.price = Market()
    found = await samples(server)
    shown = {*Overview.model_fields, *MarketAnswer.model_fields}
    assert set(FIGURES) == shown, "a new figure needs a metric, or a reason"

    named = {name for text in FIGURES.values() if text != OWN for name in text.split()}
    assert named <= set(found)


async def test_the_grafana_board_names_what_there_is_and_all_of_it(server: Any) -> None:
    server.hypervisor.price = Market()
    found = await samples(server)
    wanted = {
        name
        for panel in BOARD["panels"]
        for target in panel["targets"]
        for name in re.findall(r"eddy_[a-z_]+", target["expr"])
    }
    assert wanted <= set(found), "a panel would stay empty"
    families = {name for name in found if not name.endswith(("_created", "_bucket", "_count", "_sum"))}
    families = {name for name in families if f"{name}_total" not in found and name != "eddy_http_request_seconds"}
    assert families - wanted == set(), "a metric that no panel shows"
    assert len({panel["id"] for panel in BOARD["panels"]}) == len(BOARD["panels"])
    for panel in BOARD["panels"]:
        for target in panel["targets"]:
            labels = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
            assert labels <= LABELS
    assert not [name for name in sorted(families) if f"`{name}" not in PAGE], (
        "docs/how-to/monitor.md names every metric"
    )
    alerts = set(re.findall(r"eddy_[a-z_]+", PAGE))
    assert alerts <= {*found, "eddy_http_request_seconds"}, "the page names one that there is not"


async def test_the_figures_are_what_happened(server: Any) -> None:
    server.hypervisor.statuses = (SlotStatus(0, "pipeline", "slot0", phase="running"), SlotStatus(1, "gpu", "s"))
    before = await samples(server)
    assert before["eddy_jobs_ended_total"] == {"succeeded": 0, "failed": 0, "cancelled": 0}
    first, second = [server.store.jobs.get("ada", (await server.submit())["id"]) for _ in range(2)]
    await server.submit("grace")
    server.hypervisor.finish(first, result=bytes(6))
    server.hypervisor.move(second, JobState.FAILED, waiting_s={"slot": 1.5}, running_s=0.25)
    found = await samples(server)
    assert found["eddy_jobs"]["queued"] == 1
    assert found["eddy_tenants_with_jobs"][""] == 1
    assert found["eddy_jobs_ended_total"] == {"succeeded": 1, "failed": 1, "cancelled": 0}
    assert (found["eddy_job_seconds_total"]["slot"], found["eddy_job_seconds_total"]["running"]) == (1.5, 0.25)
    assert found["eddy_events_total"]["state"] == 2
    assert found["eddy_slot"] == {"running,pipeline,0": 1, "empty,gpu,1": 1}
    assert found["eddy_slots"]["running"] == 1
    assert (found["eddy_output_bytes"][""], found["eddy_blob_bytes"][""]) == (6, 12)
    assert found["eddy_disk_free_bytes"][""] > 0
    assert found["eddy_storage_ok"][""] == 1
    assert "eddy_price_policy" not in found, "where kernels get whole clusters there is no market"
    text = json.dumps(found)
    assert not [name for name in ("ada", "grace", "invert") if name in text], "sums over tenants alone"
