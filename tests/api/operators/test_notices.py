# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Notices reach a real receiver, signed; they are tried again, logged, and go nowhere they may not."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from eddy.api.service import notice_service
from eddy.api.service.notice_service import NoticeService
from eddy.core.jobs import JobState
from eddy.core.leases import LeaseRecord, LeaseState
from eddy.core.notices import DELAYS_S
from eddy.core.records import SlotStatus
from eddy.notices import webhook
from eddy.notices.settings import NoticeSettings
from eddy.notices.signature import verify
from eddy.notices.targets import TargetRules
from eddy.store.tables import notices as table
from receiver_kit import Receiver

pytestmark = pytest.mark.anyio
LAB = NoticeSettings(TargetRules.parse("127.0.0.0/8", "none"))


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


@pytest.fixture
def lab(start: Any) -> Any:
    """A server whose tenants' webhooks may go to this machine."""
    return start(notices=LAB)


class Outbox:
    """A server's notices, a look at a time, under a clock of the test's."""

    def __init__(self, server: Any) -> None:
        self.now_s = time.time()
        self.service = NoticeService(server.app.state.context, lambda: self.now_s)

    async def look(self) -> None:
        async with anyio.create_task_group() as group:
            await anyio.to_thread.run_sync(self.service.collect)
            await self.service.dispatch(group)


async def subscribe(server: Any, url: str, who: str = "ada", **fields: Any) -> dict[str, Any]:
    async with server.client(who) as client:
        answer = await client.post("/v1/subscriptions", json={"target": url, "kinds": ["job.ended"], **fields})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


async def log_of(server: Any, name: str, who: str = "ada") -> list[dict[str, Any]]:
    async with server.client(who) as client:
        found: list[dict[str, Any]] = (await client.get(f"/v1/subscriptions/{name}/deliveries")).json()["deliveries"]
    return found


async def end_job(server: Any, who: str = "ada", state: JobState = JobState.SUCCEEDED, **changes: Any) -> int:
    job = await server.submit(who)
    record = server.store.jobs.get(who, job["id"])
    if state is JobState.SUCCEEDED:
        server.hypervisor.finish(record, result=bytes(6))
    else:
        server.hypervisor.move(record, state, **changes)
    return int(job["id"])


async def test_the_end_of_a_job_is_told_once_and_signed(lab: Any, hook: Receiver) -> None:
    before = await end_job(lab)
    made = await subscribe(lab, hook.url)
    job = await end_job(lab, state=JobState.FAILED, cause="time-limit")
    await end_job(lab, "grace")
    outbox = Outbox(lab)
    for _ in range(3):
        await outbox.look()
    ((headers, body),) = hook.got
    assert verify(made["secret"], headers, body, time.time())
    (told,) = hook.bodies()
    assert (told["type"], told["data"]["job"], told["data"]["state"]) == ("job.ended", job, "failed")
    assert (told["data"]["cause"], told["data"]["tenant"], before != job) == ("time-limit", "ada", True)
    (entry,) = await log_of(lab, made["id"])
    assert (entry["id"], entry["state"], entry["status"]) == (headers["webhook-id"], "delivered", 204)
    assert entry["body"] == told


async def test_an_operator_is_told_of_everyones_jobs_and_of_slots(lab: Any, hook: Receiver) -> None:
    lab.hypervisor.statuses = (SlotStatus(0, "pipeline", "slot0"), SlotStatus(1, "pipeline", "slot1", drained="old"))
    outbox = Outbox(lab)
    await outbox.look()  # what was so before anybody wanted to know is not told
    kinds = ["job.ended", "slot.drained", "slot.undrained"]
    await subscribe(lab, hook.url, "operator", kinds=kinds, everyone=True)
    await end_job(lab, "grace")
    await lab.hypervisor.operator.drain(0, "a new fan")
    for _ in range(3):
        await outbox.look()
    await lab.hypervisor.operator.drain(0, "")
    for _ in range(2):
        await outbox.look()
    assert [(told["type"], told["data"].get("slot"), told["data"].get("because")) for told in hook.bodies()] == [
        ("job.ended", None, None),
        ("slot.drained", 0, "a new fan"),
        ("slot.undrained", 0, ""),
    ]


