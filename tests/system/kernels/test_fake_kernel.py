# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What goes wrong on a real board, on a faked kernel: `eddy boardd --board pynq` as it ships, over stock PYNQ."""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import json
import signal
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from contract.fake_fabric import MARK
from contract.harness import PATIENCE_S, KernelRig, marking
from contract.images import write_manifest
from eddy.board.port.port import Cause, EventKind, SlotPhase
from eddy.board.remote.socket import SocketBoard
from eddy.board.selftest.board_test import ITEM_MODULE
from eddy_sim.design import bitfile
from eddy_sim.kernel.board import unavailable
from eddy_sim.kernel.overlays import MAGIC

pytestmark = [
    pytest.mark.rtl,
    pytest.mark.xdist_group("board-kernel"),
    pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "it runs"),
]


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[KernelRig]:
    """A faked kernel that has just booted."""
    rig = KernelRig(tmp_path)
    yield rig
    assert rig.machine.call("counts")["hung"] == "", "no access may go where nothing answers"
    rig.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KernelRig]:
    """A faked kernel with a boardd that stays up, for what needs no boot of its own."""
    rig = KernelRig(tmp_path_factory.mktemp("shared"))
    yield rig
    assert rig.machine.call("counts")["hung"] == ""
    rig.close()


@pytest.fixture
def board(shared: KernelRig) -> Iterator[SocketBoard]:
    """The board of `shared`, with nothing on it."""
    harness = shared.harness()
    assert isinstance(harness.board, SocketBoard)
    yield harness.board
    harness.close()


def refusal(rig: KernelRig, *options: str, xrt: bool = True) -> tuple[str, str]:
    """Code and cause with which boardd does not start."""
    done = rig.machine.run(rig.command(*options), xrt=xrt)
    assert done.returncode != 0
    said = json.loads(done.stderr.strip().splitlines()[-1])
    return said["code"], said.get("cause", "")


def full_loads(rig: KernelRig) -> int:
    return sum(name == "eddy.bin" for name, _, _ in rig.machine.call("counts")["loads"])


def test_no_xrt_in_the_environment(rig: KernelRig) -> None:
    assert refusal(rig, xrt=False) == ("board-not-ready", "xrt")


def test_no_driver_of_xrt(rig: KernelRig) -> None:
    rig.machine.call("without_xrt")
    assert refusal(rig) == ("board-not-ready", "xrt")


def test_no_uio_file(rig: KernelRig) -> None:
    rig.machine.call("without_uio")
    assert refusal(rig) == ("board-not-ready", "interrupt")


def test_memory_where_the_slots_do_not_reach(rig: KernelRig) -> None:
    rig.machine.call("shift_memory", bytes=1 << 32)
    assert refusal(rig) == ("board-not-ready", "memory-address")


def test_less_contiguous_memory_than_the_arena(rig: KernelRig) -> None:
    rig.machine.call("limit_memory", bytes=1 << 20)
    assert refusal(rig) == ("board-not-ready", "memory")


def test_a_refused_overlay(rig: KernelRig) -> None:
    rig.machine.call("refuse", number=errno.EINVAL)
    assert refusal(rig) == ("configuration-failed", "configuration-error")
    before = full_loads(rig)
    rig.start()
    assert full_loads(rig) == before + 1, "the load that failed is not taken for one that ended"


def test_a_foreign_design_at_boot(rig: KernelRig) -> None:
    rig.machine.call("load_foreign", name="k26-starter-kits.bit.bin")
    assert refusal(rig) == ("foreign-design", "foreign-design")
    assert rig.machine.call("counts")["loads"] == []
    rig.start("--take-fabric")
    assert rig.machine.call("counts")["design"] == "eddy"


OVERLAYS = "/sys/kernel/config/device-tree/overlays"


def overlay(*held: bytes) -> bytes:
    """What begins as a flattened device tree does, and holds some words."""
    body = b"\0".join(held)
    return struct.pack(">II", MAGIC, 8 + len(body)) + body


