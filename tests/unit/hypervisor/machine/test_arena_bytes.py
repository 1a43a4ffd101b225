# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The memory a job is admitted with is that of the buffers it is given, in whole pages."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy.hypervisor.jobs.buffers import PAGE, needed
from eddy.hypervisor.slots.tenant_memory import arena_bytes
from eddy.packages.catalogue import load_catalogue

SHIPPED = load_catalogue(Path(__file__).parents[4] / "bitstreams").applications


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_what_is_admitted_is_what_is_allocated(name: str) -> None:
    application = SHIPPED[name]
    for batch in (1, 2, 7, 30):
        pages = [-(-need.spec.bytes // PAGE) for need in needed(application, batch)]
        assert arena_bytes(application, batch) == sum(pages) * PAGE > 0
