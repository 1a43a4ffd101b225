# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The pages of the dashboard: each by its address, in two sizes and both themes, for all who can use a browser."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from chromium_kit import OUT, page_of
from eddy.api.service.server import Server, ServerSettings
from eddy.cli.support.installed import bitstreams_folder
from eddy.client import Client
from eddy.store.board_tables.samples import Sample
from playwright.sync_api import Browser, Page, expect
from unit.gpu_kit import CACHE

KERNEL = "kernel void twice(global int *y, int a, local uint *l) { y[get_global_id(0)] *= a; }"
SERIOUS = ("serious", "critical")
OPERATORS = ("", "jobs", "submit", "slots", "clusters", "leases", "market", "account", "tenants", "audit")
STATE_IN_SIGHT = """(() => {
  const seen = document.querySelector("#list tbody td:nth-child(2)").getBoundingClientRect();
  return seen.right <= window.innerWidth;
})()"""


ACTIONS_OUT_OF_SIGHT = """[...document.querySelectorAll("main button, main a, main input, main select")]
  .filter((each) => each.checkVisibility()).filter((each) => {
    const { left, right } = each.getBoundingClientRect();
    return left < 0 || right > window.innerWidth;
  }).map((each) => each.outerHTML)"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with a week of history, and jobs of two tenants that have ended."""
    data = tmp_path_factory.mktemp("pages")
    settings = ServerSettings("model", "kv260", "eddy", data, bitstreams_folder(""), port=0, kernel_cache=CACHE)
    with Server(settings).background() as running:
        now = int(time.time())
        for minute in range(0, 7 * 1440, 7):
            load = 1 + np.sin(minute / 90)
            shares = {"ada": 0.7 * load, "grace": 0.3 * load}
            running.store.samples.add(
                Sample(now - 60 * minute, 4, load, load, 3 * load, 12, 1, {"3": 0.4 + load / 9}, 45 + load, shares)
            )
        for name in ("ada", "grace"):
            with Client(running.url, key_of(running)) as client:
                key = client.add_tenant(name)["key"]
            with Client(running.url, key) as client:
                picture = {"image": np.zeros((2, 128, 128), np.uint8)}
                jobs = [client.submit("image_compression", picture, labels={"run": str(n)}) for n in range(3)]
                for job in jobs:
                    job.wait(timeout_s=180)
        yield running


def key_of(server: Server) -> str:
    return server.key_file.read_text().strip()


def opened(browser: Browser, server: Server, at: str = "", key: str = "", **context: Any) -> tuple[Page, list[str]]:
    """The page at an address, logged in, and what went wrong on it."""
    page = page_of(browser, **context)
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda asked: None if asked.url.startswith(server.url) else said.append(asked.url))
    page.goto(f"{server.url}/#/{at}")
    page.get_by_label("API key").fill(key or key_of(server))
    page.keyboard.press("Enter")
    expect(page.locator("#pages a[aria-current], #nothing:visible").first).to_be_visible()
    expect(page.locator("#viewer")).not_to_be_empty()
    return page, said


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1200, 800), (390, 844)], ids=["desktop", "phone"])
def test_every_page_has_no_serious_finding_and_fits(
    browser: Browser, server: Server, scheme: Any, size: tuple[int, int]
) -> None:
    page, said = opened(browser, server, color_scheme=scheme, viewport={"width": size[0], "height": size[1]})
    found = {}
    for name in (*OPERATORS, "job", "nothing-here"):
        if name == "job":
            page.goto(f"{server.url}/#/jobs")
            page.locator("#list tbody a").first.click()
            expect(page.locator("#job-body")).to_contain_text("succeeded")
        else:
            page.goto(f"{server.url}/#/{name}")
        page.wait_for_timeout(1200)  # what is asked for once has come
        assert page.evaluate("document.documentElement.scrollWidth") == size[0], f"{name} is wider than the screen"
        assert page.evaluate(ACTIONS_OUT_OF_SIGHT) == [], f"{name} has what is not seen"
        shown = Axe().run(page).response["violations"]
        found[name] = [f"{each['id']}: {each['nodes'][0]['html']}" for each in shown if each["impact"] in SERIOUS]
        assert f"kv260 at 127.0.0.1:{server.port}" in page.title()
        page.screenshot(path=OUT / f"page-{name or 'overview'}-{size[0]}-{scheme}.png", full_page=True)
    assert {name: each for name, each in found.items() if each} == {}
    assert said == []


