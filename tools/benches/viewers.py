# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What viewers of the dashboard cost the server: each asks for the overview and the market once a second.

`eddy serve` on the model board, whose slots are all drained, with more jobs under way than the page shows, so that
estimates are asked for too. First nobody looks, then some do; the difference is theirs. With `--browser`, what the page
costs a browser that shows it: the time of its page's main thread, in Chromium (of the system, with Playwright; see
`make pages`), while nothing happens but the clock, and while jobs run.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from eddy.api.answers.overview import JOBS
from service_bench.clients import Connection, ask, request
from service_bench.memory import spent_s
from service_bench.servers import RunningServer, eddy

from benches.followers import drain
from benches.service import prepare, submission

VIEWERS, PERIOD_S = 20, 1.0
MOST = {
    "processor of a viewer, cores": 0.02,
    "browser, jobs wait, cores": 0.02,
    "browser, jobs run, cores": 0.02,
}
"""Goals."""


async def view(server: RunningServer, until_s: float, took_s: list[float]) -> None:
    """One page that is seen until some time."""
    connection = await Connection.open(server.port)
    try:
        while time.perf_counter() < until_s:
            began_s = time.perf_counter()
            for path in ("/v1/overview", "/v1/market"):
                status, _ = await connection.ask(request("GET", path, server.key))
                if status != 200 and path == "/v1/overview":
                    raise SystemExit(f"{path} answered {status}")
            took_s.append(time.perf_counter() - began_s)
            await asyncio.sleep(PERIOD_S)
    finally:
        connection.close()


async def look(server: RunningServer, viewers: int, seconds: float) -> list[float]:
    """So many, begun one after the other; answers what each look took, in wall time."""
    took_s, until_s = list[float](), time.perf_counter() + seconds
    tasks = []
    for _ in range(viewers):
        tasks.append(asyncio.create_task(view(server, until_s, took_s)))
        await asyncio.sleep(PERIOD_S / viewers)
    await asyncio.gather(*tasks)
    return took_s


def measure(server: RunningServer, viewers: int, seconds: float) -> dict[str, float]:
    """Processor time alone, and with viewers."""
    make = submission(server.key)
    for _ in range(JOBS + 10):
        status, said = ask(server.port, make())
        if status != 202:
            raise SystemExit(f"a job was not taken: {status} {said!r}")
    began_s = spent_s(server.process)
    time.sleep(seconds)
    alone_s = spent_s(server.process) - began_s
    began_s = spent_s(server.process)
    took_s = sorted(asyncio.run(look(server, viewers, seconds)))
    with_s = spent_s(server.process) - began_s
    return {
        "viewers": float(viewers),
        "looks": float(len(took_s)),
        "bytes a look": float(len(ask(server.port, request("GET", "/v1/overview", server.key))[1])),
        "processor ms a look": (with_s - alone_s) / len(took_s) * 1e3,
        "processor of a viewer, cores": (with_s - alone_s) / len(took_s) / PERIOD_S,
        "a look takes ms, median": took_s[len(took_s) // 2] * 1e3,
    }


def show(server: RunningServer, seconds: float) -> dict[str, float]:
    """What the page's main thread takes of a core: with many jobs waiting, then with the slots given to them."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        raise SystemExit("there is no Chromium; on Debian: apt-get install chromium")
    found = {}
    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1200, "height": 800})
        page.goto(f"http://127.0.0.1:{server.port}/")
        page.get_by_label("API key").fill(server.key)
        page.keyboard.press("Enter")
        page.locator("#slots table").wait_for()
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")

        def busy_s() -> float:
            metrics = session.send("Performance.getMetrics")["metrics"]
            return next(float(each["value"]) for each in metrics if each["name"] == "TaskDuration")

        for what in ("jobs wait", "jobs run"):
            if what == "jobs run":
                # In a thread of its own: Playwright runs an event loop in this one.
                with ThreadPoolExecutor(1) as beside:
                    beside.submit(drain, server, drained=False).result()
            page.wait_for_timeout(3000)
            began_s, began = busy_s(), time.perf_counter()
            page.wait_for_timeout(seconds * 1e3)
            found[f"browser, {what}, cores"] = (busy_s() - began_s) / (time.perf_counter() - began)
        browser.close()
    return found


OPTIONS: dict[str, dict[str, Any]] = {
    "--viewers": {"type": int, "default": VIEWERS},
    "--seconds": {"type": float, "default": 12.0, "help": "of looking"},
    "--browser": {"action": "store_true", "help": "also what the page costs Chromium"},
}


def bench(options: argparse.Namespace) -> dict[str, Any]:
    """What looking at the dashboard costs."""
    with tempfile.TemporaryDirectory(prefix="eddy-bench-") as folder, eddy(Path(folder)) as server:
        prepare(server)
        drain(server)
        found = measure(server, options.viewers, options.seconds)
        return found | (show(server, options.seconds) if options.browser else {})
