# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Optical flow after Lucas and Kanade as Rosetta's benchmark does it ([004]), in fixed point, and frames that move.

B. Lucas, T. Kanade, An iterative image registration technique, IJCAI 1981: where brightness stays with what moves,
Ix u + Iy v + It = 0, solved over a weighted neighbourhood by least squares. Written from the definitions over whole
frames (shifted copies, Python integers for the division); the RTL streams pixels through rings of rows and divides bit
by bit, and must give the same bits.

Formats (factors common to all derivatives cancel in the motion):

========================  =======  ==============================================================================
derivatives x, y, z       i16      12 times the derivative of 8-bit grey levels per pixel or frame, 3 fraction bits
weights                   u10      10 fraction bits; sums are rounded half up and saturated
products                  i32      exact, 6 fraction bits: xx, yy, zz, xy, xz, yz
motion u, v               i16      pixels a frame, 10 fraction bits, half away from zero, saturated to +-32767 units
========================  =======  ==============================================================================
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from eddy_sim.reference import datasets

Bytes = npt.NDArray[np.uint8]
Gradients = npt.NDArray[np.int16]
"""(height, width, 4): derivatives along x, y and time, and zero."""
Tensors = npt.NDArray[np.int32]
"""(height, width, 6): products of derivatives."""
Motion = npt.NDArray[np.int16]
"""(height, width, 2): pixels a frame along x and y, with 10 fraction bits."""
Values = npt.NDArray[np.int64]

FRAME = 64
"""Side of the packaged application's frames, in pixels.

A frame has 109 times fewer than Rosetta's 436 x 1024, and 27 times fewer than the 111,616 that [004]'s buffers hold.
"""
FRAMES = 5
DERIVATIVE = (1, -8, 0, 8, -1)
"""Twelve times the derivative, of five samples."""
GRADIENT_SHIFT = 3
GRADIENT_TAPS = (77, 136, 191, 297, 191, 136, 77)
"""Rosetta's 0.0755, 0.133, 0.1869, 0.2903 with 10 fraction bits."""
TENSOR_TAPS = (332, 360, 332)
"""Rosetta's 0.3243, 0.3513 with 10 fraction bits."""
WEIGHT_FRACTION = 10
MOTION_FRACTION = 10
ALONG_Y, ALONG_X = 0, 1
"""Directions of a window, as the register takes them."""
MARGIN = 2 + 3 + 1
"""Pixels at each edge whose windows reach beyond the frame."""
SHRINK = 4
"""Side of the square of the photograph's pixels whose mean is one pixel of a frame."""
MOTIONS = ((1, 0), (2, 1), (-1, 2), (-2, -2), (3, -1), (0, -3), (4, 4), (-4, 2))
"""What the sequences move by, (x, y) in the photograph's pixels a frame: quarters of a pixel."""
PLACES = ((150, 190), (20, 370))
"""Top and left of the middle frame in the photograph, of even and of odd sequences."""
PRODUCTS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))


