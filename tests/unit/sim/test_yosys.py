# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Scripts of Yosys: what it said comes back, and a command that fails says why and ends the script."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy_sim.tools.yosys import YosysFailed, run_script

MODULE = "module half (input logic a, b, output logic s, c);\n  assign s = a ^ b;\n  assign c = a & b;\nendmodule\n"


def test_what_yosys_says_comes_back(tmp_path: Path) -> None:
    (tmp_path / "half.sv").write_text(MODULE, encoding="utf-8")
    said = run_script(tmp_path, "read_slang half.sv --top half\nstat")
    assert "=== half ===" in said
    assert "$xor" in said


def test_a_command_that_fails_ends_the_script_and_says_why(tmp_path: Path) -> None:
    (tmp_path / "half.sv").write_text(MODULE.replace("a & b", "a &"), encoding="utf-8")
    with pytest.raises(YosysFailed, match=r"half\.sv:3"):
        run_script(tmp_path, "read_slang half.sv --top half\nwrite_json after.json")
    assert not (tmp_path / "after.json").exists()
