# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Every block of the hardware is free of warnings of Verilator and slang, on its own and in every size."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest
from eddy_sim.tools.filelist import include_folders, read_filelist, source_files, tool_arguments
from eddy_sim.tools.toolchain import verilator_root
from pyslang.driver import Driver

HW = Path(__file__).resolve().parents[3] / "hw"
LISTS = sorted([*HW.glob("ip/*/*.f"), *HW.glob("top/*/*.f")])
ENGINES = ({"NumSlots": 1, "Engine": 1}, {"NumSlots": 10, "CacheBytes": 32768, "Engine": 1})
"""Shells with a configuration engine."""
STREAMS = {"NumSlots": 4, "Engine": 1, "Streams": 1}
"""A shell with streams between slots."""
WIDE = "EDDY_MEMORY_BITS"
"""The definition that says how wide ports to memory are, among parameters."""
WIDE_SHELL = {"NumSlots": 1, "Engine": 1, WIDE: 128}
SIZES: Mapping[str, tuple[Mapping[str, int], ...]] = {
    "shell": (
        {"NumSlots": 1},
        {"NumSlots": 4},
        {"NumSlots": 10},
        {"NumSlots": 4, "CacheBytes": 32768},
        *ENGINES,
        STREAMS,
        WIDE_SHELL,
    ),
    "mem_xbar": ({}, {"NumSlots": 1}, {"NumSlots": 10}),
    "system_cache": ({}, {"CacheBytes": 256, "Ways": 2, "Fetches": 2, "MaxWrites": 2, "MaxBeats": 2}),
    "ctrl_xbar": ({}, {"NumSlots": 10, "Engine": 1}, STREAMS),
    "stream_link": ({}, {"NumSlots": 10}),
    "kernel_mem": tuple(
        {"KernelDataWidth": width, "KernelAddrWidth": 32 + width % 33, **bits}
        for bits in ({}, {WIDE: 128})
        for width in (8, 64, 128, 1024)
    ),
    "kernel_join": ({}, {"NumPorts": 3}, {"NumPorts": 16}, {WIDE: 128}),
    "kernel_stream_in": tuple({"Bytes": count} for count in (1, 3, 8, 12, 64)),
    "kernel_stream_out": tuple({"Bytes": count} for count in (1, 3, 8, 12, 64)),
    "kernel_run": (
        {},
        {"NumStreams": 3, "SaysDone": 1, "SaysReady": 1},
        {"NumStreams": 0, "SaysDone": 1, "ResetAtStart": 0},
    ),
    "kernel_scalars": ({}, {"Words": 5}),
    "kernel_array": (
        {},
        {"Width": 1, "Depth": 1, "AddrWidth": 1},
        {"Width": 12, "Depth": 100, "AddrWidth": 7, "Sides": 2},
        {"Width": 64, "Depth": 5, "AddrWidth": 29, "Sides": 2, "Enables": 8},
        {"Width": 1024, "Depth": 3, "AddrWidth": 2},
    ),
    "kernel_poke": ({}, {"Release": 1, "Acknowledge": 1, "DoneLow": 1}),
    "gpu_cluster": ({}, {"Cores": 2, "Fpu": 1}, {"Cores": 2, "L2Bytes": 1024}),
}
"""Parameters a top is checked with, where its own are not all there is."""
WAIVERS = HW / "waivers.vlt"
SLANG_WAIVERS = HW / "waivers.slang"
"""What each of them is told to pass over, with reasons: nothing in sources is."""
MODELS = HW / "top" / "models" / "models.f"
"""Ports of the vendor's primitives, which the boards' fabric instantiates."""
ON_PRIMITIVES = {"zynqmp", "kv260", "zcu104"}


