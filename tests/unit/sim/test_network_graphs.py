# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The packaged networks: the published task graphs, and arguments that compute what the references do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from eddy.core.applications import Application, TaskSpec
from eddy.packages.applications import load_application
from eddy_sim.reference import alexnet, layers, lenet

PACKAGES = Path(__file__).resolve().parents[3] / "bitstreams/applications"
PUBLISHED = json.loads(files("eddy_studies.judge").joinpath("workload.json").read_text(encoding="utf-8"))["apps"]
Buffers = dict[str, npt.NDArray[Any]]


def edges_by_name(application: Application) -> set[tuple[str, str]]:
    return {(application.tasks[a].name, application.tasks[b].name) for a, b in application.edges}


@pytest.mark.parametrize(("name", "tasks", "edges"), [("lenet", 3, 2), ("alexnet", 38, 184)])
def test_tasks_and_edges_are_the_published_ones(name: str, tasks: int, edges: int) -> None:
    application, published = load_application(PACKAGES / f"{name}.yaml"), PUBLISHED[name]
    names = {task["id"]: task["name"] for task in published["tasks"]}
    assert len(application.tasks) == len(names) == tasks
    assert {task.name for task in application.tasks} == set(names.values())
    wanted = {(names[a], names[b]) for a, b in published["edges"]}
    assert edges_by_name(application) == wanted
    assert len(application.edges) == len(wanted) == edges


def convolved(arguments: Mapping[str, Any], buffers: Buffers) -> tuple[int, npt.NDArray[Any]]:
    """First byte and bytes of what a task on `conv_pool` writes."""
    channels, kernel, first, groups = (arguments[name] for name in ("channels", "kernel", "first", "groups"))
    activations = buffers[arguments["map"]].reshape(-1)
    height, width = arguments["height"], arguments["width"]
    if channels < 8:
        activations = activations.reshape(height, width, channels).transpose(2, 0, 1)
    else:
        activations = layers.map_of(activations.reshape(-1, height, width, 8))
    stride = 8 * (4 + channels * kernel**2)
    packed = buffers[arguments["weights"]][first * stride : (first + groups) * stride]
    weights, bias = layers.unpack(packed, (8 * groups, channels, kernel, kernel))
    sums = layers.convolve(activations, weights, bias, arguments["stride"], arguments["padding"])
    result = layers.requantise(sums, arguments["shift"], bool(arguments["relu"]))
    result = layers.max_pool(result) if arguments["pool"] else result
    assert result.shape[1:] == (arguments["rows"], arguments["columns"])
    return first * 8 * result[0].size, layers.map_bytes(result).reshape(-1)


def connected(arguments: Mapping[str, Any], buffers: Buffers) -> tuple[int, npt.NDArray[Any]]:
    """First byte and bytes of what a task on `dense` writes."""
    inputs, first, outputs = arguments["inputs"], arguments["first"], 8 * arguments["groups"]
    packed = buffers[arguments["weights"]][first * 8 * (4 + inputs) :]
    split = outputs * (4 + inputs)
    weights, bias = layers.unpack(packed[:split], (outputs, inputs))
    sums = layers.connect(buffers[arguments["in"]].reshape(-1), weights, bias)
    result = layers.requantise(sums, arguments["shift"], bool(arguments["relu"]))
    if arguments["groups2"]:
        weights, bias = layers.unpack(packed[split:], (8 * arguments["groups2"], outputs))
        result = layers.requantise(layers.connect(result, weights, bias), arguments["shift2"], False)
    return 8 * first, result


def carry_out(task: TaskSpec, buffers: Buffers, written: dict[str, npt.NDArray[Any]]) -> None:
    """A task in numpy, from its arguments alone; nothing may be written twice."""
    arguments = dict(task.arguments)
    begin, result = (convolved if task.module == "conv_pool" else connected)(arguments, buffers)
    out = str(arguments["out"])
    there = slice(begin, begin + result.size)
    assert not written[out][there].any()
    written[out][there] = True
    buffers[out].reshape(-1)[there] = result


@pytest.mark.parametrize("name", ["lenet", "alexnet"])
def test_tasks_compute_every_layer(name: str) -> None:
    application = load_application(PACKAGES / f"{name}.yaml")
    reference = {"lenet": lenet, "alexnet": alexnet}[name]
    given = reference.constants()
    wanted = reference.forward(lenet.held_out()[0][7] if name == "lenet" else alexnet.images()[30], given)
    specs = {spec.name: spec for spec in application.buffers}
    buffers = {name: np.zeros(spec.shape, spec.dtype) for name, spec in specs.items()}
    buffers |= given | {"image": wanted["image"]}
    assert {name: array.nbytes for name, array in buffers.items()} == {n: spec.bytes for n, spec in specs.items()}
    written = {name: np.zeros(spec.bytes, bool) for name, spec in specs.items()}
    for task in application.tasks:
        carry_out(task, buffers, written)
    for name, array in wanted.items():
        assert np.array_equal(buffers[name], array), name
        assert name == "image" or written[name].all(), name
