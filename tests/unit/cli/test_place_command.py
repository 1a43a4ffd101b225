# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy place`: what it reads, what it prints, and how it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from eddy.cli.main import app
from eddy.model.placement.instance import instance_from
from eddy.model.placement.verify import problems_of
from typer.testing import CliRunner

JOINT: dict[str, Any] = {
    "time_s": [[0.2, 0.3], [0.1, 0.4], [0.5, 0.2], [0.3, 0.3]],
    "size_bits": [1e8, 2e8, 1e8, 5e7],
    "requester": [0, 0, 1, 1],
    "egress_bps": [1e9, 5e8],
    "ingress_bps": [1e9, 1e9],
}


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["place", *arguments])


def written(folder: Path, raw: object) -> str:
    path = folder / "instance.json"
    path.write_text(json.dumps(raw))
    return str(path)


@pytest.mark.parametrize("method", ["default", "computation", "network", "joint", "sjf", "ljf", "waves"])
def test_every_method_answers_in_one_form(method: str, tmp_path: Path) -> None:
    result = run(written(tmp_path, JOINT), "--method", method, "--json")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert {"host", "makespan_s", "lower_bound_s", "rates"} <= set(answer)
    assert len(answer["host"]) == 4
    assert 0 < answer["lower_bound_s"] <= answer["makespan_s"]
    assert all(set(rate) == {"job", "from_s", "to_s", "bps"} for rate in answer["rates"])
    assert bool(answer["rates"]) == (method != "computation")
    # The four keys of the interface suffice for the referee: starts are then as data arrives.
    it = instance_from(JOINT)
    seen = {"computation": it.without_network(), "network": it.without_computation()}.get(method, it)
    assert not problems_of(seen, {key: answer[key] for key in ("host", "makespan_s", "lower_bound_s", "rates")})


def test_a_folder_of_arrays_gives_the_same_answer(tmp_path: Path) -> None:
    for name, value in JOINT.items():
        np.save(tmp_path / f"{name}.npy", np.array(value))
    from_json, from_folder = (run(where, "--json").stdout for where in (written(tmp_path, JOINT), str(tmp_path)))
    assert json.loads(from_json) == json.loads(from_folder)


def test_what_the_method_does_not_need_may_be_absent(tmp_path: Path) -> None:
    times = {"time_s": JOINT["time_s"], "size_bits": JOINT["size_bits"]}
    assert run(written(tmp_path, times), "--method", "computation").exit_code == 0
    sending = {name: value for name, value in JOINT.items() if name != "time_s"}
    assert run(written(tmp_path, sending), "--method", "network").exit_code == 0


def test_senders_may_be_absent_where_they_are_no_bottleneck(tmp_path: Path) -> None:
    """Without them only hosts' ports limit; one sender needs no list; sizes alone do not count."""
    anyone = {name: JOINT[name] for name in ("time_s", "size_bits", "ingress_bps")}
    spelled_out = {**anyone, "requester": [0, 1, 2, 3], "egress_bps": [1e9] * 4}
    one, other = (json.loads(run(written(tmp_path, raw), "--json").stdout) for raw in (anyone, spelled_out))
    assert one == other
    assert run(written(tmp_path, {**anyone, "egress_bps": [1e9]})).exit_code == 0
    alone = json.loads(run(written(tmp_path, {name: JOINT[name] for name in ("time_s", "size_bits")}), "--json").stdout)
    assert not alone["rates"]
    assert alone["makespan_s"] == pytest.approx(0.5)


def test_groups_and_reconfiguration(tmp_path: Path) -> None:
    path = written(tmp_path, {"time_s": JOINT["time_s"]})
    plain, loaded = (json.loads(run(path, "--json", *more).stdout) for more in ((), ("--reconfigure-s", "1")))
    assert loaded["makespan_s"] > plain["makespan_s"] + 1
    in_groups = run(written(tmp_path, JOINT), "--groups", "2", "--method", "joint", "--json")
    assert in_groups.exit_code == 0, in_groups.output
    assert json.loads(in_groups.stdout)["method"] == "joint"


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ([1, 2], "object"),
        ({"time_s": [[1, 2], [3]]}, "time_s"),
        ({"time_s": [[1, None]]}, "NaN"),
        ({"time_s": [[1]], "times": [1]}, "times"),
        ({}, "time_s"),
        ({"time_s": []}, "time_s"),
        ({"time_s": [[-1.0]]}, "negative"),
        ({"time_s": [[float("inf")]]}, "no host"),
        ({"time_s": [[10**400]]}, "time_s"),
        ({**JOINT, "requester": [0, 0, 1, 2]}, "requester"),
        ({**JOINT, "requester": [0, 0, 1, float("nan")]}, "requester"),
        ({**JOINT, "requester": [0, 0, 1, 0.5]}, "requester"),
        ({name: JOINT[name] for name in JOINT if name != "requester"}, "requester"),
        ({**JOINT, "size_bits": [1e8, -1, 1, 1]}, "size_bits"),
        ({**JOINT, "ingress_bps": [1e9, 0]}, "ingress_bps"),
        ({**JOINT, "size_bits": [1e8]}, "size_bits"),
    ],
)
def test_bad_input_is_refused_in_one_line(raw: object, says: str, tmp_path: Path) -> None:
    result = run(written(tmp_path, raw))
    assert result.exit_code != 0
    assert says in result.output
    assert "Traceback" not in result.output


def test_a_missing_file_is_said_so(tmp_path: Path) -> None:
    result = run(str(tmp_path / "nowhere.json"))
    assert result.exit_code != 0
    assert "cannot be read" in result.output
