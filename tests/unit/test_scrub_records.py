"""Which modules are scrubbed by a reset, and for which build of them that was verified."""

import json
from pathlib import Path

import pytest
from eddy.packages.manifests import RECORD, load_module_manifest, recorded_build
from eddy.packages.modules import ModuleManifest, Scrub
from eddy_sim import build
from eddy_sim.products import ROOT

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
        f" between tenants until you run `eddy module check {manifest.module} --record`, or `make scrub` for all"
    )


def module(folder: Path, scrub: str) -> ModuleManifest:
    manifest = {"module": "x", "kind": "hls", "files": "x.f", "register_map": "1.0", "clk_hz": 1e8, "scrub": scrub}
    (folder / "manifest.yaml").write_text(json.dumps(manifest), encoding="utf-8")
    return load_module_manifest(folder)


@pytest.mark.parametrize("scrub", ["load", "reload", "reset"])
def test_a_record_counts_for_its_build_and_for_modules_that_claim_it(scrub: str, tmp_path: Path) -> None:
    (tmp_path / RECORD).write_text(LINE, encoding="utf-8")
    manifest = module(tmp_path, scrub)
    assert manifest.scrubs("0123456789abcdef") == (scrub == "reset")
    assert not manifest.scrubs("0123456789abcdee")
    assert not manifest.scrubs("")


@pytest.mark.parametrize(
    "text", ["", "build: 12\n", "build: [x]\n", "{", 'build: ""\n', "- build\n", "build: 0123456789ABCDEF\n", "\udcff"]
)
def test_no_record_or_a_damaged_one_counts_for_nothing(text: str, tmp_path: Path) -> None:
    assert recorded_build(tmp_path) == ""
    (tmp_path / RECORD).write_bytes(text.encode("utf-8", "surrogateescape"))
    assert recorded_build(tmp_path) == ""
    assert not module(tmp_path, "reset").scrubs("")
