# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The how-to on pools as far as one machine, typed: begun, joined, a job, backed up, lost and restored."""

from __future__ import annotations

from pathlib import Path

import pytest
from blocks_kit import Desk, Typist, text_of
from doc_session import free_port
from PIL import Image

pytest.importorskip("nats")


def test_a_pool_on_one_machine_is_begun_used_lost_and_restored(tmp_path: Path) -> None:
    bus, head = (free_port() for _ in range(2))
    up = ("eddy pool up --data ~/pool", f"eddy pool up --data ~/pool --port {bus}")
    Image.new("L", (300, 200), 90).save(tmp_path / "photograph.png")
    with pytest.MonkeyPatch.context() as patch:
        typist = Typist(tmp_path, {"HOME": str(tmp_path), "COLUMNS": "120"}, patch)
        desk = Desk(typist, tmp_path)
        install, *_ = text_of("pool", 0).splitlines()
        desk.typed("pool", 0, (install, ""), up, ("--port 8100", f"--port {head}"))
        board = f"pool/boards/bench-3.json --board model --data {tmp_path}/bench-3 --port 0"
        desk.typed("pool", 1, ("bench-3.json", f"{tmp_path}/{board}"))
        any_board = ("--out result", "--board-kind any --out result")
        desk.typed("pool", 2, ("http://HEAD:8100", f"http://127.0.0.1:{head}"), any_board)
        assert (tmp_path / "result").is_dir()
        desk.typed("pool", 13, ("/backups", str(tmp_path)))
        typist.end()
        desk.typed("pool", 14, ("/backups", str(tmp_path)), up)
        typist.type(f"eddy pool serve --data ~/pool --port {head}")
        assert [job["state"] for job in desk.asked("jobs")["jobs"]] == ["succeeded"]
        typist.end()
