# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Whose design is on the fabric: every case of the table, and what the FPGA manager is given."""

from __future__ import annotations

import errno
import io
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from eddy.board.pynq import fabric_record
from eddy.board.pynq.fabric_record import DesignStanding, Evidence, FabricRecord, Record, judge_design, last_loaded
from eddy.board.pynq.fpga_manager import FpgaManager, to_binary
from eddy.core.errors import ConfigurationFailed, ImageRefused
from eddy_sim.design import bitfile

OURS = Record("boot-1", "a" * 64, configured=True, overlays=("base",))
RUNNING = Evidence("operating", "boot-1", "eddy.bin", ("base",))


@pytest.mark.parametrize(
    ("record", "evidence", "expected"),
    [
        (OURS, RUNNING, DesignStanding.OURS),
        (OURS, replace(RUNNING, last_loaded=None), DesignStanding.OURS),
        (OURS, replace(RUNNING, last_loaded="eddy-partial.bin"), DesignStanding.OURS),
        (replace(OURS, last_partial="failed"), replace(RUNNING, state="write error"), DesignStanding.OURS),
        (replace(OURS, last_partial="begun"), replace(RUNNING, state="write complete error"), DesignStanding.OURS),
        (replace(OURS, last_partial="done"), replace(RUNNING, state="write error"), DesignStanding.FOREIGN),
        (OURS, replace(RUNNING, state="write error"), DesignStanding.FOREIGN),
        (None, RUNNING, DesignStanding.FOREIGN),
        (None, replace(RUNNING, state="write error"), DesignStanding.FOREIGN),
        (OURS, replace(RUNNING, boot_id="boot-2"), DesignStanding.FOREIGN),
        (OURS, replace(RUNNING, last_loaded="kv260-smartcam.bit.bin"), DesignStanding.FOREIGN),
        (OURS, replace(RUNNING, overlays=("base", "smartcam")), DesignStanding.FOREIGN),
        (replace(OURS, configured=False), RUNNING, DesignStanding.TO_CONFIGURE),
        (replace(OURS, overlay_sha256="b" * 64), RUNNING, DesignStanding.TO_CONFIGURE),
        (OURS, replace(RUNNING, state="unknown"), DesignStanding.EMPTY),
        (OURS, replace(RUNNING, state="power off", boot_id="boot-2"), DesignStanding.EMPTY),
        (None, replace(RUNNING, state="unknown"), DesignStanding.EMPTY),
    ],
)
def test_standing(record: Record | None, evidence: Evidence, expected: DesignStanding) -> None:
    found, why = judge_design(record, evidence, "a" * 64)
    assert found is expected, why
    assert why


def test_a_record_is_read_back_and_a_damaged_one_claims_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fabric_record, "boot_id", lambda: "boot-1")
    monkeypatch.setattr(fabric_record, "overlays", lambda: ("base",))
    path = tmp_path / "run" / "fabric.json"
    record = FabricRecord(path)
    assert record.kept is None
    record.begin("a" * 64)
    assert FabricRecord(path).kept == record.kept
    assert not FabricRecord(path).kept.configured  # type: ignore[union-attr]
    record.configured()
    record.partial("failed")
    kept = FabricRecord(path).kept
    assert kept is not None
    assert (kept.configured, kept.last_partial, kept.overlays) == (True, "failed", ("base",))
    path.write_text(path.read_text()[:20])
    assert FabricRecord(path).kept is None


@pytest.mark.parametrize(
    ("written", "claims"),
    [
        ({"since_a_later_release": [1]}, True),
        ({"overlays": None}, False),
        ({"configured": "yes"}, False),
        ({"boot_id": 7}, False),
        ({"configured_s": "soon"}, False),
    ],
)
def test_a_record_of_another_release_counts_as_far_as_it_says_the_same(
    tmp_path: Path, written: dict[str, object], claims: bool
) -> None:
    whole = {"boot_id": "boot-1", "overlay_sha256": "a" * 64, "configured": True, **written}
    path = tmp_path / "fabric.json"
    path.write_text(json.dumps(whole))
    kept = FabricRecord(path).kept
    assert (kept is not None) == claims
    if kept is not None:
        # It left out what an earlier release did not know.
        assert kept == Record("boot-1", "a" * 64, configured=True)
    path.write_text(json.dumps({"overlay_sha256": "a" * 64}))
    assert FabricRecord(path).kept is None, "a record of no boot"