def put_overlay(rig: KernelRig, name: str, *held: bytes) -> None:
    """Put an overlay in place, as root would by hand."""
    file = rig.machine.root / name
    file.write_bytes(overlay(*held))
    command = f"mkdir {OVERLAYS}/{name} && cat {file} >{OVERLAYS}/{name}/dtbo && cat {OVERLAYS}/{name}/status"
    done = rig.machine.run(["sh", "-c", command])
    assert done.stdout == "applied\n", done.stderr


def names_of_overlays(rig: KernelRig) -> list[str]:
    return rig.machine.run(["ls", OVERLAYS]).stdout.split()


def test_the_overlay_beside_the_design_gives_the_interrupt_its_node(rig: KernelRig) -> None:
    (rig.images / "eddy.dtbo").write_bytes(overlay(b"fabric@a0000000"))
    rig.machine.call("without_uio")
    rig.start()
    assert names_of_overlays(rig) == ["eddy"]
    rig.stop(signal.SIGKILL)
    rig.start()
    assert full_loads(rig) == 1, "with its overlay in place it is the design that was loaded"
    rig.stop(signal.SIGKILL)
    file = rig.images / "eddy.dtbo"
    file.write_bytes(overlay(b"fabric@a0000000", b"another release"))
    record = rig.socket.with_name("fabric.json")
    record.write_text(json.dumps({**json.loads(record.read_text()), "overlay_sha256": "0" * 64}))
    rig.start()
    assert full_loads(rig) == 2
    held = rig.machine.run(["tail", "-c", "15", f"{OVERLAYS}/eddy/dtbo"]).stdout
    assert held == "another release", "its overlay was put in place, too"
    rig.stop(signal.SIGKILL)
    assert rig.machine.run(["rmdir", f"{OVERLAYS}/eddy"]).returncode == 0
    assert refusal(rig) == ("foreign-design", "foreign-design"), "without it, it is no longer the design as it was left"


def test_an_overlay_that_the_device_tree_does_not_take(rig: KernelRig) -> None:
    (rig.images / "eddy.dtbo").write_bytes(overlay(b"fabric@a0000000"))
    rig.machine.call("without_symbols")
    assert refusal(rig) == ("board-not-ready", "device-tree-overlay")


def test_another_loader_is_to_be_stopped_and_its_design_unloaded(rig: KernelRig) -> None:
    rig.machine.call("run_loader", process="fpgad", runs=True)
    assert refusal(rig) == ("board-not-ready", "fpgad")
    rig.machine.call("run_loader", process="fpgad", runs=False)
    rig.machine.call("run_loader", process="dfx-mgrd", runs=True)
    assert refusal(rig) == ("board-not-ready", "dfx-mgr")
    rig.machine.call("load_foreign", name="k26_starter_kits.bit.bin")
    put_overlay(rig, "k26-starter-kits_image_0", b"firmware-name", b"k26_starter_kits.bit.bin")
    assert refusal(rig, "--take-fabric") == ("foreign-design", "foreign-overlay")
    assert rig.machine.call("counts")["loads"] == []
    assert rig.machine.run(["rmdir", f"{OVERLAYS}/k26-starter-kits_image_0"]).returncode == 0  # xmutil unloadapp
    rig.machine.call("run_loader", process="dfx-mgrd", runs=False)  # systemctl stop dfx-mgr
    put_overlay(rig, "pmod", b"i2c@0")
    rig.start("--take-fabric")
    assert rig.machine.call("counts")["design"] == "eddy", "an overlay without a design is in nobody's way"


def test_a_foreign_design_beside_a_record_of_ours(rig: KernelRig) -> None:
    rig.start()
    rig.stop(signal.SIGKILL)
    rig.machine.call("load_foreign", name="kv260-smartcam.bit.bin")
    assert refusal(rig) == ("foreign-design", "foreign-design")


