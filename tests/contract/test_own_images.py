# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Images of tenants' own: what the board takes of whom, and that nothing of it outlives or widens a lease."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from contract.fake_fabric import SHELL
from contract.harness import Harness, fake, model, rtl, socketed
from contract.images import make_image
from eddy.board.images import signing
from eddy.board.images.image_files import image_of
from eddy.board.images.signing import Trust
from eddy.board.images.tenant_images import HANDOFF
from eddy.board.model.model import SHELL as MODEL_SHELL
from eddy.board.model.model import ModelBoard
from eddy.board.port.port import READY, EventKind, Preparation, SlotPhase
from eddy.board.port.profile import load_profile
from eddy.board.pynq.pynq import PynqBoard
from eddy.core.errors import ImageRefused, NotFound
from eddy.core.slots import Image

TINY = load_profile("tiny")


@dataclass
class Lab:
    """A board, and what two tenants may have signed."""

    harness: Harness
    folder: Path
    shell: str
    module: str

    def key(self, tenant: str) -> Path:
        """A tenant's private key, whose other half the board trusts for it."""
        return self.folder / "keys" / "tenants" / tenant / "own.key"

    def made(self, slot: int = 0, signer: str = "ada", **changed: object) -> tuple[Image, bytes]:
        """An image, signed by a tenant's key after what is changed of its manifest; and its file."""
        folder = self.folder / "own"
        folder.mkdir(exist_ok=True)
        image = make_image(folder, TINY, self.shell, self.module, slot)
        image = dataclasses.replace(image, **changed)  # type: ignore[arg-type]
        data = (folder / f"{self.module}__slot{slot}.bit").read_bytes()
        return (signing.sign(image, signing.load_key(self.key(signer))) if signer else image), data

    def refuse(self, image: Image, data: bytes, reason: str, tenant: str = "ada") -> None:
        """Send an image that is not taken, for this reason; nothing has changed."""
        before = self.harness.board.state().slots
        with pytest.raises(ImageRefused) as caught:
            self.harness.board.take_image(image, tenant, data)
        assert caught.value.details["reason"] == reason
        assert self.harness.board.state().slots == before
        if image.sha256 not in {each.sha256 for each in self.harness.board.images()}:
            with pytest.raises(ImageRefused):
                self.harness.board.load(0, image.sha256)


def trust_of(folder: Path) -> Trust:
    for tenant in ("ada", "bob"):
        (folder / "keys" / "tenants" / tenant).mkdir(parents=True)
        signing.generate(folder / "keys" / "tenants" / tenant / "own.key")
    return Trust.load(False, folder / "keys")


@pytest.fixture(params=["fake", "socket-fake", "model"])
def lab(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Lab]:
    trust = trust_of(tmp_path)
    if request.param == "model":
        found = Lab(model(tmp_path), tmp_path, MODEL_SHELL, "beta")
        assert isinstance(found.harness.board, ModelBoard)
        found.harness.board._trust = trust
    else:
        inner = fake(tmp_path, trust=trust)
        outer = socketed(inner, tmp_path) if request.param == "socket-fake" else inner
        found = Lab(outer, tmp_path, SHELL, "gamma")
    yield found
    found.harness.close()


def test_an_image_that_a_trusted_key_signed_is_loaded_and_listed_nowhere(lab: Lab) -> None:
    board, listed = lab.harness.board, lab.harness.board.images()
    image, data = lab.made()
    board.take_image(image, "ada", data)
    board.load(0, image.sha256)
    event = lab.harness.next_event()
    assert (event.kind, event.image) == (EventKind.CONFIGURED, image.sha256)
    assert board.images() == listed
    with pytest.raises(ImageRefused):
        board.load(1, image.sha256)
    board.close(0)
    assert board.state().slots[0].phase is SlotPhase.EMPTY


def test_the_next_image_for_a_slot_takes_the_place_of_the_one_before(lab: Lab) -> None:
    board = lab.harness.board
    first, data = lab.made()
    board.take_image(first, "ada", data)
    changed = data[:-40] + bytes(4) + data[-36:]
    second = dataclasses.replace(first, sha256=hashlib.sha256(changed).hexdigest(), signature="")
    second = signing.sign(second, signing.load_key(lab.key("ada")))
    board.take_image(second, "ada", changed)
    with pytest.raises(ImageRefused):
        board.load(0, first.sha256)
    board.load(0, second.sha256)


def test_who_signed_it_counts_for_that_tenant_alone(lab: Lab) -> None:
    image, data = lab.made(signer="")
    lab.refuse(image, data, "unsigned")
    image, data = lab.made(signer="bob")
    lab.refuse(image, data, "untrusted-signature", "ada")
    lab.refuse(image, data, "untrusted-signature", "nobody")
    lab.refuse(image, data, "untrusted-signature", "../bob")
    lab.refuse(dataclasses.replace(image, module="other"), data, "untrusted-signature", "bob")
    lab.harness.board.take_image(image, "bob", data)


