# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Which modules passed their check, which are scrubbed by a reset, and for which build of them that is on record."""

import json
from pathlib import Path
from typing import Any

import pytest
from eddy.core.slots import Control
from eddy.packages.manifests import CHECK_RECORD, SCRUB_RECORD, load_module_manifest, recorded_build
from eddy.packages.modules import ModuleManifest, Scrub
from eddy_sim.design import build
from eddy_sim.modcheck.records import record_check
from eddy_sim.tools.products import ROOT

MODULES = sorted([*ROOT.glob("bitstreams/*/manifest.yaml"), *ROOT.glob("tests/modules/*/manifest.yaml")])
LINE = 'build: "0123456789abcdef"\n'


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.parent.name))
def test_what_says_that_a_reset_scrubs_it_was_verified_as_it_is(path: Path) -> None:
    manifest = load_module_manifest(path)
    found = f"{build.module_build_hash(path):016x}"
    if manifest.scrub is Scrub.LOAD:
        assert not manifest.scrubs(found)
        return
    assert manifest.scrubs(found), (
        f"{manifest.module} is build {found}, its record names {manifest.verified_build or 'none'}: it is loaded"
        f" between tenants until you run `eddy module check {path}`, or `make records` for all"
    )


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.parent.name))
def test_what_jobs_are_given_was_checked_as_it_is(path: Path) -> None:
    manifest, found = load_module_manifest(path), f"{build.module_build_hash(path):016x}"
    if manifest.control is Control.NONE:
        assert not manifest.checked(found), "no job can be given it"
        return
    assert manifest.checked(found), (
        f"{manifest.module} is build {found}, its record names {manifest.checked_build or 'none'}: no job is given it"
        f" until you run `eddy module check {path}`, or `make records` for all"
    )


def module(folder: Path, scrub: str) -> ModuleManifest:
    manifest = {"module": "x", "kind": "hls", "files": "x.f", "register_map": "1.0", "clk_hz": 1e8, "scrub": scrub}
    (folder / "manifest.yaml").write_text(json.dumps(manifest), encoding="utf-8")
    return load_module_manifest(folder)


@pytest.mark.parametrize("scrub", ["load", "reload", "reset"])
def test_a_record_counts_for_its_build_and_for_modules_that_claim_it(scrub: str, tmp_path: Path) -> None:
    (tmp_path / SCRUB_RECORD).write_text(LINE, encoding="utf-8")
    manifest = module(tmp_path, scrub)
    assert not manifest.checked("0123456789abcdef"), "each record says one thing"
    assert manifest.scrubs("0123456789abcdef") == (scrub == "reset"), "whatever its registers"
    assert not manifest.scrubs("0123456789abcdee")
    assert not manifest.scrubs("")


@pytest.mark.parametrize(
    "text", ["", "build: 12\n", "build: [x]\n", "{", 'build: ""\n', "- build\n", "build: 0123456789ABCDEF\n", "\udcff"]
)
@pytest.mark.parametrize("name", [SCRUB_RECORD, CHECK_RECORD])
def test_no_record_or_a_damaged_one_counts_for_nothing(text: str, name: str, tmp_path: Path) -> None:
    assert recorded_build(tmp_path / name) == ""
    (tmp_path / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    assert recorded_build(tmp_path / name) == ""
    manifest = module(tmp_path, "reset")
    assert not manifest.scrubs("")
    assert not manifest.checked("")


def test_a_check_counts_for_the_build_that_passed(tmp_path: Path) -> None:
    record_check(tmp_path, module(tmp_path, "load"), "0123456789abcdef", passed=True)
    manifest = module(tmp_path, "load")
    assert manifest.checked("0123456789abcdef")
    assert not manifest.checked("0123456789abcdee")
    assert not manifest.scrubs("0123456789abcdef")


@pytest.mark.parametrize(
    "edit",
    [
        {"control": "chain"},
        {"register_map": "1.1"},
        {"registers": {"in": {"offset": 0x10, "width": 64, "kind": "pointer", "access": "r"}}},
    ],
    ids=lambda edit: str(next(iter(edit))),
)
def test_a_check_counts_for_the_manifest_that_it_read(edit: dict[str, Any], tmp_path: Path) -> None:
    """The build is the same: what a board does with it is not."""
    record_check(tmp_path, module(tmp_path, "load"), "0123456789abcdef", passed=True)
    raw = json.loads((tmp_path / "manifest.yaml").read_text(encoding="utf-8"))
    for other, counts in (({"summary": "Adds", "clk_hz": 2e8}, True), (edit, False)):
        (tmp_path / "manifest.yaml").write_text(json.dumps({**raw, **other}), encoding="utf-8")
        assert load_module_manifest(tmp_path).checked("0123456789abcdef") == counts