def cut_power(rig: KernelRig, keeps_record: bool) -> None:
    rig.machine.call("cut_power")
    if not keeps_record:
        rig.socket.with_name("fabric.json").unlink()


@pytest.mark.parametrize("keeps_record", [False, True])
def test_a_reboot_with_and_without_a_stale_record(rig: KernelRig, keeps_record: bool) -> None:
    rig.start()
    rig.stop(signal.SIGKILL)
    cut_power(rig, keeps_record)
    rig.start()
    assert full_loads(rig) == 2, "the fabric is empty after a reboot, whatever was written down"
    rig.stop(signal.SIGKILL)
    cut_power(rig, keeps_record)
    rig.machine.call("load_foreign", name="k26-starter-kits.bit.bin")
    assert refusal(rig) == ("foreign-design", "foreign-design")


def test_an_end_between_the_load_and_its_record(rig: KernelRig) -> None:
    rig.start()
    rig.stop(signal.SIGKILL)
    record = rig.socket.with_name("fabric.json")
    record.write_text(json.dumps({**json.loads(record.read_text()), "configured": False}))
    rig.start()
    assert full_loads(rig) == 2
    assert json.loads(record.read_text())["configured"]


def test_a_boardd_that_died_is_followed_by_one_that_configures_nothing(rig: KernelRig) -> None:
    rig.start()
    board = SocketBoard(rig.socket, PATIENCE_S)
    load(rig, board)
    before_s = board.now_s()
    board.release()
    rig.stop(signal.SIGKILL)
    rig.start()
    board = SocketBoard(rig.socket, PATIENCE_S)
    assert full_loads(rig) == 1
    assert board.now_s() >= before_s, "board time goes on"
    assert [slot.phase for slot in board.state().slots] == [SlotPhase.EMPTY] * 2
    board.release()


def load(rig: KernelRig, board: SocketBoard, behaviour: str = "sound", slot: int = 0) -> tuple[EventKind, Cause, str]:
    rig.machine.call("misload", slot=slot, behaviour=behaviour)
    image = next(image for image in board.images() if image.slot == slot)
    return ended(board, slot, image.sha256)


def ended(board: SocketBoard, slot: int, image: str) -> tuple[EventKind, Cause, str]:
    """Load an image; how that ended."""
    board.load(slot, image)
    events = board.wait(board.now_s() + 5.0)
    board.wait(0.0, events[-1].seq)
    return events[-1].kind, events[-1].cause, events[-1].detail


def test_a_refused_partial_load_says_its_errno_and_costs_the_slot_alone(rig: KernelRig) -> None:
    rig.start()
    board = SocketBoard(rig.socket, PATIENCE_S)
    rig.machine.call("refuse", number=errno.ETIMEDOUT)
    kind, cause, detail = load(rig, board)
    assert (kind, cause) == (EventKind.CONFIGURATION_FAILED, Cause.CONFIGURATION_ERROR)
    assert "ETIMEDOUT" in detail
    assert board.state().slots[0].phase is SlotPhase.FAULTED
    board.release()
    rig.stop(signal.SIGKILL)
    rig.start()
    assert full_loads(rig) == 1, "one failed load does not make a restart configure everything"
    board = SocketBoard(rig.socket, PATIENCE_S)
    assert load(rig, board)[0] is EventKind.CONFIGURED
    board.release()


@pytest.mark.parametrize(
    ("behaviour", "cause"),
    [
        ("crc", Cause.IDENTITY_MISMATCH),
        ("fails", Cause.CONFIGURATION_ERROR),
        ("wrong-identity", Cause.IDENTITY_MISMATCH),
    ],
)
def test_a_partial_load_that_failed_without_an_errno_is_caught(
    shared: KernelRig, board: SocketBoard, behaviour: str, cause: Cause
) -> None:
    assert load(shared, board, behaviour)[:2] == (EventKind.CONFIGURATION_FAILED, cause)
    assert board.state().slots[0].phase is SlotPhase.FAULTED
    assert load(shared, board)[0] is EventKind.CONFIGURED


