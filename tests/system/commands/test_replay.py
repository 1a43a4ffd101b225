# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A trace recorded by the live hypervisor, replayed: the same under its own policy, different under another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from eddy.cli.main import app
from eddy.core.errors import InvalidRequest
from eddy.hypervisor.engine.engine import Engine
from eddy.policy.dispatch import POLICIES
from eddy.store import Store
from eddy_studies.commands import replay as command
from eddy_studies.replay import read_trace, replay
from hypervisor_kit import CHAIN, MODULES, model_board, request
from typer.testing import CliRunner

APPLICATIONS = {CHAIN.name: CHAIN}


def record(path: Path, policy: str) -> None:
    """Three jobs at once under a policy, on a model board of two slots: all are there before its time goes on."""
    store = Store(path)
    engine = Engine(model_board(slots=2), POLICIES[policy](pipelined=True), store, APPLICATIONS, MODULES)
    engine.start()
    jobs = [engine.intake.accept(request(store, batch=batch, salt=batch)) for batch in (8, 2, 3)]
    while not all(store.jobs.get(job.tenant, job.id).state.is_final for job in jobs):
        engine.step(1e-3)
    store.close()


def test_its_own_policy_gives_the_recorded_times_again(tmp_path: Path) -> None:
    record(tmp_path / "eddy.sqlite3", "exclusive")
    store = Store(tmp_path / "eddy.sqlite3")
    trace = read_trace(store, APPLICATIONS)
    assert trace.left_out == 0
    assert len(trace.item_s) == 3 * (8 + 2 + 3)
    same, other = (replay(trace, APPLICATIONS, policy) for policy in ("exclusive", "fcfs"))
    for row in same:
        assert row.replayed_s == pytest.approx(row.response_s, rel=0.05)
    assert [row.response_s for row in other] == [row.response_s for row in same]
    assert [row.reconfigurations_replayed for row in same] == [row.reconfigurations for row in same]
    assert [row.replayed_s for row in other] != [row.replayed_s for row in same]
    with pytest.raises(InvalidRequest, match="chain"):
        read_trace(store, {})
    store.close()


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record(tmp_path / "eddy.sqlite3", "fcfs")

    class Known:
        applications = APPLICATIONS

    monkeypatch.setattr("eddy.packages.catalogue.load_catalogue", lambda *_: Known())
    done = CliRunner().invoke(app, ["replay", str(tmp_path), "--policy", "nimblock", "--json"])
    assert done.exit_code == 0, done.output
    rows = json.loads(done.output)["jobs"]
    assert [row["application"] for row in rows] == ["chain"] * 3
    assert all(row["replayed_s"] > 0 for row in rows)
    shown = CliRunner().invoke(app, ["replay", str(tmp_path / command.DATABASE), "--policy", "prema"])
    assert shown.exit_code == 0, shown.output
    assert "mean response" in shown.output
    missing = CliRunner().invoke(app, ["replay", str(tmp_path / "nowhere"), "--policy", "prema"])
    assert missing.exit_code == 2
    assert "data folder" in missing.output
