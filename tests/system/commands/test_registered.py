# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What another distribution registers: a price policy of one file and one line, and commands of `eddy`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import httpx
import pytest
from eddy.cli.main import app
from eddy.client import Client
from eddy.policy.price import POLICIES
from kernel_kit import STEP, step_arrays
from typer.testing import CliRunner
from unit.gpu_kit import CACHE

POLICY = '''
"""Everybody has the same, whatever its weight."""
import numpy as np
from eddy.policy.price.view import PriceDecision, Traits, zero_prices


class Alike:
    name, traits = "alike", Traits(by_weight=False, usable=False)

    def initial(self):
        return None

    def decide(self, view):
        each = view.present.capacity / len(view.tenants)
        return PriceDecision(np.tile(each, (len(view.tenants), 1)), zero_prices(view))
'''


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """Where a distribution is installed that has a policy, and nothing else of Eddy's."""
    record = tmp_path / "site" / "alike-1.0.dist-info"
    record.mkdir(parents=True)
    (record.parent / "alike.py").write_text(POLICY)
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: alike\nVersion: 1.0\n")
    (record / "entry_points.txt").write_text("[eddy.price_policies]\nalike = alike:Alike\nmarket = alike:Alike\n")
    return record.parent


def test_a_policy_is_a_file_and_a_line(other: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(other), "COLUMNS": "400"}
    eddy = [sys.executable, "-m", "eddy", "serve"]
    told = subprocess.run([*eddy, "--help"], env=environment, capture_output=True, text=True, check=True).stdout
    assert "alike" in told
    command = [*eddy, "--board", "model", "--profile", "kv260", "--price", "alike", "--port", "0", "--json"]
    command += ["--data", str(tmp_path / "data"), "--kernel-cache", str(CACHE)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        try:
            assert server.stdout is not None
            said = json.loads("".join(iter(server.stdout.readline, "}\n")) + "}")
            with Client(said["url"], Path(said["operator_key_file"]).read_text().strip()) as client:
                assert "alike" in client.price_policy()["allowed"]
                x, y = step_arrays(64)
                client.kernel(STEP, "step").launch(64, y, x, 1).wait(timeout_s=180)
                epoch = client.market_history()[-1]
                assert client.set_price_policy("market")["policy"] == "market"
            schemas = httpx.get(f"{said['url']}/openapi.json").json()["components"]["schemas"]
        finally:
            server.terminate()
    assert epoch["price_policy"] == "alike"
    assert "alike" in schemas["PriceSubmission"]["properties"]["policy"]["enum"]


def test_nobody_replaces_one_of_eddys_own(other: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(other))
    monkeypatch.setattr(POLICIES, "_found", None)
    assert POLICIES.make("market").name == "market"
    assert POLICIES.make("alike").name == "alike"
    assert [*POLICIES].count("market") == 1
    assert len(POLICIES) == len([*POLICIES])


@pytest.mark.parametrize("name", ["place", "replay", "reproduce", "saturate", "simulate"])
def test_without_the_studies_their_commands_say_what_to_install(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "entry_points", lambda group: ())
    monkeypatch.setattr(sys, "argv", ["eddy", name, "--json"])
    said = CliRunner().invoke(app, [name, "--json"])
    assert said.exit_code == 2
    error = json.loads(said.stderr)
    assert error["code"] == "invalid-request"
    assert "pip install ./studies" in error["detail"]
    assert f" {name} " not in CliRunner().invoke(app, ["--help"]).output


def test_a_distribution_that_is_there_in_part_keeps_nobody_from_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = metadata.EntryPoint("simulate", "nowhere.simulate:simulate", "eddy.commands")
    monkeypatch.setattr(metadata, "entry_points", lambda group: (gone,))
    assert CliRunner().invoke(app, ["--help"]).exit_code == 0
    assert "pip install ./studies" in CliRunner().invoke(app, ["simulate"]).stderr


def test_a_policy_of_the_studies_is_said_to_be_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(POLICIES, "_found", {})
    said = CliRunner().invoke(app, ["serve", "--board", "model", "--price", "max_weight"])
    assert said.exit_code == 2
    assert "pip install ./studies" in said.stderr