async def test_a_holder_is_told_of_its_leases_and_an_operator_of_all(lab: Any, hook: Receiver) -> None:
    leases = lab.store.leases

    def ask(tenant: str) -> LeaseRecord:
        made: LeaseRecord = leases.add(lambda name: LeaseRecord(0, name, tenant, asked_unix_s=1.0), 4)
        return made

    def move(record: LeaseRecord, **changed: Any) -> LeaseRecord:
        moved = dataclasses.replace(record, **changed)
        leases.put(moved)
        return moved

    old = move(ask("ada"), state=LeaseState.ENDED, cause="expired", ended_unix_s=2.0)
    outbox = Outbox(lab)
    await outbox.look()  # what was so before is not told
    kinds = ["lease.began", "lease.noticed", "lease.ended"]
    await subscribe(lab, hook.url, "ada", kinds=kinds)
    with Receiver() as everyone:
        await subscribe(lab, everyone.url, "operator", kinds=kinds, everyone=True)
        mine, other, short = ask("ada"), ask("grace"), ask("ada")
        await outbox.look()
        mine = move(mine, state=LeaseState.ACTIVE, slots=(2,), begins_unix_s=3.0, ends_unix_s=90.0)
        other = move(other, state=LeaseState.ACTIVE, slots=(1,), begins_unix_s=3.0, ends_unix_s=90.0)
        short = move(short, state=LeaseState.ENDED, cause="released", ended_unix_s=4.0)
        for _ in range(4):
            await outbox.look()
        mine = move(mine, notice="an operator takes the board", ends_unix_s=63.0)
        for _ in range(2):
            await outbox.look()
        move(mine, state=LeaseState.ENDED, cause="notice", ended_unix_s=64.0)
        for _ in range(3):
            await Outbox(lab).look()  # after a restart, nothing is told again
        told = [(each["type"], each["data"]["lease"], each["data"]["cause"]) for each in hook.bodies()]
        assert sorted(told) == sorted(
            [
                ("lease.began", mine.id, ""),
                ("lease.ended", short.id, "released"),
                ("lease.noticed", mine.id, ""),
                ("lease.ended", mine.id, "notice"),
            ]
        )
        noticed = next(each for each in hook.bodies() if each["type"] == "lease.noticed")["data"]
        assert (noticed["slots"], noticed["notice"]) == ([2], "an operator takes the board")
        assert noticed["ends"] == "1970-01-01T00:01:03Z"
        assert {each["data"]["lease"] for each in everyone.bodies()} == {mine.id, other.id, short.id}
        assert old.id not in str(everyone.bodies())


async def test_a_receiver_that_fails_is_tried_again_later_under_the_same_id(lab: Any, hook: Receiver) -> None:
    made, outbox = await subscribe(lab, hook.url), Outbox(lab)
    hook.answers = [500, 302]
    hook.location = "http://127.0.0.1:1/elsewhere"
    await end_job(lab)
    await outbox.look()
    (entry,) = await log_of(lab, made["id"])
    assert (entry["state"], entry["attempts"], entry["status"], entry["said"]) == ("waiting", 1, 500, "answered 500")
    assert 3 < entry["next_unix_s"] - outbox.now_s < 7
    await outbox.look()
    assert len(hook.got) == 1
    for delay_s in DELAYS_S[:2]:
        outbox.now_s += delay_s * 1.3
        await outbox.look()
    (entry,) = await log_of(lab, made["id"])
    assert (entry["state"], entry["attempts"]) == ("delivered", 3)
    assert {headers["webhook-id"] for headers, _ in hook.got} == {entry["id"]}


