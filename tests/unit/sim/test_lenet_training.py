# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The training of the packaged LeNet: gradients by differences, integers that follow the floating-point network."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from eddy_sim.reference import lenet

TOOLS = Path(__file__).resolve().parents[3] / "tools"
sys.path.insert(0, str(TOOLS))
from lenet_training.descent import train  # noqa: E402
from lenet_training.integers import quantise  # noqa: E402
from lenet_training.network import Network  # noqa: E402


def in_double(network: Network) -> Network:
    """The same network in double precision, so that differences of its results say something."""
    parameters = [[each.astype(np.float64) for each in group] for group in (network.weights, network.biases)]
    return Network(*parameters)  # type: ignore[arg-type]


def test_gradients_are_slopes() -> None:
    rng = np.random.default_rng(5)
    network = in_double(Network.random(rng))
    images = rng.random((2, 32, 32))
    pull = rng.standard_normal((2, 10))
    network.forward(images)  # type: ignore[arg-type]
    gradients = network.backward(pull)  # type: ignore[arg-type]
    for parameter, gradient in zip((*network.weights, *network.biases), gradients, strict=True):
        direction = rng.standard_normal(parameter.shape)
        step = 1e-6 * direction
        results = []
        for sign in (1, -1):
            parameter += sign * step
            results.append(float(np.sum(pull * network.forward(images)[-1])))  # type: ignore[arg-type]
            parameter -= sign * step
        slope = (results[0] - results[1]) / 2e-6
        assert slope == pytest.approx(float(np.sum(gradient * direction)), rel=1e-3)


def test_integers_follow_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    images, _ = lenet.training()
    scaled = images[:64].astype(np.float32) / 112
    network = Network.random(np.random.default_rng(6))
    found = quantise(network, scaled, 1 / 112)
    assert {name: data.size for name, data in found.constants.items()} == {
        name: data.size for name, data in lenet.constants().items()
    }
    exact = network.forward(scaled[:8])[-1]
    monkeypatch.setattr(lenet, "SHIFTS", found.shifts)
    rough = np.stack([lenet.forward(image, found.constants)["result"][:10] for image in images[:8]])
    assert np.corrcoef(exact.ravel(), rough.ravel())[0, 1] > 0.98
    assert 32 <= np.abs(rough.astype(int)).max() <= 127


def test_training_repeats_itself_and_learns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lenet_training.descent.EPOCHS", 6)
    images, truth = lenet.training()
    scaled, truth = images[:128].astype(np.float32) / 112, truth[:128]
    first, again = train(scaled, truth, 1), train(scaled, truth, 1)
    assert all(np.array_equal(a, b) for a, b in zip(first.weights, again.weights, strict=True))
    assert np.mean(first.forward(scaled)[-1].argmax(axis=1) == truth) > 0.4
