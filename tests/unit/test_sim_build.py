"""Builds: named by content, made once however many ask at the same time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from eddy.core.errors import NotFound
from eddy_sim import build
from eddy_sim.toolchain import BuildFailed

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

    first = build._product("thing-1.so", make, said.append)
    assert build._product("thing-1.so", make, said.append) == first
    assert len(made) == 1
    assert said == ["building thing"]
    assert not made[0].exists()


def test_a_failed_build_leaves_nothing_that_looks_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDDY_BUILD_DIR", str(tmp_path))

    def fail(work: Path) -> None:
        (work / "out").write_text("half", encoding="utf-8")
        raise BuildFailed("no")

    with pytest.raises(BuildFailed):
        build._product("thing-1.so", fail, build.silent)
    assert not list((tmp_path / "sim").glob("thing*"))


def test_builders_in_several_processes_share_one_product(tmp_path: Path) -> None:
    script = (
        "import time, sys; from eddy_sim import build\n"
        "def make(work):\n"
        "    print('made', flush=True); time.sleep(0.5); (work / 'out').write_text('x')\n"
        "assert build._product('p-1.so', make, build.silent).read_text() == 'x'\n"
    )
    environment = {"EDDY_BUILD_DIR": str(tmp_path), "PYTHONPATH": ":".join(sys.path)}
    running = [
        subprocess.Popen([sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    said = [process.communicate(timeout=60)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0, 0]
    assert "".join(said).count("made") == 1


@pytest.mark.rtl
def test_what_verilator_says_reaches_the_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "m.sv"
    broken.write_text("module m (input logic clk_i); nonsense!\nendmodule\n", encoding="utf-8")
    with pytest.raises(BuildFailed, match=r"m\.sv:1.*syntax error"):
        build.build_rtl_module("m", [broken])