def test_the_last_load_is_found_in_the_kernels_log(tmp_path: Path) -> None:
    log = tmp_path / "kmsg"
    assert last_loaded(log) is None
    log.write_bytes(
        b"6,1,1,-;fpga_manager fpga0: writing eddy.bin to Xilinx ZynqMP FPGA Manager\n"
        b"6,2,2,-;usb 1-1: writing nothing to anybody\n"
        b"6,3,3,-;fpga_manager fpga0: writing other.bit.bin to Xilinx ZynqMP FPGA Manager\n"
    )
    assert last_loaded(log) == "other.bit.bin"


def test_a_partial_load_writes_flags_then_name_and_leaves_no_file(tmp_path: Path) -> None:
    manager, firmware = tmp_path / "fpga0", tmp_path / "firmware"
    manager.mkdir()
    firmware.mkdir()
    file = tmp_path / "image.bit"
    file.write_bytes(bitfile.make(bitfile.Identity("alpha", "0" * 16, "1" * 16, 0, "xczu3eg-sbva484-1-e"), 2048))
    FpgaManager(manager, firmware).load_partial(file)
    assert (manager / "flags").read_text() == "1"
    assert (manager / "firmware").read_text() == "eddy-partial.bin"
    assert list(firmware.iterdir()) == []


def test_a_load_that_is_refused_says_the_errno_and_the_state(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("write error\n")
    file = tmp_path / "image.bit"
    file.write_bytes(bitfile.make(bitfile.Identity("alpha", "0" * 16, "1" * 16, 0, "part"), 2048))
    (tmp_path / "flags").mkdir()
    with pytest.raises(ConfigurationFailed, match=r"EISDIR.*write error"):
        FpgaManager(tmp_path, tmp_path).load_partial(file)
    assert not (tmp_path / "eddy-partial.bin").exists()
    with pytest.raises(ConfigurationFailed, match="no FPGA manager"):
        FpgaManager(tmp_path / "none", tmp_path).state()


def test_binary_is_the_payload_with_the_bytes_of_each_word_reversed() -> None:
    data = bitfile.make(bitfile.Identity("alpha", "0" * 16, "1" * 16, 0, "part"), 2048)
    body = bitfile.split(data)[1]
    binary = to_binary(data)
    assert len(binary) == 2048
    assert all(binary[at : at + 4] == body[at : at + 4][::-1] for at in range(0, 2048, 4))


@pytest.mark.parametrize("damage", [lambda d: d[:-4], lambda d: b"\0" * 40, lambda d: d[:10], lambda d: b""])
def test_what_is_no_bit_file_is_refused(damage: object) -> None:
    data = bitfile.make(bitfile.Identity("alpha", "0" * 16, "1" * 16, 0, "part"), 2048)
    with pytest.raises(ImageRefused, match=r"\.bit file"):
        to_binary(damage(data))  # type: ignore[operator]


@pytest.mark.parametrize(("number", "hint"), [(errno.ENOSPC, "make room for 2 KiB"), (errno.EROFS, "alone")])
def test_a_firmware_folder_that_takes_nothing_is_named_and_the_kernel_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, hint: str
) -> None:
    """Full in the middle of the file, or read-only; nothing is left, and what lay there is not loaded in its place."""
    firmware = tmp_path / "firmware"
    firmware.mkdir()
    (firmware / "eddy-partial.bin").write_bytes(b"what a boardd left that lost its power")
    file = tmp_path / "image.bit"
    file.write_bytes(bitfile.make(bitfile.Identity("alpha", "0" * 16, "1" * 16, 0, "part"), 2048))
    opened: Any = Path.open

    class Full(io.BytesIO):
        def write(self, data: object) -> int:
            raise OSError(number, os.strerror(number))

    def full(path: Path, mode: str = "r", *rest: object, **more: object) -> object:
        if path.parent != firmware:
            return opened(path, mode, *rest, **more)
        opened(path, mode).close()
        return Full()

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(ConfigurationFailed, match=hint) as failed:
        FpgaManager(tmp_path, firmware).load_partial(file)
    assert failed.value.details["cause"] == "firmware-folder"
    assert failed.value.details["errno"] == number
    assert not (tmp_path / "flags").exists()
    assert list(firmware.iterdir()) == []


def test_a_link_in_the_firmware_folder_is_replaced_not_written_through(tmp_path: Path) -> None:
    manager, firmware, target = tmp_path / "fpga0", tmp_path / "firmware", tmp_path / "somebody's"
    manager.mkdir()
    firmware.mkdir()
    target.write_bytes(b"theirs")
    (firmware / "eddy-partial.bin").symlink_to(target)
    file = tmp_path / "image.bit"
    file.write_bytes(bitfile.make(bitfile.Identity("alpha", "0" * 16, "1" * 16, 0, "part"), 2048))
    FpgaManager(manager, firmware).load_partial(file)
    assert target.read_bytes() == b"theirs"
    assert list(firmware.iterdir()) == []
