# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Themis-NN, a black-box rival: progress from an epoch's counters by a network of four layers.

Built after what [001] says of it (its [16]: W. Zhao and others, IPDPS 2019): an input layer of few counters, two hidden
layers, one output. Trained on programs that no mix of the study has (`eddy_studies.hsm.train`, which keeps data, seed
and weights). The output is progress as a part of 1; [001] section 6 cuts predicted slowdowns at cores over cores had,
which is a setting here.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from eddy.model.progress import ClusterEpoch, ProgressCurve, has_counts, linear_curve
from eddy.model.slowdown import SharedRunCounters, bandwidth_bytes_per_s
from eddy.policy.price.progress_fair import ProgressFair
from eddy.policy.price.progress_qos import ProgressQos
from eddy.policy.price.view import PricePolicy

Floats = npt.NDArray[np.float64]
INPUTS = (
    *("cores", "instructions_per_core_cycle", "bandwidth", "everybodys_bandwidth", "row_hit_rate", "cache_hit_rate"),
    *("waiting", "requests_per_instruction"),
)
"""What the network is told, each between 0 and about 1."""
HIDDEN = 16
RATE = 0.01
"""Of the first steps of training; it falls to nothing in a half cosine."""


def inputs(sharing: SharedRunCounters, epoch: ClusterEpoch) -> list[float]:
    """Of one tenant; in the order of `INPUTS`."""
    machine, peak = epoch.machine, epoch.law.peak_bytes_per_s
    reads = sharing.cache_hits + sharing.cache_misses
    everybody = sum(
        bandwidth_bytes_per_s(each, machine) for each in epoch.tenants if each is not None and has_counts(each)
    )
    core_cycles = sharing.cores * sharing.cycles
    return [
        sharing.cores / machine.cores,
        sharing.instructions / (core_cycles * machine.instructions_per_cycle),
        bandwidth_bytes_per_s(sharing, machine) / peak,
        everybody / peak,
        sharing.hit_rate,
        sharing.cache_hits / reads if reads else 0.0,
        min(sharing.memory_stall_cycles / core_cycles, 1.0),
        min(10 * sharing.requests / sharing.instructions, 2.0),
    ]


@dataclass(frozen=True, slots=True, eq=False)
class ProgressNetwork:
    """Weights and biases of each of the three steps between four layers: (inputs, outputs) and (outputs,)."""

    weights: tuple[Floats, Floats, Floats]
    biases: tuple[Floats, Floats, Floats]

    def progress(self, told: Floats) -> Floats:
        """Progress in (0, 1) of each row of inputs."""
        return self.layers(told)[-1][:, 0]

    def layers(self, told: Floats) -> tuple[Floats, Floats, Floats]:
        """What the two hidden layers and the output come to."""
        first = np.tanh(told @ self.weights[0] + self.biases[0])
        second = np.tanh(first @ self.weights[1] + self.biases[1])
        return first, second, 1 / (1 + np.exp(-(second @ self.weights[2] + self.biases[2])))

    def to_json(self) -> dict[str, object]:
        """As `network` reads it."""
        return {
            "weights": [w.round(6).tolist() for w in self.weights],
            "biases": [b.round(6).tolist() for b in self.biases],
        }


def network(document: dict[str, list[list[float]]]) -> ProgressNetwork:
    """From what `ProgressNetwork.to_json` gave."""
    weights, biases = ([np.array(each, np.float64) for each in document[name]] for name in ("weights", "biases"))
    return ProgressNetwork((weights[0], weights[1], weights[2]), (biases[0], biases[1], biases[2]))


@cache
def load_trained() -> ProgressNetwork:
    """The network that is shipped."""
    return network(json.loads((files(__package__) / "themis_nn.json").read_text(encoding="utf-8")))


def train(
    told: Floats, progress: Sequence[float], seed: int, rounds: int = 4000, rate: float = 0.01
) -> ProgressNetwork:
    """Learn from examples, by Adam (D. P. Kingma, J. Ba, ICLR 2015) on all at once; the same seed, the same network.

    The loss is the mean square of the difference of logarithms, so that errors count relatively, as they are reported.

    Args:
        told: (examples, inputs).
        progress: Measured progress of each, positive.
        rounds: Steps.
    """
    draw = np.random.default_rng(seed)
    sizes = (told.shape[1], HIDDEN, HIDDEN, 1)
    values = [draw.normal(0, 1 / np.sqrt(a), (a, b)) for a, b in pairwise(sizes)] + [np.zeros(b) for b in sizes[1:]]
    mean, square = [np.zeros_like(v) for v in values], [np.zeros_like(v) for v in values]
    wanted = np.log(np.asarray(progress, np.float64))[:, None]
    for step in range(1, rounds + 1):
        slopes = _slopes(_network(values), told, wanted)
        now = RATE * (1 + np.cos(np.pi * step / rounds)) / 2
        for index, slope in enumerate(slopes):
            mean[index] = 0.9 * mean[index] + 0.1 * slope
            square[index] = 0.999 * square[index] + 0.001 * slope**2
            corrected = mean[index] / (1 - 0.9**step), square[index] / (1 - 0.999**step)
            values[index] = values[index] - now * corrected[0] / (np.sqrt(corrected[1]) + 1e-8)
    return _network(values)


def _network(values: list[Floats]) -> ProgressNetwork:
    return ProgressNetwork((values[0], values[1], values[2]), (values[3], values[4], values[5]))


def _slopes(net: ProgressNetwork, told: Floats, wanted: Floats) -> list[Floats]:
    first, second, out = net.layers(told)
    # d(log sigmoid)/d(its input) is 1 - sigmoid
    last = 2 * (np.log(out) - wanted) * (1 - out) / len(told)
    middle = last @ net.weights[2].T * (1 - second**2)
    begin = middle @ net.weights[1].T * (1 - first**2)
    weights = [told.T @ begin, first.T @ middle, second.T @ last]
    return [*weights, begin.sum(axis=0), middle.sum(axis=0), last.sum(axis=0)]


@dataclass(frozen=True, slots=True, eq=False)
class ThemisNn:
    """The network as a predictor.

    Attributes:
        name: As policies begin that rest on it.
        net: Its weights; the shipped ones where None.
        cut: Whether predicted slowdowns are cut at cores over cores had ([001] section 6).
    """

    name: str = "themis_nn"
    net: ProgressNetwork | None = None
    cut: bool = False

    def predict(self, epoch: ClusterEpoch) -> tuple[ProgressCurve | None, ...]:
        """Each tenant's, by itself."""
        return tuple(self._curve(each, epoch) for each in epoch.tenants)

    def _curve(self, sharing: SharedRunCounters | None, epoch: ClusterEpoch) -> ProgressCurve | None:
        if sharing is None or not has_counts(sharing):
            return None
        net = load_trained() if self.net is None else self.net
        progress = float(net.progress(np.array([inputs(sharing, epoch)]))[0])
        if self.cut:
            progress = max(progress, sharing.cores / epoch.machine.cores)
        return linear_curve(progress, sharing.cores, epoch.machine.cores)


def fair() -> PricePolicy:
    """`themis_nn_fair`."""
    return ProgressFair(ThemisNn(), name="themis_nn_fair")


def qos() -> PricePolicy:
    """`themis_nn_qos`."""
    return ProgressQos(ThemisNn(), name="themis_nn_qos")
