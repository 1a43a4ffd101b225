# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The client for event loops against the application itself; and what both clients promise against its OpenAPI."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import anyio
import httpx
import numpy as np
import pytest
from eddy.client import AsyncClient, Client, JobFailed, ServerUnreachable, answers
from eddy.client.calls.kernel import AsyncKernel, Kernel
from eddy.core.errors import NotFound
from eddy.core.records import SlotStatus

pytestmark = pytest.mark.anyio
PACKAGE = Path(inspect.getfile(Client)).parent
CALL = re.compile(r'"(GET|PUT|POST|DELETE|PATCH|HEAD)",\s*f?"(/[^"?]*)')
PLACE = re.compile(r"{[^{}]*(?:\([^()]*\))?[^{}]*}")


def client(server: Any, who: str = "ada") -> AsyncClient:
    return AsyncClient("http://eddy", server.keys[who], http=httpx.ASGITransport(app=server.app))


async def test_a_job_from_arrays_to_arrays(server: Any) -> None:
    image = np.arange(12, dtype="u1").reshape(2, 2, 3)
    async with client(server) as ada:
        job = await ada.submit("invert", {"image": image}, labels={"run": "7"}, retries=1)
        assert job["retries"] is not None
        assert (job["batch"], job["labels"], job["retries"]["max"]) == (2, {"run": "7"}, 1)
        with anyio.fail_after(180):
            async with anyio.create_task_group() as group:
                ended: list[answers.Job] = []

                async def wait() -> None:
                    ended.append(await ada.wait(job["id"]))

                group.start_soon(wait)
                await anyio.sleep(0.02)
                record = server.store.jobs.get("ada", job["id"])
                server.hypervisor.finish(record, result=bytes(255 - value for value in range(12)))
        assert ended[0]["state"] == "succeeded"
        np.testing.assert_array_equal((await ada.outputs(job["id"]))["result"], 255 - image)
        kinds = [event.kind async for event in ada.events(job["id"])]
        assert kinds == ["submitted", "state"]
        assert [each["id"] for each in await ada.jobs(label=["run=7"], limit=5)] == [job["id"]]
        assert (await ada.quota())["tenant"] == "ada"
        assert [app["name"] for app in await ada.apps()] == ["invert"]


async def test_a_submission_is_tried_out_and_a_job_explained_by_both_clients(server: Any) -> None:
    image = np.zeros((1, 2, 3), "u1")
    async with client(server) as ada:
        trial = await ada.dry_run("invert", {"image": image}, priority=3, deadline_s=9.0)
        assert (trial["admitted"], trial["batch"], trial["loads"][0]["module"]) == (True, 1, "inverter")
        assert server.store.lists.page(None) == ()
        job = await ada.submit("invert", {"image": image})
        wait = (await ada.explain(job["id"]))["wait"]
        assert wait is not None
        assert wait["cause"] == "slot"
        with pytest.raises(NotFound):
            await ada.explain(4711)


async def test_errors_are_those_of_the_other_client(server: Any) -> None:
    async with client(server) as ada:
        other = await ada.submit("invert", {"image": np.zeros((1, 2, 3), "u1")})
        assert (await ada.cancel(other["id"], wait_s=5))["state"] == "cancelled"
        with pytest.raises(JobFailed):
            await ada.wait(other["id"])
        with pytest.raises(NotFound):
            await ada.show(4711)
    async with client(server, "grace") as grace:
        with pytest.raises(NotFound):
            await grace.show(other["id"])


async def test_what_is_not_answered_is_asked_again() -> None:
    tries: list[str] = []

    def handler(request: httpx.Request) -> httpx.Response:
        tries.append(request.url.path)
        if len(tries) < 3:
            raise httpx.ConnectError("refused", request=request)
        return httpx.Response(200, json={"tenant": "ada"})

    async def pause(seconds: float) -> None:
        assert seconds > 0

    async with AsyncClient("http://eddy", "key", retries=2, http=httpx.MockTransport(handler)) as ada:
        ada.transport.pause = pause
        assert dict(await ada.quota()) == {"tenant": "ada"}
        tries.clear()
        ada.transport.retries = 1
        with pytest.raises(ServerUnreachable):
            await ada.quota()


def test_every_request_of_the_clients_is_an_operation_of_the_page(server: Any) -> None:
    paths = server.app.openapi()["paths"]
    known = {(method.upper(), PLACE.sub("{}", path)) for path, by in paths.items() for method in by}
    asked = {
        (method, PLACE.sub("{}", path))
        for file in PACKAGE.rglob("*.py")
        for method, path in CALL.findall(file.read_text(encoding="utf-8"))
    }
    assert len(asked) > 25
    assert asked - known == set()


def test_what_both_clients_take_is_called_and_typed_alike() -> None:
    for name, call in inspect.getmembers(AsyncClient, inspect.isfunction):
        if name.startswith("_") or name in ("wait", "events", "jobs"):
            continue
        theirs, ours = inspect.signature(getattr(Client, name)).parameters, inspect.signature(call).parameters
        assert {key: (each.annotation, each.default) for key, each in ours.items()}.items() <= {
            key: (each.annotation, each.default) for key, each in theirs.items()
        }.items(), name


