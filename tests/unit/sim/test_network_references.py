# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The numpy references of networks against plain sums, and how well the packaged network reads."""

from fractions import Fraction
from math import floor

import numpy as np
import pytest
from eddy_sim.reference import alexnet, layers, lenet


def test_convolution_is_the_sum_over_what_lies_under_the_kernel() -> None:
    rng = np.random.default_rng(2)
    activations = rng.integers(-128, 128, (3, 6, 7)).astype(np.int8)
    weights = rng.integers(-128, 128, (2, 3, 3, 3)).astype(np.int8)
    bias = rng.integers(-1000, 1000, 2).astype(np.int32)
    sums = layers.convolve(activations, weights, bias, stride=2, padding=1)
    assert sums.shape == (2, 3, 4)
    for (o, y, x), got in np.ndenumerate(sums):
        wanted = int(bias[o])
        for c, i, j in np.ndindex(3, 3, 3):
            row, column = 2 * y + i - 1, 2 * x + j - 1
            if 0 <= row < 6 and 0 <= column < 7:
                wanted += int(activations[c, row, column]) * int(weights[o, c, i, j])
        assert got == wanted


@pytest.mark.parametrize("shift", [0, 1, 5])
def test_halves_are_rounded_up_and_the_rest_is_cut(shift: int) -> None:
    sums = np.arange(-5000, 5000, 7)
    exact = [floor(Fraction(int(value), 1 << shift) + Fraction(1, 2)) for value in sums]
    assert layers.requantise(sums, shift, False).tolist() == [min(max(value, -128), 127) for value in exact]
    assert layers.requantise(sums, shift, True).tolist() == [min(max(value, 0), 127) for value in exact]


def test_sums_wrap_at_32_bits() -> None:
    assert layers.requantise(np.array([(1 << 31) + 5, -(1 << 31) - (1 << 24)]), 24, False).tolist() == [-128, 127]


def test_the_largest_of_four_is_kept_and_odd_ends_are_left_out() -> None:
    activations = np.array([[[1, 2, -9], [3, -4, 50], [70, 80, 90]]], dtype=np.int8)
    assert layers.max_pool(activations).tolist() == [[[3]]]


@pytest.mark.parametrize("shape", [(8, 3, 2, 2), (16, 24, 3, 3), (24, 40)])
def test_packed_weights_come_back(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    weights = rng.integers(-128, 128, shape).astype(np.int8)
    bias = rng.integers(-(1 << 30), 1 << 30, shape[0]).astype(np.int32)
    packed = layers.pack(weights, bias)
    assert packed.shape == (shape[0] // 8, 8 * (4 + int(np.prod(shape[1:]))))
    again, bias_again = layers.unpack(packed.reshape(-1), shape)
    assert np.array_equal(again, weights)
    assert np.array_equal(bias_again, bias)


def test_weights_lie_in_the_order_of_the_map() -> None:
    """Output 9's weight of channel 10, row 1, column 2: group 1, lane 1, tap ((plane 1, row 1, column 2), lane 2)."""
    weights = np.zeros((16, 16, 3, 3), dtype=np.int8)
    weights[9, 10, 1, 2] = 7
    packed = layers.pack(weights, np.zeros(16, dtype=np.int32))
    tap = ((1 * 3 + 1) * 3 + 2) * 8 + 2
    assert np.flatnonzero(packed).tolist() == [packed.shape[1] + 32 + 8 * tap + 1]


def test_maps_lie_in_planes_of_eight_channels() -> None:
    activations = np.arange(16 * 2 * 3).reshape(16, 2, 3).astype(np.int8)
    lying = layers.map_bytes(activations)
    assert lying.shape == (2, 2, 3, 8)
    assert lying[1, 0, 2, 3] == activations[11, 0, 2]
    assert np.array_equal(layers.map_of(lying), activations)
    assert np.array_equal(layers.map_bytes(activations[:3])[1, 2], activations[:3, 1, 2])


def test_lenet_reads_held_out_digits() -> None:
    images, truth = lenet.held_out()
    given = lenet.constants()
    answers = [lenet.recognised(lenet.forward(image, given)["result"]) for image in images]
    assert len(answers) == 389
    assert np.mean(answers == truth) > 0.96


def test_an_image_is_the_digit_in_squares_of_three() -> None:
    digits = np.arange(64, dtype=np.uint8)[None] % np.uint8(17)
    image = lenet.image(digits)[0]
    assert image.shape == (32, 32)
    assert np.array_equal(image[5:28:3, 5:28:3], 7 * digits.reshape(8, 8))
    assert np.array_equal(image[4:28:3, 6:28:3], 7 * digits.reshape(8, 8))
    assert not image[:4].any()
    assert not image[:, 28:].any()


def test_alexnet_keeps_its_range_and_tells_images_apart() -> None:
    images = alexnet.images()
    assert len(images) == 48
    given = alexnet.constants()
    results = []
    for image in images[::12]:
        buffers = alexnet.forward(image, given)
        for layer in alexnet.LAYERS[:-1]:
            activations = buffers[layer.name].astype(int)
            assert 0.2 < np.mean(activations > 0) < 0.9, layer.name
            assert np.mean(activations == 127) < 0.1, layer.name
        results.append(buffers["result"])
    assert len({result.tobytes() for result in results}) == len(results)
    assert min(np.mean(results[0] != other) for other in results[1:]) > 0.5
