# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Modules in the shapes of HLS output in slots of the simulated board: every item right, or failed with its reason."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from contract.harness import OPEN
from eddy.board.port.port import READY, Access, BoardEvent, Cause, EventKind, Grant, Launch, Preparation, SlotPhase
from eddy.board.port.profile import load_profile
from eddy.board.pynq.pynq import PynqBoard
from eddy.board.remote.factory import open_device
from eddy.core.applications import Application, BufferRole, BufferSpec, TaskSpec
from eddy.core.errors import EddyError, InvalidRequest
from eddy.core.jobs import JobState
from eddy.core.records import JobRecord, JobRequest
from eddy.hypervisor.engine.engine import Engine
from eddy.packages.manifests import CHECK_RECORD, load_module_manifest
from eddy.policy.dispatch import POLICIES
from eddy.store import Store
from eddy_sim.design import bitstreams, build
from eddy_sim.device import SimClock, SimDevice
from eddy_sim.modcheck.records import record_check
from eddy_sim.tools.products import ROOT, build_folder
from system.jobs.live_rig import run_out

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("simulated board")]

Words = npt.NDArray[np.uint64]
WORDS, KEY = 8, 0x5A
TABLE = np.array([(167 * value + 13) & 0xFF for value in range(256)], "u1")


def wanted(module: str, data: Words) -> Words:
    if module == "hls_words":
        return data + np.uint64(KEY)
    table: Words = TABLE[data.view("u1") ^ np.uint8(KEY)].view("<u8")
    return table


def words(number: int) -> Words:
    return np.random.default_rng(number).integers(0, 1 << 64, WORDS, dtype="u8")


def variant(folder: Path, module: str, *edits: tuple[str, str, str], checked: bool = True) -> Path:
    """A module in a folder of its own, with edits; the check of what it is is on record if it is `checked`."""
    for block in ("hw/ip/eddy_pkg", "hw/ip/slot_ports", "tests/modules/hls", f"tests/modules/{module}"):
        shutil.copytree(ROOT / block, folder / block)
    place = folder / "tests" / "modules" / module
    for name, good, bad in edits:
        text = (place / name).read_text(encoding="utf-8")
        assert text.count(good) == 1
        (place / name).write_text(text.replace(good, bad), encoding="utf-8")
    manifest = place / "manifest.yaml"
    (place / CHECK_RECORD).unlink(missing_ok=True)
    if checked:
        record_check(place, load_module_manifest(manifest), f"{build.module_build_hash(manifest):016x}", passed=True)
    return manifest


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., PynqBoard]]:
    """Opens a simulated board whose slots may hold some modules, by their manifests."""
    boards: list[PynqBoard] = []
    built = build_folder()
    built.mkdir(parents=True, exist_ok=True)
    monkeypatch.setenv("EDDY_BUILD_DIR", str(tmp_path / "build"))
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "sim").symlink_to(built)

    def open_board(*manifests: Path, profile_name: str = "tiny") -> PynqBoard:
        found = {path.parent.name: path for path in manifests}
        monkeypatch.setattr(build, "manifest_path", lambda module: found[module])
        profile = load_profile(profile_name)
        files = bitstreams.list_or_build(profile, found=[load_module_manifest(path) for path in manifests])
        device = SimDevice(profile)
        clock, folder = SimClock(device), files.overlay.parent
        boards.append(open_device(files.overlay, device, clock, profile, folder, OPEN, preparer=prepared))
        return boards[-1]

    yield open_board
    for board in boards:
        board.release()


def prepared(module: str) -> Preparation:
    """Build a module's model, as a server's builder does beside the board."""
    try:
        build.build_module(module)
    except EddyError as error:
        return Preparation(False, "", error.message)
    return READY


class Rig:
    """One slot with a module in it, and two buffers."""

    def __init__(self, board: PynqBoard, module: str) -> None:
        self.board, self.module, self.seen = board, module, -1
        self.input, self.output = board.allocate(8 * WORDS, "test"), board.allocate(8 * WORDS, "test")

    def load(self) -> BoardEvent:
        self.board.load(0, next(i.sha256 for i in self.board.images() if (i.module, i.slot) == (self.module, 0)))
        return self.next_event()

    def next_event(self) -> BoardEvent:
        (event,) = self.board.wait(self.board.now_s() + 1.0, self.seen)
        self.seen = event.seq
        return event

    def run(self, number: int, count: int = WORDS) -> BoardEvent:
        self.board.write(self.input.id, 0, words(number).tobytes())
        self.board.write(self.output.id, 0, bytes(8 * WORDS))
        at = [(0x10, self.input.address), (0x14, 0), (0x1C, self.output.address), (0x20, 0), (0x28, count), (0x30, KEY)]
        grants = (Grant(self.input.id, Access.READ), Grant(self.output.id, Access.WRITE))
        self.board.launch(0, Launch(f"item {number}", tuple(at), grants, 2e-3))
        return self.next_event()

    def result(self) -> Words:
        return np.frombuffer(self.board.read(self.output.id, 0, 8 * WORDS), "<u8")


