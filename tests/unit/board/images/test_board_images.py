# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Image files, the private copies, keys."""

from __future__ import annotations

import dataclasses
import errno
import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from contract.fake_fabric import SHELL
from contract.images import make_images
from eddy.board.images import signing
from eddy.board.images.image_files import image_of, payload_bytes, read_manifest
from eddy.board.images.images import ImageStore
from eddy.board.images.signing import Trust
from eddy.board.port.profile import load_profile
from eddy.core.errors import ConfigurationFailed, ImageRefused, InvalidRequest
from eddy.core.slots import Control
from eddy_sim.design import bitfile

TINY = load_profile("tiny")
OPEN = Trust(False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_images(tmp_path / "images", TINY, SHELL)
    return tmp_path / "images"


def test_what_is_checked_is_what_is_loaded(folder: Path) -> None:
    store = ImageStore(folder)
    image = store.images()[0]
    found, copy = store.admit(image.sha256, TINY.slots[image.slot], SHELL, OPEN)
    assert found == image
    assert copy.parent.parent.stat().st_mode & 0o077 == 0, "nobody else may reach the copies"
    original = folder / copy.name
    before = original.read_bytes()
    original.write_bytes(bytes(len(before)))
    assert copy.read_bytes() == before
    store.close()
    assert not copy.exists()


def test_copies_are_made_once_and_bounded(folder: Path) -> None:
    store = ImageStore(folder, cache_bytes=50_000)
    images = [image for image in store.images() if image.slot == 0]
    copies = [store.admit(image.sha256, TINY.slots[0], SHELL, OPEN)[1] for image in images]
    stamp = copies[0].stat().st_mtime_ns
    assert store.admit(images[0].sha256, TINY.slots[0], SHELL, OPEN)[1].stat().st_mtime_ns == stamp
    other = next(image for image in store.images() if image.slot == 1)
    store.admit(other.sha256, TINY.slots[1], SHELL, OPEN)
    assert copies[0].exists()
    assert not copies[1].exists(), "the copy used longest ago goes first"
    store.close()


def test_a_full_memory_is_emptied_of_older_copies_and_then_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ImageStore(folder)
    first, second = [image for image in store.images() if image.slot == 0][:2]
    kept = store.admit(first.sha256, TINY.slots[0], SHELL, OPEN)[1]
    write = Path.write_bytes

    def full_while(there: Callable[[], bool]) -> None:
        def refusing(path: Path, data: bytes) -> int:
            if there():
                raise OSError(errno.ENOSPC, "No space left on device", str(path))
            return write(path, data)

        monkeypatch.setattr(Path, "write_bytes", refusing)

    full_while(kept.exists)
    assert store.admit(second.sha256, TINY.slots[0], SHELL, OPEN)[1].exists()
    assert not kept.exists()
    full_while(lambda: True)
    with pytest.raises(ConfigurationFailed, match="no room in"):
        store.admit(first.sha256, TINY.slots[0], SHELL, OPEN)
    monkeypatch.undo()
    assert store.admit(first.sha256, TINY.slots[0], SHELL, OPEN)[1].exists()
    store.close()


def test_prefetch_copies_ahead_and_never_fails(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ImageStore(folder)
    image = store.images()[0]
    store.prefetch(image.sha256)
    assert store.wait_until_read()
    file = folder / f"{image.module}__slot{image.slot}.bit"
    read: list[Path] = []
    whole = Path.read_bytes

    def remembering(path: Path) -> bytes:
        read.append(path)
        return whole(path)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_bytes", remembering)
        copy = store.admit(image.sha256, TINY.slots[image.slot], SHELL, OPEN)[1]
    assert file not in read
    assert copy.read_bytes() == file.read_bytes()
    store.close()
    file.write_bytes(b"broken")
    store = ImageStore(folder)
    store.prefetch(image.sha256)
    store.prefetch("nothing")
    assert store.wait_until_read()
    with pytest.raises(ImageRefused):
        store.admit(image.sha256, TINY.slots[image.slot], SHELL, OPEN)
    store.close()


def test_reading_ahead_stops_where_memory_is_full_and_keeps_what_is_needed(folder: Path) -> None:
    images = ImageStore(folder).images()
    room = sum((folder / f"{image.module}__slot{image.slot}.bit").stat().st_size for image in images[:2])
    store = ImageStore(folder, cache_bytes=room)
    needed = images[-1]
    copy = store.admit(needed.sha256, TINY.slots[needed.slot], SHELL, OPEN)[1]
    store.read_ahead(tuple(image.sha256 for image in images))
    assert store.wait_until_read()
    kept = [image.sha256 for image in images if (copy.parents[1] / image.sha256).is_dir()]
    assert kept == [images[0].sha256, needed.sha256]
    store.prefetch(images[1].sha256)  # asked for because it is next: another one leaves, not the one the port is at
    assert store.wait_until_read()
    kept = [image.sha256 for image in images if (copy.parents[1] / image.sha256).is_dir()]
    assert kept == [images[1].sha256, needed.sha256]
    store.close()
    store.prefetch(needed.sha256)  # nothing is read any more
    assert store.wait_until_read()
    assert not copy.exists()


def test_no_folder_no_images(tmp_path: Path) -> None:
    assert ImageStore(tmp_path / "nowhere").images() == ()


@pytest.mark.parametrize("size", [1024, 4096])
def test_payload_length_comes_from_the_header(size: int) -> None:
    data = bitfile.make(bitfile.Identity("m", "0" * 16, SHELL, 0, TINY.part), size)
    assert payload_bytes(data) == size
    for broken in (data[:-1], data + b"x", data[:10], b"", b"z" * 100):
        with pytest.raises(ImageRefused):
            payload_bytes(broken)


def test_keys_are_private_and_never_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key = tmp_path / "release.key"
    assert signing.main(["keygen", str(key)]) == 0
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    before = key.read_bytes()
    assert signing.main(["keygen", str(key)]) == 1
    assert key.read_bytes() == before
    assert "never overwritten" in capsys.readouterr().err


def test_command_line_signs_and_verifies(folder: Path, tmp_path: Path) -> None:
    key, trusted = tmp_path / "release.key", tmp_path / "trusted"
    trusted.mkdir()
    signing.generate(key)
    Path(f"{key}.pub").rename(trusted / "release.pub")
    manifests = [str(path) for path in sorted(folder.glob("*.json"))]
    assert signing.main(["verify", str(trusted), *manifests]) == 1
    assert signing.main(["sign", str(key), *manifests]) == 0
    assert signing.main(["verify", str(trusted), *manifests]) == 0


def test_signature_is_deterministic_and_over_every_field(folder: Path, tmp_path: Path) -> None:
    signing.generate(tmp_path / "k")
    key = signing.load_key(tmp_path / "k")
    image = ImageStore(folder).images()[0]
    assert signing.sign(image, key) == signing.sign(signing.sign(image, key), key)


def test_trusting_nobody_where_signatures_are_required(tmp_path: Path) -> None:
    for keys in (None, tmp_path):
        with pytest.raises(InvalidRequest, match="trusted"):
            Trust.load(True, keys)
    (tmp_path / "broken.pub").write_text("no key")
    with pytest.raises(InvalidRequest, match="broken"):
        Trust.load(True, tmp_path)
    with pytest.raises(InvalidRequest, match="private"):
        signing.load_key(tmp_path / "broken.pub")


def test_only_somebody_trusted_can_say_that_a_reset_scrubs_a_module(folder: Path, tmp_path: Path) -> None:
    """Where keys are trusted, the claim counts under a signature that covers it; else it is taken away."""
    image = next(image for image in ImageStore(folder).images() if image.scrubs)
    key, other = tmp_path / "release.key", tmp_path / "else.key"
    for path in (key, other):
        signing.generate(path)
    trusted = tmp_path / "trusted"
    trusted.mkdir()
    (trusted / "release.pub").write_bytes(Path(f"{key}.pub").read_bytes())
    for required in (False, True):
        trust = Trust.load(required, trusted)
        assert trust.strip_unproven_claims(signing.sign(image, signing.load_key(key))).scrubs
        assert trust.strip_unproven_claims(signing.sign(image, signing.load_key(key))).checked
        for unknown in (image, signing.sign(image, signing.load_key(other))):
            assert not trust.strip_unproven_claims(unknown).scrubs
            assert not trust.strip_unproven_claims(unknown).checked
        plain = dataclasses.replace(image, scrub_build="", checked_build="")
        for claim in ("scrub_build", "checked_build"):
            claims: dict[str, Any] = {claim: image.build}
            forged = dataclasses.replace(signing.sign(plain, signing.load_key(key)), **claims)
            assert not trust.strip_unproven_claims(forged).scrubs, "the signature covers the claim"
            assert not trust.strip_unproven_claims(forged).checked
        assert trust.strip_unproven_claims(plain) == plain
    assert Trust(False).strip_unproven_claims(image).scrubs, "where nobody is trusted, the folder is the operator's"


def test_a_claim_for_another_build_counts_for_nothing(folder: Path) -> None:
    image = next(image for image in ImageStore(folder).images() if image.scrubs)
    assert not dataclasses.replace(image, scrub_build="0" * 16).scrubs
    assert not dataclasses.replace(image, build="", scrub_build="").scrubs


def test_an_image_that_claims_nothing_is_signed_as_ever(folder: Path) -> None:
    found = next(image for image in ImageStore(folder).images() if not image.scrubs)
    image = dataclasses.replace(found, checked_build="")
    changes: dict[str, dict[str, Any]] = {
        "scrub": {"scrub_build": found.build},
        "checked": {"checked_build": found.build},
    }
    for word, change in changes.items():
        assert word.encode() not in signing.canonical(image)
        assert word.encode() in signing.canonical(dataclasses.replace(image, **change))
    assert b"control" not in signing.canonical(image)
    assert b'"control":"chain"' in signing.canonical(dataclasses.replace(image, control=Control.CHAIN))


def test_a_manifest_says_how_its_module_is_started(folder: Path) -> None:
    """Said wrong, it is no image; where nothing is said, as before there was anything to say."""
    path = next(folder.glob("alpha__slot0.json"))
    said = json.loads(path.read_text())
    for value, control in (("chain", Control.CHAIN), ("none", Control.NONE), ("hs", Control.HS)):
        path.write_text(json.dumps({**said, "control": value}))
        assert image_of(read_manifest(path), path).control is control
    path.write_text(json.dumps({**said, "control": "handshake"}))
    with pytest.raises(InvalidRequest, match="control is 'handshake', not one of hs, chain, none"):
        image_of(read_manifest(path), path)
    del said["control"], said["checked_build"]
    path.write_text(json.dumps(said))
    found = image_of(read_manifest(path), path)
    assert found.control is Control.HS
    assert not found.checked
