# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a board's installation asks pip for: wheels, and what those packages need that exist as source alone."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement


def test_what_source_packages_need_is_asked_for_and_they_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "tools"))
    monkeypatch.delitem(sys.modules, "arm64", raising=False)
    from arm64 import wheels

    asked = {Requirement(line).name for line in wheels.requirements(("serve", "board"))}
    assert asked.isdisjoint(wheels.SOURCE_ONLY)
    assert asked >= {"grpcio", "jsonschema", "python-magic"}, "of pynq, pynqmetadata and pynqutils"
    assert "grpcio" not in {Requirement(line).name for line in wheels.requirements(("serve",))}