@pytest.fixture
def engine_rig(tmp_path: Path) -> Iterator[KernelRig]:
    """A board whose images go through the shell's engine."""
    rig = KernelRig(tmp_path, "tiny")
    yield rig
    assert rig.machine.call("counts")["hung"] == ""
    rig.close()


def test_a_load_through_the_engine_takes_the_device_and_gives_it_back(engine_rig: KernelRig) -> None:
    rig = engine_rig
    rig.start()
    board = SocketBoard(rig.socket, PATIENCE_S)
    assert load(rig, board)[0] is EventKind.CONFIGURED
    counts = rig.machine.call("counts")
    assert [name for name, _, _ in counts["loads"]] == ["eddy.bin"], "the kernel was given the overlay alone"
    assert counts["port_given"] == [True, False]
    kind, cause, detail = load(rig, board, "fails")
    assert (kind, cause) == (EventKind.CONFIGURATION_FAILED, Cause.CONFIGURATION_ERROR)
    assert "port_error" in detail
    assert rig.machine.call("counts")["port_given"] == [True, False] * 2
    rig.machine.call("keep_port")
    kind, cause, detail = load(rig, board)
    assert (kind, cause) == (EventKind.CONFIGURATION_FAILED, Cause.CONFIGURATION_ERROR)
    assert "port_timeout" in detail
    assert board.state().slots[0].phase is SlotPhase.FAULTED
    board.release()


def test_images_of_unequal_size_in_one_slot(shared: KernelRig, board: SocketBoard) -> None:
    large = next(image for image in board.images() if image.slot == 0)
    other = next(image for image in board.images() if image.slot == 0 and image.module != large.module)
    file = shared.images / f"{other.module}__slot0.bit"
    identity = bitfile.identity_of(bitfile.read_bit(file)[1])
    small = bitfile.make(identity, 12000)
    file.write_bytes(small)
    changed = dataclasses.replace(other, bytes=12000, sha256=hashlib.sha256(small).hexdigest())
    write_manifest(file, changed)
    for image in (large, changed, large):
        assert ended(board, 0, image.sha256)[0] is EventKind.CONFIGURED
    loaded = [(flags, size) for _, flags, size in shared.machine.call("counts")["loads"][-3:]]
    assert loaded == [(1, large.bytes), (1, 12000), (1, large.bytes)], "plain partial loads, never secure ones"


def test_an_authenticated_overlay_is_refused_before_it_is_loaded(rig: KernelRig) -> None:
    (rig.images / "eddy.bit").write_bytes(bytes.fromhex("14000000" * 8 + "665599aa584e4c58") + bytes(4096))
    done = rig.machine.run(rig.command())
    said = json.loads(done.stderr.strip().splitlines()[-1])
    assert (said["code"], said["reason"]) == ("image-refused", "secure")
    assert rig.machine.call("counts")["loads"] == []


