# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What `eddy module new` and `eddy module fuse` write is right as written, for every checker and in the bench."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from eddy.cli.boards.module import SKELETON, create
from eddy.core.errors import Conflict, InvalidRequest
from eddy.packages.fuse import fuse, read_stage
from eddy_sim.design.bench import ROOT, Bench
from eddy_sim.tools.filelist import read_filelist

BIN = Path(sys.executable).parent
CONFIG = ROOT / "pyproject.toml"
NAMES = ("a", "brighten", "a_name_of_48_letters_which_is_as_long_as_they_be")
STREAM = """
stream:
  cores: [{{core: {name}_core, ports: {{addend_i: addend}}}}]
  legal: "words != '0 && words <= 32'd65536"
  in_words: words
  out_words: words
"""


def run(*command: str | Path) -> str:
    """What a program prints where it succeeds."""
    environment = {**os.environ, "MYPYPATH": str(ROOT / "sim")}
    done = subprocess.run(list(map(str, command)), cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.rtl
def test_the_skeleton_passes_its_check_and_its_bench_and_so_does_the_module_of_the_tutorial(tmp_path: Path) -> None:
    """Steps 1 and 2 of docs/tutorials/your-own-module.md: with nothing changed, then with its arithmetic, of which the
    skeleton's bench says that it is another."""
    run(BIN / "eddy", "module", "new", "brighten", "--root", tmp_path)
    answer = json.loads(run(BIN / "eddy", "module", "check", tmp_path / "bitstreams/brighten", "--json"))
    assert answer["passed"], answer
    folder = tmp_path / "sim/rtl/brighten"
    bench = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", CONFIG, folder)
    assert "1 passed" in run(*bench)
    page = (ROOT / "docs/tutorials/your-own-module.md").read_text(encoding="utf-8")
    arithmetic, expected = (
        page.partition(f"```{each}\n")[2].partition("```")[0] for each in ("systemverilog", "python")
    )
    core = tmp_path / "hw/ip/brighten/rtl/brighten_core.sv"
    before, _, _ = core.read_text(encoding="utf-8").rpartition("  always_ff")
    core.write_text(f"{before}{arithmetic}\nendmodule\n", encoding="utf-8")
    with pytest.raises(AssertionError, match="1 failed"):
        run(*bench)
    trials = folder / "cocotb_brighten.py"
    text = trials.read_text(encoding="utf-8")
    changed = re.sub(r"def make\(.*?(?=\n\n\n)", lambda _: expected.rstrip(), text, flags=re.DOTALL)
    assert changed != text
    trials.write_text(changed, encoding="utf-8")
    assert "1 passed" in run(*bench)


@pytest.mark.parametrize("name", NAMES)
def test_no_checker_finds_fault_with_it(name: str, tmp_path: Path) -> None:
    files = create(name, tmp_path, ROOT)
    assert {path.relative_to(tmp_path) for path in files} == {
        Path(str(path.relative_to(SKELETON)).replace("skeleton", name))
        for path in SKELETON.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert not any("skeleton" in path.read_text(encoding="utf-8") for path in files)
    run(BIN / "ruff", "check", "--no-cache", "--config", CONFIG, "--ignore", "D1", tmp_path)
    run(BIN / "ruff", "format", "--no-cache", "--check", "--config", CONFIG, tmp_path)


def test_its_types_are_right(tmp_path: Path) -> None:
    """`make types` reads the skeleton itself; this is a module's bench as its writer checks it."""
    create("brighten", tmp_path, ROOT)
    run(BIN / "mypy", "--config-file", CONFIG, *sorted(tmp_path.glob("sim/rtl/brighten/*.py")))


@pytest.mark.parametrize("name", ["output", "class", "bit", "Upper", "2nd", "a" * 49, ""])
def test_a_name_that_is_none_of_the_language_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match=r"is no module name|is a keyword of SystemVerilog"):
        create(name, tmp_path, ROOT)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["hls_ctrl", "knn_init", "eddy_pkg"])
def test_a_name_that_a_block_of_the_tree_has_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(Conflict, match="holds a block"):
        create(name, tmp_path, ROOT)
    assert not list(tmp_path.iterdir())


@pytest.mark.rtl
def test_modules_of_ones_own_are_fused_with_all_their_files(tmp_path: Path) -> None:
    """Cores, a header and a ROM that lie beside the stages' tops are in the fused module's list, from where it lies."""
    stages = []
    for name in ("first", "second"):
        create(name, tmp_path / name, ROOT)
        block = tmp_path / name / "hw/ip" / name
        (block / "include").mkdir()
        (block / f"include/{name}.vh").write_text("`define ZERO 64'd0\n", encoding="utf-8")
        (block / f"rtl/{name}.mem").write_text("0000000000000001\n", encoding="utf-8")
        core = block / f"rtl/{name}_core.sv"
        text = core.read_text(encoding="utf-8").replace("64'(addend_i)", "64'(addend_i) + `ZERO + rom[0]")
        rom = f'  logic [63:0] rom[1];\n  initial $readmemh("{name}.mem", rom);\n\nendmodule'
        text = f'`include "{name}.vh"\n' + text.replace("endmodule", rom)
        core.write_text(text, encoding="utf-8")
        listed = block / f"{name}.f"
        listed.write_text(f"+incdir+include\nrtl/{name}.mem // its table\n" + listed.read_text(encoding="utf-8"))
        manifest = tmp_path / name / "bitstreams" / name / "manifest.yaml"
        manifest.write_text(manifest.read_text(encoding="utf-8") + STREAM.format(name=name), encoding="utf-8")
        stages.append(read_stage(manifest))
    for path, text in fuse("both", stages, {}, tmp_path).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    filelist = tmp_path / "hw/ip/both/both.f"
    own = {path.name for path in read_filelist(filelist) if path.is_relative_to(tmp_path)}
    assert own == {f"{n}{rest}" for n in ("first", "second") for rest in ("_core.sv", ".vh", ".mem")} | {"both.sv"}
    Bench("both", filelist).build()
