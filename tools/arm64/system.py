# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""An arm64 system in a folder, run by emulation: made once, and copied for every run."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

BINFMT = Path("/proc/sys/fs/binfmt_misc")
HANDLER = Path("/usr/lib/binfmt.d/qemu-aarch64.conf")
PACKAGES = ("python3", "python3-venv", "systemd", "udev")
SUITE = "bookworm"
"""Debian 12, with Python 3.11. PYNQ's images are Ubuntu 22.04 with 3.10, for which wheels are resolved, too."""
_NEEDED = {
    "mmdebstrap": "mmdebstrap",
    "qemu-aarch64-static": "qemu-user-static",
    "arch-test": "arch-test",
    "unshare": "util-linux",
    "chroot": "coreutils",
}
_VOLATILE = ("proc", "sys", "dev", "tmp", "run", "root", "wheels", "var/log", "var/lib/systemd", "var/cache")
"""What a running system changes by itself, and where the run's own files lie."""
_BACKUPS = frozenset(
    f"etc/{name}{suffix}" for name in ("passwd", "group", "shadow", "gshadow") for suffix in ("-", ".lock")
)
"""Copies that the tools for users leave of what was there before, and their locks."""


def missing() -> str:
    """What has to be done first; "" where nothing has."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "needs root on Linux (chroot, foreign programs)"
    lacking = [package for program, package in _NEEDED.items() if shutil.which(program) is None]
    if lacking:
        return f"apt-get install {' '.join(lacking)}"
    return _emulation()


def _emulation() -> str:
    """Have the kernel run arm64 programs; what is in the way, or ""."""
    if subprocess.run(["arch-test", "arm64"], capture_output=True).returncode == 0:
        return ""
    if not (BINFMT / "register").exists():
        subprocess.run(["mount", "-t", "binfmt_misc", "binfmt_misc", str(BINFMT)], check=False, capture_output=True)
    try:
        (BINFMT / "register").write_bytes(HANDLER.read_bytes().strip())
    except OSError as error:
        return f"the kernel takes no handler for arm64 programs ({error}); it needs binfmt_misc, and {HANDLER}"
    print(f"board-chroot: arm64 programs run here from now on ({BINFMT}/qemu-aarch64)", flush=True)
    return ""


class System:
    """An arm64 system of its own, below a folder.

    Args:
        home: Where the made system is kept, and the run's copy of it.
    """

    def __init__(self, home: Path) -> None:
        self.base, self.root = home / f"{SUITE}-{_digest()}", home / f"root-{os.getpid()}"

    def make(self) -> None:
        """Make the system where it is not there yet: some ten minutes, for its packages set themselves up emulated.

        Raises:
            subprocess.CalledProcessError: It could not be made; the tool said why.
        """
        stamp = self.base.with_suffix(".ready")
        if not stamp.exists():
            print("board-chroot: making an arm64 system (once, some ten minutes)", flush=True)
            shutil.rmtree(self.base, ignore_errors=True)
            self.base.parent.mkdir(parents=True, exist_ok=True)
            options = ["--quiet", "--variant=minbase", "--architectures=arm64", f"--include={','.join(PACKAGES)}"]
            subprocess.run(["mmdebstrap", *options, SUITE, str(self.base)], check=True, stdin=subprocess.DEVNULL)
            stamp.touch()
        subprocess.run(["cp", "-a", "--reflink=auto", str(self.base), str(self.root)], check=True)

    def remove(self) -> None:
        """Remove the run's copy: nothing is mounted in it but inside of `run`."""
        shutil.rmtree(self.root, ignore_errors=True)

    def run(self, command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a shell command in it, in namespaces of its own: nothing stays mounted, no process stays behind.

        Raises:
            subprocess.CalledProcessError: It failed, and `check` is set; its output was printed.
        """
        space = ["unshare", "--mount", "--pid", "--fork", "--kill-child", f"--mount-proc={self.root / 'proc'}"]
        clean = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": "/root",
            "LANG": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        done = subprocess.run(
            [*space, "chroot", str(self.root), "sh", "-ec", command],
            env=clean,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        if check and done.returncode:
            print(done.stdout[-4000:] + done.stderr[-4000:], file=sys.stderr)
            done.check_returncode()
        return done

    def bytes_below(self, path: str) -> int:
        """Bytes of the files below a folder of the system."""
        return sum(entry.lstat().st_size for entry in self._inside(path).rglob("*") if not entry.is_dir())

    def snapshot(self) -> dict[str, str]:
        """Every file, link and folder, with mode, owner and contents; but for what a running system changes itself."""
        return {path: _look(self.root / path) for path in _walk(self.root, "", frozenset(_VOLATILE) | _BACKUPS)}

    def _inside(self, path: str) -> Path:
        return self.root / path.lstrip("/")


def _digest() -> str:
    return hashlib.sha256(repr((SUITE, PACKAGES)).encode()).hexdigest()[:8]


def _walk(root: Path, below: str, without: frozenset[str]) -> Sequence[str]:
    found = []
    for entry in os.scandir(root / below):
        path = f"{below}/{entry.name}".lstrip("/")
        if path in without:
            continue
        found.append(path)
        if entry.is_dir(follow_symlinks=False):
            found += _walk(root, path, without)
    return found


def _look(path: Path) -> str:
    status = path.lstat()
    held = ""
    if path.is_symlink():
        held = os.readlink(path)
    elif path.is_file():
        held = hashlib.sha256(path.read_bytes()).hexdigest()
    return f"{status.st_mode:o} {status.st_uid}:{status.st_gid} {held}"