def test_what_a_signature_does_not_mend(lab: Lab) -> None:
    image, data = lab.made(checked_build="")
    lab.refuse(image, data, "unchecked")
    image, data = lab.made(checked_build="f" * 16)
    lab.refuse(image, data, "unchecked")
    image, data = lab.made(shell="123456789abcdef0")
    lab.refuse(image, data, "other-shell")
    for clk_hz in (2e9, 0.0, -1.0, math.inf):
        image, data = lab.made(clk_hz=clk_hz)
        lab.refuse(image, data, "wrong-clock")
    image, data = lab.made(bytes=TINY.slots[0].image_bytes - 4)
    lab.refuse(image, data, "wrong-size")
    image, data = lab.made()
    lab.refuse(image, data[:-1], "damaged")
    lab.refuse(image, data[:5000] + bytes([data[5000] ^ 1]) + data[5001:], "damaged")
    boot = bytes.fromhex("14000000" * 8 + "665599aa584e4c58") + bytes(4096)
    image, _ = lab.made(sha256=hashlib.sha256(boot).hexdigest(), bytes=len(boot))
    lab.refuse(image, boot, "secure")
    image, data = lab.made(slot=0)
    with pytest.raises(NotFound):
        lab.harness.board.take_image(dataclasses.replace(image, slot=99), "ada", data)


def test_no_claim_of_its_manifest_spares_a_load_between_tenants(lab: Lab) -> None:
    image, data = lab.made()
    image, data = lab.made(scrub_build=image.build)
    lab.harness.board.take_image(image, "ada", data)
    lab.harness.board.load(0, image.sha256)
    assert lab.harness.next_event().kind is EventKind.CONFIGURED
    with pytest.raises(ImageRefused):
        lab.harness.board.scrub(0)


def test_an_image_that_the_board_has_is_loaded_as_the_board_has_it(tmp_path: Path) -> None:
    """A holder's manifest over the same bytes changes nothing of what jobs get."""
    harness = fake(tmp_path, trust=trust_of(tmp_path))
    try:
        lab = Lab(harness, tmp_path, SHELL, "beta")
        image, data = lab.made(clk_hz=TINY.slots[0].clk_hz / 2)
        offered = next(each for each in harness.board.images() if each.sha256 == image.sha256)
        harness.board.take_image(image, "ada", data)
        harness.board.load(0, image.sha256)
        assert harness.next_event().kind is EventKind.CONFIGURED
        assert isinstance(harness.board, PynqBoard)
        assert harness.board._slots[0].held == offered
    finally:
        harness.close()


def test_an_image_that_holds_another_module_than_it_says_closes_the_slot(tmp_path: Path) -> None:
    harness = fake(tmp_path, trust=trust_of(tmp_path))
    try:
        lab = Lab(harness, tmp_path, SHELL, "gamma")
        image, data = lab.made(build="0123456789abcdef", checked_build="0123456789abcdef")
        harness.board.take_image(image, "ada", data)
        harness.board.load(0, image.sha256)
        assert harness.next_event().kind is EventKind.CONFIGURATION_FAILED
        assert harness.board.state().slots[0].phase is SlotPhase.FAULTED
    finally:
        harness.close()


@pytest.mark.rtl
@pytest.mark.xdist_group("board-rtl")
def test_on_the_rtl_a_module_that_the_board_does_not_offer(tmp_path: Path) -> None:
    """Its image tells the simulated board which of its own sources to simulate; all the checks are those of a board."""
    harness = rtl(tmp_path, trust=trust_of(tmp_path))
    try:
        assert harness.folder is not None
        lab = Lab(harness, tmp_path, "", "")
        offered = harness.image(0)
        file = harness.folder / f"{offered.module}__slot0.bit"
        away = tmp_path / "away"
        away.mkdir()
        for path in (file, file.with_suffix(".json")):
            shutil.move(path, away)
        manifest = away / f"{file.stem}.json"
        image = image_of(json.loads(manifest.read_text()), manifest)
        signed = signing.sign(image, signing.load_key(lab.key("ada")))
        data = (away / file.name).read_bytes()
        with pytest.raises(ImageRefused):
            harness.board.load(0, image.sha256)
        lab.refuse(image, data, "unsigned")
        harness.board.take_image(signed, "ada", data)
        harness.board.load(0, image.sha256)
        assert harness.next_event().kind is EventKind.CONFIGURED
        harness.board.close(0)
    finally:
        harness.close()


def test_pynq_reads_the_metadata_beside_an_image(tmp_path: Path) -> None:
    """PYNQ loads no partial bitstream without; and finds none of the tenant's in it."""
    hwh_parser = pytest.importorskip("pynq.pl_server.hwh_parser")
    (tmp_path / "own.hwh").write_bytes(HANDOFF)
    parser = hwh_parser._HWHUltrascale(str(tmp_path / "own.hwh"))
    assert (parser.partial, parser.ip_dict, parser.interrupt_pins) == (True, {}, {})


def test_what_prepares_a_load_is_told_the_file_of_an_own_image(tmp_path: Path) -> None:
    found = Lab(fake(tmp_path, trust=trust_of(tmp_path)), tmp_path, SHELL, "gamma")
    board = found.harness.board
    assert isinstance(board, PynqBoard)
    asked: list[str] = []

    def prepare(module: str) -> Preparation:
        asked.append(module)
        return READY

    board._preparer = prepare
    image, data = found.made()
    board.take_image(image, "ada", data)
    assert board.prepare("gamma").ready
    assert board.prepare(image.sha256).ready
    assert asked[0] == "gamma"
    assert Path(asked[1]).read_bytes() == data
    assert Path(asked[1]).with_suffix(".hwh").read_bytes() == HANDOFF
    found.harness.close()
