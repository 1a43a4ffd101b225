# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Thresholds that were learned ([003] 4.2): what an agent knows of itself, and how the actor answers from it.

Training happens elsewhere (`eddy_studies.mtf.training`); what it leaves is a small JSON document that plain numpy
evaluates here. One set of numbers serves every agent: an agent's state is put in terms of its own budget and of its
own best round, so that applications of any speed, and any number of agents and accelerators, look alike.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np

from eddy.core.errors import InvalidRequest
from eddy.policy.price.rounds import Floats, RoundView
from eddy.policy.price.thresholds import LEVELS, track_peak

FEATURES = 7
"""Numbers that make up an agent's state."""

_LITTLE = 1e-9

Layers = tuple[tuple[Floats, Floats], ...]
"""Weights and offsets of each layer."""


def entitled_tokens(weights: Floats, tokens: float) -> Floats:
    """Tokens each agent would hold were all in proportion to the weights (4.1)."""
    return np.asarray(weights * (tokens / weights.sum()))


def state(utilities: Floats, peak: Floats, budgets: Floats, weights: Floats) -> Floats:
    """What an agent goes by: its budget and its utilities ([003] 4.2.2); (..., agents, FEATURES), each in 0 to 1.

    Args:
        utilities: (..., agents, accelerators).
        peak: As `track_peak` gives it, of the same round; (..., agents).
        budgets: (..., agents).
        weights: (agents,).
    """
    ones = np.full(utilities.shape[-1], 1.0 / utilities.shape[-1])
    scale = 1.0 / np.maximum(peak, _LITTLE)
    held = np.maximum(budgets, 0.0) / entitled_tokens(weights, 1.0)
    part = weights * (len(weights) / weights.sum())
    out = np.empty((*peak.shape, FEATURES))
    total = np.maximum(budgets.sum(axis=-1, keepdims=True), _LITTLE)
    out[..., 0] = held / (total + held)
    out[..., 1] = utilities.max(axis=-1) * scale
    out[..., 2] = (utilities @ ones) * scale
    out[..., 3] = np.sqrt(np.square(utilities) @ ones) * scale
    out[..., 4] = (utilities >= 0.5 * peak[..., None]).astype(np.float64) @ ones
    out[..., 5] = part / (1.0 + part)
    out[..., 6] = peak / (1.0 + peak)
    return out


@dataclass(frozen=True, slots=True, eq=False)
class Actor:
    """The actor of 4.2.2: a network from the state to the probabilities of the levels.

    The level used is the median over the probabilities: pure, and right where the actor is of two minds.

    Attributes:
        layers: Weights and offsets of each layer, tanh between them.
    """

    layers: Layers
    name: str = "actor-critic"

    def initial(self, weights: Floats, accelerators: int) -> Floats:
        """Nobody has seen anything."""
        return np.zeros(len(weights))

    def compute_thresholds(self, view: RoundView, budgets: Floats, best: Floats) -> tuple[Floats, Floats]:
        """The median level, as a fraction of the agent's peak.

        What `median` says of `forward` of `state`, in half the time: a column for each agent, so that numpy runs along
        the agents; what follows from the weights alone is kept from round to round; medians by a matrix product; and
        products by `dot`, whose call costs half of that of `@`.
        """
        utilities = view.utilities
        even = _equal_parts(utilities.shape[1])
        peak = track_peak(view.memory.thresholds, best)
        per_token, first, offsets, rest = _prepared(self, np.asarray(view.weights, np.float64).tobytes())
        inputs = np.empty((FEATURES - 1, len(budgets)))
        held = np.maximum(budgets, 0.0) * per_token
        np.divide(held, held + max(float(budgets.sum()), _LITTLE), out=inputs[0])
        np.divide(peak, peak + 1.0, out=inputs[1])
        inputs[2] = best
        inputs[3] = utilities.dot(even)
        np.sqrt(np.square(utilities).dot(even), out=inputs[4])
        inputs[2:5] /= np.maximum(peak, _LITTLE)
        inputs[5] = (utilities >= (0.5 * peak)[:, None]).dot(even)
        x = first.dot(inputs)
        x += offsets
        for layer, more in rest:
            x = layer.dot(np.tanh(x, out=x))
            x += more
        np.exp(x, out=x)
        return LEVELS.take(np.add.reduce(_HALVES.dot(x) < 0.0)) * peak, peak


_HALVES = np.tri(len(LEVELS)) - 0.5
"""What is below a level, less half of all: negative for the levels below the median."""


@lru_cache(maxsize=64)
def _equal_parts(parts: int) -> Floats:
    """So many equal parts of 1."""
    return np.full(parts, 1.0 / parts)


@lru_cache(maxsize=64)
def _prepared(actor: Actor, weights: bytes) -> tuple[Floats, Floats, Floats, Layers]:
    """What `Actor.compute_thresholds` needs and what changes with the agents' weights only.

    Returns:
        What a token is worth to each agent: 1 over its entitlement; the first layer's weights for the inputs
        in `compute_thresholds`'s order, (units, FEATURES - 1); its offsets for each agent, in which its weight is
        already, (units, agents); the other layers, transposed.
    """
    entitlements = entitled_tokens(np.frombuffer(weights), 1.0)
    part = entitlements * len(entitlements)
    (first, offsets), *rest = actor.layers
    mine = offsets[:, None] + np.outer(first[5], part / (1.0 + part))
    layers = tuple((np.ascontiguousarray(layer.T), more[:, None]) for layer, more in rest)
    return 1.0 / entitlements, np.ascontiguousarray(first[[0, 6, 1, 2, 3, 4]].T), mine, layers


def median(chances: Floats) -> Floats:
    """The level below which half of the probability lies; the chances need not sum to 1; (...)."""
    summed = chances.cumsum(axis=-1)
    return np.asarray(LEVELS[np.count_nonzero(summed < 0.5 * summed[..., -1:], axis=-1)])


def forward(layers: Layers, states: Floats) -> Floats:
    """The network's answer, logarithms of chances; bounded, since tanh is; (..., levels)."""
    x = states
    for weights, offsets in layers[:-1]:
        x = np.tanh(x @ weights + offsets)
    weights, offsets = layers[-1]
    return np.asarray(x @ weights + offsets)


def probabilities(layers: Layers, states: Floats) -> Floats:
    """Of the levels; (..., levels)."""
    x = forward(layers, states)
    x = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(x / x.sum(axis=-1, keepdims=True))


def actor_from(document: Mapping[str, Any]) -> Actor:
    """The actor in a document that `eddy_studies.mtf.training` wrote.

    Raises:
        InvalidRequest: it was trained for other states or levels.
    """
    layers = tuple((np.array(w, dtype=np.float64), np.array(b, dtype=np.float64)) for w, b in document["layers"])
    if layers[0][0].shape[0] != FEATURES or layers[-1][0].shape[1] != len(LEVELS):
        raise InvalidRequest(
            f"the actor takes {layers[0][0].shape[0]} numbers and gives {layers[-1][0].shape[1]} levels; "
            f"{FEATURES} and {len(LEVELS)} are expected: train it again",
            field="layers",
        )
    return Actor(layers)


@lru_cache
def trained_actor() -> Actor:
    """The actor that ships."""
    return actor_from(json.loads(files(__package__).joinpath("actor.json").read_text(encoding="utf-8")))
