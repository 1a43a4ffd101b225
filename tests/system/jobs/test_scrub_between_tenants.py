# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""One tenant's work, then another's on the same module without a load in between: nothing is left to be seen."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from contract.harness import OPEN
from eddy.board.port.profile import load_profile
from eddy.board.pynq.pynq import PynqBoard
from eddy.board.remote.factory import open_device
from eddy.cli.boards.module import create
from eddy.core.applications import Application, BufferRole, BufferSpec, TaskSpec
from eddy.core.jobs import JobState
from eddy.core.records import JobRecord, JobRequest
from eddy.hypervisor.engine.engine import Engine
from eddy.packages.manifests import SCRUB_RECORD, load_module_manifest, recorded_build
from eddy.packages.modules import ModuleManifest
from eddy.policy.dispatch import POLICIES
from eddy.store import Store
from eddy_sim.design import bitstreams, build
from eddy_sim.device import SimClock, SimDevice
from eddy_sim.modcheck import composition
from eddy_sim.modcheck.records import record_check
from eddy_sim.modcheck.scrubbing import check_scrubbing
from eddy_sim.tools.products import ROOT, build_folder
from system.jobs.live_rig import run_out

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("simulated board")]

WORDS = 32
HOARD = (
    "  // Keeps what it has seen, over every start, and gives it away with every word.\n"
    "  logic [63:0] seen_q;\n  always_ff @(posedge clk_i)\n"
    "    if (!rst_ni) seen_q <= '0; else if (in_valid_i && in_ready_o) seen_q <= seen_q ^ in_data_i;\n"
)
ARGUMENTS = (("in", "in"), ("out", "out"), ("words", WORDS), ("addend", 0))
APPLICATION = Application(
    name="hoard",
    tasks=(
        TaskSpec(0, "hoard", "hoarder", (("in", "in"), ("out", "out"), ("words", WORDS), ("addend", 0)), 1e-5, 1e-2),
    ),
    edges=(),
    buffers=(
        BufferSpec("in", BufferRole.INPUT, 8 * WORDS, "u8", (WORDS,)),
        BufferSpec("out", BufferRole.OUTPUT, 8 * WORDS, "u8", (WORDS,)),
    ),
)


@pytest.fixture(scope="module")
def hoarder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The manifest of a module that keeps what it sees until it is reset; a reset was verified to scrub it."""
    folder = tmp_path_factory.mktemp("hoarder")
    for block in ("hw/ip/hls_wrapper", "hw/ip/eddy_pkg", "hw/ip/slot_ports", "hw/regs/generated"):
        shutil.copytree(ROOT / block, folder / block)
    create("hoarder", folder, folder)
    core = folder / "hw/ip/hoarder/rtl/hoarder_core.sv"
    text = core.read_text(encoding="utf-8").replace("in_data_i + 64'(addend_i)", "in_data_i ^ seen_q")
    core.write_text(text.replace("  assign in_ready_o", f"{HOARD}\n  assign in_ready_o"), encoding="utf-8")
    manifest = folder / "bitstreams/hoarder/manifest.yaml"
    with pytest.MonkeyPatch.context() as patched:
        # What a record says is for `test_module_scrub.py`; here it only has to be there.
        patched.setattr(composition, "PASTS", 1)
        assert check_scrubbing(manifest, record=True).passed
    assert (manifest.parent / SCRUB_RECORD).is_file()
    # It fails the check: one run shows in the next.
    record_check(
        manifest.parent, load_module_manifest(manifest), recorded_build(manifest.parent / SCRUB_RECORD), passed=True
    )
    return manifest


class Tenants:
    """An engine on a simulated board whose slots may hold the hoarder alone."""

    def __init__(self, board: PynqBoard, manifest: ModuleManifest, folder: Path) -> None:
        self.store = Store(folder / "eddy.sqlite")
        self.engine = Engine(board, POLICIES["eddy"](), self.store, {"hoard": APPLICATION}, {"hoarder": manifest})
        self.engine.start()

    def run(self, tenant: str, data: np.ndarray) -> tuple[np.ndarray, JobRecord]:  # type: ignore[type-arg]
        """Run a job alone; what it gave, and how it went."""
        raw = data.astype("<u8").tobytes()
        sha256 = hashlib.sha256(raw).hexdigest()
        self.store.blobs.put(tenant, sha256, raw)
        job = self.engine.intake.accept(JobRequest(tenant, "hoard", 1, {"in": (sha256,)}, {}, 1))
        run_out(self.engine)
        record = self.store.jobs.get(tenant, job.id)
        assert record.state is JobState.SUCCEEDED, record.detail
        return np.frombuffer(self.store.outputs.read(tenant, job.id, "out"), "<u8"), record


@pytest.fixture
def tenants(hoarder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, claims: bool) -> Iterator[Tenants]:
    monkeypatch.setattr(build, "manifest_path", lambda module: hoarder)
    profile, manifest = load_profile("tiny"), load_module_manifest(hoarder)
    found = manifest if claims else load_module_manifest(_without_record(hoarder, tmp_path))
    built = build_folder()
    built.mkdir(parents=True, exist_ok=True)
    monkeypatch.setenv("EDDY_BUILD_DIR", str(tmp_path / "build"))
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "sim").symlink_to(built)
    files = bitstreams.list_or_build(profile, found=[found])
    device = SimDevice(profile)
    board = open_device(files.overlay, device, SimClock(device), profile, files.overlay.parent, OPEN)
    yield Tenants(board, manifest, tmp_path)
    board.release()


def _without_record(manifest: Path, folder: Path) -> Path:
    """The same module with the record of another build."""
    copy = folder / "claims"
    shutil.copytree(manifest.parents[2], copy)
    record = copy / "bitstreams/hoarder" / SCRUB_RECORD
    record.write_text('build: "0123456789abcdef"\n', encoding="utf-8")
    return record.parent


def seen(data: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    """What the hoarder gives of some words if it has seen nothing before."""
    before = np.bitwise_xor.accumulate(np.concatenate([[np.uint64(0)], data[:-1]]))
    return np.asarray(data ^ before)


@pytest.mark.parametrize("claims", [True, False], ids=["scrubbed", "stale record"])
def test_a_module_that_hoards_gives_nobody_elses_words(tenants: Tenants, claims: bool) -> None:
    rng = np.random.default_rng(5)
    secret, mine, theirs = (rng.integers(0, 1 << 63, WORDS, dtype="u8") for _ in range(3))
    first, _ = tenants.run("ada", secret)
    np.testing.assert_array_equal(first, seen(secret))
    # The same tenant meets what it left itself: the module does hoard, and nothing was reset.
    again, record = tenants.run("ada", mine)
    left = np.bitwise_xor.reduce(secret)
    np.testing.assert_array_equal(again, seen(mine) ^ left)
    assert (record.reconfigurations, record.reuses) == (0, 1)
    # The next tenant meets nothing, whichever way the module came to it.
    for tenant in ("grace", "edsger", *(("ada", "grace") if claims else ())):
        found, record = tenants.run(tenant, theirs)
        np.testing.assert_array_equal(found, seen(theirs))
        assert (record.reconfigurations, record.reuses) == ((0, 1) if claims else (1, 0))
