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
from eddy.client import AsyncClient, Client, JobFailed, ServerUnreachable
from eddy.core.errors import NotFound

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
        assert (job["batch"], job["labels"], job["retries"]["max"]) == (2, {"run": "7"}, 1)
        with anyio.fail_after(60):
            async with anyio.create_task_group() as group:
                ended: list[dict[str, Any]] = []

                async def wait() -> None:
                    ended.append(await ada.wait(job["id"]))

                group.start_soon(wait)
                await anyio.sleep(0.02)
                record = server.store.job("ada", job["id"])
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
        assert server.store.jobs(None) == ()
        job = await ada.submit("invert", {"image": image})
        assert (await ada.explain(job["id"]))["wait"]["cause"] == "slot"
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
        assert await ada.quota() == {"tenant": "ada"}
        tries.clear()
        ada.transport.retries = 1
        with pytest.raises(ServerUnreachable):
            await ada.quota()


def test_every_request_of_the_clients_is_an_operation_of_the_page(server: Any) -> None:
    paths = server.app.openapi()["paths"]
    known = {(method.upper(), PLACE.sub("{}", path)) for path, by in paths.items() for method in by}
    asked = {
        (method, PLACE.sub("{}", path))
        for file in PACKAGE.glob("*.py")
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
    from eddy.client.asked import asked

    assert set(asked(**sent)) <= set(fields)  # type: ignore[arg-type]