def test_clusters_say_what_is_loaded_and_a_page_that_is_not_here_says_so(browser: Browser, server: Server) -> None:
    with Client(server.url, tenant_key(server, "kim")) as client:
        source = "kernel void ones(global int *y) { y[get_global_id(0)] = 1; }"
        client.kernel(source, "ones").launch(64, np.zeros(64, np.int32)).wait(timeout_s=180)
    page, said = opened(browser, server, "clusters")
    row = page.locator("#clusters tbody tr")
    expect(row).to_have_count(1)
    expect(row).to_contain_text(re.compile("slot 3.*gpu_"))
    page.screenshot(path=OUT / "clusters-loaded.png", full_page=True)
    for name, shown in (("pool", True), ("clusters", False)):
        page.goto(f"{server.url}/#/{name}")
        expect(page.locator("#nothing")).to_be_visible(visible=shown)
    of_tenant, said_there = opened(browser, server, "clusters", tenant_key(server, "ian"))
    expect(of_tenant.locator("#clusters tbody tr")).to_have_count(1)
    for name in ("audit", "tenants"):
        of_tenant.goto(f"{server.url}/#/{name}")
        expect(of_tenant.locator("#nothing")).to_be_visible()
    assert said + said_there == []


def test_the_work_is_above_the_fold_and_hours_are_shown(browser: Browser, server: Server) -> None:
    page, said = opened(browser, server, viewport={"width": 1200, "height": 800})
    for place in ("#work", "#jobs"):
        box = page.locator(place).bounding_box()
        assert box is not None
        assert box["y"] + box["height"] < 800, place
    charts = page.locator("#history figure")
    expect(charts).to_have_count(6)
    expect(charts.filter(has_text="Slots by tenant")).to_contain_text(re.compile("ada: .*grace: "))
    first = charts.locator("svg[role=img]").first
    expect(first).to_have_attribute("aria-label", re.compile("Slots in use, 6 h: now busy .*; up to [12]"))
    page.get_by_role("button", name="1 week").click()
    expect(first).to_have_attribute("aria-label", re.compile("Slots in use, 168 h: now busy .*; up to [12]"))
    other, said_of_other = opened(browser, server, key=tenant_key(server, "alan"))
    expect(other.locator("#history-section")).to_be_hidden()
    assert said + said_of_other == []


def test_slots_that_jobs_may_not_have_say_why_and_what_runs_comes_first(browser: Browser, server: Server) -> None:
    operator, ada = key_of(server), tenant_key(server, "alonzo")
    with Client(server.url, operator) as client, Client(server.url, ada) as holder:
        lease = holder.ask_for_lease(lasts_s=3600)["lease"]
        (leased,) = holder.lease(lease, wait_s=30)["slots"]
        drained = [each["slot"] for each in client.slots()["slots"] if each["slot"] != leased]
        for slot in drained:
            client.drain(slot, "a new fan")
        jobs = [holder.submit("image_compression", {"image": np.zeros((1, 128, 128), np.uint8)}) for _ in range(12)]
        for width in (1200, 390):
            page, said = opened(browser, server, viewport={"width": width, "height": 844})
            expect(page.locator("#work")).to_contain_text(f"{len(drained)} drained, 1 leased")
            expect(page.locator("#work")).to_contain_text("Jobs in the queue12")
            expect(page.locator("#timeline .closed", has_text="leased to alonzo")).to_be_visible()
            expect(page.locator("#timeline .closed", has_text="drained")).to_have_count(len(drained))
            expect(page.locator("#jobs tbody tr")).to_have_count(10)
            expect(page.locator("#jobs-more")).to_contain_text("10 of 12")
            page.goto(f"{server.url}/#/slots")
            row = page.locator("#slots tbody tr", has_text=f"slot {leased}")
            expect(row).to_contain_text("leased")
            expect(page.locator("#slots").get_by_text("drained", exact=True).first).to_be_in_viewport(ratio=1)
            page.goto(f"{server.url}/#/leases")
            release = page.locator("#leases tbody tr", has_text=lease).get_by_role("button", name="Release")
            release.focus()
            page.wait_for_timeout(2500)  # it is drawn again each second
            assert page.evaluate("document.activeElement.textContent") == "Release", "the keyboard's place is lost"
            assert page.evaluate(ACTIONS_OUT_OF_SIGHT) == []
            page.screenshot(path=OUT / f"page-leased-{width}.png", full_page=True)
            assert said == []
        for job in jobs:
            job.cancel()
        page.keyboard.press("Enter")
        expect(release).to_have_text("Release, really?")
        page.keyboard.press("Enter")
        expect(page.locator("#lease-said")).to_contain_text("is released")
        for slot in drained:
            client.undrain(slot)


def tenant_key(server: Server, name: str) -> str:
    with Client(server.url, key_of(server)) as client:
        return str(client.add_tenant(name)["key"])


def test_jobs_are_searched_and_a_view_is_kept(browser: Browser, server: Server) -> None:
    page, said = opened(browser, server, "jobs?tenant=ada", viewport={"width": 390, "height": 844})
    expect(page.locator("#list tbody tr")).to_have_count(3)
    assert page.evaluate(STATE_IN_SIGHT), "a phone does not show the state"
    page.get_by_label("Label (name=value)").fill("run=1")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.locator("#list tbody tr")).to_have_count(1)
    assert page.url.endswith("#/jobs?label=run%3D1&tenant=ada")
    page.get_by_role("button", name="Save this view").click()
    page.get_by_label("State").select_option("failed")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.locator("#list")).to_contain_text("No job fits.")
    page.reload()
    expect(page.locator("#list")).to_contain_text("No job fits.")
    page.get_by_role("link", name="label=run=1, tenant=ada").click()
    expect(page.locator("#list tbody tr")).to_have_count(1)
    number = page.locator("#list tbody a").first.inner_text()
    page.get_by_label("Job number").fill(number)
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.locator("#job-title")).to_have_text(f"Job {number}")
    page.go_back()
    page.goto(f"{server.url}/#/jobs?since=3600&tenant=ada")
    expect(page.get_by_label("Submitted")).to_have_value("3600")
    expect(page.locator("#list tbody tr")).to_have_count(3)
    page.get_by_label("Label (name=value)").fill("no label")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.locator("#list-said.bad")).to_contain_text("label")
    assert said == []


