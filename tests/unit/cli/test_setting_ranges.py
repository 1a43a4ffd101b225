# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Every number among the settings has a range, wherever it comes from."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from eddy.api.service.policy_choice import check_policies
from eddy.cli.main import app
from eddy.cli.support import configuration
from eddy.core.errors import InvalidRequest
from eddy.settings import SETTINGS
from typer.testing import CliRunner

CHECKED_BY_SERVE = {"price_quantum_s", "price_epoch_s", "kernel_slices", "kernel_time_limit_s"}
"""Two of them have a bound in each other, and all must be above 0."""
BOUNDED = [name for name, setting in SETTINGS.items() if setting.least is not None]


def written(folder: Path, text: str) -> Path:
    path = folder / "serve.yaml"
    path.write_text(text)
    return path


def test_every_number_has_a_range() -> None:
    numbers = {name for name, setting in SETTINGS.items() if not isinstance(setting.default, str)}
    assert numbers == {*BOUNDED, *CHECKED_BY_SERVE}
    assert not [name for name, setting in SETTINGS.items() if setting.wrong(setting.default)]


@pytest.mark.parametrize("name", BOUNDED)
def test_what_is_out_of_range_is_refused_from_wherever_it_comes(name: str, tmp_path: Path) -> None:
    setting = SETTINGS[name]
    assert setting.least is not None
    outside: list[int | float] = [-1 if isinstance(setting.default, int) else -0.5]
    outside += [int(setting.most) + 1] if setting.most is not None else []
    outside += [math.nan, math.inf] if isinstance(setting.default, float) else []
    for value in outside:
        assert "must be at least" in setting.wrong(value)
        with pytest.raises(ValueError, match=f"{setting.environment} is .*must be at least"):
            setting.parse(str(value))
        if setting.read_by != "server":
            continue
        text = f"{name}: {'.nan' if value != value else '.inf' if math.isinf(value) else value}\n"
        with pytest.raises(InvalidRequest, match=f"{name} is .*must be at least"):
            configuration.read(written(tmp_path, text))
        done = CliRunner().invoke(app, ["serve", f"{setting.flag}={value}", "--data", str(tmp_path / "data")])
        assert (done.exit_code, "must be at least" in " ".join(done.stderr.replace("│", " ").split())) == (2, True), (
            done.stderr
        )
        assert not (tmp_path / "data").exists()


def test_a_name_that_stands_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="has page_size twice"):
        configuration.read(written(tmp_path, "page_size: 10\nport: 1\npage_size: 20\n"))
    assert configuration.read(written(tmp_path, "")) == {}


def test_policies_that_do_not_exist_are_refused() -> None:
    good = {"policy": "eddy", "gpu_policy": "fcfs", "price": "market"}
    check_policies(good)
    for name in good:
        with pytest.raises(InvalidRequest):
            check_policies({**good, name: "nosuch"})