@cache
def text(path: Path) -> str:
    """A source without comments and strings."""
    return re.sub(r'//[^\n]*|/\*.*?\*/|"[^"\n]*"', "", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def tops(filelist: Path) -> list[str]:
    """The modules of a block's own sources that none of its sources instantiates."""
    own = [path for path in source_files(read_filelist(filelist)) if path.is_relative_to(filelist.parent)]
    modules = [name for path in own for name in re.findall(r"^module\s+(\w+)", text(path), flags=re.MULTILINE)]
    used = {name for name in modules if any(re.search(rf"^\s+{name}\s+(#|u_)", text(p), re.MULTILINE) for p in own)}
    return [name for name in modules if name not in used]


CASES = [(path, top, size) for path in LISTS for top in tops(path) for size in SIZES.get(top, ({},))]


def _name(case: tuple[Path, str, Mapping[str, int]]) -> str:
    path, top, size = case
    return "-".join([path.stem, top, *(f"{name}{value}" for name, value in size.items())])


def stated(size: Mapping[str, int]) -> list[str]:
    """Parameters of a top, and the definition, as Verilator and slang take them."""
    return [f"{'-D' if name == WIDE else '-G'}{name}={value}" for name, value in size.items()]


def lint(sources: list[Path], top: str, size: Mapping[str, int]) -> str:
    """What Verilator says of a top; empty where nothing is wrong."""
    command = [
        *(str(verilator_root() / "bin" / "verilator_bin"), "--lint-only", "-Wall", "--top-module", top),
        *stated(size),
        *(str(WAIVERS), *tool_arguments(sources)),
    ]
    environment = {"VERILATOR_ROOT": str(verilator_root())}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return "" if result.returncode == 0 else result.stdout + result.stderr


def sources_for(path: Path) -> list[Path]:
    """The files of a block, with ports of the primitives where it stands on them."""
    return [*read_filelist(path), *(read_filelist(MODELS) if path.stem in ON_PRIMITIVES else [])]


@pytest.mark.rtl
@pytest.mark.parametrize("case", CASES, ids=_name)
def test_no_warnings(case: tuple[Path, str, Mapping[str, int]]) -> None:
    path, top, size = case
    said = lint(sources_for(path), top, size)
    assert not said, said


def slang(files: list[Path], top: str, size: Mapping[str, int], waivers: Path | None = SLANG_WAIVERS) -> bool:
    """Whether slang takes a top with all its warnings on; what it says goes to standard error."""
    command = ["slang", "-Weverything", *(["-F", str(waivers)] if waivers else []), "--top", top, "--error-limit=0"]
    command += stated(size)
    command += [*(f"-I{folder}" for folder in include_folders(files)), *map(str, source_files(files))]
    driver = Driver()
    driver.addStandardArgs()
    read = driver.parseCommandLine(shlex.join(command)) and driver.processOptions() and driver.parseAllSources()
    return bool(read and driver.runFullCompilation(quiet=True))


@pytest.mark.parametrize("case", CASES, ids=_name)
def test_slang_has_no_warnings(case: tuple[Path, str, Mapping[str, int]], capfd: pytest.CaptureFixture[str]) -> None:
    path, top, size = case
    taken = slang(sources_for(path), top, size)
    said = "".join(capfd.readouterr())
    assert taken, said
    assert not said, said


def test_every_waiver_of_slang_is_needed(capfd: pytest.CaptureFixture[str]) -> None:
    for path, top, size in CASES:
        assert slang(sources_for(path), top, size, waivers=None)
    kinds = set(re.findall(r"\[-W([\w-]+)\]$", "".join(capfd.readouterr()), re.MULTILINE))
    waived = set(re.findall(r"^-Wno-([\w-]+)$", SLANG_WAIVERS.read_text(encoding="utf-8"), re.MULTILINE))
    assert waived
    assert waived <= kinds, "these need no waiver"


def test_waivers_are_in_their_files_alone() -> None:
    found = [
        path for path in (*HW.rglob("*.sv*"), *HW.parent.glob("sim/rtl/**/*.sv")) if "lint_o" in path.read_text("utf-8")
    ]
    assert not found, f"{WAIVERS.name} takes waivers, with reasons"


def test_every_block_has_a_top() -> None:
    found = {path.stem for path, _, _ in CASES}
    # A block of packages or headers alone has nothing to check on its own; whoever uses it is checked with it.
    assert found == {path.stem for path in LISTS} - {"eddy_pkg", "slot_ports", "axi_ports"}
    assert {"shell", "slot_path", "dct", "knn_search"} <= {top for _, top, _ in CASES}


OWN = sorted([*HW.glob("ip/*/rtl/*.sv*"), *HW.glob("top/*/rtl/*.sv*")])
REGISTER = re.compile(r"\w+_q\d?|(?:\w+_)?ram|\w+_n?o|[ms]_axil?_\w+")
"""How CONTRIBUTING.md lets a register be called."""
ASSIGNED = re.compile(
    r"(?:^|;|\bbegin|\belse|\)|:)\s*(\w+)(?:\[(?:[^\[\]]|\[[^\]]*\])*\]|\.\w+)*\s*<=[^;]*;", re.MULTILINE
)


def misnamed(source: str) -> set[str]:
    """What `always_ff` assigns and is not called a register, a memory or a port."""
    blocks = re.findall(r"always_ff\b(.*?)(?=\n  \S|\Z)", source, flags=re.DOTALL)
    names = {name for block in blocks for name in ASSIGNED.findall(re.sub(r"(?:if|for) \(.*?\) ", ") ", block))}
    return {name for name in names if not REGISTER.fullmatch(name)}


@pytest.mark.parametrize("path", OWN, ids=lambda path: str(path.stem))
def test_registers_and_connections_are_named(path: Path) -> None:
    assert not misnamed(text(path))
    assert not re.search(r"\.\*", text(path)), "name the ports"


def test_a_misnamed_register_is_found() -> None:
    source = "  always_ff @(posedge clk_i) begin\n    if (a_i <= 3) count <= b_i;\n    ok_q[2] <= 1'b0;\n  end\n"
    assert misnamed(source) == {"count"}


@pytest.mark.rtl
def test_a_warning_is_found(tmp_path: Path) -> None:
    source = tmp_path / "sloppy.sv"
    source.write_text(
        "module sloppy (input logic [3:0] a_i, output logic [1:0] b_o);\n  assign b_o = a_i;\nendmodule\n"
    )
    assert "WIDTHTRUNC" in lint([source], "sloppy", {})


def test_a_net_that_nobody_declared_is_found(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "sloppy.sv"
    source.write_text("module inner (input logic a_i);\nendmodule\nmodule sloppy;\n  inner u (.a_i(a));\nendmodule\n")
    slang([source], "sloppy", {})
    assert "implicit net" in "".join(capfd.readouterr())