@pytest.mark.parametrize("module", ["hls_words", "hls_table"])
def test_every_item_is_right_by_the_modules_own_protocol(
    module: str, tmp_path: Path, opened: Callable[..., PynqBoard]
) -> None:
    rig = Rig(opened(variant(tmp_path / "a", module)), module)
    assert rig.load().kind is EventKind.CONFIGURED
    for number in range(4):
        assert rig.run(number).cause is Cause.NONE
        assert (rig.result() == wanted(module, words(number))).all(), f"item {number}"
    rig.board.stop(0)
    rig.board.close(0)
    assert rig.load().kind is EventKind.CONFIGURED
    assert rig.run(9).cause is Cause.NONE


def test_a_chain_module_whose_manifest_says_hs_fails_and_is_never_wrong(
    tmp_path: Path, opened: Callable[..., PynqBoard]
) -> None:
    """Its end of the first item would pass for that of the second, which has not begun."""
    says = ("manifest.yaml", "control: chain", "control: hs")
    rig = Rig(opened(variant(tmp_path / "a", "hls_table", says)), "hls_table")
    rig.load()
    for first in (0, 2):
        assert rig.run(first).cause is Cause.NONE
        assert (rig.result() == wanted("hls_table", words(first))).all()
        event = rig.run(first + 1)
        assert (event.kind, event.cause) == (EventKind.ITEM_FAILED, Cause.MODULE_ERROR)
        assert "ap_done is still set from a run before; is its control protocol hs" in event.detail
        assert rig.board.state().slots[0].phase is SlotPhase.FAULTED
        rig.load()


def test_an_hs_module_whose_manifest_says_chain_works_all_the_same(
    tmp_path: Path, opened: Callable[..., PynqBoard]
) -> None:
    """It has no ap_continue to heed. The check refuses it, for what it says is not so; no item is wrong for that."""
    says = ("manifest.yaml", "control: hs", "control: chain")
    rig = Rig(opened(variant(tmp_path / "a", "hls_words", says)), "hls_words")
    rig.load()
    for number in range(3):
        assert rig.run(number).cause is Cause.NONE
        assert (rig.result() == wanted("hls_words", words(number))).all()


def test_what_ends_late_ends_no_later_item(tmp_path: Path, opened: Callable[..., PynqBoard]) -> None:
    """An item that was stopped, or came to its time limit, is done afterwards: its slot was closed by then."""
    rig = Rig(opened(variant(tmp_path / "a", "hls_table")), "hls_table")
    rig.load()
    rig.board.write(rig.input.id, 0, words(0).tobytes())
    registers = ((0x10, rig.input.address), (0x1C, rig.output.address), (0x28, WORDS), (0x30, KEY))
    grants = (Grant(rig.input.id, Access.READ), Grant(rig.output.id, Access.WRITE))
    rig.board.launch(0, Launch("stopped", registers, grants, 2e-3))
    rig.board.stop(0)
    assert rig.next_event().cause is Cause.STOPPED
    rig.load()
    rig.board.launch(0, Launch("late", registers, grants, 1e-7))
    assert rig.next_event().cause is Cause.TIME_LIMIT
    rig.load()
    for number in range(2):
        assert rig.run(number).cause is Cause.NONE
        assert (rig.result() == wanted("hls_table", words(number))).all()


def test_no_item_starts_on_a_module_without_a_protocol(tmp_path: Path, opened: Callable[..., PynqBoard]) -> None:
    rig = Rig(opened(variant(tmp_path / "a", "hls_free")), "hls_free")
    rig.load()
    with pytest.raises(InvalidRequest, match="has no control protocol"):
        rig.run(0)


def test_two_roms_are_two_images(tmp_path: Path, opened: Callable[..., PynqBoard]) -> None:
    """Each with its own build and its own records; the old image is refused when the ROM has changed."""
    first = variant(tmp_path / "a", "hls_table")
    board = opened(first, profile_name="tiny_pcap")
    image = next(image for image in board.images() if image.slot == 0)
    assert image.checked
    rom = first.parent / "rtl/hls_table_sbox_rom.dat"
    rom.write_text(rom.read_text().replace("0d\n", "0e\n", 1))
    assert f"{build.module_build_hash(first):016x}" != image.build
    assert not load_module_manifest(first).checked(f"{build.module_build_hash(first):016x}")
    rig = Rig(board, "hls_table")
    event = rig.load()
    assert event.kind is EventKind.CONFIGURATION_FAILED
    assert "its sources now give" in event.detail


