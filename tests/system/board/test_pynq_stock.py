# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A script of stock PYNQ calls against the RTL, in a process of its own as a user would run it."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pynq.pl_server
import pytest
from eddy.board.port.profile import load_profile
from eddy_sim.design.bitstreams import list_or_build

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("pynq")]
SCRIPT = Path(__file__).parent / "stock_script.py"
ROOT = Path(__file__).resolve().parents[3]


def run(profile: str, folder: Path, coherent: bool = False) -> dict[str, Any]:
    listed = json.dumps(list_or_build(profile).to_json())
    environment = {**os.environ, "EDDY_PROFILE": profile, "EDDY_COHERENT": "1" if coherent else "0"}
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(folder / "damaged.bit")],
        input=listed,
        capture_output=True,
        text=True,
        env=environment,
        cwd=folder,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    seen: dict[str, Any] = json.loads(done.stdout)
    return seen


@pytest.mark.parametrize(("profile", "coherent"), [("tiny", False), ("tiny", True), ("kv260", False)])
def test_a_script_of_stock_calls(tmp_path: Path, profile: str, coherent: bool) -> None:
    seen = run(profile, tmp_path, coherent)
    board = load_profile(profile)
    slots = min(4, len(board.slots))
    assert seen["device"] == f"eddy-{profile}"
    assert seen["loaded"]
    assert seen["same"]
    assert {"shell", "axi_intc_0", "slot_ctrl0", "slot_clk0", "slot0/module"} <= set(seen["ips"])
    assert seen["id"] == 0xED01
    assert seen["fclk0_mhz"] == pytest.approx(board.shell_hz / 1e6, rel=1e-3)
    assert seen["before"] >> 16 == 0xDEAD, "a slot that was never opened answers with poison"
    assert seen["memory"] == 63
    assert seen["magic"] == [0x45444459] * slots
    assert seen["drivers"] == ["Dct"] * slots
    assert seen["done"] == [1] * slots
    assert seen["something"]
    assert seen["error"] <= 1.0
    assert seen["damaged"] == errno.EIO
    assert seen["again"]
    assert [size for size, _ in seen["loads"]] == [slot.image_bytes for slot in board.slots[:slots]]
    for size, cycles in seen["loads"]:
        alone = size / board.configuration.bytes_per_s * board.shell_hz
        # What is not the port's time is the register accesses that close and open the slot.
        assert alone <= cycles <= alone + 1500


def test_the_same_script_takes_the_same_cycles(tmp_path: Path) -> None:
    first, second = run("tiny", tmp_path), run("tiny", tmp_path)
    assert first == second
    # Nor does anything stay behind: not where the script ran, and not in PYNQ's own folder, where it keeps its state.
    assert [path.name for path in tmp_path.iterdir()] == ["damaged.bit"]
    state = Path(pynq.pl_server.__file__).parent
    assert not [*state.glob("*.pkl"), *state.glob("global_pl_state_*")]


def test_the_script_of_the_docs_runs_as_it_stands_and_again_in_its_loop(tmp_path: Path) -> None:
    """As a notebook's cells are run again: the last part alone, and all of it."""
    page = (ROOT / "docs" / "how-to" / "use-stock-pynq.md").read_text(encoding="utf-8")
    script, device, fault = (block.partition("```")[0] for block in page.split("```python\n")[1:4])
    listed, tiny = list_or_build("kv260"), list_or_build("tiny")
    script = script.replace("build/bitstreams/kv260", str(Path(listed.overlay).parent))
    again = "\nfor _ in range(2):\n    loop.run_until_complete(run())\nprint('again')\n"
    load = f"overlay.pr_download('slot0', {str(Path(tiny.overlay).parent / 'dct__slot0.bit')!r})"
    other = f"import pynq\nfile = {str(tiny.overlay)!r}\n{device}\n{load}\nprint(pynq.Device.active_device.name)\n"
    fails = f"{fault}\ntry:\n    {load}\nexcept OSError:\n    print('failed')\n"
    (tmp_path / "script.py").write_text(script + again + script + other + fails)
    environment = {**os.environ, "EDDY_PROFILE": "kv260"}
    command = [sys.executable, "-W", "error::RuntimeWarning", "script.py"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    first, said, last, *others = done.stdout.splitlines()
    assert (said, first.split()[0]) == ("again", last.split()[0])
    assert others == ["eddy-tiny", "failed"]
    assert int(first.split()[0]) != 0


def test_pynq_watches_an_interrupt_in_the_loop_that_was_current_when_it_was_made(tmp_path: Path) -> None:
    """What the page says of a board: with PYNQ's own controller, on a file that becomes readable as a UIO file does."""
    os.mkfifo(tmp_path / "uio0")
    script = """
import asyncio, os, sys
from pynq.uio import UioController

async def wait(controller):
    came = asyncio.Event()
    controller.wait_events.append(came)
    os.write(controller.uio.fileno(), bytes(4))
    await asyncio.wait_for(came.wait(), 2)

loop = asyncio.new_event_loop()
asyncio.set_event_loop(loop)
controller = UioController(sys.argv[1])
for _ in range(2):
    loop.run_until_complete(wait(controller))
try:
    asyncio.run(wait(controller))
except asyncio.TimeoutError:
    print("no interrupt in another loop", flush=True)
os._exit(0)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "uio0")], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "no interrupt in another loop\n", done.stderr
