# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Image compression, as JPEG does it without its entropy coder: integer reference and a real photograph.

Six stages on 8-bit greyscale tiles, each a plain function of arrays. The arithmetic is written from the definitions
(ITU-T T.81, A.3.1 to A.3.4 and K.1) with matrix products in 64-bit integers; the RTL uses even/odd halves and
reciprocals, and must give the same bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from eddy_sim.reference import datasets

Blocks = npt.NDArray[np.int16]
"""(blocks, 8, 8): blocks in raster order of the tile, rows within a block."""
Tile = npt.NDArray[np.uint8]

COEF_FRACTION = 13
MID_FRACTION = 3
TILE = 128
"""Side of the tiles the packaged application takes, in pixels."""
QUALITIES = (50, 75, 90)
QUALITY = 75
"""What the packaged application uses."""

# ITU-T T.81, table K.1.
LUMINANCE = np.array(
    [
        [16, 11, 10, 16, 24, 40, 51, 61],
        [12, 12, 14, 19, 26, 58, 60, 55],
        [14, 13, 16, 24, 40, 57, 69, 56],
        [14, 17, 22, 29, 51, 87, 80, 62],
        [18, 22, 37, 56, 68, 109, 103, 77],
        [24, 35, 55, 64, 81, 104, 113, 92],
        [49, 64, 78, 87, 103, 121, 120, 101],
        [72, 92, 95, 98, 112, 100, 103, 99],
    ],
    dtype=np.int64,
)


def quantization_table(quality: int) -> npt.NDArray[np.int64]:
    """Table K.1 scaled for a quality from 50 to 100, as the Independent JPEG Group's coder scales it."""
    scale = 200 - 2 * quality
    table: npt.NDArray[np.int64] = np.clip((LUMINANCE * scale + 50) // 100, 1, 255)
    return table


def dct_matrix() -> npt.NDArray[np.int64]:
    """The orthonormal DCT-II matrix C[k, n], scaled by 2^13 and rounded."""
    k, n = np.mgrid[0:8, 0:8]
    weight = np.where(k == 0, np.sqrt(1 / 8), 0.5)
    exact: npt.NDArray[np.float64] = weight * np.cos((2 * n + 1) * k * np.pi / 16) * 2**COEF_FRACTION
    return np.rint(exact).astype(np.int64)


def _round_saturate(value: npt.NDArray[np.int64], shift: int) -> npt.NDArray[np.int64]:
    """Round half up by `shift` bits, then saturate to 16 bits."""
    return np.clip((value + (1 << (shift - 1))) >> shift, -32768, 32767)


def level_shift(tile: Tile) -> Blocks:
    """Split a (height, width) tile into 8x8 blocks and move its values to -128..127."""
    height, width = tile.shape
    blocks = tile.reshape(height // 8, 8, width // 8, 8).transpose(0, 2, 1, 3).reshape(-1, 8, 8)
    return (blocks.astype(np.int16) - 128).astype(np.int16)


def dct(blocks: Blocks) -> Blocks:
    """Forward transform: rows first, with three fraction bits kept, then columns."""
    matrix = dct_matrix()
    rows = _round_saturate(blocks.astype(np.int64) @ matrix.T, COEF_FRACTION - MID_FRACTION)
    return _round_saturate(matrix @ rows, COEF_FRACTION + MID_FRACTION).astype(np.int16)


def quantize(blocks: Blocks, quality: int = QUALITY) -> Blocks:
    """Divide by the table, rounding half away from zero."""
    table = quantization_table(quality)
    value = blocks.astype(np.int64)
    levels: Blocks = (np.sign(value) * ((np.abs(value) + table // 2) // table)).astype(np.int16)
    return levels


def dequantize(blocks: Blocks, quality: int = QUALITY) -> Blocks:
    """Multiply by the table, saturating to 16 bits."""
    return np.clip(blocks.astype(np.int64) * quantization_table(quality), -32768, 32767).astype(np.int16)


def idct(blocks: Blocks) -> Blocks:
    """Inverse transform: rows first, with three fraction bits kept, then columns."""
    matrix = dct_matrix()
    rows = _round_saturate(blocks.astype(np.int64) @ matrix, COEF_FRACTION - MID_FRACTION)
    return _round_saturate(matrix.T @ rows, COEF_FRACTION + MID_FRACTION).astype(np.int16)


def reconstruct(blocks: Blocks, width: int, height: int) -> Tile:
    """Move values back to 0..255, clipping, and put the blocks back into a (height, width) tile."""
    pixels = np.clip(blocks.astype(np.int64) + 128, 0, 255).astype(np.uint8)
    return pixels.reshape(height // 8, width // 8, 8, 8).transpose(0, 2, 1, 3).reshape(height, width)


def compress(tile: Tile, quality: int = QUALITY) -> dict[str, npt.NDArray[Any]]:
    """Every buffer of the packaged application for one tile, by its name."""
    height, width = tile.shape
    shifted = level_shift(tile)
    coefficients = dct(shifted)
    levels = quantize(coefficients, quality)
    restored = dequantize(levels, quality)
    samples = idct(restored)
    return {
        "image": tile,
        "shifted": shifted,
        "coefficients": coefficients,
        "levels": levels,
        "restored": restored,
        "samples": samples,
        "result": reconstruct(samples, width, height),
    }


def run_item(inputs: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """The outputs of one item of the packaged application, given its inputs, by buffer name."""
    every = compress(inputs["image"])
    return {name: every[name] for name in ("levels", "result")}


def psnr_db(original: Tile, result: Tile) -> float:
    """Peak signal-to-noise ratio in decibels, for a peak of 255."""
    error = np.mean((original.astype(np.float64) - result.astype(np.float64)) ** 2)
    return float(10 * np.log10(255**2 / error)) if error else float("inf")


def photograph() -> Tile:
    """scikit-learn's `china.jpg` in greyscale (ITU-R BT.601 luma), cut to whole tiles: (384, 640)."""
    colour = datasets.picture("china.jpg").astype(np.int64)
    grey = ((colour @ np.array([299, 587, 114]) + 500) // 1000).astype(np.uint8)
    height, width = (side // TILE * TILE for side in grey.shape)
    whole: Tile = grey[:height, :width]
    return whole


def tiles() -> list[Tile]:
    """The photograph as tiles, row by row: the items of a batch (15 of them)."""
    image = photograph()
    rows, columns = image.shape[0] // TILE, image.shape[1] // TILE
    return [
        np.ascontiguousarray(image[TILE * r : TILE * (r + 1), TILE * c : TILE * (c + 1)])
        for r in range(rows)
        for c in range(columns)
    ]
