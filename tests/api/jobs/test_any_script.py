# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Labels, and what tenants are called, in any script: as they come in, are kept, found again and shown."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from typing import Any

import pytest
from api.conftest import Server
from api.service.test_front_door import GOOD, each, post, served, statuses

pytestmark = pytest.mark.anyio
LABELS = {"проект": "Größe 3", "項目": "東京　駅", "مشروع": "می\u200cخواهم", "run": "👩\u200d🔬"}


def apart(text: str) -> str:
    return unicodedata.normalize("NFD", text)


async def test_jobs_are_labelled_and_found_in_any_script(server: Any) -> None:
    job = await server.submit(labels={apart(name): apart(value) for name, value in LABELS.items()})
    other = await server.submit(labels={"проект": "другой"})
    assert job["labels"] == LABELS, "in one form, however it was typed"
    async with server.client() as client:
        shown = await client.get(job["links"]["self"])
        assert shown.json()["labels"] == LABELS
        for name, value in LABELS.items():
            for form in (str, apart):
                page = await client.get("/v1/jobs", params={"label": f"{form(name)}={form(value)}"})
                assert [each["id"] for each in page.json()["jobs"]] == [job["id"]], (name, form)
        both = await client.get("/v1/jobs", params={"label": [f"{name}={value}" for name, value in LABELS.items()]})
        assert [each["id"] for each in both.json()["jobs"]] == [job["id"]]
        assert other["labels"] == {"проект": "другой"}


async def test_jobs_of_an_array_have_labels_put_over_those_of_all(server: Any) -> None:
    blob = await server.put(bytes(6))
    shared = {"application": "invert", "inputs": {"image": [blob]}, "labels": {apart("é"): "все"}}
    async with server.client() as client:
        made = await client.post("/v1/arrays", json={"job": shared, "each": [{"labels": {"é": "один"}}, {}]})
        jobs = (await client.get(made.json()["links"]["jobs"])).json()["jobs"]
    assert [job["labels"] for job in jobs] == [{"é": "один"}, {"é": "все"}]


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        ({"a\u202eb": "x"}, "letter or digit"),
        ({"a": "x\u202ey"}, "printable"),
        ({"a": "x\u200b"}, "printable"),
        ({"-проект": "x"}, "letter or digit"),
        ({"ж" * 64: "x"}, "63"),
        ({"𠮷" * 48: "x"}, "189 bytes"),
        ({"a": "𠮷" * 49}, "192 bytes"),
        ({"é": "x", apart("é"): "y"}, "NFC"),
    ],
)
async def test_what_is_no_label_is_refused_and_says_why(server: Any, labels: dict[str, str], says: str) -> None:
    async with server.client() as client:
        answer = await client.post("/v1/jobs", json={"application": "invert", "labels": labels})
        problem = answer.json()
        assert (answer.status_code, problem["code"]) == (422, "invalid-request")
        assert problem["field"].startswith("labels"), problem
        assert says in problem["detail"], problem
        (name, value) = next(iter(labels.items()))
        if len(labels) == 1:
            listed = await client.get("/v1/jobs", params={"label": f"{name}={value}"})
            assert (listed.status_code, says in listed.json()["detail"]) == (422, True), listed.text
        for wrong in ("проект", "=x", ""):
            assert (await client.get("/v1/jobs", params={"label": wrong})).status_code == 422


async def test_labels_in_bytes_and_in_escapes_are_the_same(start: Callable[..., Server]) -> None:
    every = [LABELS, {apart("é"): apart("ü")}, {"a": "\u202e"}, {"é": "x", apart("é"): "y"}, {"ж" * 64: ""}, {"": ""}]
    async with served(start) as (server, port):
        for escaped in (True, False):
            bodies = [json.dumps({**GOOD, "labels": labels}, ensure_ascii=escaped) for labels in every]
            found = await each(port, [post(body) for body in bodies])
            assert [statuses(answer.replace(b"http/", b"HTTP/"))[0] for answer in found] == [
                202,
                202,
                422,
                422,
                422,
                422,
            ]
        assert server.hypervisor.asked == 4


async def test_a_tenant_is_called_what_people_call_it_and_has_an_id_of_its_own(server: Any) -> None:
    async with server.client("operator") as client:
        made = await client.post("/v1/admin/tenants", json={"id": "lovelace", "display_name": apart("Адá Лавлейс")})
        assert (made.status_code, made.json()["display_name"]) == (201, "Адá Лавлейс")
        changed = await client.patch("/v1/admin/tenants/lovelace", json={"weight": 2.0})
        assert (changed.json()["display_name"], changed.json()["attributes"]["weight"]) == ("Адá Лавлейс", 2.0)
        changed = await client.patch("/v1/admin/tenants/lovelace", json={"display_name": "愛達"})
        assert changed.json()["display_name"] == changed.json()["attributes"]["display_name"] == "愛達"
        listed = {
            each["id"]: each["display_name"] for each in (await client.get("/v1/admin/tenants")).json()["tenants"]
        }
        assert (listed["lovelace"], listed["ada"]) == ("愛達", "")
        for wrong in ("\u202e", "x" * 65, "a\nb"):
            for body in ({"display_name": wrong}, {"attributes": {"display_name": wrong}}):
                answer = await client.patch("/v1/admin/tenants/lovelace", json=body)
                assert answer.status_code == 422, body
        assert (
            await client.patch("/v1/admin/tenants/lovelace", json={"attributes": {"display_name": 7}})
        ).status_code == 422
        refused = await client.post("/v1/admin/tenants", json={"id": "Ада"})
        assert (refused.status_code, refused.json()["field"]) == (422, "id"), "an id names files and subjects"
        await client.patch("/v1/admin/tenants/ada", json={"display_name": "Ада"})
    await server.submit()
    async with server.client("operator") as client:
        (load,) = (await client.get("/v1/overview")).json()["tenants"]
        assert (load["tenant"], load["display_name"]) == ("ada", "Ада")
        metrics = (await client.get("/metrics")).text
    assert "Ада" not in metrics, "series keep their names"
