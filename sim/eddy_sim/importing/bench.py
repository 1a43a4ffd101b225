# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Holds the imported kernel of this name against the slot contract, as `eddy module check` does."""

from pathlib import Path

import pytest

from eddy_sim.modcheck.runner import check_module

NAME = "skeleton"
MANIFEST = Path(__file__).parents[3] / "bitstreams" / NAME / "manifest.yaml"


@pytest.mark.rtl
def test_contract() -> None:
    """Every check passes."""
    failed = [finding for finding in check_module(MANIFEST) if not finding.passed]
    assert not failed, failed
