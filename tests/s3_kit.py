# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A real S3 server for tests: SeaweedFS, one program in a wheel, which checks signatures and digests."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import httpx

KEY, SECRET, BUCKET = "key-of-tests", "secret-of-tests", "eddy"
STARTS_S = 180.0


def _ports(number: int) -> list[int]:
    """Free ports, with the ones 10,000 above free too: the program takes those for what it says to itself."""
    found: list[int] = []
    while len(found) < number:
        with socket.socket() as one, socket.socket() as other, contextlib.suppress(OSError, OverflowError):
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
            other.bind(("127.0.0.1", port + 10_000))
            found.append(port)
    return found


class S3Server:
    """One server, which can be killed and started again over what it keeps."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ports = _ports(4)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._ports[3]}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self.folder.mkdir(exist_ok=True, parents=True)
        identity = {"name": "eddy", "credentials": [{"accessKey": KEY, "secretKey": SECRET}], "actions": ["Admin"]}
        (self.folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
        (self.folder / "data").mkdir(exist_ok=True)
        master, volume, filer, s3 = self._ports
        program = shutil.which("weed", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
        assert program is not None
        command = [program, "server", f"-dir={self.folder / 'data'}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1"]
        command += [f"-master.port={master}", f"-volume.port={volume}", "-volume.max=60", "-filer", "-s3"]
        command += [f"-filer.port={filer}", f"-s3.port={s3}", f"-s3.config={self.folder / 's3.json'}"]
        command += ["-master.volumeSizeLimitMB=64", "-master.telemetry=false"]
        command += ["-s3.port.iceberg=0", "-s3.port.lance=0"]  # else on ports that are the same for all
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder)
        deadline = time.monotonic() + STARTS_S
        while True:
            assert self._process.poll() is None, (self.folder / "log").read_text()[-2000:]
            assert time.monotonic() < deadline, (self.folder / "log").read_text()[-2000:]
            with contextlib.suppress(httpx.HTTPError):
                made = httpx.post(f"http://127.0.0.1:{filer}/buckets/{BUCKET}/", timeout=5.0)
                if made.status_code in (200, 201, 409) and httpx.get(self.url, timeout=5.0).status_code < 500:
                    return
            time.sleep(0.2)

    def kill(self) -> None:
        """End it at once."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stand_still(self, still: bool = True) -> None:
        """Stop it, or let it go on."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP if still else signal.SIGCONT)

    @contextlib.contextmanager
    def running(self) -> Iterator[S3Server]:
        """With it, as the environment names it."""
        named = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1"}
        try:
            self.start()
            with patch.dict(os.environ, {**named, "AWS_ENDPOINT_URL": self.url}):
                yield self
        finally:
            self.kill()