def test_submissions_have_the_fields_of_the_page(server: Any) -> None:
    fields = server.app.openapi()["components"]["schemas"]["JobSubmission"]["properties"]
    sent = {"labels": {"a": "b"}, "after": [1], "retries": 2, "end_late": True}
    from eddy.client.calls.submission_fields import submission_fields

    assert set(submission_fields({}, **sent)) <= set(fields)  # type: ignore[arg-type]


HANDLES = {"job": "jobs are the objects the server shows", "array": "so are arrays"}
HANDLES |= dict.fromkeys(("open_session", "session"), "a session sends its commands from a thread of its own")
"""What the client for threads alone has, and why."""


def test_both_clients_can_do_the_same() -> None:
    def public(client: type) -> set[str]:
        return {name for name, _ in inspect.getmembers(client, inspect.isfunction) if not name.startswith("_")}

    assert public(Client) - public(AsyncClient) == set(HANDLES)
    assert public(AsyncClient) - public(Client) == {"wait"}, "a handle's `wait` where there are no handles"
    kernels = public(Kernel), public(AsyncKernel)
    assert (kernels[0] - kernels[1], kernels[1] - kernels[0]) == (set(), {"finish"})
    for name in ("launch", "dry_run"):
        ours, theirs = (inspect.signature(getattr(kernel, name)).parameters for kernel in (AsyncKernel, Kernel))
        assert {key: each.default for key, each in ours.items()} == {k: each.default for k, each in theirs.items()}


async def test_an_array_of_jobs_and_what_is_around_it(server: Any) -> None:
    async with client(server) as ada:
        made = await ada.submit_array("invert", [{"image": np.full((1, 2, 3), k, "u1")} for k in range(2)], priority=3)
        assert (made["size"], made["counts"]["queued"]) == (2, 2)
        jobs = await ada.jobs(array=made["id"])
        assert [job["priority"] for job in jobs] == [3, 3]
        assert (await ada.cancel_array(made["id"]))["ended"]
        assert (await ada.show_array(made["id"]))["counts"]["cancelled"] == 2
        assert await ada.log(jobs[0]["id"]) == ""
        kept = [blob["sha256"] for blob in await ada.blobs()]
        assert len(kept) == 2
        await ada.delete_blob(kept[0])
        assert [blob["sha256"] for blob in await ada.blobs()] == kept[1:]
        assert (await ada.app("invert"))["name"] == "invert"
        assert await ada.ready()
        assert (await ada.who_am_i())["tenant"] == "ada"
        assert (await ada.overview())["viewer"] == "ada"
        key = await ada.make_key(label="for a day", expires_in_s=60)
        await ada.revoke_key(key["id"])
        assert len(await ada.keys()) == 2


async def test_the_operators_calls(server: Any) -> None:
    server.hypervisor.statuses = (SlotStatus(0, "pipeline", "slot0"),)
    async with client(server, "operator") as operator:
        assert (await operator.add_tenant("eve", weight=2.0, max_jobs=5))["key"].startswith("eddy_")
        assert (await operator.change_tenant("eve", max_jobs=6))["quota"]["max_jobs"] == 6
        assert {tenant["id"] for tenant in await operator.tenants()} >= {"ada", "eve"}
        assert (await operator.drain(0, "a fan"))["drained_because"] == "a fan"
        assert not (await operator.undrain(0))["drained"]
        assert (await operator.set_policy("nimblock"))["policy"] == "nimblock"
        assert (await operator.policy_in_force())["policy"] == "nimblock"
        assert (await operator.slots())["slots"][0]["slot"] == 0
        actions = [entry["action"] for entry in await operator.audit()]
        assert actions == ["add-tenant", "change-tenant", "drain-slot", "undrain-slot", "set-policy"]


async def test_a_kernel_sends_what_the_other_client_sends() -> None:
    """Bodies and blobs, byte for byte, but for the key that names a submission."""
    sent: list[tuple[str, str, bytes]] = []

    def handler(request: httpx.Request) -> httpx.Response:
        sent.append((request.method, str(request.url), request.content))
        return httpx.Response(
            404 if request.method == "HEAD" else 200, json={"id": 1, "state": "queued", "kernel": None}
        )

    y, x = np.zeros(8, "u4"), np.arange(8, dtype="u4")
    transport = httpx.MockTransport(handler)
    shape: dict[str, Any] = {"local_size": 4, "priority": 3}
    with Client("http://eddy", "k", http=transport) as other:
        made = other.kernel("kernel void f() {}", "f", {"N": 4})
        made.launch(8, y, x, 3, **shape, labels={"a": "b"})
        made.dry_run(8, y, x, 3, **shape)
    wanted, sent[:] = sent[:], []
    async with AsyncClient("http://eddy", "k", http=transport) as ours:
        kernel = ours.kernel("kernel void f() {}", "f", {"N": 4})
        await kernel.launch(8, y, x, 3, **shape, labels={"a": "b"})
        await kernel.dry_run(8, y, x, 3, **shape)
    assert sent == wanted
    assert len(sent) == 2 * (2 * 2 + 1)
