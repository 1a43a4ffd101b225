# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The market from client and command over real HTTP, on a model board whose clusters compute."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from eddy.api.service.server import Server, ServerSettings
from eddy.cli.main import app
from eddy.client import Client
from eddy.core.errors import InvalidRequest
from eddy.hypervisor.cores.market_loop import PriceSettings
from eddy.hypervisor.intake.kernels import KernelLimits
from kernel_kit import STEP, kernel_board, step_arrays
from typer.testing import CliRunner
from unit.gpu_kit import CACHE

ROOT = Path(__file__).parents[3]


def settings(data: Path, price: str = "market") -> ServerSettings:
    return ServerSettings(
        "model",
        "tiny",
        "fcfs",
        data,
        ROOT / "bitstreams",
        port=0,
        price=price,
        price_settings=PriceSettings(quantum_s=5e-3, epoch_s=5e-3),
        kernels=KernelLimits(time_limit_s=5e-2),
        kernel_cache=CACHE,
    )


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(settings(tmp_path), board=kernel_board()).background() as running:
        yield running


def test_two_tenants_see_the_market_and_the_operator_changes_the_policy(server: Server) -> None:
    operator_key = server.key_file.read_text().strip()
    with Client(server.url, operator_key) as operator:
        keys = {name: operator.add_tenant(name, weight=w)["key"] for name, w in (("ada", 1.0), ("grace", 3.0))}
        with Client(server.url, keys["ada"]) as ada, Client(server.url, keys["grace"]) as grace:
            assert ada.market()["me"]["shares"] == []
            jobs = []
            for client in (ada, grace):
                y, x = step_arrays(256)
                jobs.append(client.kernel(STEP, "step").launch(256, y, x, 2))
            for job in jobs:
                job.wait(timeout_s=180)
            found = [[epoch["me"] for epoch in client.market_history()] for client in (ada, grace)]
            assert [{me["weight"] for me in epochs} for epochs in found] == [{1.0}, {3.0}]
            for epochs in found:  # in its last epoch a tenant may have been left with nothing to do
                assert sum(share["core_seconds"] for me in epochs for share in me["shares"]) > 0
            assert jobs[0].data["kernel"] is not None
            assert jobs[0].data["kernel"]["core_seconds"] > 0
            with pytest.raises(InvalidRequest, match="no policy"):
                operator.set_price_policy("nobody")
            assert operator.set_price_policy("themis")["policy"] == "themis"
            assert ada.market()["price_policy"] == "themis"
        run = CliRunner().invoke(app, ["market", "--url", server.url, "--key", keys["grace"]])
        assert run.exit_code == 0, run.output
        assert "gpu_1c4w4t" in run.stdout
        assert "promised speedup" in run.stdout
        run = CliRunner().invoke(app, ["market", "--json", "--url", server.url, "--key", keys["ada"]])
        assert json.loads(run.stdout)["price_policy"] == "themis"
        run = CliRunner().invoke(app, ["market", "set", "market", "--url", server.url, "--key", keys["ada"]])
        assert run.exit_code == 4, "only the operator may"
        run = CliRunner().invoke(app, ["market", "set", "market", "--url", server.url, "--key", operator_key])
        assert run.exit_code == 0, run.output


def test_history_and_the_policy_in_force_outlive_the_server(tmp_path: Path) -> None:
    with Server(settings(tmp_path), board=kernel_board()).background() as server:
        operator_key = server.key_file.read_text().strip()
        with Client(server.url, operator_key) as operator:
            key = operator.add_tenant("ada")["key"]
            assert operator.set_price_policy("entitlement")["policy"] == "entitlement"
            with Client(server.url, key) as ada:
                ada.kernel(STEP, "step").launch(256, *step_arrays(256), 2).wait(timeout_s=180)
                before = ada.market_history()
    assert before
    with (
        Server(settings(tmp_path), board=kernel_board()).background() as server,
        Client(server.url, operator_key) as operator,
        Client(server.url, key) as ada,
    ):
        after = ada.market_history()
        assert after[: len(before)] == before
        assert operator.market()["price_policy"] == "entitlement"
        ada.kernel(STEP, "step").launch(256, *step_arrays(256), 2).wait(timeout_s=180)
        new = [epoch["epoch"] for epoch in ada.market_history(after=after[-1]["epoch"])]
        assert new == sorted(new)
        assert new[0] > after[-1]["epoch"], "numbers go on"


def test_an_unknown_price_policy_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="no policy") as refused:
        Server(settings(tmp_path, "nobody"), board=kernel_board())
    assert {"whole", "market", "entitlement", "mtf"} <= set(refused.value.details["allowed"])


@pytest.mark.parametrize("field", ["policy", "gpu_policy", "price"])
def test_names_are_checked_before_anything_is_made(field: str, tmp_path: Path) -> None:
    wrong = dataclasses.replace(settings(tmp_path / "data", "market"), **{field: "nobody"})  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest) as refused:
        Server(wrong)  # would build a board
    assert refused.value.details["field"] == field
    assert not (tmp_path / "data").exists()
