# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`client.kernel(...).launch(...)` against a server that runs the request on the instruction-set model."""

from __future__ import annotations

import base64
import json
import struct
from decimal import Decimal
from typing import Any

import httpx
import numpy as np
import pytest
from eddy.client import Client, JobFailed
from eddy.client.calls.kernel import KernelSource, Local
from eddy.core.errors import EddyError, InvalidRequest
from eddy.gpu.launches.request import Buffer, KernelRequest, RepeatedArray, execute
from unit.gpu_kit import cluster, compiler

MASKED: Any = np.ma.array  # numpy has no types for it
SOURCE = """
kernel void saxpy(global float *y, global const float *x, float a) {
  uint i = get_global_id(0);
  y[i] = a * x[i] + y[i] + N;
  if (i == 3) printf("three: %.1f\\n", y[i]);
}
kernel void sums(global const int *x, global int *out, local int *t, int4 v) {
  uint l = get_local_id(0);
  t[l] = x[get_global_id(0)] + v.z;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l == 0) { int s = 0; for (uint k = 0; k < get_local_size(0); k++) s += t[k]; out[get_group_id(0)] = s; }
}
"""


class Server:
    """The part of the HTTP API a kernel job needs, run at once."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.jobs: list[dict[str, Any]] = []
        self.results: list[dict[str, bytes]] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        parts = request.url.path.strip("/").split("/")
        if parts[1] == "blobs":
            if request.method == "PUT":
                self.blobs[parts[2]] = request.content
            return httpx.Response(200 if parts[2] in self.blobs else 404, json={"code": "not-found"})
        if request.method == "POST":
            return httpx.Response(202, json=self.submit(json.loads(request.content)))
        if parts[-1] == "events":
            return httpx.Response(200, text="", headers={"content-type": "text/event-stream"})
        if parts[-1] == "log":
            return httpx.Response(200, text=self.jobs[int(parts[2])]["log"])
        if "outputs" in parts:
            return httpx.Response(200, content=self.results[int(parts[2])][parts[4]])
        return httpx.Response(200, json=self.jobs[int(parts[2])])

    def submit(self, body: dict[str, Any]) -> dict[str, Any]:
        job: dict[str, Any] = {"id": len(self.jobs), "state": "succeeded", "application": ""}
        self.results.append({})
        try:
            request = KernelRequest.from_json(body["kernel"])
            done = execute(request, self.blobs.__getitem__, cluster(), compiler())
            names = [
                a.name
                for a in compiler().compile(request.source, defines=request.defines).kernel(request.kernel).arguments
            ]
            places = {name: names.index(name) for name in done.outputs}
            job["kernel"] = {"outputs": {name: output(request, place) for name, place in places.items()}}
            job["kernel"]["log_bytes"] = len(done.log)
            job["log"] = done.log
            self.results[-1] = dict(done.outputs)
        except EddyError as error:
            job |= {"state": "failed", "error": {"message": error.message, "cause": error.code}}
        self.jobs.append(job)
        return job


def output(request: KernelRequest, place: int) -> dict[str, Any]:
    array = request.array(place)
    assert array is not None
    return {"argument": place, "dtype": array.dtype, "shape": list(array.shape)}


@pytest.fixture
def client() -> Client:
    return Client("http://server", "key", http=httpx.MockTransport(Server()))


def test_it_feels_like_arrays(client: Client) -> None:
    x, y = np.arange(10, dtype="f4"), np.ones(10, "f4")
    wanted = np.float32(2.5) * x + y + 1
    job = client.kernel(SOURCE, "saxpy", {"N": 1}).launch(x.size, y, x, np.float32(2.5)).wait(timeout_s=180)
    np.testing.assert_array_equal(y, wanted)
    assert job.log == "three: 9.5\n"
    assert job.state == "succeeded"


def test_groups_local_memory_and_vectors(client: Client) -> None:
    x, out = np.arange(24, dtype="i4"), np.zeros(3, "i4")
    kernel = client.kernel(SOURCE, "sums", {"N": 0})
    kernel.launch((24,), x, out, Local(32), (0, 0, 5, 0), local_size=8).wait(timeout_s=180)
    np.testing.assert_array_equal(out, (x + 5).reshape(3, 8).sum(axis=1))


def test_arrays_of_the_other_byte_order_and_with_gaps_come_back(client: Client) -> None:
    x, y = np.arange(8, dtype=">f4"), np.ones(16, "f4")[::2]
    wanted = 2 * x.astype("f4") + y
    client.kernel(SOURCE, "saxpy", {"N": 0}).launch(8, y, x, 2.0).wait(timeout_s=180)
    np.testing.assert_array_equal(y, wanted)


def test_an_array_given_twice_is_one_array(client: Client) -> None:
    y = np.arange(8, dtype="f4")
    wanted = np.float32(2) * y + y
    client.kernel(SOURCE, "saxpy", {"N": 0}).launch(8, y, y, 2.0).wait(timeout_s=180)
    np.testing.assert_array_equal(y, wanted)


def test_a_failure_says_why(client: Client) -> None:
    with pytest.raises(JobFailed, match=r"kernel\.cl:4:28: error: use of undeclared identifier 'N'") as caught:
        client.kernel(SOURCE, "saxpy").launch(4, np.zeros(4, "f4"), np.zeros(4, "f4"), 1.0).wait(timeout_s=180)
    assert caught.value.details["cause"] == "compilation-failed"
    with pytest.raises(InvalidRequest, match="Argument 0 is or has str"):
        client.kernel(SOURCE, "saxpy").launch(4, "text")


RECORD = np.array([(1, 2.5)], [("a", ">i4"), ("b", ">f4")])[0]


def sent(argument: object) -> Any:
    return KernelSource("source", "k").body(4, [argument], None, None)["kernel"]["arguments"][0]


def test_records_travel_in_the_boards_byte_order() -> None:
    assert sent(RECORD) == {"bytes": base64.b64encode(struct.pack("<if", 1, 2.5)).decode()}


@pytest.mark.parametrize(
    ("argument", "number"),
    [(True, 1), (np.bool_(False), 0), (np.array(3), 3), (np.float16(0.5), 0.5), (np.longdouble(0.25), 0.25)],
)
def test_numbers_of_every_kind_travel_as_numbers(argument: object, number: float) -> None:
    assert sent(argument) == {"value": number}
    assert json.loads(json.dumps(sent((argument, argument)))) == {"value": [number, number]}


@pytest.mark.parametrize(
    "argument",
    [
        *(Decimal("1.5"), (1, Decimal("1.5")), 1j, (1j,), ("3",), (None,)),
        *(np.array([1, None]), np.array([1.5], object), np.array([True]), np.array([1j]), np.array(["1"])),
        *(np.ones(2, np.longdouble), np.array(["2020"], "M8[s]"), np.zeros(2, [("a", "i4")])),
        *(MASKED([1, 2], mask=[False, True]), np.longdouble(10) ** 400),
    ],
    ids=repr,
)
def test_what_would_be_another_value_to_the_kernel_is_refused_here(argument: object) -> None:
    with pytest.raises(InvalidRequest, match=r"^Argument 0 ") as refused:
        sent(argument)
    assert refused.value.details["field"] == "arguments[0]"


REQUEST = KernelRequest(
    "source",
    "k",
    (4, 2),
    (Buffer("0" * 64, "<f4", (2, 3)), Local(8), 1.5, 7, (1.0, 2.0), None, RepeatedArray(0)),
    (2, 1),
    None,
    {"A": "1"},
)


def test_requests_survive_json() -> None:
    assert KernelRequest.from_json(json.loads(json.dumps(REQUEST.to_json()))) == REQUEST


@pytest.mark.parametrize(("value", "taken"), [(False, 0), (True, 1), ([1, True], [1, 1])])
def test_booleans_are_the_numbers_they_are_in_c(value: object, taken: object) -> None:
    request = KernelRequest.from_json({**REQUEST.to_json(), "arguments": [{"value": value}]})
    assert KernelRequest.from_json({**REQUEST.to_json(), "arguments": [{"value": taken}]}) == request


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("source", 5),
        ("kernel", None),
        ("global_size", []),
        ("global_size", [1, 2, 3, 4]),
        ("global_size", [True]),
        ("local_size", "8"),
        ("offset", [-1]),
        ("defines", {"A": 1}),
        ("arguments", [{}]),
        ("arguments", ["x"]),
        ("arguments", [{"buffer": "zz", "dtype": "<f4", "shape": [1]}]),
        ("arguments", [{"buffer": "0" * 64, "dtype": "O", "shape": [1]}]),
        ("arguments", [{"buffer": "0" * 64, "dtype": "<f4", "shape": [-1]}]),
        ("arguments", [{"buffer": "0" * 64, "dtype": "<f4", "shape": [True]}]),
        ("arguments", [{"local": -1}]),
        ("arguments", [{"local": True}]),
        ("arguments", [{"value": []}]),
        ("arguments", [{"null": True, "value": 1}]),
        ("arguments", [{"argument": 0}]),
        ("arguments", [{"value": 1}, {"argument": 0}]),
        ("arguments", [{"value": 1}, {"argument": True}]),
        ("arguments", [{"null": True}] * 65),
    ],
)
def test_wrong_fields_are_named(field: str, value: object) -> None:
    with pytest.raises(InvalidRequest) as caught:
        KernelRequest.from_json({**REQUEST.to_json(), field: value})
    assert caught.value.details["field"].startswith(f"kernel.{field}")


def test_bytes_must_fit_their_shape() -> None:
    request = KernelRequest(SOURCE, "saxpy", (1,), (Buffer("0" * 64, "<f4", (4,)), None, 1.0), defines={"N": "0"})
    with pytest.raises(InvalidRequest, match="is not <f4"):
        execute(request, lambda _: b"123", cluster(), compiler())


@pytest.mark.parametrize("sizes", [10.5, (4, 2.5), "64", ()])
def test_sizes_are_whole_numbers(client: Client, sizes: Any) -> None:
    with pytest.raises(InvalidRequest, match=r"global_size is .* give a whole number"):
        client.kernel(SOURCE, "saxpy").launch(sizes, np.zeros(4, np.float32))


def test_a_result_that_has_no_room_is_not_lost(client: Client) -> None:
    y, x = np.zeros(4, "f4"), np.ones(4, "f4")
    y.flags.writeable = False
    job = client.kernel(SOURCE, "saxpy", {"N": 1}).launch(4, y, x, np.float32(2.5))
    with pytest.raises(InvalidRequest, match=r"has succeeded.*job\.outputs\['y'\]"):
        job.wait(timeout_s=180)
    assert job.outputs["y"].tolist() == [3.5] * 4
