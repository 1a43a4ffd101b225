# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Two programs never have one folder, also where the file of its lock was removed, renamed or replaced."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from eddy.board.pynq.fpga_manager import FpgaManager
from eddy.board.remote.boardd import _alone_in
from eddy.cli.support.output import STORAGE
from eddy.core.errors import BoardNotReady, StorageInUse
from eddy.host.files import FolderLock, read_lock_holder
from forks_kit import forks

WAIT_S = 180.0
EDDY = [sys.executable, "-m", "eddy"]


@contextlib.contextmanager
def running(*command: str) -> Iterator[subprocess.Popen[str]]:
    """A program that has said, as JSON, that it serves."""
    with subprocess.Popen([*EDDY, *command, "--json"], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            text = "".join(iter(process.stdout.readline, "}\n")) + "}"
            assert json.loads(text)
            yield process
            process.send_signal(signal.SIGTERM)
            assert process.wait(WAIT_S) in (0, 128 + signal.SIGTERM)
        finally:
            process.kill()


def refused(*command: str) -> dict[str, str]:
    """What a program says that does not start."""
    done = forks().eddy(*command, "--json")
    assert done.stdout == "", "it must not serve"
    found: dict[str, str] = json.loads(done.stderr.strip().splitlines()[-1])
    assert done.returncode == STORAGE
    return found


def _remove(path: Path) -> None:
    path.unlink()


def _rename(path: Path) -> None:
    path.rename(path.with_name("moved"))


def _replace(path: Path) -> None:
    path.unlink()
    path.write_text("")


HARMS: tuple[Callable[[Path], object], ...] = (_remove, _rename, _replace)


def test_a_data_folder(tmp_path: Path) -> None:
    data = tmp_path / "data"
    command = ["serve", "--board", "model", "--profile", "tiny", "--port", "0", "--data", str(data)]
    with running(*command):
        for harm in HARMS:  # the one that is refused leaves a lock's file behind
            harm(data / "lock")
            assert refused(*command)["code"] == "storage-in-use"
            assert read_lock_holder(data / "lock") is not None, "for `eddy doctor`, and a backup"
        assert forks().eddy("backup", str(tmp_path / "b"), "--data", str(data)).returncode == 0
        moved = data.rename(tmp_path / "renamed")
        assert refused(*command[:-1], str(moved))["code"] == "storage-in-use"
        moved.rename(data)
    with running(*command):
        pass


def test_the_folder_of_a_pools_server(tmp_path: Path) -> None:
    pytest.importorskip("nats")
    command = ["pool", "up", "--data", str(tmp_path / "pool"), "--port", "0"]
    with running(*command):
        for harm in HARMS:
            harm(tmp_path / "pool" / "nats.lock")
            assert refused(*command)["code"] == "storage-in-use"
    with running(*command):
        pass


@pytest.mark.rtl
def test_boardds_socket_and_its_notarys_folder(tmp_path: Path) -> None:
    run, notary = tmp_path / "run", tmp_path / "notary"

    def command(socket: Path, signs: Path) -> list[str]:
        where = ["--socket", str(socket), "--notary", str(signs)]
        return ["boardd", "--board", "rtl", "--profile", "tiny", *where]

    with running(*command(run / "b.sock", notary)):
        for each in (run / "b.sock", run / "b.sock.lock", run / "b.sock.journal"):
            each.unlink(missing_ok=True)
        assert refused(*command(run / "b.sock", tmp_path / "other"))["code"] == "storage-in-use"
        (notary / "audit.lock").unlink()
        found = refused(*command(tmp_path / "second" / "b.sock", notary))
        assert (found["code"], "notary" in found["detail"]) == ("storage-in-use", True)


def test_the_notary_may_lie_beside_the_socket(tmp_path: Path) -> None:
    held = FolderLock(tmp_path / "b.sock.lock", "the socket")
    with _alone_in(tmp_path, beside=tmp_path):
        pass
    held.release()


def test_a_board(tmp_path: Path) -> None:
    """The lock is on the kernel's own folder of the configuration port."""
    (tmp_path / "state").write_text("operating\n")
    script = "import sys, pathlib; from eddy.board.pynq.fpga_manager import FpgaManager as F\n"
    script += "claim = F(pathlib.Path(sys.argv[1])).claim(); print('has it', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", script, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "has it\n"
        with pytest.raises(BoardNotReady) as raised:
            FpgaManager(tmp_path).claim()
        assert raised.value.details["cause"] == "in-use"
        process.kill()
    with FpgaManager(tmp_path).claim(), pytest.raises(BoardNotReady):
        FpgaManager(tmp_path).claim()
    FpgaManager(tmp_path).claim().close()


def test_a_server_of_an_older_version_locks_the_file_alone(tmp_path: Path) -> None:
    file = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(file, fcntl.LOCK_EX)
    with pytest.raises(StorageInUse):
        FolderLock(tmp_path / "lock", "it")
    os.close(file)
    held = FolderLock(tmp_path / "lock", "it")
    held.release()
