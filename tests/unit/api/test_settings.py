# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The table of settings: every entry documented, settable, readable from the environment,
and with one default."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import typer
from eddy.api.access.uploads import UploadLimits
from eddy.api.dependencies.context import ApiSettings
from eddy.api.http.connections import ConnectionLimits
from eddy.cli.main import app
from eddy.core.leases import LeaseRules
from eddy.hypervisor.cores.market_loop import PriceSettings
from eddy.hypervisor.intake.intake import MAX_PART
from eddy.hypervisor.intake.kernels import KernelLimits
from eddy.settings import SETTINGS, Setting, reference_rows
from eddy.store.db.bounds import JobBounds

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


NAMES: dict[type[Any], dict[str, str]] = {
    ApiSettings: {
        name: name for name in ("max_body_bytes", "max_blob_bytes", "heartbeat_s", "page_size", "max_output_bytes")
    },
    ConnectionLimits: {
        "connections": "max_connections",
        "connections_per_client": "max_connections_per_client",
        "patience_s": "request_timeout_s",
        "bytes_per_s": "min_bytes_per_s",
    },
    UploadLimits: {
        "uploads": "max_uploads",
        "uploads_per_tenant": "max_uploads_per_tenant",
        "upload_bytes": "max_upload_bytes",
    },
    JobBounds: {
        "max_age_s": "retention_age_s",
        "max_jobs": "retention_jobs",
        "max_jobs_per_tenant": "retention_jobs_per_tenant",
    },
    KernelLimits: {"slices": "kernel_slices", "time_limit_s": "kernel_time_limit_s"},
    LeaseRules: {"idle_s": "lease_idle_s", "notice_s": "lease_notice_s", "part": "lease_part"},
    PriceSettings: {"quantum_s": "price_quantum_s", "epoch_s": "price_epoch_s"},
}


def test_the_default_part_of_the_memory_is_that_of_the_table() -> None:
    assert SETTINGS["tenant_memory"].default == MAX_PART


@pytest.mark.parametrize("kind", NAMES, ids=lambda kind: kind.__name__)
def test_defaults_are_those_of_the_table(kind: type[Any]) -> None:
    for name, setting in NAMES[kind].items():
        (field,) = [each for each in dataclasses.fields(kind) if each.name == name]
        assert field.default == SETTINGS[setting].default, name
