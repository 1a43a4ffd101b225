# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How many files of `eddy` a request enters: whoever debugs it has to know them.

A server on the `model` board in this process, warm; then one request each, with every function call until its answer
noted by `sys.setprofile`, in the server's thread and in those that work for it. With `--names`, the files as well; with
`--json`, one object on standard output.
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import json
import tempfile
import threading
import time
from contextvars import ContextVar
from pathlib import Path
from types import FrameType

from eddy.api.service.server import Server, ServerSettings

ROOT = Path(__file__).resolve().parents[1]
EDDY = str(ROOT / "runtime" / "eddy") + "/"
TILE = bytes(range(256)) * 64
BEGINS = frozenset({("connections.py", "data_received"), ("submission_queue.py", "_open")})
"""Where the work for a request begins: its bytes come, and the group of submissions that it is in is let in."""
WARM, QUIET_S = 3, 0.5
"""Requests before the one that counts; wall seconds after each in which jobs end."""
_for_request: ContextVar[bool] = ContextVar("for_request", default=False)


class Recorder:
    """The files of `eddy` that are entered for a request while this is on.

    What a request has done, in its own task, in tasks that these begin and in threads that are given their context, is
    told by a context variable. What else the server does meanwhile, the engine's steps and its services, is no part.
    """

    def __init__(self) -> None:
        self.on = False
        self._codes: set[str] = set()

    def __call__(self, frame: FrameType, what: str, _: object) -> None:
        """Note a call; for `sys.setprofile`."""
        if not self.on or what != "call" or not frame.f_code.co_filename.startswith(EDDY):
            return
        name = frame.f_code.co_filename
        if (name.rpartition("/")[2], frame.f_code.co_name) in BEGINS:
            _for_request.set(True)
        if _for_request.get():
            self._codes.add(name)

    def taken(self) -> list[str]:
        """What was entered since this was last asked, sorted."""
        found = sorted(name.removeprefix(EDDY) for name in self._codes)
        self._codes.clear()
        return found


def entered(server: Server, recorder: Recorder, method: str, path: str, body: bytes = b"") -> tuple[list[str], bytes]:
    """Files that a warm request enters until it is answered, and the answer."""
    key = server.key_file.read_text().strip()
    headers = {"Authorization": f"Bearer {key}"} | ({"Content-Type": "application/json"} if method == "POST" else {})
    link = http.client.HTTPConnection(server.host, server.port)
    for turn in range(WARM + 1):
        recorder.on = turn == WARM
        link.request(method, path, body, headers)
        answer = link.getresponse()
        text = answer.read()
        recorder.on = False
        if answer.status >= 300:
            raise SystemExit(f"{method} {path}: {answer.status} {text!r}")
        time.sleep(QUIET_S)
    link.close()
    return recorder.taken(), text


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--names", action="store_true", help="print the files, too")
    parser.add_argument("--json", action="store_true", help="one object on standard output")
    asked = parser.parse_args()
    recorder = Recorder()
    threading.setprofile(recorder)
    sha = hashlib.sha256(TILE).hexdigest()
    job = json.dumps({"application": "image_compression", "inputs": {"image": [sha]}}).encode()
    with tempfile.TemporaryDirectory() as folder:
        settings = ServerSettings("model", "zcu106", "nimblock", Path(folder), ROOT / "bitstreams", port=0)
        with Server(settings).background() as server:
            found, page = dict[str, list[str]](), b""
            for name, method, path, body in (
                ("PUT of a blob", "PUT", f"/v1/blobs/{sha}", TILE),
                ("POST of a job", "POST", "/v1/jobs", job),
                ("GET of a page of jobs", "GET", "/v1/jobs", b""),
                ("GET of a job", "GET", "/v1/jobs/{}", b""),
                ("GET of the overview", "GET", "/v1/overview", b""),
                ("GET of the dashboard", "GET", "/", b""),
            ):
                number = json.loads(page)["jobs"][0]["id"] if "{}" in path else 0
                found[name], page = entered(server, recorder, method, path.format(number), body)
    if asked.json:
        print(json.dumps(found if asked.names else {name: len(files) for name, files in found.items()}, indent=2))
        return
    for name, files in found.items():
        print(f"{len(files):3} files by {name}")
        if asked.names:
            print(*(f"      {file}" for file in files), sep="\n")


if __name__ == "__main__":
    main()