async def test_a_clock_that_was_set_back_holds_up_no_message(lab: Any, hook: Receiver) -> None:
    made, outbox = await subscribe(lab, hook.url), Outbox(lab)
    hook.answers = [500]
    await end_job(lab)
    await outbox.look()
    outbox.now_s -= 5 * 3600.0
    await outbox.look()
    (entry,) = await log_of(lab, made["id"])
    assert (entry["state"], entry["attempts"], len(hook.got)) == ("delivered", 2, 2)


async def test_one_that_never_takes_it_is_given_up_and_sent_again_on_request(lab: Any, hook: Receiver) -> None:
    made, outbox = await subscribe(lab, hook.url), Outbox(lab)
    hook.answers = [503] * (len(DELAYS_S) + 1)
    await end_job(lab)
    await outbox.look()
    for delay_s in DELAYS_S:
        outbox.now_s += delay_s * 1.3
        await outbox.look()
    (entry,) = await log_of(lab, made["id"])
    assert (entry["state"], entry["attempts"], entry["next_unix_s"]) == ("failed", len(DELAYS_S) + 1, None)
    async with lab.client() as client:
        again = await client.post(f"/v1/subscriptions/{made['id']}/deliveries/{entry['id']}/redeliver")
        assert (again.status_code, again.json()["state"]) == (202, "waiting")
        wrong = await client.post(f"/v1/subscriptions/{made['id']}/deliveries/msg_none/redeliver")
        assert (wrong.status_code, wrong.json()["code"]) == (404, "not-found")
    await outbox.look()
    (entry,) = await log_of(lab, made["id"])
    assert (entry["state"], entry["status"]) == ("delivered", 204)


async def test_one_that_is_gone_hears_no_more(lab: Any, hook: Receiver) -> None:
    made, outbox = await subscribe(lab, hook.url), Outbox(lab)
    hook.answers = [410]
    for _ in range(2):
        await end_job(lab)
    for _ in range(3):
        await outbox.look()
    assert len(hook.got) == 1
    assert {entry["state"] for entry in await log_of(lab, made["id"])} == {"failed"}
    async with lab.client() as client:
        assert "410" in (await client.get(f"/v1/subscriptions/{made['id']}")).json()["off"]
        answer = await client.post(f"/v1/subscriptions/{made['id']}/test")
        assert (answer.status_code, answer.json()["code"]) == (409, "conflict")


async def test_a_slow_receiver_keeps_nobody_else_waiting(lab: Any, hook: Receiver) -> None:
    with Receiver() as slow:
        slow.gate.clear()
        for _ in range(3):
            await subscribe(lab, slow.url)
        await subscribe(lab, hook.url, "grace")
        await end_job(lab, "ada")
        outbox = Outbox(lab)
        async with anyio.create_task_group() as group:
            await anyio.to_thread.run_sync(outbox.service.collect)
            await outbox.service.dispatch(group)
            for job in range(2):
                await end_job(lab, "grace")
                await anyio.to_thread.run_sync(outbox.service.collect)
                with anyio.fail_after(30):
                    while len(hook.got) <= job:
                        await outbox.service.dispatch(group)
                        await anyio.sleep(0.01)
            with anyio.fail_after(30):  # of three, two of one tenant are under way, and nothing else is any more
                while len(outbox.service._busy) != notice_service.AT_ONCE:
                    await anyio.sleep(0.01)
            slow.gate.set()


async def test_what_waits_for_a_dead_receiver_is_bounded_and_counted(lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "MAX_WAITING", 2)
    monkeypatch.setattr(table, "KEPT_ENDED", 1)
    with Receiver() as dead:
        url = dead.url
    made, outbox = await subscribe(lab, url), Outbox(lab)
    for _ in range(4):
        await end_job(lab)
    await outbox.look()
    found = await log_of(lab, made["id"])
    assert len(found) == 2
    assert "no connection: refused, or the host is away" in {entry["said"] for entry in found}
    async with lab.client() as client:
        assert (await client.get(f"/v1/subscriptions/{made['id']}")).json()["dropped"] == 2
        answer = await client.post(f"/v1/subscriptions/{made['id']}/test")
        assert (answer.status_code, answer.json()["limit"]) == (429, 2)


