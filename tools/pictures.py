# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The pictures in README: the timeline of `make demo`; the dashboard and `eddy top`, by Chromium.

    make pictures

The demonstration runs as ever, and its timeline is kept. Then two tenants submit six image compressions at once to a
server on the simulated KV260; when all have ended, the operator looks. Both other pictures are of that moment. Numbers
of jobs and wall times differ from run to run. Needs Debian's package `chromium`.
"""

from __future__ import annotations

import asyncio
import io
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from eddy.api.service.server import Server, ServerSettings
from eddy.cli.demo import demo_run
from eddy.cli.top.frame import COLUMNS, LINES
from eddy.cli.top.screen import Screen
from eddy.client import Client
from eddy_sim.reference import image_compression
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
SUBMITTED = (("ada", 4, 1), ("grace", 3, 3), ("ada", 6, 1), ("grace", 2, 1), ("ada", 5, 9), ("grace", 4, 1))
"""Tenant, items and priority of each job, in order."""
WIDTH, TOP_WIDTH, HEIGHT = 1200, 1000, 800
END_S = 600.0
"""Wall seconds the jobs are waited for; on a fresh checkout their modules' models are built first."""


def work(url: str, operator: str) -> None:
    """Submit everything, and wait until it has ended.

    Raises:
        RuntimeError: A job did not succeed.
    """
    with Client(url, operator) as client:
        keys = {
            name: str(client.add_tenant(name, max_priority=9)["key"])
            for name in sorted({name for name, *_ in SUBMITTED})
        }
    tiles = np.stack(image_compression.tiles())
    clients = {name: Client(url, key) for name, key in keys.items()}
    try:
        jobs = [
            clients[name].submit("image_compression", {"image": tiles[:items]}, priority=priority)
            for name, items, priority in SUBMITTED
        ]
        for job in jobs:
            state = job.wait(timeout_s=END_S).state
            if state != "succeeded":
                raise RuntimeError(f"job {job.id} is {state}")
    finally:
        for each in clients.values():
            each.close()


def dashboard(browser: Browser, url: str, operator: str) -> bytes:
    """The overview, as the operator sees it."""
    page = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}).new_page()
    page.goto(url)
    page.get_by_label("API key").fill(operator)
    page.keyboard.press("Enter")
    page.locator("#ended tbody tr").nth(len(SUBMITTED) - 1).wait_for()
    page.evaluate("document.activeElement.blur()")
    return bytes(page.screenshot(full_page=True))


async def terminal(url: str, operator: str) -> str:
    """The screen of `eddy top` in 80 columns and 24 lines, as SVG."""
    with Client(url, operator) as client:
        screen = Screen(client, url, 60.0)
        async with screen.run_test(size=(COLUMNS, LINES)) as pilot:
            await screen.workers.wait_for_complete()
            await pilot.pause()
            return screen.export_screenshot(title="eddy top")


def drawn(browser: Browser, svg: str) -> bytes:
    """An SVG as Chromium draws it; its fonts are the system's."""
    page = browser.new_context(viewport={"width": TOP_WIDTH, "height": HEIGHT}).new_page()
    page.route("**/*", lambda route: route.abort())  # Textual names fonts of a server elsewhere
    page.set_content(f'<body style="margin: 0">{svg}</body>')
    return bytes(page.locator("svg").screenshot())


def timeline() -> bytes:
    """What the slots did in the demonstration.

    Raises:
        RuntimeError: A result was wrong.
    """
    with tempfile.TemporaryDirectory(prefix="eddy-pictures-") as folder:
        out = Path(folder) / "out"
        out.mkdir()
        report = demo_run.run("kv260", "eddy", Path(folder) / "data", out, say, say)
        if not report.verified:
            raise RuntimeError("a result of the demonstration is wrong")
        return report.files["timeline"].read_bytes()


def say(text: str) -> None:
    """Tell how far it is."""
    print(text, file=sys.stderr)


def keep(picture: bytes, name: str) -> None:
    """Write a picture with a palette: a third of the bytes."""
    with Image.open(io.BytesIO(picture)) as found:
        found.convert("RGB").quantize(256).save(IMAGES / name, optimize=True)
    print(f"{IMAGES / name}")


def main() -> int:
    """Take all."""
    program: Any = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        print("there is no Chromium; on Debian: apt-get install chromium", file=sys.stderr)
        return 1
    keep(timeline(), "timeline.png")
    with tempfile.TemporaryDirectory(prefix="eddy-pictures-") as folder:
        settings = ServerSettings("rtl", "kv260", "eddy", Path(folder), ROOT / "bitstreams", port=0)
        with Server(settings, progress=say).background(END_S) as server:
            key = server.key_file.read_text().strip()
            work(server.url, key)
            svg = asyncio.run(terminal(server.url, key))
            with sync_playwright() as player:
                browser = player.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
                keep(dashboard(browser, server.url, key), "dashboard.png")
                keep(drawn(browser, svg), "top.png")
                browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
