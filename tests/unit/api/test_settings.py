# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The table of settings: every entry documented, settable, and readable from the environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import typer
from eddy.cli.main import app
from eddy.settings import SETTINGS, Setting, reference_rows

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "settings.md"


def flags() -> dict[str, Any]:
    """Every option of the command tree that reads an environment variable, by that variable."""
    found: dict[str, Any] = {}

    def walk(command: Any) -> None:
        for parameter in command.params:
            if parameter.envvar:
                found[parameter.envvar] = parameter
        for below in getattr(command, "commands", {}).values():
            walk(below)

    walk(typer.main.get_command(app))
    return found


@pytest.mark.parametrize("row", list(reference_rows()))
def test_every_setting_is_documented(row: str) -> None:
    assert row in PAGE.read_text().splitlines(), "run `python -m eddy.settings` and paste its rows"


def test_the_page_documents_nothing_else() -> None:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| `--")]
    assert rows == list(reference_rows())


def test_every_setting_is_a_flag_with_its_default_and_help() -> None:
    known = flags()
    not_flags = {"http_timeout_s", "http_retries"}
    for name, setting in SETTINGS.items():
        if name in not_flags:
            continue
        parameter = known[setting.environment]
        assert setting.flag in parameter.opts
        assert parameter.default == setting.default
        assert parameter.help == setting.describe()
    assert set(known) == {setting.environment for name, setting in SETTINGS.items() if name not in not_flags}


def test_values_come_from_the_environment_in_the_settings_type() -> None:
    assert SETTINGS["port"].value({}) == 8000
    assert SETTINGS["port"].value({"EDDY_PORT": "9001"}) == 9001
    assert SETTINGS["heartbeat_s"].value({"EDDY_HEARTBEAT_S": "2"}) == 2.0
    assert SETTINGS["url"].value({"EDDY_URL": ""}) == SETTINGS["url"].default


@pytest.mark.parametrize(("name", "text", "says"), [("port", "many", "int"), ("board", "paper", "rtl, model, pynq")])
def test_wrong_values_are_named(name: str, text: str, says: str) -> None:
    setting: Setting = SETTINGS[name]
    with pytest.raises(ValueError, match=f"{setting.environment} is '{text}'.*{says}"):
        setting.value({setting.environment: text})
