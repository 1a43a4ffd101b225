# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Where screenshots of the dashboard go, and how Chromium is started for them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

OUT = Path(__file__).parents[1] / "out" / "pages"
PATIENCE_MS = 180_000.0
"""Most wall milliseconds a page may take for anything a test waits for: with twenty things to do at once a machine is
slow, and nothing here is about how fast it is."""
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


def page_of(browser: Browser, **context: Any) -> Page:
    """A page of its own in a browser, that is waited for with `PATIENCE_MS`; `context` is as `new_context` takes it."""
    made = browser.new_context(**context)
    made.set_default_timeout(PATIENCE_MS)
    return made.new_page()
