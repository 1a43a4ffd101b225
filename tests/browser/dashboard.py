# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The dashboard in Chromium, over a server on the model board: `make pages`. Screenshots go to `out/pages`.

It is no part of `make test`, because it needs a browser, which no wheel brings: Debian's package `chromium`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bitstreams_kit import package
from chromium_kit import OUT, PATIENCE_MS, page_of
from eddy.api.service.server import Server, ServerSettings
from eddy.board.model.model import ModelFaults
from eddy.client import Client
from hypervisor_kit import KEY, item, model_board
from playwright.sync_api import Browser, Page, Route, expect

LABELS_INSIDE = """[...document.querySelectorAll("#timeline .label")].every((label) => {
  const text = label.getBoundingClientRect(), bar = label.previousElementSibling.getBoundingClientRect();
  return text.left >= bar.left && text.right <= bar.right;
})"""

ALL_IN_SIGHT = """(() => {
  const place = document.getElementById("timeline");
  const right = Math.max(...[...place.querySelectorAll("text")].map((text) => text.getBoundingClientRect().right));
  return place.scrollWidth <= place.clientWidth && right <= place.getBoundingClientRect().right + 1;
})()"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    settings = ServerSettings("model", "tiny", "fcfs", tmp_path / "data", package(tmp_path / "bitstreams"), port=0)
    with Server(settings, board=model_board(faults=ModelFaults())).background() as running:
        yield running


def operator_key(server: Server) -> str:
    return server.key_file.read_text().strip()


def tenant(server: Server, name: str) -> str:
    with Client(server.url, operator_key(server)) as client:
        return str(client.add_tenant(name)["key"])


def submit(server: Server, key: str, wait: bool = True) -> int:
    inputs: dict[str, Any] = {
        "in": np.stack([np.frombuffer(item(number, 0), np.uint8) for number in range(2)]),
        "key": np.frombuffer(KEY, np.uint8),
    }
    with Client(server.url, key) as client:
        (application,) = [app["name"] for app in client.apps()][:1]
        job = client.submit(application, inputs)
        return job.wait(timeout_s=PATIENCE_MS / 1e3).id if wait else job.id


def opened(browser: Browser, server: Server, key: str, **context: Any) -> tuple[Page, list[str]]:
    """A page that is logged in, and what its console said."""
    page = page_of(browser, **context)
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: None if request.url.startswith(server.url) else said.append(request.url))
    page.goto(server.url)
    page.get_by_label("API key").fill(key)
    page.keyboard.press("Enter")
    expect(page.locator("#work dd").first).to_be_visible()
    return page, said


def turn_to(page: Page, name: str) -> None:
    """Turn to a page by its link."""
    page.get_by_role("navigation", name="Pages").get_by_role("link", name=name, exact=True).click()
    expect(page.locator("#pages a[aria-current]")).to_have_text(name)


def test_two_tenants_and_the_operator_see_their_own(browser: Browser, server: Server) -> None:
    keys = {name: tenant(server, name) for name in ("ada", "grace")}
    jobs = {name: submit(server, key) for name, key in keys.items()}
    for name, key in keys.items():
        page, said = opened(browser, server, key, color_scheme="dark", viewport={"width": 390, "height": 800})
        expect(page.locator("#ended tbody tr")).to_have_count(1)
        expect(page.locator("#ended")).to_contain_text(str(jobs[name]))
        expect(page.locator("#viewer")).to_have_text(name)
        expect(page.get_by_role("link", name="Tenants", exact=True)).to_be_hidden()
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), "wider than a phone"
        assert page.evaluate(ALL_IN_SIGHT), "a phone shows a part of it"
        page.screenshot(path=OUT / f"{name}.png", full_page=True)
        assert said == []
    page, said = opened(browser, server, operator_key(server), viewport={"width": 1200, "height": 800})
    expect(page.locator("#ended tbody tr")).to_have_count(2)
    assert page.locator("#timeline rect title").count() >= 4
    assert page.locator("#timeline .label").count() >= 1
    assert page.evaluate(LABELS_INSIDE), "the name of a job is wider than its bar"
    page.screenshot(path=OUT / "operator.png", full_page=True)
    assert said == []


def test_a_job_comes_while_one_watches_and_its_life_is_shown(browser: Browser, server: Server) -> None:
    key = tenant(server, "ada")
    page, said = opened(browser, server, key, viewport={"width": 1000, "height": 800})
    expect(page.locator("#ended")).to_contain_text("No job has ended yet.")
    job = submit(server, key)
    row = page.locator("#ended a", has_text=str(job))
    expect(row).to_be_visible()
    row.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#job-title")).to_have_text(f"Job {job}")
    expect(page.locator("#job-body")).to_contain_text("succeeded, 2 of 2 items")
    assert page.locator("#job-body p:has(a)").inner_text() == "Outputs: out"
    expect(page.locator("#job-events li").first).to_contain_text("submitted")
    assert page.locator("#job-events li").count() >= 5
    assert page.locator("#job-life rect title").count() >= 4
    expect(page.locator("#job-life")).to_contain_text("is reconfigured, 1.00 ms")
    page.screenshot(path=OUT / "job.png", full_page=True)
    assert page.url.endswith(f"#/jobs/{job}")
    page.reload()
    expect(page.locator("#job-body")).to_contain_text("succeeded, 2 of 2 items")
    page.go_back()
    expect(page.locator("#job")).to_be_hidden()
    expect(page.locator("#ended")).to_be_visible()
    page.get_by_role("button", name="Log out").click()
    expect(page.locator("#log-in")).to_be_visible()
    page.reload()
    expect(page.locator("#log-in")).to_be_visible()
    assert said == []


def test_a_job_is_followed_again_where_the_servers_history_is_another(browser: Browser, server: Server) -> None:
    """The stream breaks off, and the server does not know the last event any more: the page shows what there is now."""
    key = tenant(server, "ada")
    job = submit(server, key)
    page, said = opened(browser, server, key, viewport={"width": 1000, "height": 800})
    asked, answered = list[str](), list[int]()
    page.on("response", lambda each: answered.append(each.status) if each.url.endswith("/events") else None)

    def broken(route: Route) -> None:
        asked.append(route.request.url)
        if len(asked) == 1:
            body = 'retry: 50\n\nid: 4711\nevent: state\ndata: {"at_s": 1.0, "state": "forgotten"}\n\n'
            route.fulfill(status=200, content_type="text/event-stream", body=body)
        else:
            route.continue_()

    page.route("**/v1/jobs/*/events", broken)
    page.locator("#ended a", has_text=str(job)).click()
    expect(page.locator("#job-events li").first).to_contain_text("submitted")
    expect(page.locator("#job-events")).not_to_contain_text("forgotten")
    assert page.locator("#job-events li").count() >= 5
    assert answered == [200, 410, 200], "it goes on, is refused, and begins again"
    assert said == []


def test_a_server_that_goes_away_is_said_and_one_stays_logged_in(browser: Browser, tmp_path: Path) -> None:
    settings = ServerSettings("model", "tiny", "fcfs", tmp_path / "data", package(tmp_path / "bitstreams"), port=0)
    with Server(settings, board=model_board(faults=ModelFaults())).background() as running:
        page, said = opened(browser, running, operator_key(running))
        port = running.port
    expect(page.locator("#away")).to_contain_text(f"The server at 127.0.0.1:{port} has not answered since")
    expect(page.locator("#ended")).to_be_visible()
    again = ServerSettings("model", "tiny", "fcfs", tmp_path / "data", package(tmp_path / "bitstreams"), port=port)
    with Server(again, board=model_board(faults=ModelFaults())).background() as running:
        expect(page.locator("#away")).to_be_hidden()
        expect(page.locator("#work dd").first).to_be_visible()
        page.get_by_role("button", name="Log out").click()
        expect(page.locator("#log-in")).to_be_visible()
        page.get_by_label("API key").fill("eddy_nobody")
        page.keyboard.press("Enter")
        expect(page.locator("#log-in-problem")).to_contain_text("unknown")
        page.get_by_label("API key").fill(operator_key(running))
        page.keyboard.press("Enter")
        expect(page.locator("#work dd").first).to_be_visible()
        expect(page.locator("#away")).to_be_hidden()
    assert [line for line in said if "Failed to fetch" not in line] == []


def test_the_operator_drains_a_slot_and_puts_a_policy_in_force(browser: Browser, server: Server) -> None:
    page, said = opened(browser, server, operator_key(server), viewport={"width": 1200, "height": 900})
    turn_to(page, "Slots")
    drain = page.get_by_role("button", name="Drain slot 1", exact=True)
    drain.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Undrain slot 1")).to_be_visible()
    expect(page.locator("#drained")).to_contain_text("Slot 1 is drained: drained on the dashboard")
    expect(page.locator("#operate-said")).to_contain_text("Nothing new is placed in slot 1")
    page.get_by_label("Dispatch policy", exact=True).select_option("nimblock")
    page.get_by_role("button", name="Put dispatch policy in force").click()
    expect(page.locator("#status")).to_contain_text("policy nimblock")
    for table in ("#slots", "#operate"):
        fits = f"(e => e.scrollWidth <= e.clientWidth)(document.querySelector('{table}'))"
        assert page.evaluate(fits), f"{table} is cut off"
    page.screenshot(path=OUT / "operate.png", full_page=True)
    turn_to(page, "Audit")
    expect(page.locator("#audit")).to_contain_text("set-policy", timeout=3_000)  # sooner than it is asked for by itself
    turn_to(page, "Account")
    expect(page.locator("#quota")).to_contain_text("1 TiB")
    expect(page.locator("#quota")).to_contain_text("1,048,576")
    turn_to(page, "Slots")
    with Client(server.url, operator_key(server)) as client:
        assert client.policy_in_force()["policy"] == "nimblock"
        assert [slot["drained"] for slot in client.slots()["slots"]][1]
    page.get_by_role("button", name="Undrain slot 1").click()
    expect(page.locator("#drained li")).to_have_count(0)
    assert said == []
    other, said = opened(browser, server, tenant(server, "ada"))
    turn_to(other, "Slots")
    expect(other.locator("#operate-section")).to_be_hidden()
    expect(other.get_by_role("button", name="Drain slot 1", exact=True)).to_have_count(0)
    assert said == []


def estimated(route: Route) -> None:
    """The overview as it is, with estimates for jobs that wait."""
    seen = route.fetch().json()
    for place, job in enumerate(seen["jobs"], start=1):
        start = {"start_p50_s": 2.0 * place, "start_p90_s": 5.0 * place}
        end = {"end_p50_s": 3.0 * place, "end_p90_s": 6.0 * place}
        job["estimate"] = {"at_s": 0.0, "position": place, "known": True, **start, **end}
    route.fulfill(json=seen)


def test_jobs_that_wait_say_their_place_and_accounts_have_panes(browser: Browser, server: Server) -> None:
    key, operator = tenant(server, "ada"), operator_key(server)
    ended = submit(server, key)
    with Client(server.url, operator) as client:
        drained = [slot["slot"] for slot in client.slots()["slots"] if slot["pool"] == "pipeline"]
        for slot in drained:
            client.drain(slot, "shown in a test")
    waiting = [submit(server, key, wait=False) for _ in range(3)]
    for scheme, width in (("dark", 390), ("light", 1200)):
        page, said = opened(browser, server, key, color_scheme=scheme, viewport={"width": width, "height": 900})
        places = page.locator("#jobs tbody tr td:nth-last-child(3)")
        expect(places).to_have_text(["-", "-", "-"])  # every slot is drained: nobody can tell
        page.route("**/v1/overview", estimated)
        expect(places).to_have_text(["1", "2", "3"])
        expect(page.locator("#jobs tbody tr").first).to_contain_text("2.00 s to 5.00 s")
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), "wider than the screen"
        page.screenshot(path=OUT / f"waiting-{scheme}.png", full_page=True)
        for job, words in ((waiting[2], "Every slot that it fits in is drained"), (ended, "It lived")):
            page.get_by_role("link", name=f"Job {job}", exact=True).focus()
            page.keyboard.press("Enter")
            expect(page.locator("#job-why")).to_contain_text(words)
            page.screenshot(path=OUT / f"why-{scheme}-{job}.png")
            page.go_back()
        turn_to(page, "Account")
        expect(page.locator("#quota")).to_contain_text("Jobs under way")
        expect(page.locator("#usage tbody tr")).to_have_count(1)
        expect(page.get_by_role("link", name="Audit", exact=True)).to_be_hidden()
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), "wider than the screen"
        page.unroute_all(behavior="ignoreErrors")
        assert said == []
    page, said = opened(browser, server, operator, viewport={"width": 1200, "height": 900})
    turn_to(page, "Account")
    expect(page.locator("#usage")).to_contain_text("no tenant")
    page.screenshot(path=OUT / "accounts.png", full_page=True)
    turn_to(page, "Audit")
    expect(page.locator("#audit tbody tr").first).to_contain_text("drain-slot")
    page.locator("#audit").focus()
    assert page.evaluate("document.activeElement.id") == "audit", "it scrolls by keyboard"
    turn_to(page, "Overview")
    with Client(server.url, operator) as client:
        for slot in drained:
            client.undrain(slot)
    expect(page.locator("#ended tbody tr")).to_have_count(4)
    assert said == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_names_without_spaces_are_no_wider_than_a_phone(browser: Browser, server: Server, scheme: str) -> None:
    phone: dict[str, Any] = {"color_scheme": scheme, "viewport": {"width": 390, "height": 844}}
    phone |= {"is_mobile": True, "has_touch": True}
    long, operator = "m" * 64, operator_key(server)
    keys = {name: tenant(server, name) for name in (long, *(f"tenant-with-a-longer-name-{n:02}" for n in range(8)))}
    for key in keys.values():
        submit(server, key)
    with Client(server.url, operator) as client:
        for slot in [slot["slot"] for slot in client.slots()["slots"] if slot["pool"] == "pipeline"]:
            client.drain(slot, "x" * 180)
    for key in keys.values():
        submit(server, key, wait=False)
    for who, key in (("operator", operator), ("long", keys[long]), ("new", tenant(server, "new"))):
        page, said = opened(browser, server, key, **phone)
        pages = ["Overview", "Jobs", "Submit", "Slots", "Account", *(["Tenants", "Audit"] if who == "operator" else [])]
        for name in pages:
            turn_to(page, name)
            assert page.evaluate("document.documentElement.scrollWidth") == 390, name
            assert page.evaluate("window.innerWidth") == 390, f"a phone shows {name} smaller than it is"
            page.screenshot(path=OUT / f"phone-{who}-{scheme}-{name.lower()}.png", full_page=True)
        if who == "operator":
            turn_to(page, "Tenants")
            expect(page.locator("#tenants tbody tr")).to_have_count(len(keys))
        else:
            expect(page.locator("#quota")).to_contain_text("Jobs under way")
        assert said == []


def test_text_of_a_tenant_stays_text(browser: Browser, server: Server) -> None:
    """A kernel's name, a compiler's message or a tenant's name is shown, and never run."""
    page, said = opened(browser, server, operator_key(server))
    forged = [{"tenant": "<img src=x onerror=alert(1)>", "jobs": {"queued": 1}}]
    page.route("**/v1/overview", lambda route: route.fulfill(json={**route.fetch().json(), "tenants": forged}))
    turn_to(page, "Tenants")
    expect(page.locator("#tenants")).to_contain_text("<img src=x onerror=alert(1)>")
    assert page.locator("#tenants img").count() == 0
    assert said == []
