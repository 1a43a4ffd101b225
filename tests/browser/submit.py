# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""From nothing to a result in the browser alone, on the simulated board: `make pages`. Pictures go to `out/pages`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chromium_kit import OUT, PATIENCE_MS, page_of
from eddy.api.service.server import Server, ServerSettings
from eddy.cli.support.installed import bitstreams_folder
from eddy.client import Client
from eddy_sim.design.models import build_models
from eddy_sim.reference import image_compression
from PIL import Image
from playwright.sync_api import Browser, Locator, Page, expect

PIXELS = """canvas => [canvas.width, canvas.height, [...canvas.getContext("2d")
  .getImageData(0, 0, canvas.width, canvas.height).data].filter((value, at) => at % 4 < 3)]"""
HASHES = """async (sizes) => {
  const { sha256 } = await import("/web/hash.js");
  return sizes.map((size) => sha256(Uint8Array.from({ length: size }, (_, at) => (at * 7) % 251)));
}"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    build_models("kv260", modules=frozenset({"image_front", "image_back", "level_shift"}))
    settings = ServerSettings("rtl", "kv260", "eddy", tmp_path / "data", bitstreams_folder(""), port=0)
    with Server(settings).background() as running:
        yield running


def opened(browser: Browser, server: Server, key: str, **context: Any) -> tuple[Page, list[str]]:
    """A page that is logged in, and what went wrong on it or was asked of elsewhere."""
    page = page_of(browser, **context)
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("console", lambda line: said.append(line.text) if line.type == "error" else None)
    page.on("request", lambda asked: None if asked.url.startswith(server.url) else said.append(asked.url))
    page.goto(server.url)
    expect(page.locator("#log-in")).to_contain_text("cat ~/.local/share/eddy/operator.key")
    said.clear()  # that nobody is logged in yet
    page.get_by_label("API key").fill(key)
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Submit", exact=True).click()
    expect(page.locator("#submit-form select").first).to_be_visible()
    return page, said


def picture(canvas: Locator) -> np.ndarray[Any, Any]:
    """What a canvas shows: (height, width, 3), of bytes."""
    width, height, values = canvas.evaluate(PIXELS)
    return np.array(values, np.uint8).reshape(height, width, 3)


def compressed(grey: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """What image compression makes of a picture, by the reference."""
    down, across = (-(-side // 128) for side in grey.shape)
    whole = np.pad(grey, ((0, down * 128 - grey.shape[0]), (0, across * 128 - grey.shape[1])), mode="edge")
    rows = [
        np.hstack([image_compression.run_item({"image": tile})["result"] for tile in np.hsplit(row, across)])
        for row in np.vsplit(whole, down)
    ]
    return np.vstack(rows)[: grey.shape[0], : grey.shape[1]]


def test_from_nothing_to_a_picture(browser: Browser, server: Server, tmp_path: Path) -> None:
    operator = server.key_file.read_text().strip()
    page, said = opened(browser, server, operator, viewport={"width": 1200, "height": 900})
    # By keyboard alone, without a file: a test pattern is compressed.
    application = page.get_by_label("Application", exact=True)
    application.select_option("image_compression")
    expect(page.get_by_label("image", exact=True)).to_be_visible()
    page.get_by_label("Priority").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    shows = page.locator("#submit-said a")
    expect(shows).to_be_visible()
    shows.focus()
    page.keyboard.press("Enter")
    canvas = page.locator("#job-pictures canvas")
    expect(canvas).to_have_attribute("aria-label", "Output result, 256 by 256 pixels")
    job = int(page.locator("#job-title").inner_text().split()[1])
    shown = picture(canvas)
    with Client(server.url, operator) as client:
        tiles = client.outputs(job)["result"]
        assert client.show(job)["labels"] == {"picture": "256x256"}
    joined = tiles.reshape(2, 2, 128, 128).transpose(0, 2, 1, 3).reshape(256, 256)
    assert np.array_equal(shown, np.repeat(joined[..., np.newaxis], 3, axis=2))
    assert joined.std() > 50, "rings"
    page.screenshot(path=OUT / "picture.png")
    page.go_back()
    # With a picture of one's own, whose sides are no multiples of a tile.
    colours = np.random.default_rng(3).integers(0, 256, (10, 12, 3), np.uint8).repeat(17, 0).repeat(25, 1)
    file = tmp_path / "own.png"
    Image.fromarray(colours).save(file)
    page.get_by_label("image", exact=True).set_input_files(file)
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page.locator("#submit-said")).not_to_contain_text(str(job))
    page.locator("#submit-said a").click()
    expect(canvas).to_have_attribute("aria-label", "Output result, 300 by 170 pixels")
    wanted = compressed(np.asarray(Image.fromarray(colours).convert("L")))
    assert np.array_equal(picture(canvas), np.repeat(wanted[..., np.newaxis], 3, axis=2))
    page.go_back()
    # What does not fit is said, and nothing is submitted.
    wrong = tmp_path / "wrong.npy"
    np.save(wrong, np.zeros((128, 128), np.float32))
    page.get_by_label("image", exact=True).set_input_files(wrong)
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page.locator("#submit-said")).to_contain_text("wrong.npy has values of <f4; image takes u1 in C order.")
    with Client(server.url, operator) as client:
        assert len(client.jobs()) == 2
    assert said == []


def test_a_tenant_on_a_phone_submits_and_others_may_not(browser: Browser, server: Server, tmp_path: Path) -> None:
    with Client(server.url, server.key_file.read_text().strip()) as client:
        key = str(client.add_tenant("ada")["key"])
    with Client(server.url, key) as client:
        read = str(client.transport.json("POST", "/v1/keys", body={"scope": "read"})["key"])
    tiles = tmp_path / "tiles.npy"
    np.save(tiles, np.arange(3 * 128 * 128, dtype=np.uint32).astype(np.uint8).reshape(3, 128, 128))
    page, said = opened(browser, server, key, color_scheme="dark", viewport={"width": 390, "height": 800})
    page.get_by_label("Application", exact=True).select_option("image_compression")
    page.get_by_label("image", exact=True).set_input_files(tiles)
    page.get_by_role("button", name="Submit", exact=True).click()
    page.locator("#submit-said a").click()
    # Tiles that are no picture are laid out in a square.
    expect(page.locator("#job-pictures canvas")).to_have_attribute("aria-label", "Output result, 256 by 256 pixels")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), "wider than a phone"
    fits = "(() => { const e = document.getElementById('job'); return e.scrollWidth <= e.clientWidth; })()"
    assert page.evaluate(fits), "the job is wider than its page"
    page.screenshot(path=OUT / "picture-phone.png")
    page.go_back()
    page.screenshot(path=OUT / "submit-phone.png", full_page=True)
    sizes = [0, 1, 55, 56, 63, 64, 65, 1000, 70_000]
    hashes = [hashlib.sha256(bytes(at * 7 % 251 for at in range(size))).hexdigest() for size in sizes]
    assert page.evaluate(HASHES, sizes) == hashes
    assert said == []
    page, said = opened(browser, server, read, viewport={"width": 800, "height": 800})
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page.locator("#submit-said")).to_contain_text("This key may look, and change nothing")
    with Client(server.url, key) as client:
        assert len(client.jobs()) == 1
        assert client.jobs()[0]["state"] == "succeeded", PATIENCE_MS
