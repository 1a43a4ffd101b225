# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The dashboard of a pool's head in Chromium: `make pages`. Screenshots go to `out/pages`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium_kit import OUT, page_of
from eddy.cli.demo.demo_plan import photograph
from playwright.sync_api import Browser, expect
from pool_kit import WAIT_S, Pool, until


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[Pool]:
    with Pool(tmp_path).running() as running:
        yield running


OF_BOARDS = {"/v1/session/sign-on/offer", "/v1/maintenance"}
"""What the page asks for wherever it is, and heads do not have: it goes without."""


def test_boards_stand_in_place_of_slots(browser: Browser, pool: Pool) -> None:
    head = pool.head("a")
    operator = pool.operator(head)
    pool.board("b1", pace=60.0)
    pool.board("b2", pace=60.0)
    until(lambda: pool.present(operator) == {"b1", "b2"})
    ada, grace = pool.tenant(head), pool.tenant(head, "grace")
    job = photograph("ada", 3, 0, 4).submit(ada)
    other = photograph("grace", 3, 1, 2).submit(grace)
    job.wait(timeout_s=WAIT_S)
    other.wait(timeout_s=WAIT_S)
    for name, key in {"pool": pool.key, "pool-tenant": pool.keys["ada"]}.items():
        page = page_of(browser, viewport={"width": 1200, "height": 900})
        said: list[str] = []
        page.on("pageerror", lambda error, said=said: said.append(str(error)))
        page.on("request", lambda asked, said=said: None if asked.url.startswith(head.url) else said.append(asked.url))
        page.on("response", lambda gave, said=said: said.append(gave.url) if gave.status in (404, 500) else None)
        page.goto(head.url)
        page.get_by_label("API key").fill(key)
        page.keyboard.press("Enter")
        expect(page.locator("#boards tbody tr")).to_have_count(2)
        for hidden in ("#slots-section", "#timeline-section", "#usage-section", "#audit-section", "#faults-section"):
            expect(page.locator(hidden)).to_be_hidden()
        expect(page.locator("#ended tbody tr")).to_have_count(2 if name == "pool" else 1)
        page.get_by_role("link", name="Account", exact=True).click()
        expect(page.locator("#quota table")).to_be_visible()
        page.get_by_role("link", name="Pool", exact=True).click()
        expect(page.locator("#boards tbody tr")).to_have_count(2)
        assert page.url.endswith("#/pool")
        if name == "pool":
            page.get_by_role("button", name="Drain board b2", exact=True).click()
            expect(page.locator("#drained")).to_contain_text("Board b2 is drained")
            assert pool.drained(operator) == {"b2"}
        else:
            expect(page.get_by_role("button", name="Undrain board b2")).to_have_count(0)
            operator.transport.json("PUT", "/v1/pool/boards/b1", body={"because": "nothing may run"})
            until(lambda: pool.drained(operator) == {"b1", "b2"})
            waiting = photograph("ada", 3, 0, 15).submit(ada)
            page.get_by_role("link", name="Overview", exact=True).click()
            page.get_by_label(f"Job {waiting.id}", exact=True).click()
            expect(page.locator("#job-why")).to_contain_text("It waits for a board with room.")
            expect(page.locator("#job-events li").first).to_contain_text("queued")
            page.screenshot(path=OUT / "pool-job.png")
            page.get_by_role("button", name="Cancel this job").dblclick()
            expect(page.locator("#job-body")).to_contain_text("cancelled")
        page.get_by_role("link", name="Overview", exact=True).click()
        page.screenshot(path=OUT / f"{name}.png", full_page=True)
        assert {url.removeprefix(head.url) for url in said} <= OF_BOARDS
