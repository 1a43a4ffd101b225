# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""8-bit inference: ResNet-50, AlexNet and a YOLO network, the published layers' shapes divided by stated factors.

Channels (and the widths of dense layers) are divided by `channels`, the sides of images by `side`; kernel sizes,
strides and the order of layers are the published ones. Weights are drawn from a seeded generator; sums are exact in 32
bits, so results are compared bit for bit.

- AlexNet: Krizhevsky, Sutskever and Hinton, 2012: all eight layers.
- ResNet-50: He, Zhang, Ren and Sun, 2016: the stem, the first (downsampling) bottleneck of each of the four stages, the
  mean and the classifier. The other twelve bottlenecks repeat these shapes.
- YOLO: Redmon and Farhadi, 2017, the tiny network of YOLOv2: all nine convolutions, activations clipped at 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from eddy.gpu.workloads.base import Array, Step, Workload

TOP = 220
"""The largest sum of a layer becomes this."""


@dataclass
class _Net:
    """A network while it is put together: every layer is a step, and computed by numpy at once."""

    rng: np.random.Generator
    batch: int
    steps: list[Step] = field(default_factory=list)
    buffers: dict[str, Array] = field(default_factory=dict)
    values: dict[str, Array] = field(default_factory=dict)
    """What each tensor must hold, without its border."""
    margins: dict[str, int] = field(default_factory=dict)

    def tensor(self, value: Array, margin: int, filled: bool = False) -> str:
        """A new tensor; an input of the network is filled, others are left to their layers."""
        name = f"t{len(self.values)}"
        edge = ((0, 0), (0, 0), (margin, margin), (margin, margin))[: value.ndim]
        padded = np.pad(value, edge)
        self.buffers[name] = padded if filled else np.zeros_like(padded)
        self.values[name], self.margins[name] = value, margin
        return name

    def _weights(self, *shape: int) -> tuple[str, str, Array, Array]:
        weights = self.rng.integers(-127, 128, shape).astype(np.int8)
        bias = self.rng.integers(-500, 1500, shape[0]).astype(np.int32)
        name = f"w{len(self.buffers)}"
        self.buffers[name], self.buffers[f"{name}b"] = weights, bias
        return name, f"{name}b", weights, bias

    def convolution(self, source: str, channels: int, size: int, stride: int = 1, margin: int = 0) -> str:
        """A convolution whose border is that of its input, and the activation."""
        padded = np.pad(self.values[source], ((0, 0), (0, 0), *((self.margins[source],) * 2,) * 2))
        name, bias_name, weights, bias = self._weights(channels, padded.shape[1], size, size)
        views = _windows(padded, size, stride)
        sums = np.einsum("bcyxij,ocij->boyx", views.astype(np.int64), weights.astype(np.int64), optimize=True)
        sums += bias[:, None, None]
        value, multiplier = _activated(sums)
        made = self.tensor(value, margin)
        side = value.shape[-1]
        numbers = (padded.shape[-1], padded.shape[1], size, stride, side, margin, multiplier, 0)
        arguments = (source, name, bias_name, made, *numbers)
        self.steps.append(Step("convolution", (side * side, channels, self.batch), arguments))
        return made

    def max_pool(self, source: str, size: int, stride: int, margin: int = 0) -> str:
        """The largest of each square."""
        padded = np.pad(self.values[source], ((0, 0), (0, 0), *((self.margins[source],) * 2,) * 2))
        value = _windows(padded, size, stride).max(axis=(4, 5))
        made = self.tensor(value, margin)
        side, channels = value.shape[-1], value.shape[1]
        arguments = (source, made, padded.shape[-1], size, stride, side, margin)
        self.steps.append(Step("max_pool", (side * side, channels, self.batch), arguments))
        return made

    def residual(self, a: str, b: str, margin: int = 0) -> str:
        """The mean of two branches."""
        total = self.values[a].astype(np.uint32) + self.values[b]
        value = np.minimum(total // 2, 255).astype(np.uint8)
        made = self.tensor(value, margin)
        side, channels = value.shape[-1], value.shape[1]
        self.steps.append(Step("residual", (side * side, channels, self.batch), (a, b, made, side, margin)))
        return made

    def average(self, source: str) -> str:
        """The mean of each channel."""
        value = self.values[source]
        pixels = value.shape[2] * value.shape[3]
        means = (value.sum(axis=(2, 3), dtype=np.uint32) // pixels).astype(np.uint8)
        made = self.tensor(means, 0)
        self.steps.append(Step("average", (means.size,), (source, made, pixels)))
        return made

    def dense(self, source: str, width: int) -> str:
        """A fully connected layer and the activation."""
        flat = self.values[source].reshape(self.batch, -1)
        name, bias_name, weights, bias = self._weights(width, flat.shape[1])
        self.buffers[name] = np.ascontiguousarray(weights.T)
        value, multiplier = _activated(flat.astype(np.int64) @ weights.astype(np.int64).T + bias)
        made = self.tensor(value, 0)
        arguments = (source, name, bias_name, made, flat.shape[1], multiplier, 0)
        self.steps.append(Step("dense", (width, self.batch), arguments))
        return made

    def image(self, side: int, margin: int) -> str:
        """The network's input: photographs would be no harder."""
        pixels = self.rng.integers(0, 256, (self.batch, 3, side, side)).astype(np.uint8)
        return self.tensor(pixels, margin, filled=True)

    def workload(self, name: str, last: str, text: str) -> Workload:
        """All of it, judged by the last tensor."""
        expected = {last: self.values[last]}
        return Workload(name, "layers.cl", "compute", tuple(self.steps), self.buffers, expected, description=text)


def _windows(padded: Array, size: int, stride: int) -> Array:
    """Every square of the last two axes that a kernel of this size and stride sees."""
    views: Array = np.lib.stride_tricks.sliding_window_view(padded, (1, 1, size, size))[:, :, ::stride, ::stride, 0, 0]
    return views


def _activated(sums: Array) -> tuple[Array, int]:
    """Sums scaled to 8 bits, negative ones to 0, and the multiplier (in 2^-32) that does so."""
    multiplier = min((TOP << 32) // max(int(sums.max()), 1), (1 << 31) - 1)
    return np.clip((sums * multiplier) >> 32, 0, 255).astype(np.uint8), multiplier


def _text(batch: int, channels: int, side: int) -> str:
    return f"batch of {batch}, channels / {channels}, sides / {side}"


def alexnet(batch: int = 1, channels: int = 32, side: int = 4, seed: int = 1) -> Workload:
    """AlexNet: five convolutions, three dense layers."""
    net = _Net(np.random.default_rng(seed), batch)

    def width(published: int) -> int:
        return max(1, published // channels)

    # The first convolution strides by 4 and two poolings by 2: what is left must hold the last pooling.
    at = net.image(max(67, 227 // side), 0)
    at = net.convolution(at, width(96), 11, 4)
    at = net.max_pool(at, 3, 2, margin=2)
    at = net.convolution(at, width(256), 5)
    at = net.max_pool(at, 3, 2, margin=1)
    at = net.convolution(at, width(384), 3, margin=1)
    at = net.convolution(at, width(384), 3, margin=1)
    at = net.convolution(at, width(256), 3)
    at = net.max_pool(at, 3, 2)
    for published in (4096, 4096, 1000):
        at = net.dense(at, width(published))
    return net.workload("alexnet", at, _text(batch, channels, side))


def resnet50(batch: int = 1, channels: int = 32, side: int = 4, seed: int = 1) -> Workload:
    """ResNet-50: stem, one bottleneck of each stage, mean, classifier."""
    net = _Net(np.random.default_rng(seed), batch)

    def width(published: int) -> int:
        return max(1, published // channels)

    at = net.image(224 // side, 3)
    at = net.convolution(at, width(64), 7, 2, margin=1)
    at = net.max_pool(at, 3, 2)
    for inner, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        straight = net.convolution(at, width(4 * inner), 1, stride)
        at = net.convolution(at, width(inner), 1, margin=1)
        at = net.convolution(at, width(inner), 3, stride)
        at = net.convolution(at, width(4 * inner), 1)
        at = net.residual(at, straight)
    at = net.dense(net.average(at), width(1000))
    return net.workload("resnet50", at, _text(batch, channels, side))


def yolo(batch: int = 1, channels: int = 16, side: int = 6, seed: int = 1) -> Workload:
    """Tiny YOLOv2: nine convolutions."""
    net = _Net(np.random.default_rng(seed), batch)

    def width(published: int) -> int:
        return max(1, published // channels)

    # Five poolings by 2 leave the grid of cells: its side is that of the image over 32.
    at = net.image(max(32, 416 // side // 32 * 32), 1)
    for published in (16, 32, 64, 128, 256):
        at = net.convolution(at, width(published), 3)
        at = net.max_pool(at, 2, 2, margin=1)
    at = net.convolution(at, width(512), 3, margin=1)
    at = net.convolution(at, width(1024), 3, margin=1)
    at = net.convolution(at, width(1024), 3)
    at = net.convolution(at, width(125), 1)
    return net.workload("yolo", at, _text(batch, channels, side))