def test_bytes_synced_follow_bytes_touched(shared: KernelRig, board: SocketBoard) -> None:
    buffer = board.allocate(1 << 20, "job")
    synced = []
    for size in (100, 10_000, 1_000_000):
        before = shared.machine.call("counts")["bytes_synced"]
        board.write(buffer.id, 0, b"x" * size)
        assert board.read(buffer.id, 0, size) == b"x" * size
        synced.append(shared.machine.call("counts")["bytes_synced"] - before)
    # A write drops and writes back the lines it touches, a read drops them: three times its bytes, in whole lines.
    assert synced == [3 * -(-size // 64) * 64 for size in (100, 10_000, 1_000_000)]


def test_no_xclbin_is_made_for_a_partial_load_and_nothing_is_left(shared: KernelRig, board: SocketBoard) -> None:
    runs, xclbins = shared.machine.root / "xclbinutil.runs", shared.machine.call("counts")["xclbins"]
    before = runs.read_text()
    for _ in range(2):
        assert load(shared, board)[0] is EventKind.CONFIGURED
    assert runs.read_text() == before
    assert shared.machine.call("counts")["xclbins"] == xclbins
    assert shared.machine.run(["ls", "/lib/firmware"]).stdout.split() == ["eddy.bin"]


def test_an_item_on_stock_pynq_marks_its_buffer(shared: KernelRig, board: SocketBoard) -> None:
    load(shared, board)
    buffer = board.allocate(64, "job")
    board.launch(0, marking(buffer, limit_s=1.0))
    events = board.wait(board.now_s() + 5.0)
    assert [(event.kind, event.cause) for event in events] == [(EventKind.ITEM_DONE, Cause.NONE)]
    assert board.read(buffer.id, 0, 8) == MARK


def test_an_end_whose_interrupt_was_lost_is_seen_at_the_limit(shared: KernelRig, board: SocketBoard) -> None:
    load(shared, board)
    buffer = board.allocate(64, "job")
    shared.machine.call("mute_interrupt", mute=True)
    try:
        board.launch(0, marking(buffer, limit_s=0.05))
        (event,) = board.wait(board.now_s() + 5.0)
    finally:
        shared.machine.call("mute_interrupt", mute=False)
    assert (event.kind, event.cause) == (EventKind.ITEM_DONE, Cause.NONE)
    assert event.at_s - event.started_s >= 0.05
    assert board.read(buffer.id, 0, 8) == MARK


def test_interrupts_without_a_cause_end_nothing_and_hide_nothing(shared: KernelRig, board: SocketBoard) -> None:
    """Before, during and after a wait that it is not the end of."""
    load(shared, board, "hang")
    buffer = board.allocate(64, "job")
    shared.machine.call("ring_in_vain", times=50)
    board.launch(0, marking(buffer, limit_s=0.2))
    shared.machine.call("ring_in_vain", times=50)
    (event,) = board.wait(board.now_s() + 0.02) or board.wait(board.now_s() + 30.0)
    assert (event.kind, event.cause) == (EventKind.ITEM_FAILED, Cause.TIME_LIMIT)
    assert event.at_s - event.started_s >= 0.2, "an interrupt without a cause ended it"
    board.wait(0.0, event.seq)
    load(shared, board)
    shared.machine.call("ring_in_vain", times=50)
    board.launch(0, marking(buffer, "next", limit_s=20.0))
    (event,) = board.wait(board.now_s() + 30.0)
    assert (event.kind, event.item) == (EventKind.ITEM_DONE, "next")
    assert event.at_s - event.started_s < 20.0, "an interrupt got lost among those without a cause"


def test_a_damaged_image_is_found_over_pcap_by_identity(rig: KernelRig) -> None:
    for path in rig.images.glob("*__slot*"):
        if not path.name.startswith(f"{ITEM_MODULE}__slot0"):
            path.unlink()
    program = f"""
from pathlib import Path
from eddy.board.selftest.board_test_past import damaged_image
from eddy.board.remote.factory import open_board
board = open_board("pynq", "{rig.profile}", images=Path({str(rig.images)!r}))
with board.past_checks() as past:
    step = damaged_image(board, past)
board.release()
print(step.outcome.value, step.measured, step.found)
"""
    done = rig.machine.run([sys.executable, "-c", program])
    assert done.stdout.startswith("PASS {'prerror': 0.0}"), (done.stdout, done.stderr)
    assert "PRERROR did not show, identity-mismatch did" in done.stdout


def test_a_handoff_that_pynq_cannot_read_is_named(rig: KernelRig) -> None:
    whole = (rig.images / "eddy.hwh").read_bytes()
    for damaged in (whole[:1000], whole.replace(b"zynq_ultra_ps_e", b"other_ps")):
        (rig.images / "eddy.hwh").write_bytes(damaged)
        assert refusal(rig) == ("image-refused", "")
    assert rig.machine.call("counts")["loads"] == [], "it is read before anything is loaded"
    (rig.images / "eddy.hwh").write_bytes(whole)
    rig.start()
