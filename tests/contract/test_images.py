# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Which images a board lets in: every refusal comes before the slot is touched, whatever the board."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from contract.harness import Harness, fabric_of, fake
from contract.images import write_manifest
from eddy.board.images import signing
from eddy.board.images.signing import Trust
from eddy.board.port.port import EventKind, SlotPhase
from eddy.core.errors import ImageRefused
from eddy.core.slots import Image


def file_of(harness: Harness, image: Image) -> Path:
    assert harness.folder is not None
    return harness.folder / f"{image.module}__slot{image.slot}.bit"


def refuse(harness: Harness, sha256: str, reason: str, slot: int = 0) -> str:
    """Load, expect a refusal for this reason with the slot as it was, and answer what it says."""
    before = harness.board.state().slots
    with pytest.raises(ImageRefused) as caught:
        harness.board.load(slot, sha256)
    assert caught.value.details["reason"] == reason
    assert harness.board.state().slots == before
    return caught.value.message


@pytest.mark.parametrize("at", [0, 100, -1])
def test_flipped_bit(file_harness: Harness, at: int) -> None:
    image = file_harness.image(0)
    file = file_of(file_harness, image)
    data = bytearray(file.read_bytes())
    data[at] ^= 0x10
    file.write_bytes(data)
    assert "damaged" in refuse(file_harness, image.sha256, "damaged")


def test_flipped_bit_after_it_was_loaded_once(file_harness: Harness) -> None:
    image = file_harness.image(0)
    file_harness.load(0)
    data = bytearray(file_of(file_harness, image).read_bytes())
    data[5000] ^= 1
    file_of(file_harness, image).write_bytes(data)
    refuse(file_harness, image.sha256, "damaged")
    assert file_harness.board.state().slots[0].phase is SlotPhase.IDLE


