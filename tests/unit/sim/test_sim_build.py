# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds: named by content, made once however many ask at the same time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from eddy.core.errors import NotFound
from eddy_sim.design import build, models
from eddy_sim.tools import cxx
from eddy_sim.tools.products import ignore_progress, product
from eddy_sim.tools.toolchain import BuildFailed, sort_errors

SOUND = "module m (input logic clk_i, output logic q_o);\n  always_ff @(posedge clk_i) q_o <= !q_o;\nendmodule\n"


def rtl(folder: Path, text: str, name: str = "m.sv", parameters: tuple[str, ...] = ()) -> build._Rtl:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return build._Rtl("m", (path,), parameters)


def test_the_build_hash_is_of_content_not_of_place(tmp_path: Path) -> None:
    here, there = rtl(tmp_path / "a", SOUND), rtl(tmp_path / "b", SOUND)
    assert here.build_hash() == there.build_hash()
    assert 0 < here.build_hash() < 1 << 64


def test_the_build_hash_follows_source_and_parameters(tmp_path: Path) -> None:
    plain = rtl(tmp_path / "a", SOUND).build_hash()
    assert rtl(tmp_path / "a", SOUND + "// more\n").build_hash() != plain
    assert rtl(tmp_path / "a", SOUND, parameters=("Width=2",)).build_hash() != plain


def test_an_unknown_module_is_named_with_those_there_are() -> None:
    with pytest.raises(NotFound, match=r"no module 'nothing'; there are: .*dct"):
        build.build_module("nothing")


def test_a_product_is_made_once_and_never_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDDY_BUILD_DIR", str(tmp_path))
    made: list[Path] = []
    said: list[str] = []

    def make(work: Path) -> None:
        made.append(work)
        (work / "out").write_text("done", encoding="utf-8")

    first = product("thing-1.so", make, said.append)
    assert product("thing-1.so", make, said.append) == first
    assert len(made) == 1
    assert said == ["building thing"]
    assert not made[0].exists()


def test_a_failed_build_leaves_nothing_that_looks_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDDY_BUILD_DIR", str(tmp_path))

    def fail(work: Path) -> None:
        (work / "out").write_text("half", encoding="utf-8")
        raise BuildFailed("no")

    with pytest.raises(BuildFailed):
        product("thing-1.so", fail, ignore_progress)
    assert not list((tmp_path / "sim").glob("thing*"))


def test_builders_in_several_processes_share_one_product(tmp_path: Path) -> None:
    script = (
        "import time, sys; from eddy_sim.tools.products import product, ignore_progress\n"
        "def make(work):\n"
        "    print('made', flush=True); time.sleep(0.5); (work / 'out').write_text('x')\n"
        "assert product('p-1.so', make, ignore_progress).read_text() == 'x'\n"
    )
    environment = {"EDDY_BUILD_DIR": str(tmp_path), "PYTHONPATH": ":".join(sys.path)}
    running = [
        subprocess.Popen([sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    said = [process.communicate(timeout=180)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0, 0]
    assert "".join(said).count("made") == 1


def test_errors_come_before_lint_however_much_of_it_there_is() -> None:
    lint = "".join(f"%Warning-WIDTHTRUNC: foreign.v:{n}:3: too wide\n   {n} |  x\n      |  ^\n" for n in range(90))
    error = "%Error: foreign.v:7:1: syntax error, unexpected endmodule\n    7 | endmodule\n      | ^~~\n"
    other = "%Warning: no code\n"
    said = sort_errors(error + lint + other + "%Error: Exiting due to 1 error(s)\n")
    assert said.startswith(error)
    assert said.splitlines()[-2:] == [
        "%Error: Exiting due to 1 error(s)",
        "(and 91 warnings: WIDTHTRUNC 90, others 1)",
    ]
    assert sort_errors("a\nb: error: no\n") == "a\nb: error: no", "another compiler's end"
    many = sort_errors(error * 20)
    assert many.endswith("(and 30 more lines about errors)")
    assert len(many.splitlines()) == 31


@pytest.mark.rtl
def test_what_verilator_says_reaches_the_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "m.sv"
    broken.write_text("module m (input logic clk_i); nonsense!\nendmodule\n", encoding="utf-8")
    with pytest.raises(BuildFailed, match=r"m\.sv:1.*syntax error"):
        build.build_rtl_module("m", [broken])


def test_no_product_destroys_what_a_running_thread_may_still_use() -> None:
    """A process that ends runs destructors of static variables while threads may still step a board: there are none."""
    for built in (build.build_board(), build.build_module("dct")[0]):
        assert b"\0malloc\0" in built.read_bytes(), "the names of what it takes from libraries can be read"
        assert b"__cxa_atexit" not in built.read_bytes()


def test_models_are_built_once_each_and_the_time_left_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    monkeypatch.setattr(cxx, "cxx_library", lambda: made.append("library"))
    monkeypatch.setattr(build, "verilator_runtime", lambda _: made.append("runtime"))
    monkeypatch.setattr(build, "build_shell", lambda shape: made.append(f"shell{shape.slots}"))
    monkeypatch.setattr(build, "build_module", lambda name, memory_bits: made.append(name))
    monkeypatch.setattr(build, "build_board", lambda: made.append("board"))
    said: list[str] = []
    models.build_models("kv260", said.append, {"dct", "gpu_1c4w4t", "no such module"})
    assert sorted(made) == ["board", "dct", "gpu_1c4w4t", "library", "runtime", "shell4"]
    assert made[:2] == ["library", "runtime"], "all others need these"
    assert said[0].startswith("simulation models: 1 of 6, about ")
    assert said[-1] == "simulation models: 6 of 6"


def test_a_model_that_cannot_be_built_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str, memory_bits: int) -> None:
        raise BuildFailed(f"no {name}")

    monkeypatch.setattr(build, "build_module", fail)
    with pytest.raises(BuildFailed, match="no dct"):
        models.build_models("kv260", ignore_progress, {"dct"})
