# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Blocks of the how-tos on boards, run: a shell in plain Python stands for the board, a folder for its file system.

What `systemctl` is told is held against the units that `eddy install` writes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from blocks_kit import Desk, Typist, text_of, until
from certificate_kit import make_certificate
from contract.harness import Harness, fake, socketed
from contract.images import make_images
from doc_session import free_port
from eddy.board.images.package import seal
from eddy.board.model.model import SHELL
from eddy.board.port.profile import load_profile
from eddy.board.remote.socket import SocketBoard
from eddy.cli.boards.install_files import GATEWAY, UNITS
from eddy.core.errors import Conflict

pytestmark = pytest.mark.xdist_group("page blocks")
INSTALLED = "/opt/eddy/current/bin/"
OTHERS = ("dfx-mgr",)
"""Units of others that a page names."""


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with pytest.MonkeyPatch.context() as patch:
        environment = {"HOME": str(tmp_path), "COLUMNS": "120", "EDDY_DATA": str(tmp_path / "data")}
        typist = Typist(tmp_path, environment, patch)
        yield Desk(typist, tmp_path)
        typist.end()
        told = {unit for each in typist.managed for unit in each[1:]}
        assert told <= {*OTHERS, *(unit.removesuffix(".service") for unit in (*UNITS, GATEWAY))}


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Harness]:
    """A board behind boardd's socket, which nobody has taken."""
    harness = socketed(fake(tmp_path / "fake"), tmp_path)
    harness.board.release()
    with contextlib.closing(harness):
        yield harness


def test_a_board_from_elsewhere(desk: Desk, board: Harness) -> None:
    files = make_certificate(desk.folder)
    shutil.copy(files.certificate, desk.folder / "gateway.pem")
    shutil.copy(files.key, desk.folder / "gateway-key.pem")
    etc, port = desk.folder / "root/etc/eddy", free_port()
    for folder in ("etc/systemd/system", "etc/udev/rules.d", "usr/lib/sysusers.d"):
        (desk.folder / "root" / folder).mkdir(parents=True)
    keygen = text_of("board-from-elsewhere", 0).splitlines()[0]
    desk.typist.type(keygen)
    below = ("--gateway ", f"--gateway --root {etc.parents[1]} ")
    desk.typed("board-from-elsewhere", 1, ("/etc/eddy", str(etc)), below)
    assert (desk.folder / "root/etc/systemd/system" / GATEWAY).is_file()
    assert "--keys /etc/eddy/gateway-keys" in (desk.folder / "root/etc/systemd/system" / GATEWAY).read_text()
    desk.typist.environment["EDDY_SOCKET"] = str(desk.folder / "boardd.sock")
    desk.typed(
        "board-from-elsewhere", 0, (f"{keygen}\n", ""), (INSTALLED, ""), ("/etc/eddy", str(etc)),
        ("gateway --keys", f"gateway --listen :{port} --keys"),
    )  # fmt: skip
    there = ("tls://board.example:7443", f"tls://localhost:{port}")
    assert "PASS" in desk.typed("board-from-elsewhere", 2, (there[0], f"{there[1]} --swaps 3"))
    desk.program("board-from-elsewhere", 3, there)
    beside = until(lambda: connected(desk.folder / "boardd.sock"))
    first, there = beside.images()[0], beside.state().slots[0]
    beside.release()
    assert first.sha256 in repr(there)


def connected(at: Path) -> SocketBoard | None:
    """The board, unless the one before has not gone yet."""
    with contextlib.suppress(Conflict):
        return SocketBoard(at)
    return None


def test_bring_up(desk: Desk, board: Harness) -> None:
    """The services as far as files, and the test of a board as far as the report."""
    root = desk.folder / "root"
    for folder in ("etc/systemd/system", "etc/udev/rules.d", "usr/lib/sysusers.d"):
        (root / folder).mkdir(parents=True)
    (desk.folder / "package").mkdir()
    (desk.folder / "package/eddy.bit").write_bytes(b"fabric")
    seal(desk.folder / "package", {"profile": "kv260", "part": "p", "shell": "s"}, None)
    desk.typed(
        "bring-up", 3, ("/opt/eddy/1/bin/", ""), (INSTALLED, ""), ("--profile kv260", f"--profile kv260 --root {root}"),
        ("sudo -u eddy eddy doctor --data /var/lib/eddy", ""),
    )  # fmt: skip
    assert (root / "lib/firmware/eddy/kv260/eddy.bit").read_bytes() == b"fabric"
    said = desk.typed(
        "bring-up", 4, (INSTALLED, ""), ("--board pynq --profile kv260", "--board rtl --profile tiny"),
        ("/run/eddy", str(desk.folder)),
        ("--swaps 1000", "--swaps 3"), ("--trusted-keys KEYS", "--trusted-keys ."),
        (" --keep /etc/eddy/measured", ""),
    )  # fmt: skip
    assert "PASS" in said
    assert json.loads((desk.folder / "board-day.json").read_text())["signature"]


def test_packages_of_a_kernel(desk: Desk) -> None:
    profile = load_profile("tiny")
    images = desk.folder / "images"
    make_images(images, profile, SHELL, ("alpha",))
    slots = [dataclasses.asdict(slot) for slot in profile.slots]
    (images / "eddy.json").write_text(json.dumps({"part": profile.part, "shell": SHELL, "slots": slots}, default=str))
    package = ("/lib/firmware/xilinx/edges", f"{desk.folder}/edges")
    desk.typed("import-packages", 1, package, ("/lib/firmware/eddy/kv260", str(images)))
    before = [file.name for file in images.glob("alpha*.bit")]
    assert before
    for name in before:
        (images / name).unlink()
    desk.typed("import-packages", 0, package, ("/var/lib/eddy/images", str(images)))
    assert {file.name for file in images.glob("alpha*.bit")} == {*before}
