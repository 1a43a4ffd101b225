"""Where screenshots of the dashboard go, and how Chromium is started for them."""

from __future__ import annotations

from pathlib import Path

OUT = Path(__file__).parents[1] / "out" / "pages"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
