# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What tests of imported kernels share: an import by its command, and an engine on a simulated board for its jobs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from contract.harness import OPEN
from eddy.board.port.profile import load_profile
from eddy.board.remote.factory import open_device
from eddy.cli.main import app
from eddy.core.applications import Application
from eddy.core.records import JobRecord, JobRequest
from eddy.hypervisor.engine.engine import Engine
from eddy.packages.applications import load_application, load_constants
from eddy.packages.manifests import load_module_manifest
from eddy.policy.dispatch import POLICIES
from eddy.store import Store
from eddy_sim.design import bitstreams, build
from eddy_sim.device import SimClock, SimDevice
from eddy_sim.modcheck.records import record_check
from eddy_sim.tools.products import build_folder
from system.jobs.live_rig import run_out
from typer.testing import CliRunner

Array = npt.NDArray[np.generic]


def import_into(root: Path, name: str, arguments: Sequence[str]) -> str:
    """Import a kernel into a tree, with the record of a check that is left out; answers what was printed."""
    done = CliRunner().invoke(app, ["module", "import", *arguments, "--no-check", "--root", str(root)])
    assert done.exit_code == 0, done.output
    manifest = root / "bitstreams" / name / "manifest.yaml"
    build_hash = f"{build.module_build_hash(manifest):016x}"
    record_check(manifest.parent, load_module_manifest(manifest), build_hash, passed=True)
    return done.output


class ImportedJobs:
    """An engine on a simulated board of a profile, and one imported application, or one that is made of it."""

    def __init__(
        self,
        root: Path,
        name: str,
        monkeypatch: pytest.MonkeyPatch,
        profile_name: str = "tiny",
        made: Callable[[Application], Application] = lambda imported: imported,
    ) -> None:
        manifest = root / "bitstreams" / name / "manifest.yaml"
        built = build_folder()
        built.mkdir(parents=True, exist_ok=True)
        if not (root / "build").exists():
            (root / "build").mkdir()
            (root / "build" / "sim").symlink_to(built)
        monkeypatch.setenv("EDDY_BUILD_DIR", str(root / "build"))
        monkeypatch.setattr(build, "manifest_path", lambda _: manifest)
        profile, found = load_profile(profile_name), load_module_manifest(manifest)
        files = bitstreams.list_or_build(profile, found=[found])
        device = SimDevice(profile)
        folder = files.overlay.parent
        self.board = open_device(files.overlay, device, SimClock(device), profile, folder, OPEN)
        package = root / "bitstreams" / "applications" / f"{name}.yaml"
        self.application = made(load_application(package))
        shipped = {(name, key): value for key, value in load_constants(package, self.application).items()}
        self.store = Store(root / f"{profile_name}.sqlite")
        self.engine = Engine(
            self.board, POLICIES["fcfs"](), self.store, {name: self.application}, {name: found}, constants=shipped
        )
        self.engine.start()

    def run(self, inputs: Mapping[str, Sequence[Array]], **constants: int) -> JobRecord:
        """Run a job of as many items as each input has arrays; constants replace those that the package ships."""
        digests = {name: tuple(self._put(item.tobytes()) for item in items) for name, items in inputs.items()}
        sizes = {spec.name: spec.bytes for spec in self.application.buffers}
        given = {name: self._put(value.to_bytes(sizes[name], "little")) for name, value in constants.items()}
        batch = max((len(items) for items in digests.values()), default=1)
        job = self.engine.intake.accept(JobRequest("ada", self.application.name, batch, digests, given, 1))
        run_out(self.engine)
        return self.store.jobs.get("ada", job.id)

    def _put(self, raw: bytes) -> str:
        digest = hashlib.sha256(raw).hexdigest()
        self.store.blobs.put("ada", digest, raw)
        return digest

    def output(self, job: JobRecord, name: str) -> Array:
        """All items of an output, one after the other."""
        dtype = next(spec.dtype for spec in self.application.buffers if spec.name == name)
        return np.frombuffer(self.store.outputs.read("ada", job.id, name), dtype)
