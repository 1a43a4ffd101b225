# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A head as tenants and browsers use it: arrays, lists, feeds, sessions, quotas; all of two heads."""

from __future__ import annotations

import itertools
import threading
import time
import unicodedata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from eddy.api.access.sessions import COOKIE, HEADER
from eddy.cli.demo.demo_plan import photograph
from eddy.cli.main import app
from eddy.client import Client
from eddy.core.errors import Conflict, EddyError, InvalidRequest, NotFound, QuotaExceeded, Unauthorized, UnknownCursor
from eddy.core.submission_options import ArrayPlace
from eddy.pool.jetstream.jobs import PoolJobs, _digest
from eddy.pool.records.records import PoolJob
from pool_kit import WAIT_S, Pool, asking, until
from typer.testing import CliRunner

APP = "image_compression"


def posted(client: Client, body: Any, key: str = "", path: str = "/v1/arrays") -> dict[str, Any]:
    found: dict[str, Any] = client.transport.json(
        "POST", path, body=body, headers={"Idempotency-Key": key} if key else {}
    )
    return found


def labelled(count: int) -> list[dict[str, Any]]:
    return [{"labels": {"place": str(place % 2)}} for place in range(count)]


def pages(client: Client, limit: int, **filters: Any) -> list[int]:
    """Numbers of jobs, page by page."""
    found: list[int] = []
    cursor: dict[str, Any] = {}
    while True:
        page = client.transport.json("GET", "/v1/jobs", params={**filters, **cursor, "limit": limit})
        assert len(page["jobs"]) <= limit
        found += [int(job["id"]) for job in page["jobs"]]
        if page["next"] is None:
            return found
        cursor = {"cursor": page["next"]}


def test_arrays_and_lists_at_two_heads(pool: Pool) -> None:
    """Jobs wait here, as there is no board; each head shows at once what the other one took."""
    one, two = pool.head("a"), pool.head("b")
    ada, grace = pool.tenant(one), pool.tenant(one, "grace")
    there = pool.client(two, pool.keys["ada"])
    body = {"job": {"application": APP}, "each": labelled(5)}
    made = posted(ada, body, "k")
    assert (made["size"], made["counts"]["queued"], made["ended"]) == (5, 5, False)
    assert posted(there, body, "k")["id"] == made["id"], "the same key names the same array, at either head"
    with pytest.raises(Conflict):
        posted(there, {**body, "each": labelled(4)}, "k")
    with pytest.raises(Conflict):
        posted(ada, body["job"], "k", "/v1/jobs")
    assert there.array(made["id"]).refresh().data == made
    oldest = pages(there, 2, array=made["id"], sort="oldest")
    assert len(set(oldest)) == 5
    assert made["id"] not in oldest, "its id is no job's"
    assert pages(there, 2, array=made["id"]) == oldest[::-1]
    assert pages(there, 500, label="place=1", sort="oldest") == oldest[1::2]
    single = posted(ada, {"application": APP, "priority": 9}, path="/v1/jobs")["id"]
    assert pages(there, 3, application=APP, state="queued", sort="oldest") == [*oldest, single]
    assert pages(there, 3, application="nothing") == []
    assert pages(there, 3, sort="ended") == []
    shown = there.transport.json("GET", f"/v1/jobs/{oldest[3]}")
    assert shown["array"] == {"id": made["id"], "index": 3, "size": 5}
    assert grace.jobs() == []
    for number in (made["id"], oldest[2]):
        with pytest.raises(NotFound):
            grace.transport.json("GET", f"/v1/arrays/{number}")
    for path in ("", "/events", "/explain", "/outputs/result"):
        with pytest.raises(NotFound, match="it is an array"):
            ada.transport.json("GET", f"/v1/jobs/{made['id']}{path}")
        with pytest.raises(NotFound) as hers:
            grace.transport.json("GET", f"/v1/jobs/{made['id']}{path}")
        assert "array" not in hers.value.message
    for method in ("GET", "DELETE"):
        with pytest.raises(NotFound, match="eddy job"):
            ada.transport.json(method, f"/v1/arrays/{oldest[0]}")
    with pytest.raises(NotFound):
        ada.transport.json("DELETE", f"/v1/jobs/{made['id']}")
    with pytest.raises(NotFound):
        grace.transport.json("DELETE", f"/v1/arrays/{made['id']}")
    with pytest.raises(NotFound):
        grace.transport.json("GET", f"/v1/jobs/{oldest[2]}")
    assert pages(grace, 5, array=made["id"]) == []
    with pytest.raises(InvalidRequest):
        grace.transport.json("GET", "/v1/jobs", params={"tenant": "ada"})
    assert pages(pool.operator(two), 9, tenant="ada", sort="oldest") == [*oldest, single]
    ada.cancel(single)
    ended = there.transport.json("DELETE", f"/v1/arrays/{made['id']}")
    assert (ended["ended"], ended["counts"]["cancelled"]) == (True, 5)
    assert posted(ada, body, "k")["counts"]["cancelled"] == 5
    assert set(pages(ada, 4, sort="ended")) == {*oldest, single}
    bad = {"job": {"application": APP}, "each": [{"arguments": {"0": {"scalar": 1}}}]}
    for wrong in (bad, {**body, "job": {"application": APP, "inputs": {"image": ["0" * 64]}}}, {**body, "each": []}):
        with pytest.raises(EddyError):
            posted(ada, wrong)
    assert len(ada.jobs()) == 6


