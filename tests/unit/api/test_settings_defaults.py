# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Defaults stand in the table of settings; what the server keeps them in has the same."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from eddy.api.access.uploads import UploadLimits
from eddy.api.dependencies.context import ApiSettings
from eddy.api.http.connections import ConnectionLimits
from eddy.core.leases import LeaseRules
from eddy.hypervisor.cores.market_loop import PriceSettings
from eddy.hypervisor.intake.kernels import KernelLimits
from eddy.hypervisor.slots.tenant_memory import MAX_PART
from eddy.settings import SETTINGS
from eddy.store.db.bounds import JobBounds

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
