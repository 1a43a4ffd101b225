# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the demonstration's tenants submit, and what must come back: real inputs and numpy references."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from eddy_sim.reference import digit_recognition, image_compression

from eddy.client import Client, Job

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class KernelCall:
    """A launch of a kernel.

    Attributes:
        source: OpenCL C.
        name: The kernel in it.
        global_size: Work-items by dimension.
        arguments: In the kernel's order.
        defines: Macros.
    """

    source: str
    name: str
    global_size: tuple[int, ...]
    arguments: Sequence[object]
    defines: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Order:
    """One job of the demonstration.

    Attributes:
        priority: One of 1, 3, 9.
        inputs: By buffer name; inputs ``(batch, *shape)``, constants ``shape``.
        expected: Output name to what the reference gives, ``(batch, *shape)``.
        quality: Says how good the outputs are, in a few characters.
    """

    tenant: str
    application: str
    priority: int
    inputs: Mapping[str, Array]
    expected: Mapping[str, Array]
    quality: Callable[[Mapping[str, Array]], str]

    @property
    def batch(self) -> int:
        """Number of items."""
        return len(next(iter(self.expected.values())))

    @property
    def packages(self) -> tuple[str, ...]:
        """The packaged applications it needs."""
        return (self.application,)

    def submit(self, client: Client) -> Job:
        """Submit it."""
        return client.submit(self.application, self.inputs, batch=self.batch, priority=self.priority)

    def tasks(self, client: Client) -> list[str]:
        """Names of its tasks, by their id."""
        return [task["name"] for task in client.app(self.application)["tasks"]]


@dataclass(frozen=True, slots=True)
class KernelOrder(Order):
    """A job of the demonstration that runs a kernel."""

    call: KernelCall

    @property
    def packages(self) -> tuple[str, ...]:
        """None: it is compiled when it is submitted."""
        return ()

    def submit(self, client: Client) -> Job:
        """Compile and launch it."""
        call = self.call
        kernel = client.kernel(call.source, call.name, call.defines)
        return kernel.launch(call.global_size, *call.arguments, priority=self.priority)

    def tasks(self, client: Client) -> list[str]:
        """One, called as the kernel is."""
        return [self.call.name]


def photograph(tenant: str, priority: int, first: int, last: int) -> Order:
    """Compress and restore tiles `first` to `last` (exclusive) of a photograph."""
    tiles = image_compression.tiles()[first:last]
    references = [image_compression.run_item({"image": tile}) for tile in tiles]
    images = np.stack(tiles)

    def quality(outputs: Mapping[str, Array]) -> str:
        return f"{image_compression.psnr_db(images, outputs['result']):.1f} dB"

    return Order(tenant, "image_compression", priority, {"image": images}, _stacked(references), quality)


def digits(tenant: str, priority: int, first: int, last: int) -> Order:
    """Recognise groups `first` to `last` (exclusive) of handwritten digits that are not in the training set."""
    groups = digit_recognition.groups()[first:last]
    constants = digit_recognition.constants()
    references = [digit_recognition.run_item({**constants, "digits": group}) for group in groups]
    truth = np.stack(digit_recognition.truth()[first:last])

    def quality(outputs: Mapping[str, Array]) -> str:
        return f"{100 * float(np.mean(outputs['result'] == truth)):.1f} %"

    inputs = {**constants, "digits": np.stack(groups)}
    return Order(tenant, "digit_recognition", priority, inputs, _stacked(references), quality)


def product(tenant: str, priority: int, side: int) -> Order:
    """Multiply two square matrices of binary32 on the GPU cluster."""
    from eddy.gpu.workloads.basic import sgemm

    work = sgemm(side, side, side)
    (step,) = work.steps
    values = [work.buffers[name] if isinstance(name, str) else name for name in step.arguments]
    exact = work.buffers["a"].astype(np.float64) @ work.buffers["b"].astype(np.float64)

    def quality(outputs: Mapping[str, Array]) -> str:
        return f"+-{float(np.max(np.abs(outputs['c'] - exact))):.0e}"

    call = KernelCall(work.text(), step.kernel, step.global_size, values, work.defines)
    return KernelOrder(tenant, f"kernel:{step.kernel}", priority, {}, work.expected, quality, call)


def _stacked(references: list[Mapping[str, Array]] | list[dict[str, Array]]) -> dict[str, Array]:
    return {name: np.stack([reference[name] for reference in references]) for name in references[0]}


def orders() -> tuple[Order, ...]:
    """The jobs of the demonstration, in order of submission: three tenants, six jobs, one of them a kernel."""
    return (
        photograph("ada", 3, 0, 15),
        digits("grace", 1, 0, 8),
        photograph("edsger", 9, 5, 9),
        digits("edsger", 3, 8, 12),
        photograph("grace", 1, 0, 2),
        product("grace", 1, 40),
    )


def picture(order: Order, outputs: Mapping[str, Array], path: Path) -> None:
    """Save a photograph next to what came back, and alone as `photograph.png`, where the whole of it was submitted."""
    from PIL import Image

    whole = image_compression.photograph().shape
    side = image_compression.TILE
    halves = [order.inputs["image"], outputs.get("result", np.zeros_like(order.inputs["image"]))]
    if len(halves[0]) * side * side != whole[0] * whole[1]:
        return
    shape = (whole[0] // side, whole[1] // side, side, side)
    joined = [np.asarray(half).reshape(shape).transpose(0, 2, 1, 3).reshape(whole) for half in halves]
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.hstack(joined)).save(path)
    Image.fromarray(joined[0]).save(path.with_name("photograph.png"))