def read_input(pixels: Bytes) -> Bytes:
    """(height, width, 8) to (height, width / 8, 5, 8): eight pixels of a row, frame after frame."""
    height, width, _ = pixels.shape
    grouped = pixels[:, :, :FRAMES].reshape(height, width // 8, 8, FRAMES)
    return np.ascontiguousarray(grouped.transpose(0, 1, 3, 2))


def planes(frames: Bytes) -> Values:
    """(5, height, width): the frames one by one."""
    height, groups = frames.shape[:2]
    return frames.transpose(2, 0, 1, 3).reshape(FRAMES, height, 8 * groups).astype(np.int64)


def window(values: Values, taps: Sequence[int], axis: int) -> Values:
    """Sums of shifted copies, tap by tap, along an axis; zero where a tap lies outside."""
    half, size = len(taps) // 2, values.shape[axis]
    inner = sum(tap * np.take(values, range(k, size - 2 * half + k), axis) for k, tap in enumerate(taps))
    margins = [(half, half) if a == axis else (0, 0) for a in range(values.ndim)]
    padded: Values = np.pad(np.asarray(inner, dtype=np.int64), margins)
    return padded


def gradient_xy(frames: Bytes) -> Gradients:
    """(height, width, 2): derivatives of the middle frame; zero within two pixels of an edge."""
    middle = planes(frames)[FRAMES // 2]
    along = np.stack([window(middle, DERIVATIVE, 1), window(middle, DERIVATIVE, 0)], axis=-1)
    edge = np.pad(np.zeros((middle.shape[0] - 4, middle.shape[1] - 4), dtype=bool), 2, constant_values=True)
    along[edge] = 0
    return (along << GRADIENT_SHIFT).astype(np.int16)


def gradient_z(frames: Bytes, along_xy: Gradients) -> Gradients:
    """(height, width, 4): the derivative along time beside those along x and y."""
    along = np.tensordot(np.array(DERIVATIVE), planes(frames), 1) << GRADIENT_SHIFT
    return np.dstack([along_xy, along, np.zeros_like(along)]).astype(np.int16)


def weigh(values: Values, taps: Sequence[int], direction: int, bits: int) -> Values:
    """Weighted sums along a direction, rounded half up and saturated to `bits`."""
    sums = window(values, taps, direction)
    half, limit = 1 << (WEIGHT_FRACTION - 1), 1 << (bits - 1)
    return np.clip((sums + half) >> WEIGHT_FRACTION, -limit, limit - 1)


def gradient_weight(gradient: Gradients, direction: int) -> Gradients:
    """Seven taps over the three derivatives; the fourth value becomes zero."""
    weighed = weigh(gradient.astype(np.int64), GRADIENT_TAPS, direction, 16)
    weighed[:, :, 3] = 0
    return weighed.astype(np.int16)


def outer_product(gradient: Gradients) -> Tensors:
    """The six different products of three derivatives."""
    wide = gradient.astype(np.int64)
    return np.stack([wide[:, :, a] * wide[:, :, b] for a, b in PRODUCTS], axis=-1).astype(np.int32)


def tensor_weight(tensor: Tensors, direction: int) -> Tensors:
    """Three taps over the six products."""
    return weigh(tensor.astype(np.int64), TENSOR_TAPS, direction, 32).astype(np.int32)


def quotient(dividend: int, divisor: int) -> int:
    """The ratio in units of 2^-10, half away from zero, saturated; zero where the divisor is zero."""
    if divisor == 0:
        return 0
    units = (2 * (abs(dividend) << MOTION_FRACTION) + abs(divisor)) // (2 * abs(divisor))
    return min(units, 32767) * (1 if (dividend < 0) == (divisor < 0) else -1)


def calc(tensor: Tensors) -> Motion:
    """The motion that solves [xx xy; xy yy] [u v] = -[xz yz], by Cramer's rule."""
    height, width = tensor.shape[:2]
    motion = np.zeros((height * width, 2), dtype=np.int16)
    for place, (xx, yy, _, xy, xz, yz) in enumerate(tensor.reshape(-1, 6).tolist()):
        determinant = xx * yy - xy * xy
        motion[place] = quotient(yz * xy - xz * yy, determinant), quotient(xz * xy - yz * xx, determinant)
    return motion.reshape(height, width, 2)


def flow(pixels: Bytes) -> dict[str, npt.NDArray[Any]]:
    """Every buffer of the packaged application for one item, by its name."""
    frames = read_input(pixels)
    along_xy = gradient_xy(frames)
    gradient = gradient_z(frames, along_xy)
    gradient_y = gradient_weight(gradient, ALONG_Y)
    smooth = gradient_weight(gradient_y, ALONG_X)
    tensor = outer_product(smooth)
    tensor_y = tensor_weight(tensor, ALONG_Y)
    smooth_tensor = tensor_weight(tensor_y, ALONG_X)
    return {
        "pixels": pixels,
        "frames": frames,
        "gradient_xy": along_xy,
        "gradient": gradient,
        "gradient_y": gradient_y,
        "smooth": smooth,
        "tensor": tensor,
        "tensor_y": tensor_y,
        "smooth_tensor": smooth_tensor,
        "flow": calc(smooth_tensor),
    }


def run_item(inputs: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """The outputs of one item of the packaged application, given its inputs, by buffer name."""
    return {"flow": flow(inputs["pixels"])["flow"]}


@cache
def photograph() -> Values:
    """scikit-learn's `flower.jpg` in grey levels (ITU-R BT.601 luma): (427, 640)."""
    colour = datasets.picture("flower.jpg").astype(np.int64)
    grey: Values = (colour @ np.array([299, 587, 114]) + 500) // 1000
    return grey


def view(top: int, left: int) -> Bytes:
    """(64, 64): a part of the photograph, every pixel the rounded mean of 4 x 4."""
    part = photograph()[top : top + SHRINK * FRAME, left : left + SHRINK * FRAME]
    sums = part.reshape(FRAME, SHRINK, FRAME, SHRINK).sum(axis=(1, 3))
    mean: Bytes = ((sums + SHRINK**2 // 2) // SHRINK**2).astype(np.uint8)
    return mean


def sequence(motion: tuple[int, int], place: tuple[int, int] = PLACES[0]) -> Bytes:
    """(64, 64, 8): five frames of the photograph moving by `motion` a frame, and three reserved bytes.

    Nothing is interpolated: the frame is cut out a whole number of the photograph's pixels further each time, against
    the motion, and 4 x 4 of them make a pixel, so that quarters of a pixel are exact.
    """
    pixels = np.zeros((FRAME, FRAME, 8), dtype=np.uint8)
    for t in range(FRAMES):
        ago = FRAMES // 2 - t
        pixels[:, :, t] = view(place[0] + ago * motion[1], place[1] + ago * motion[0])
    return pixels


def sequences() -> list[Bytes]:
    """The items of a batch, one for each of `MOTIONS`."""
    return [sequence(motion, PLACES[i % len(PLACES)]) for i, motion in enumerate(MOTIONS)]


def endpoint_errors(motion: Motion, truth: tuple[int, int]) -> npt.NDArray[np.float64]:
    """Distances in pixels a frame between what was found and what moved, away from the edges; `truth` in quarters."""
    inner = motion[MARGIN:-MARGIN, MARGIN:-MARGIN] / 2**MOTION_FRACTION
    away = inner - np.array(truth) / SHRINK
    distances: npt.NDArray[np.float64] = np.hypot(away[..., 0], away[..., 1])
    return distances
