# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The browser of `make pages`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from chromium_kit import FLAGS, OUT, PATIENCE_MS

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    # Imported here: every run of the tests reads this file, and few have a browser.
    from playwright.sync_api import expect, sync_playwright

    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert program, "there is no Chromium; on Debian: apt-get install chromium"
    OUT.mkdir(parents=True, exist_ok=True)
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as player:
        opened = player.chromium.launch(executable_path=program, args=FLAGS, timeout=PATIENCE_MS)
        yield opened
        opened.close()