def test_a_rom_that_cannot_be_read_is_a_failed_load_with_a_sentence(
    tmp_path: Path, opened: Callable[..., PynqBoard]
) -> None:
    short = ("rtl/hls_table_sbox_rom.dat", "0d\nb4\n5b\n", "0d\nb4\n")
    why = "hls_table_sbox_rom.dat holds 255 words, and the memory that it is read into takes 256"
    manifest = variant(tmp_path / "a", "hls_table", short)
    event = Rig(opened(manifest, profile_name="tiny_pcap"), "hls_table").load()
    assert event.kind is EventKind.CONFIGURATION_FAILED
    assert why in event.detail
    record, _ = Jobs(opened(manifest), manifest, tmp_path).run("ada", 0, 1)
    assert record.state is JobState.FAILED
    assert why in record.detail


def test_a_model_that_stops_while_it_runs_hangs_as_a_module_does(
    tmp_path: Path, opened: Callable[..., PynqBoard], capfd: pytest.CaptureFixture[str]
) -> None:
    """It ends its item, neither the process nor its neighbours, and no result leaves it."""
    stops = ("rtl/hls_words.v", "gmem_addr_read_reg_133 <=", "if (i_fu_70 == 3) $stop; gmem_addr_read_reg_133 <=")
    rig = Rig(opened(variant(tmp_path / "a", "hls_words", stops)), "hls_words")
    rig.load()
    assert rig.run(0, count=3).cause is Cause.NONE
    assert rig.run(1, count=5).kind is EventKind.ITEM_FAILED
    assert "a module stopped: it stops at hls_words.v" in capfd.readouterr().err
    assert rig.load().kind is EventKind.CONFIGURED
    assert rig.run(2, count=3).cause is Cause.NONE


APPLICATION = Application(
    name="through the table",
    tasks=(TaskSpec(0, "t", "hls_table", (("in", "in"), ("out", "out"), ("count", WORDS), ("key", KEY)), 1e-5, 2e-3),),
    edges=(),
    buffers=(
        BufferSpec("in", BufferRole.INPUT, 8 * WORDS, "u8", (WORDS,)),
        BufferSpec("out", BufferRole.OUTPUT, 8 * WORDS, "u8", (WORDS,)),
    ),
)


class Jobs:
    """An engine whose jobs go through the table."""

    def __init__(self, board: PynqBoard, manifest: Path, folder: Path, allow: bool = False) -> None:
        self.store = Store(folder / "eddy.sqlite")
        modules = {"hls_table": load_module_manifest(manifest)}
        policy, applications = POLICIES["fcfs"](), {APPLICATION.name: APPLICATION}
        self.engine = Engine(board, policy, self.store, applications, modules, allow_unchecked=allow)
        self.engine.start()

    def run(self, tenant: str, first: int, batch: int) -> tuple[JobRecord, list[Words]]:
        inputs = []
        for number in range(first, first + batch):
            raw = words(number).astype("<u8").tobytes()
            inputs.append(hashlib.sha256(raw).hexdigest())
            self.store.blobs.put(tenant, inputs[-1], raw)
        job = self.engine.intake.accept(JobRequest(tenant, APPLICATION.name, batch, {"in": tuple(inputs)}, {}, 1))
        run_out(self.engine)
        record = self.store.jobs.get(tenant, job.id)
        if record.state is not JobState.SUCCEEDED:
            return record, []
        outputs = np.frombuffer(self.store.outputs.read(tenant, job.id, "out"), "<u8")
        return record, list(outputs.reshape(batch, WORDS))


def test_every_item_of_every_job_is_right(tmp_path: Path, opened: Callable[..., PynqBoard]) -> None:
    """On a slot that stays with one tenant, and on one that changes hands."""
    manifest = variant(tmp_path / "a", "hls_table")
    jobs = Jobs(opened(manifest), manifest, tmp_path)
    for first, tenant in ((0, "ada"), (4, "ada"), (8, "bob"), (12, "ada")):
        record, outputs = jobs.run(tenant, first, 4)
        assert record.state is JobState.SUCCEEDED, record.detail
        assert record.unchecked == ()
        assert all((got == wanted("hls_table", words(first + i))).all() for i, got in enumerate(outputs))


def test_what_says_another_protocol_is_given_to_no_job_or_fails_them(
    tmp_path: Path, opened: Callable[..., PynqBoard]
) -> None:
    says = ("manifest.yaml", "control: chain", "control: hs")
    manifest = variant(tmp_path / "a", "hls_table", says, checked=False)
    board = opened(manifest)
    with pytest.raises(InvalidRequest, match="no check of module hls_table is on record"):
        Jobs(board, manifest, tmp_path).run("ada", 0, 1)
    (tmp_path / "allowed").mkdir()
    record, _ = Jobs(board, manifest, tmp_path / "allowed", allow=True).run("ada", 0, 4)
    assert (record.state, record.cause, record.failed_item) == (JobState.FAILED, "module-error", 1)
    assert record.unchecked == ("hls_table",)
