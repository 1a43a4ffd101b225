# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The tutorial of HLS kernels, walked: an export becomes an application by its command, and tenants' jobs are right."""

from __future__ import annotations

import hashlib
import re
import shlex
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from contract.harness import OPEN
from eddy.board.port.profile import load_profile
from eddy.board.remote.factory import open_device
from eddy.cli.main import app
from eddy.core.jobs import JobState
from eddy.core.records import JobRecord, JobRequest
from eddy.hypervisor.engine.engine import Engine
from eddy.packages.applications import load_application, load_constants
from eddy.packages.manifests import load_module_manifest
from eddy.policy.dispatch import POLICIES
from eddy.store import Store
from eddy_sim.design import bitstreams, build
from eddy_sim.device import SimClock, SimDevice
from eddy_sim.modcheck.records import record_check
from eddy_sim.tools.products import ROOT, build_folder
from system.jobs.live_rig import run_out
from typer.testing import CliRunner

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("simulated board")]

PAGE = (ROOT / "docs" / "tutorials" / "your-hls-kernel.md").read_text(encoding="utf-8")
NAME = "total"
Words = npt.NDArray[np.uint32]


@pytest.fixture
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The tree that the tutorial's command writes, which prints what the tutorial shows; the check is on record."""
    monkeypatch.chdir(ROOT)
    (command,) = re.findall(r"^eddy (module import .*)$", PAGE, re.MULTILINE)
    done = CliRunner().invoke(app, [*shlex.split(command), "--no-check", "--root", str(tmp_path)])
    assert done.exit_code == 0, done.output
    shown = re.findall(r"^  \w+: .* bits at .*$", PAGE, re.MULTILINE)
    assert len(shown) == 6
    assert [line for line in shown if line not in done.output.splitlines()] == []
    assert "note:" not in done.output
    manifest = tmp_path / "bitstreams" / NAME / "manifest.yaml"
    build_hash = f"{build.module_build_hash(manifest):016x}"
    record_check(manifest.parent, load_module_manifest(manifest), build_hash, passed=True)
    return tmp_path


class Jobs:
    """An engine on a simulated board, and one application."""

    def __init__(self, root: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        manifest = root / "bitstreams" / name / "manifest.yaml"
        built = build_folder()
        built.mkdir(parents=True, exist_ok=True)
        (root / "build").mkdir()
        (root / "build" / "sim").symlink_to(built)
        monkeypatch.setenv("EDDY_BUILD_DIR", str(root / "build"))
        monkeypatch.setattr(build, "manifest_path", lambda _: manifest)
        profile, found = load_profile("tiny"), load_module_manifest(manifest)
        files = bitstreams.list_or_build(profile, found=[found])
        device = SimDevice(profile)
        folder = files.overlay.parent
        self.board = open_device(files.overlay, device, SimClock(device), profile, folder, OPEN)
        package = root / "bitstreams" / "applications" / f"{name}.yaml"
        self.application = load_application(package)
        shipped = {(name, key): value for key, value in load_constants(package, self.application).items()}
        self.store = Store(root / "eddy.sqlite")
        self.engine = Engine(
            self.board, POLICIES["fcfs"](), self.store, {name: self.application}, {name: found}, constants=shipped
        )
        self.engine.start()

    def run(self, items: list[Words], **constants: int) -> JobRecord:
        """Run a job of one item for each array of `x`; constants replace those that the package ships."""
        digests = [self._put(item.astype("<u4").tobytes()) for item in items]
        sizes = {spec.name: spec.bytes for spec in self.application.buffers}
        given = {name: self._put(value.to_bytes(sizes[name], "little")) for name, value in constants.items()}
        request = JobRequest("ada", self.application.name, len(items), {"x": tuple(digests)}, given, 1)
        job = self.engine.intake.accept(request)
        run_out(self.engine)
        return self.store.jobs.get("ada", job.id)

    def _put(self, raw: bytes) -> str:
        digest = hashlib.sha256(raw).hexdigest()
        self.store.blobs.put("ada", digest, raw)
        return digest

    def output(self, job: JobRecord, name: str) -> npt.NDArray[np.generic]:
        dtype = next(spec.dtype for spec in self.application.buffers if spec.name == name)
        return np.frombuffer(self.store.outputs.read("ada", job.id, name), dtype)


def test_an_imported_kernel_runs_tenants_jobs(imported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ports of 32 and 128 bits; a result of 64 bits and one of 16; a scalar of 8, which the tenant may set."""
    jobs = Jobs(imported, NAME, monkeypatch)
    try:
        rng = np.random.default_rng(5)
        items = [rng.integers(0, 1 << 32, 256, dtype="u4"), np.arange(256, dtype="u4")]
        for given in ({}, {"step": 5}, {"step": 200, "n": 24}):
            record = jobs.run(items, **given)
            assert record.state is JobState.SUCCEEDED, record.detail
            n = given.get("n", 256)
            sums = [item[:n] + np.uint32(given.get("step", 16)) for item in items]
            got = jobs.output(record, "y").reshape(2, 256)
            assert all((row[:n] == wanted).all() for row, wanted in zip(got, sums, strict=True))
            assert not got[:, n:].any()
            assert jobs.output(record, "ap_return").tolist() == [int(each.astype("u8").sum()) for each in sums]
            assert jobs.output(record, "peak").tolist() == [int((item[:n] & 0xFFFF).max()) for item in items]
    finally:
        jobs.board.release()