def test_an_array_is_accepted_whole_or_not_at_all(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A head ends in the midst of an array: nothing of it is counted, shown or run before a client's next try."""
    one, two = pool.head("a"), pool.head("b")
    ada = pool.tenant(one)
    make, kept = PoolJobs._made, list[int]()

    async def breaks(table: PoolJobs, job: PoolJob) -> bool:
        if len(kept) == 3:
            raise OSError("the head was killed")
        kept.append(job.id)
        return await make(table, job)

    body = {"job": {"application": APP}, "each": labelled(6)}
    headers = {"Authorization": f"Bearer {pool.keys['ada']}", "Idempotency-Key": "k"}
    with monkeypatch.context() as broken:
        broken.setattr(PoolJobs, "_made", breaks)
        while len(kept) < 3:  # before that, servers that stand still for a while are the cause
            assert httpx.post(f"{one.url}/v1/arrays", json=body, headers=headers, timeout=WAIT_S).status_code == 503
    for head in (one, two, pool.head("c")):
        client = pool.client(head, pool.keys["ada"])
        assert client.jobs() == []
        assert client.quota()["jobs"] == 0
        assert client.overview()["jobs"] == []
    pool.board("b1")
    until(lambda: pool.present(pool.operator(two)) == {"b1"})
    order = photograph("ada", 3, 0, 1)
    order.submit(ada).wait(timeout_s=WAIT_S)
    assert len(ada.jobs()) == 1
    made = posted(pool.client(two, pool.keys["ada"]), body, "k")
    assert made["size"] == 6
    assert len(pages(ada, 500, array=made["id"])) == 6


async def _earlier(table: PoolJobs, tenant: str, requests: Any, key: str = "") -> PoolJob:
    """`PoolJobs.submit_array` of a release whose arrays had the numbers of their first jobs."""
    first, now_s = (await table._number(tenant, key, _digest(list(requests)))).value, table.now()
    for index, request in enumerate(requests):
        number = (await table._number(tenant, f"{key} {index}", _digest(request))).value if index else first
        place = ArrayPlace(first, index, len(requests))
        if index:
            await table._made(PoolJob(number, tenant, request, now_s, array=place))
    job = PoolJob(first, tenant, requests[0], now_s, array=ArrayPlace(first, 0, len(requests)))
    await table._made(job)
    return job


def test_arrays_of_an_earlier_release_keep_their_ids(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = pool.head("a"), pool.head("b")
    ada = pool.tenant(one)
    body = {"job": {"application": APP}, "each": labelled(3)}
    with monkeypatch.context() as before:
        before.setattr(PoolJobs, "submit_array", _earlier)
        made = posted(ada, body, "k")
    there = pool.client(two, pool.keys["ada"])
    jobs = pages(there, 9, array=made["id"], sort="oldest")
    assert (jobs[0], len(jobs)) == (made["id"], 3)
    assert there.show(made["id"])["array"] == {"id": made["id"], "index": 0, "size": 3}
    again = posted(there, body, "k")
    assert again == made, "the same key names the same array"
    last = posted(ada, {"application": APP, "after": [made["id"]], "afterany": [jobs[1]]}, path="/v1/jobs")
    assert (last["after"], last["afterany"]) == ([made["id"]], [jobs[1]])
    for number in jobs[:2]:
        ada.cancel(number)
    until(lambda: ada.show(last["id"])["state"] == "failed", saw=lambda: ada.show(last["id"]))
    assert there.transport.json("DELETE", f"/v1/arrays/{made['id']}")["counts"]["cancelled"] == 3
    assert len(ada.jobs()) == 4


@pytest.mark.usefixtures("patient")
def test_what_jobs_and_arrays_wait_for(pool: Pool) -> None:
    """A board runs two jobs at once; what fails, and what has its turn, is decided by whichever head leads."""
    head = pool.head("a")
    ada, order = pool.tenant(head), photograph("ada", 1, 0, 1)
    first = ada.submit_array(APP, [order.inputs] * 4, max_running=1)
    assert (first.data["max_running"], len({first.id, *(job.id for job in first.jobs())})) == (1, 5)
    second = ada.submit_array(APP, [order.inputs] * 4, aftercorr=[first])
    places = [job.data["after"] for job in second.jobs()]
    assert places == [[job.id] for job in first.jobs()]
    reduce, cleanup = ada.submit(APP, order.inputs, after=[second]), ada.submit(APP, order.inputs, afternotok=[first])
    lost = ada.submit(APP, order.inputs)
    whatever, instead = ada.submit(APP, order.inputs, afterany=[lost]), ada.submit(APP, order.inputs, afternotok=[lost])
    ada.cancel(lost.id)
    for field, wrong in (("after", 7), ("aftercorr", first.id), ("afterany", first.id + 1)):
        with pytest.raises(InvalidRequest) as refused:
            ada.transport.json("POST", "/v1/jobs", body={"application": APP, field: [wrong]})
        assert refused.value.details["field"] == f"{field}[0]"
    with pytest.raises(InvalidRequest, match="4 jobs and this one has 2"):
        ada.submit_array(APP, [order.inputs] * 2, aftercorr=[first])
    pool.board("b1")
    reduce.wait(timeout_s=WAIT_S)
    whatever.wait(timeout_s=WAIT_S)
    instead.wait(timeout_s=WAIT_S)
    until(lambda: cleanup.refresh().ended)
    error = cleanup.data["error"]
    assert error is not None
    assert (cleanup.state, error["cause"], error["code"]) == ("cancelled", "dependency-never", "job-cancelled")
    began = {job.id: parts(ada, job)[0]["started_unix_s"] for each in (first, second) for job in each.jobs()}
    ended = {job.id: parts(ada, job)[-1]["ended_unix_s"] for each in (first, second) for job in each.jobs()}
    assert parts(ada, reduce)[0]["started_unix_s"] >= max(ended[job.id] for job in second.jobs())
    for one, other in zip(first.jobs(), second.jobs(), strict=True):
        assert began[other.id] >= ended[one.id]
    mine = sorted((began[job.id], ended[job.id]) for job in first.jobs())
    assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(mine)), "one at a time"


def parts(client: Client, job: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.transport.json("GET", f"/v1/pool/jobs/{job.id}/explain")["parts"]
    return found


def test_names_of_every_script_at_two_heads(pool: Pool) -> None:
    one, two = pool.head("a"), pool.head("b")
    ada = pool.tenant(one)
    there, labels = pool.client(two, pool.keys["ada"]), {"проект": "Größe", "項目": "東京"}
    typed = {unicodedata.normalize("NFD", name): unicodedata.normalize("NFD", text) for name, text in labels.items()}
    made = posted(ada, {"application": APP, "labels": typed}, path="/v1/jobs")
    assert made["labels"] == labels
    assert pages(there, 9, label="проект=Größe") == [made["id"]] == pages(there, 9, label=f"項目={typed['項目']}")
    with pytest.raises(InvalidRequest):
        posted(ada, {"application": APP, "labels": {"a": "\u202e"}}, path="/v1/jobs")
    pool.operator(one).change_tenant("ada", display_name="Ада")
    until(lambda: pool.operator(two).overview()["tenants"][0]["display_name"] == "Ада")
    assert {each["id"]: each["display_name"] for each in pool.operator(two).tenants()}["ada"] == "Ада"


def test_bounds_count_every_job_of_an_array(pool: Pool) -> None:
    head = pool.head("a")
    ada = pool.tenant(head)
    pool.operator(head).change_tenant("ada", max_jobs=5, max_priority=3)
    body = {"job": {"application": APP}, "each": labelled(4)}
    posted(ada, body, "k")
    until(lambda: ada.quota()["jobs"] == 4)
    for wrong in ({**body, "each": labelled(2)}, {**body, "each": labelled(6)}):
        with pytest.raises(QuotaExceeded):
            posted(ada, wrong)
    assert posted(ada, body, "k")["size"] == 4, "what was accepted is not refused"
    with pytest.raises(InvalidRequest):
        posted(ada, {"job": {"application": APP, "priority": 9}, "each": [{}]})
    told = CliRunner().invoke(app, ["quota", "--url", head.url, "--key", pool.keys["ada"]])
    assert told.exit_code == 0, told.output
    assert "4" in told.output


def test_tenants_are_added_and_changed_as_on_a_board(pool: Pool) -> None:
    """With the commands as the page on pools has them: a board's own bounds are not sent unasked."""
    head = pool.head("a")

    def said(*arguments: str) -> str:
        done = CliRunner().invoke(app, ["tenant", *arguments, "--url", head.url, "--key", pool.key])
        assert done.exit_code == 0, done.output
        return done.output

    key = said("add", "ada").split()[-1]
    assert pool.client(head, key).quota()["quota"]["max_jobs"] is None
    said("add", "grace", "--max-jobs", "9", "--weight", "3")
    said("set", "ada", "--weight", "2", "--max-jobs", "500")
    shown = {each["id"]: (each["quota"]["max_jobs"], each["attributes"]) for each in pool.operator(head).tenants()}
    assert shown["ada"] == (500, {"weight": 2.0})
    assert shown["grace"] == (9, {"weight": 3.0})
    said("add", "lin", "--max-blob-bytes", "4096")
    assert pool.operator(head).tenants()[2]["quota"]["max_blob_bytes"] == 4096
    said("set", "lin", "--max-slot-s", "1", "--max-requests", "5")
    quota = pool.operator(head).tenants()[2]["quota"]
    assert (quota["max_slot_s"], quota["max_requests_per_s"], quota["max_core_s"]) == (1.0, 5.0, None)


class Feed:
    """Everything a head tells a key or a session, in a thread, until that breaks off."""

    def __init__(self, url: str, headers: dict[str, str]) -> None:
        self.url, self.headers, self.kinds = url, headers, list[str]()
        self.open, self.thread = threading.Event(), threading.Thread(target=self.follow, daemon=True)
        self.thread.start()
        assert self.open.wait(WAIT_S)

    def follow(self) -> None:
        while not self._followed():
            time.sleep(0.2)

    def _followed(self) -> bool:
        """Whether it was open, and broke off; not where the pool's servers are slow, and a head says to ask again."""
        with httpx.stream("GET", f"{self.url}/v1/events", headers=self.headers, timeout=WAIT_S) as answer:
            if answer.status_code == 503:
                return False
            assert answer.status_code == 200
            assert (answer.headers["cache-control"], answer.headers["x-accel-buffering"]) == ("no-store", "no")
            lines = answer.iter_lines()
            assert next(lines) == "retry: 1000"
            self.open.set()
            for line in lines:
                if line.startswith("event:"):
                    self.kinds.append(line)
        return True

    def over(self) -> bool:
        self.thread.join(WAIT_S)
        return not self.thread.is_alive()


def test_keys_are_made_and_revoked_at_every_head(pool: Pool) -> None:
    """A feed that is open breaks off with its key, revoked at whichever head, and others go on."""
    one, two = pool.head("a"), pool.head("b")
    operator = pool.operator(one)
    ada, grace = pool.tenant(one), pool.tenant(one, "grace")

    def said(key: str, *arguments: str) -> str:
        done = CliRunner().invoke(app, ["key", *arguments, "--url", two.url, "--key", key])
        assert done.exit_code == 0, done.output
        return done.output

    made = posted(ada, {"scope": "read", "label": "a screen", "expires_in_s": 3600}, path="/v1/keys")
    screen = pool.client(two, made["key"])
    assert screen.quota()["tenant"] == "ada"
    with pytest.raises(EddyError, match="change nothing"):
        posted(screen, {"application": APP}, path="/v1/jobs")
    assert [key["scope"] for key in grace.transport.json("GET", "/v1/keys")["keys"]] == ["tenant"]
    assert "a screen" in said(pool.keys["ada"], "list")
    (first,) = [key["id"] for key in ada.transport.json("GET", "/v1/keys")["keys"] if key["id"] != made["id"]]
    for wrong, error in ((made["id"], NotFound), ("nothing", NotFound)):
        with pytest.raises(error):
            grace.transport.request("DELETE", f"/v1/keys/{wrong}")
    for body in ({"scope": "operator"}, {"tenant": "ada"}, {"replaces": first}):
        with pytest.raises(EddyError):
            posted(grace, body, path="/v1/keys")
    rotated = posted(ada, {"replaces": first}, path="/v1/keys")
    for head in (one, two):
        with pytest.raises(Unauthorized, match="revoked"):
            pool.client(head, pool.keys["ada"]).quota()
        assert pool.client(head, rotated["key"]).quota()["tenant"] == "ada"
    feeds = [Feed(two.url, {"Authorization": f"Bearer {key}"}) for key in (made["key"], rotated["key"])]
    number = posted(pool.client(one, rotated["key"]), {"application": APP}, path="/v1/jobs")["id"]
    operator.transport.request("DELETE", f"/v1/keys/{made['id']}")
    with pytest.raises(Unauthorized, match="revoked"):
        screen.quota()
    assert feeds[0].over()
    assert "event: end" not in feeds[0].kinds, "it is broken off"
    assert feeds[1].thread.is_alive()
    until(lambda: "event: state" in feeds[1].kinds, saw=lambda: feeds[1].kinds)
    pool.client(two, rotated["key"]).cancel(number)
    operator.transport.request("DELETE", f"/v1/keys/{rotated['id']}")
    assert feeds[1].over()
    short = posted(grace, {"expires_in_s": 0.001}, path="/v1/keys")
    with pytest.raises(Unauthorized, match="expired"):
        pool.client(one, short["key"]).quota()
    (last,) = operator.transport.json("GET", "/v1/keys", params={"tenant": "operator"})["keys"]
    with pytest.raises(Conflict, match="last operator's key"):
        operator.transport.request("DELETE", f"/v1/keys/{last['id']}")
    watching = posted(operator, {"scope": "read"}, path="/v1/keys")["key"]
    with asking(two.url, watching) as api:
        assert api.get("/metrics").status_code == 200
    with pytest.raises(EddyError, match="change nothing"):
        pool.client(one, watching).add_tenant("eve")


def at_once(count: int, call: Callable[[int], Any]) -> list[Any]:
    """What so many calls at once answer, or raise."""

    def caught(place: int) -> Any:
        try:
            return call(place)
        except EddyError as error:
            return error

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(caught, range(count)))


def test_two_heads_that_are_asked_at_once(pool: Pool) -> None:
    """Together they accept no more than a tenant may have, and one key names one job wherever it is used first."""
    heads = pool.head("a"), pool.head("b")
    pool.tenant(heads[0])
    pool.operator(heads[0]).change_tenant("ada", max_jobs=7)
    ada = [pool.client(head, pool.keys["ada"]) for head in heads]
    found = at_once(24, lambda place: posted(ada[place % 2], {"application": APP}, path="/v1/jobs"))
    assert sum(isinstance(each, QuotaExceeded) for each in found) == 17, found
    jobs = {each["id"] for each in found if isinstance(each, dict)}
    assert len(jobs) == 7
    ada[0].cancel(min(jobs))
    found = at_once(12, lambda place: posted(ada[place % 2], {"job": {"application": APP}, "each": labelled(1)}))
    assert sum(isinstance(each, dict) for each in found) == 1, found
    pool.operator(heads[1]).change_tenant("ada", max_jobs=500)
    body = {"job": {"application": APP}, "each": labelled(9)}
    arrays = at_once(12, lambda place: posted(ada[place % 2], body, "array"))
    singles = at_once(12, lambda place: posted(ada[place % 2], {"application": APP}, "job", "/v1/jobs"))
    assert len({each["id"] for each in arrays}) == len({each["id"] for each in singles}) == 1
    assert len(pages(ada[1], 500, array=arrays[0]["id"])) == 9
    others = at_once(
        12, lambda place: posted(ada[place % 2], {"application": APP, "batch": 1 + place % 3}, "k", "/v1/jobs")
    )
    kept = {each["id"] for each in others if isinstance(each, dict)}
    assert len(kept) == 1
    assert all(isinstance(each, (dict, Conflict)) for each in others)


def test_a_browser_logs_in_at_one_head_alone(pool: Pool) -> None:
    one, two = pool.head("a"), pool.head("b")
    pool.tenant(one)
    with asking(one.url) as client, asking(two.url) as elsewhere:
        _log_in_and_out(client, elsewhere, pool.keys["ada"])


def _log_in_and_out(client: httpx.Client, elsewhere: httpx.Client, key: str) -> None:
    assert client.post("/v1/session", json={"key": "eddy_nobody"}).status_code == 401
    assert dict(client.cookies) == {}
    answer = client.post("/v1/session", json={"key": key})
    token, cookie = answer.json()["csrf_token"], client.cookies[COOKIE]
    flags = answer.headers["set-cookie"].lower()
    assert "httponly" in flags
    assert "samesite=strict" in flags
    assert client.get("/v1/session").json() == {"tenant": "ada", "operator": False, "csrf_token": token}
    page = client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    assert "script-src 'self'" in page.headers["content-security-policy"]
    overview = client.get("/v1/overview")
    assert (overview.json()["viewer"], overview.headers["cache-control"]) == ("ada", "no-store")
    job = {"application": APP}
    assert client.post("/v1/jobs", json=job).status_code == 403, "another site's page has no token"
    assert client.post("/v1/jobs", json=job, headers={HEADER: "wrong"}).status_code == 403
    assert client.post("/v1/jobs", json=job, headers={HEADER: token}).status_code == 202
    assert client.get("/v1/pool").status_code == 403
    elsewhere.cookies.set(COOKIE, cookie)
    assert elsewhere.get("/v1/session").status_code == 401, "a session is one head's"
    assert elsewhere.get("/v1/overview").status_code == 401
    assert client.delete("/v1/session").status_code == 403
    feed = Feed(str(client.base_url), {"Cookie": f"{COOKIE}={cookie}"})
    assert client.delete("/v1/session", headers={HEADER: token}).status_code == 204
    assert feed.over()
    client.cookies.set(COOKIE, cookie)
    assert client.get("/v1/overview").status_code == 401


def test_places_that_are_none_are_refused_at_a_head_too(pool: Pool) -> None:
    head = pool.head("a")
    ada, grace = pool.tenant(head), pool.tenant(head, "grace")
    first, second = [posted(ada, {"application": APP}, path="/v1/jobs")["id"] for _ in range(2)]
    hers = posted(grace, {"application": APP}, path="/v1/jobs")["id"]
    mine = {each.data["job"]: each.id for each in ada.events(last=9, follow=False)}
    until(lambda: len([*grace.events(last=9, follow=False)]) == 1)
    theirs = [each.id for each in grace.events(last=9, follow=False)]

    def told(path: str, last: int) -> str:
        return str(ada.transport.request("GET", path, headers={"Last-Event-ID": str(last)}).text)

    ada.cancel(first)  # so that its stream ends
    assert str(mine[second]) in told("/v1/events?follow=false", mine[first])
    assert '"cancelled"' in told(f"/v1/jobs/{first}/events", mine[first])
    assert '"queued"' in told(f"/v1/jobs/{first}/events", 0)
    for path, wrong in (
        ("/v1/events?follow=false", [*theirs, 7, 10**14 + 1, (1 << 63) - 1]),
        (f"/v1/jobs/{first}/events", [mine[second], *theirs, 7, (1 << 63) - 1]),
    ):
        for event in wrong:
            with pytest.raises(UnknownCursor) as refused:
                told(path, event)
            assert refused.value.details["status"] == 410
    page = ada.transport.json("GET", "/v1/jobs", params={"limit": 1})
    place, number = page["next"].split(".")
    assert len(ada.transport.json("GET", "/v1/jobs", params={"cursor": page["next"]})["jobs"]) == 1
    for cursor in (f"{int(place) + 1}.{number}", f"{place}.{hers}", f"{place}.{int(number) + 1}", f"{place}.0"):
        with pytest.raises(UnknownCursor):
            ada.transport.json("GET", "/v1/jobs", params={"cursor": cursor})


def waits_for(client: Client, job: int) -> str:
    wait = client.explain(job)["wait"]
    return "" if wait is None else wait["cause"]


def test_feeds_and_explanations(pool: Pool) -> None:
    head = pool.head("a")
    ada, grace = pool.tenant(head), pool.tenant(head, "grace")
    first = posted(ada, {"application": APP}, path="/v1/jobs")["id"]
    assert waits_for(ada, first) == "board"
    later = posted(ada, {"application": APP, "after": [first]}, path="/v1/jobs")["id"]
    assert waits_for(ada, later) == "predecessor"
    with pytest.raises(NotFound):
        grace.explain(first)
    ada.cancel(first)
    until(lambda: ada.job(later).data["state"] == "failed")
    found = ada.explain(first)
    assert sum(each["ns"] for each in found["spent"]) == found["life_ns"] > 0
    assert (found["state"], found["wait"]) == ("cancelled", None)
    mine = posted(grace, {"application": APP}, path="/v1/jobs")["id"]

    def past(client: Client, last: int) -> list[tuple[int, str]]:
        return [(event.data["job"], event.data["state"]) for event in client.events(last=last, follow=False)]

    everything = [(first, "queued"), (later, "queued"), (first, "cancelled"), (later, "failed")]
    # What happened is in the records first, and in what is told of it a moment later.
    until(lambda: past(ada, 50) == everything and past(grace, 50), saw=lambda: past(pool.operator(head), 50))
    for last in (0, 1, 3, 4, 50):
        assert past(ada, last) == (everything[-last:] if last else [])
    assert past(grace, 50) == [(mine, "queued")]
    assert past(pool.operator(head), 2) == [everything[-1], (mine, "queued")]