def test_what_is_loaded_is_what_was_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is exchanged after its check and before the port reads it; the second time its stamps are put back."""
    harness = fake(tmp_path)
    try:
        image, fabric = harness.image(0), fabric_of(harness)
        file, load, loaded = file_of(harness, image), fabric.download, []
        sound, stamps = file.read_bytes(), os.stat(file)

        def exchanged(region: str, copy: Path) -> None:
            file.write_bytes(bytes(len(sound)))
            assert copy.parent.parent.stat().st_mode & 0o077 == 0, "others reach the copy that was checked"
            loaded.append(hashlib.sha256(copy.read_bytes()).hexdigest())
            load(region, copy)

        monkeypatch.setattr(fabric, "download", exchanged)
        assert harness.load(0).kind is EventKind.CONFIGURED
        refuse(harness, image.sha256, "damaged")
        os.utime(file, ns=(stamps.st_atime_ns, stamps.st_mtime_ns))
        assert harness.load(0).kind is EventKind.CONFIGURED
        assert loaded == [image.sha256] * 2
    finally:
        harness.close()


def test_truncated_file(file_harness: Harness) -> None:
    image = file_harness.image(0)
    file = file_of(file_harness, image)
    file.write_bytes(file.read_bytes()[:-100])
    refuse(file_harness, image.sha256, "damaged")


def test_missing_file(file_harness: Harness) -> None:
    image = file_harness.image(0)
    file_of(file_harness, image).unlink()
    refuse(file_harness, image.sha256, "missing")


def test_other_slot(file_harness: Harness) -> None:
    assert "slot 1" in refuse(file_harness, file_harness.image(1).sha256, "other-slot")


def test_other_shell(file_harness: Harness) -> None:
    image = file_harness.image(0)
    write_manifest(file_of(file_harness, image), dataclasses.replace(image, shell="1234567890abcdef"))
    assert image not in file_harness.board.images()
    refuse(file_harness, image.sha256, "other-shell")


def test_wrong_size(file_harness: Harness) -> None:
    image = file_harness.image(0)
    write_manifest(file_of(file_harness, image), dataclasses.replace(image, bytes=image.bytes - 4))
    refuse(file_harness, image.sha256, "wrong-size")


def test_authenticated_bitstream(file_harness: Harness) -> None:
    """Whole, and with a manifest that says so: the firmware would check it, and clear the fabric if it failed."""
    image = file_harness.image(0)
    data = bytes.fromhex("14000000" * 8 + "665599aa584e4c58") + bytes(4096)
    file_of(file_harness, image).write_bytes(data)
    changed = dataclasses.replace(image, sha256=hashlib.sha256(data).hexdigest(), bytes=len(data))
    write_manifest(file_of(file_harness, image), changed)
    said = refuse(file_harness, changed.sha256, "secure")
    assert "clears the whole fabric" in said
    assert "sign its manifest" in said


def test_manifest_that_lies_about_the_build_is_found_out_by_the_slot(file_harness: Harness) -> None:
    image = file_harness.image(0)
    write_manifest(file_of(file_harness, image), dataclasses.replace(image, build="0123456789abcdef"))
    event = file_harness.load(0)
    assert event.kind is EventKind.CONFIGURATION_FAILED
    assert "0123456789abcdef" in event.detail
    assert file_harness.board.state().slots[0].phase is SlotPhase.FAULTED


def test_damaged_manifest_hides_one_image_and_no_other(file_harness: Harness) -> None:
    image, count = file_harness.image(0), len(file_harness.board.images())
    file_of(file_harness, image).with_suffix(".json").write_text("{")
    assert len(file_harness.board.images()) == count - 1
    refuse(file_harness, image.sha256, "unknown")


@pytest.fixture
def signed(tmp_path: Path) -> Iterator[tuple[Harness, Path]]:
    """A board that requires signatures, and the private key it trusts."""
    keys = tmp_path / "keys"
    keys.mkdir()
    signing.generate(keys / "release.key")
    harness = fake(tmp_path, trust=Trust.load(True, keys))
    yield harness, keys / "release.key"
    harness.close()


def test_unsigned_image_where_signatures_are_required(signed: tuple[Harness, Path]) -> None:
    harness, _ = signed
    assert harness.board.describe().requires_signature
    assert "not signed" in refuse(harness, harness.image(0).sha256, "unsigned")


def test_signed_image_is_loaded(signed: tuple[Harness, Path]) -> None:
    harness, key = signed
    image = harness.image(0)
    assert signing.main(["sign", str(key), str(file_of(harness, image).with_suffix(".json"))]) == 0
    assert harness.load(0).kind is EventKind.CONFIGURED


def test_signature_by_somebody_else(signed: tuple[Harness, Path], tmp_path: Path) -> None:
    harness, _ = signed
    signing.generate(tmp_path / "mallory.key")
    image = harness.image(0)
    signing.sign_manifest(file_of(harness, image).with_suffix(".json"), signing.load_key(tmp_path / "mallory.key"))
    refuse(harness, image.sha256, "untrusted-signature")


@pytest.mark.parametrize(("field", "value"), [("clk_hz", 2e8), ("module", "other"), ("build", "f" * 16)])
def test_manifest_changed_after_it_was_signed(signed: tuple[Harness, Path], field: str, value: object) -> None:
    harness, key = signed
    image = harness.image(0)
    manifest = file_of(harness, image).with_suffix(".json")
    signing.sign_manifest(manifest, signing.load_key(key))
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), field: value}))
    refuse(harness, image.sha256, "untrusted-signature")


def test_signature_moved_to_another_image(signed: tuple[Harness, Path]) -> None:
    harness, key = signed
    first, second = harness.image(0, 0), harness.image(0, 1)
    moved = signing.sign(first, signing.load_key(key)).signature
    write_manifest(file_of(harness, second), dataclasses.replace(second, signature=moved))
    refuse(harness, second.sha256, "untrusted-signature")