async def test_tenants_name_no_place_inside_and_are_told_nothing_of_it(server: Any, hook: Receiver) -> None:
    async with server.client() as client:
        for target in (hook.url, "http://localhost/", "http://[::ffff:127.0.0.1]/", "http://169.254.169.254/latest"):
            answer = await client.post("/v1/subscriptions", json={"target": target, "kinds": ["job.ended"]})
            assert (answer.status_code, answer.json()["field"]) == (422, "target"), target
            assert "--webhook-targets" in answer.json()["detail"]
        for body, status in (
            ({"target": hook.url, "kinds": ["slot.drained"]}, 403),
            ({"target": hook.url, "kinds": ["job.begun"]}, 422),
            ({"target": hook.url, "kinds": ["test"]}, 422),
            ({"target": hook.url, "kinds": ["job.ended"], "everyone": True}, 403),
            ({"target": "mailto:ada@lab.example", "kinds": ["job.ended"]}, 422),
        ):
            assert (await client.post("/v1/subscriptions", json=body)).status_code == status
    made = await subscribe(server, hook.url, "operator", everyone=True)
    assert made["secret"].startswith("whsec_")


async def test_a_name_that_means_another_address_later_is_not_followed_inside(
    lab: Any, hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The address is looked at again at each attempt: what was fine when it was named may not stay so."""
    made, outbox = await subscribe(lab, hook.url), Outbox(lab)
    context = lab.app.state.context
    context.settings = dataclasses.replace(context.settings, notices=NoticeSettings())
    await end_job(lab)
    await outbox.look()
    (entry,) = await log_of(lab, made["id"])
    assert (entry["state"], entry["attempts"], hook.got) == ("waiting", 1, [])
    assert "is not a place webhooks of tenants may go to" in entry["said"]


async def test_a_tenant_sees_and_changes_its_own_subscriptions_only(lab: Any, hook: Receiver) -> None:
    made = await subscribe(lab, hook.url, label="mine")
    await subscribe(lab, hook.url, "grace")
    here = f"/v1/subscriptions/{made['id']}"
    async with lab.client("grace") as client:
        for method, path in (("GET", here), ("DELETE", here), ("GET", f"{here}/deliveries"), ("POST", f"{here}/test")):
            assert (await client.request(method, path)).status_code == 404
        assert [each["tenant"] for each in (await client.get("/v1/subscriptions")).json()["subscriptions"]] == ["grace"]
    async with lab.client("operator") as client:
        assert len((await client.get("/v1/subscriptions")).json()["subscriptions"]) == 2
        assert (await client.delete(here)).status_code == 204
        actions = [entry["action"] for entry in (await client.get("/v1/admin/audit")).json()["entries"]]
    assert actions == ["subscribe", "subscribe", "unsubscribe"]
    assert "secret" not in str(lab.store.audit.entries())
    async with lab.client() as client:
        assert (await client.get("/v1/subscriptions")).json() == {"subscriptions": []}


async def test_a_tenant_has_so_many_subscriptions(lab: Any, hook: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "MAX_SUBSCRIPTIONS", 2)
    for _ in range(2):
        await subscribe(lab, hook.url)
    await subscribe(lab, hook.url, "grace")
    async with lab.client() as client:
        answer = await client.post("/v1/subscriptions", json={"target": hook.url, "kinds": ["job.ended"]})
    assert (answer.status_code, answer.json()["code"], answer.json()["limit"]) == (429, "quota-exceeded", 2)


async def test_a_receiver_that_answers_without_end_is_left(
    lab: Any, hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook, "ATTEMPT_S", 0.2)
    made, outbox = await subscribe(lab, hook.url), Outbox(lab)
    hook.gate.clear()
    await end_job(lab)
    await outbox.look()
    (entry,) = await log_of(lab, made["id"])
    assert (entry["state"], entry["said"]) == ("waiting", "no answer within 0.2 s")
