# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Manifests of modules: what is read, and what is refused."""

from pathlib import Path
from typing import Any

import pytest
from eddy.core.applications import BufferRole, BufferSpec, TaskSpec
from eddy.core.errors import InvalidRequest
from eddy.core.slots import Control
from eddy.packages.applications import load_application
from eddy.packages.manifests import load_module_manifest, parse_module_manifest
from eddy.packages.modules import RegisterKind

ROOT = Path(__file__).resolve().parents[3]


def raw(**changes: Any) -> dict[str, Any]:
    registers = {
        "in": {"offset": 0x10, "width": 64, "kind": "pointer", "access": "r"},
        "out": {"offset": 0x1C, "width": 64, "kind": "pointer", "access": "w"},
        "n": {"offset": 0x28, "width": 32, "kind": "scalar"},
        "status": {"offset": 0x30, "width": 32, "kind": "status"},
    }
    good = {"module": "m", "kind": "hls", "files": "m.f", "register_map": "1.2", "clk_hz": 1e8, "registers": registers}
    return {**good, **changes}


def test_every_packaged_application_fits_its_modules() -> None:
    packages = sorted((ROOT / "bitstreams/applications").glob("*.yaml"))
    assert packages
    for package in packages:
        application = load_application(package)
        for task in application.tasks:
            manifest = load_module_manifest(ROOT / "bitstreams" / task.module)
            manifest.check_task(task, application.buffers)
            assert manifest.files.is_file()


def test_registers_follow_the_hls_layout() -> None:
    """UG902: 64-bit pointers take two words and a reserved one, 32-bit scalars one and a reserved one."""
    for path in (ROOT / "bitstreams").glob("*/manifest.yaml"):
        manifest = load_module_manifest(path)
        if manifest.kind.value != "hls":
            continue
        offset = 0x10
        for register in manifest.registers:
            assert register.offset == offset, f"{manifest.module}.{register.name}"
            offset += register.width // 8 + 4
        assert manifest.registers[-1].kind is RegisterKind.STATUS


def test_the_control_protocol_is_hs_unless_the_manifest_says_another() -> None:
    assert parse_module_manifest(raw(), Path("/x")).control is Control.HS
    for said in ("hs", "chain", "none"):
        assert parse_module_manifest(raw(control=said), Path("/x")).control is Control(said)
    with pytest.raises(InvalidRequest, match="control is 'ap_ctrl_chain'"):
        parse_module_manifest(raw(control="ap_ctrl_chain"), Path("/x"))
    with pytest.raises(InvalidRequest, match="a GPU cluster has a controller of its own"):
        parse_module_manifest(raw(kind="gpu", control="hs"), Path("/x"))


def test_a_modules_port_to_memory_has_64_bits_unless_it_can_be_built_for_more() -> None:
    assert parse_module_manifest(raw(), Path("/x")).memory_bits == 64
    assert parse_module_manifest(raw(memory_bits=128), Path("/x")).memory_bits == 128
    with pytest.raises(InvalidRequest, match="memory_bits is 256"):
        parse_module_manifest(raw(memory_bits=256), Path("/x"))


def test_no_task_runs_on_a_module_that_never_says_done() -> None:
    task = TaskSpec(0, "t", "m", (("in", "a"), ("out", "b"), ("n", 1)), 1e-5, 1e-3)
    buffers = (BufferSpec("a", BufferRole.INPUT, 8, "u1", (8,)), BufferSpec("b", BufferRole.OUTPUT, 8, "u1", (8,)))
    for said in ("hs", "chain"):
        parse_module_manifest(raw(control=said), Path("/x")).check_task(task, buffers)
    with pytest.raises(InvalidRequest, match=r"task t: module m has no block-level control protocol \(control: none\)"):
        parse_module_manifest(raw(control="none"), Path("/x")).check_task(task, buffers)


def test_writes_are_words_low_first() -> None:
    manifest = parse_module_manifest(raw(), Path("/x"))
    writes = manifest.writes({"in": 0x1_2345_6780, "out": 8, "n": 3})
    assert writes == ((0x10, 0x2345_6780), (0x14, 1), (0x1C, 8), (0x20, 0), (0x28, 3))
    with pytest.raises(InvalidRequest, match="needs argument n"):
        manifest.writes({"in": 0, "out": 0})
    with pytest.raises(InvalidRequest, match="does not fit"):
        manifest.writes({"in": 0, "out": 0, "n": 1 << 32})
    with pytest.raises(InvalidRequest, match="no argument m"):
        manifest.writes({"in": 0, "out": 0, "n": 0, "m": 0})


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"kind": "cpu"}, "kind"),
        ({"clk_hz": 0}, "clk_hz"),
        ({"register_map": "1"}, "register_map"),
        ({"colour": "red"}, "colour"),
        ({"scrub": "maybe"}, "scrub"),
        ({"resources": {"lut": -1}}, "resources.lut"),
        ({"registers": {"a": {"offset": 0x0C, "kind": "scalar"}}}, "registers.a.offset"),
        ({"registers": {"a": {"offset": 0xF000, "kind": "scalar"}}}, "registers.a.offset"),
        ({"registers": {"a": {"offset": 0x10, "kind": "pointer", "width": 64}}}, "registers.a.access"),
        ({"example": {"in": 8}}, "example"),
        ({"example": {"nothing": 8}}, "example"),
    ],
)
def test_wrong_fields_are_named(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse_module_manifest(raw(**changes), Path("/x"))
    assert caught.value.details["field"] == field


def test_overlapping_registers_are_refused() -> None:
    registers = raw()["registers"]
    registers["n"]["offset"] = 0x14
    with pytest.raises(InvalidRequest, match="share offset 0x14"):
        parse_module_manifest(raw(registers=registers), Path("/x"))


def test_what_a_module_is_given_and_leaves_at_one_place_is_no_overlap() -> None:
    registers = raw()["registers"] | {
        "left": {"offset": raw()["registers"]["n"]["offset"], "kind": "result", "width": 32}
    }
    found = parse_module_manifest(raw(registers=registers), Path("/x"))
    assert [each.name for each in found.results()] == ["left"]
    registers["left"]["width"] = 16
    with pytest.raises(InvalidRequest, match="share offset"):
        parse_module_manifest(raw(registers=registers), Path("/x"))
    registers["left"] |= {"width": 32, "kind": "scalar"}
    with pytest.raises(InvalidRequest, match="share offset"):
        parse_module_manifest(raw(registers=registers), Path("/x"))


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"in": "a", "out": "b"}, "tasks.t.arguments.n"),
        ({"in": 5, "out": "b", "n": 1}, "tasks.t.arguments.in"),
        ({"in": "a", "out": "b", "n": "a"}, "tasks.t.arguments.n"),
        ({"in": "a", "out": "a", "n": 1}, "tasks.t.arguments.out"),
        ({"in": "c", "out": "b", "n": 1}, "tasks.t.arguments.in"),
    ],
)
def test_tasks_that_do_not_fit_are_refused(arguments: dict[str, str | int], field: str) -> None:
    buffers = [BufferSpec("a", BufferRole.INPUT, 8, "u1", (8,)), BufferSpec("b", BufferRole.OUTPUT, 8, "u1", (8,))]
    task = TaskSpec(0, "t", "m", tuple(arguments.items()), 1e-6, 1e-3)
    with pytest.raises(InvalidRequest) as caught:
        parse_module_manifest(raw(), Path("/x")).check_task(task, buffers)
    assert caught.value.details["field"] == field