def test_the_operator_sees_projects(browser: Browser, server: Server) -> None:
    page, said = opened(browser, server, "tenants")
    expect(page.locator("#manage tbody tr").first).to_be_visible()
    expect(page.locator("#projects-section")).to_be_hidden()
    with Client(server.url, key_of(server)) as client:
        client.add_project("vision", share=3.0, members=["ada"])
        client.change_project("vision", add=["grace"])
        (vision,) = client.projects()["projects"]
        page.reload()
        expect(page.locator("#projects tbody tr")).to_have_text([f"vision3{100 * vision['entitled']:.1f} %ada, grace"])
        expect(page.locator("#manage tr", has_text="grace")).to_contain_text("vision")
        client.remove_project("vision")
    assert said == []


def test_the_operator_adds_a_tenant_bounds_it_and_makes_a_key(browser: Browser, server: Server) -> None:
    page, said = opened(browser, server, "tenants")
    page.get_by_label("Name", exact=True).fill("edsger")
    page.get_by_label("Display name").fill("Edsger, der Erste")
    page.get_by_role("button", name="Add the tenant").click()
    expect(page.locator("#tenant-said")).to_contain_text("Tenant edsger has the key eddy_")
    key = page.locator("#tenant-said .secret").inner_text()
    page.get_by_role("button", name="Change the bounds of edsger").click()
    page.get_by_label("Jobs", exact=True).last.fill("7")
    page.get_by_label("Weight").last.fill("2.5")
    page.get_by_role("button", name="Put in force").last.click()
    expect(page.locator("#tenant-said")).to_contain_text("The bounds of edsger are in force.")
    expect(page.locator("#manage")).to_contain_text("Edsger, der Erste (edsger)")
    with Client(server.url, key) as client:
        quota = client.transport.json("GET", "/v1/quota")
    assert (quota["quota"]["max_jobs"], quota["weight"]) == (7, 2.5)
    page.get_by_label("Name", exact=True).fill("edsger")
    page.get_by_role("button", name="Add the tenant").click()
    expect(page.locator("#tenant-said.bad")).to_contain_text("edsger")
    other, said_of_other = opened(browser, server, "account", key=key)
    other.get_by_label("Name of a new key").fill("the lab's screen")
    other.get_by_label("It may").select_option("read")
    other.get_by_role("button", name="Make a key").click()
    expect(other.locator("#key-said .secret")).to_be_visible()
    made = other.locator("#key-said .secret").inner_text()
    with Client(server.url, made) as client:
        assert client.jobs() == []
    revoke = other.locator("#keys tr", has_text="the lab's screen").get_by_role("button", name="Revoke")
    revoke.click()
    expect(revoke).to_have_text("Revoke, really?")
    expect(other.locator("#keys tbody tr")).to_have_count(2)
    revoke.click()
    expect(other.locator("#key-said")).to_contain_text("is revoked")
    expect(other.locator("#keys tbody tr")).to_have_count(1)
    assert said + said_of_other == []


def test_what_is_no_picture_is_not_offered_as_one(browser: Browser, server: Server) -> None:
    page, said = opened(browser, server, "submit")
    for application, field, is_picture in (
        ("rendering", "triangles", False),
        ("digit_recognition", "digits", False),
        ("image_compression", "image", True),
    ):
        page.get_by_label("Application", exact=True).select_option(application)
        hint = page.locator(f"#submit-input-{field}-hint")
        expect(hint).to_contain_text("values of uint8")
        assert ("picture" in hint.inner_text()) is is_picture, application
    assert said == []


def test_a_kernel_is_written_and_run(browser: Browser, server: Server) -> None:
    page, said = opened(browser, server, "submit", key=tenant_key(server, "barbara"))
    page.get_by_label("OpenCL C").fill(KERNEL)
    page.get_by_label("y (int *)").fill("64")
    page.get_by_label("a (int)").fill("3")
    page.get_by_label("Work-items").fill("8 x 8")
    page.get_by_role("button", name="Submit the kernel").click()
    page.locator("#kernel-said a").click()
    expect(page.locator("#job-body")).to_contain_text("succeeded")
    page.goto(f"{server.url}/#/submit")
    page.get_by_label("OpenCL C").fill("void nothing(void) {}")
    expect(page.locator("#kernel-arguments")).to_contain_text("No kernel is found")
    assert said == []
