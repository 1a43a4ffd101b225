# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Images and samplers in software: every format, every mode, against numpy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from eddy.core.errors import InvalidRequest
from eddy.gpu.launches.launch import ImageArgument, launch
from eddy.gpu.launches.request import KernelRequest
from eddy.gpu.programs.image import KINDS, ORDERS
from unit.gpu_kit import cluster, compiled, compiler

Array = npt.NDArray[np.generic]
Floats = npt.NDArray[np.float64]
COPY = """
kernel void floats(read_only image2d_t from, __write_only image2d_t to, global float4 *seen) {
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  float4 v = read_imagef(from, at);
  seen[at.y * get_image_width(from) + at.x] = v;
  write_imagef(to, at, v);
}
kernel void ints(read_only image2d_t from, write_only image2d_t to, global int4 *seen) {
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  int4 v = read_imagei(from, at);
  seen[at.y * get_image_width(from) + at.x] = v;
  write_imagei(to, at, v);
}
kernel void uints(read_only image2d_t from, write_only image2d_t to, global uint4 *seen) {
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  uint4 v = read_imageui(from, at);
  seen[at.y * get_image_width(from) + at.x] = v;
  write_imageui(to, at, v);
}
"""
SAMPLE = """
const sampler_t fixed = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
  static const sampler_t indented = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST; // {
kernel void flat(read_only image2d_t im, sampler_t s, global const float2 *at, global float4 *out) {
  int i = get_global_id(0);
  out[i] = read_imagef(im, s, at[i]);
}
kernel void deep(read_only image3d_t im, sampler_t s, global const float4 *at, global float4 *out) {
  int i = get_global_id(0);
  out[i] = read_imagef(im, s, at[i]);
}
kernel void whole(read_only image2d_t im, global const int2 *at, global float4 *out, global int *facts) {
  const sampler_t border = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
  int i = get_global_id(0);
  out[2 * i] = read_imagef(im, fixed, at[i]);
  out[2 * i + 1] = read_imagef(im, border, at[i]);
  facts[0] = get_image_width(im); facts[1] = get_image_height(im); facts[2] = get_image_dim(im).y;
  facts[3] = get_image_channel_order(im) == CLK_RGBA; facts[4] = get_image_channel_data_type(im) == CLK_FLOAT;
}
kernel void volume(read_only image3d_t im, write_only image3d_t to, global int *facts) {
  int4 at = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0);
  write_imagef(to, at, read_imagef(im, fixed, at) * 2.0f);
  facts[0] = get_image_depth(im); facts[1] = get_image_dim(im).z;
}
"""
MODES = {"none": 0, "edge": 2, "border": 4, "repeat": 6, "mirror": 8}
SCALE = {"snorm_int8": 127, "snorm_int16": 32767, "unorm_int8": 255, "unorm_int16": 65535}


def spread(raw: Array, order: str, one: float) -> Floats:
    """Four channels, as OpenCL's tables have them."""
    n, out = raw.astype(float), np.zeros((*raw.shape[:-1], 4))
    out[..., 3] = one
    where = {"r": "0", "a": "3", "rg": "01", "ra": "03", "rgba": "0123", "bgra": "2103"}.get(order)
    if where:
        for c, to in enumerate(where):
            out[..., int(to)] = n[..., c]
    else:
        out[..., :3] = n
        out[..., 3] = n[..., 0] if order == "intensity" else one
    return out


@pytest.mark.parametrize("kind", KINDS)
def test_every_format_is_read_and_written(kind: str) -> None:
    rng, name = np.random.default_rng(3), KINDS[kind][1]
    for order, (_, channels) in ORDERS.items():
        raw = rng.integers(0, 256, (3, 5, channels * np.dtype(name).itemsize), dtype="u1").view(name)
        raw = rng.normal(size=raw.shape).astype(name) if name[0] == "f" else raw
        to = np.zeros_like(raw)
        kernel = "uints" if kind.startswith("unsigned") else "ints" if kind.startswith("signed") else "floats"
        seen = np.zeros((3, 5, 4), {"uints": "u4", "ints": "i4", "floats": "f4"}[kernel])
        arguments = [ImageArgument(raw, order, kind), ImageArgument(to, order, kind), seen]
        launch(cluster(), compiled(COPY), kernel, (5, 3), arguments)
        values = np.maximum(raw / np.float32(SCALE[kind]), -1) if kind in SCALE else raw
        np.testing.assert_allclose(seen, spread(values.astype("f8"), order, 1), rtol=1e-6)
        lowest = -SCALE[kind] if kind.startswith("snorm") else None
        np.testing.assert_array_equal(to, raw if lowest is None else np.maximum(raw, lowest))


def place(s: float, size: int, mode: str, normal: bool, linear: bool) -> tuple[list[int], float]:
    """Texels along a dimension and the part of the second, by the specification's formulas (8.2)."""
    u = s * size if normal else s
    if mode == "repeat":
        u = (s - np.floor(s)) * size
    if mode == "mirror":
        u = abs(s - 2 * np.rint(0.5 * s)) * size
    low = int(np.floor(u - 0.5)) if linear else int(np.floor(u))
    both = [low, low + 1] if linear else [low, low]
    if mode == "repeat":
        both = [i % size for i in both]
    if mode in ("mirror", "edge"):
        both = [min(max(i, 0), size - 1) for i in both]
    return both, float(u - 0.5 - np.floor(u - 0.5)) if linear else 0.0


def sampled(image: Floats, at: Floats, mode: str, normal: bool, linear: bool) -> Floats:
    found = []
    for point in at:
        places = [place(s, n, mode, normal, linear) for s, n in zip(point, image.shape[-2::-1], strict=False)]
        total = np.zeros(4)
        for corner in np.ndindex(*(2,) * len(places)):
            index = [both[c] for c, (both, _) in zip(corner, places, strict=True)]
            weight = np.prod([a if c else 1 - a for c, (_, a) in zip(corner, places, strict=True)])
            inside = all(0 <= i < n for i, n in zip(index, image.shape[-2::-1], strict=False))
            total += weight * (image[tuple(reversed(index))] if inside else np.zeros(4))
        found.append(total)
    return np.array(found)


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize(
    ("mode", "normal"), [(m, n) for m in MODES for n in (False, True) if n or m in ("edge", "border")]
)
def test_samplers_address_and_filter(mode: str, normal: bool, linear: bool) -> None:
    rng, sampler = np.random.default_rng(5), int(normal) + MODES[mode] + (32 if linear else 16)
    low, high = (0.05, 0.95) if mode == "none" else (-1.3, 2.2)
    for kernel, shape in (("flat", (6, 9, 4)), ("deep", (3, 4, 5, 4))):
        image = rng.random(shape, dtype="f4")
        dimensions = len(shape) - 1
        at = rng.uniform(low, high, (60, 2 if dimensions == 2 else 4)).astype("f4")
        at *= 1 if normal else max(shape)
        out = np.zeros((60, 4), "f4")
        launch(cluster(), compiled(SAMPLE), kernel, (60,), [ImageArgument(image), sampler, at, out])
        wanted = sampled(image.astype("f8"), at[:, :dimensions].astype("f8"), mode, normal, linear)
        np.testing.assert_allclose(out, wanted, rtol=1e-4, atol=2e-5)


def test_whole_coordinates_borders_and_facts() -> None:
    image, out, facts = (
        np.random.default_rng(6).random((4, 7, 4), dtype="f4"),
        np.zeros((9, 2, 4), "f4"),
        np.zeros(5, "i4"),
    )
    at = np.array([(x, y) for x in (-2, 3, 9) for y in (-1, 2, 4)], "i4")
    launch(cluster(), compiled(SAMPLE), "whole", (9,), [ImageArgument(image), at, out, facts])
    for (x, y), (edge, border) in zip(at, out, strict=True):
        np.testing.assert_array_equal(edge, image[np.clip(y, 0, 3), np.clip(x, 0, 6)])
        np.testing.assert_array_equal(border, image[y, x] if 0 <= x < 7 and 0 <= y < 4 else np.zeros(4))
    assert facts.tolist() == [7, 4, 4, 1, 1]
    cube, to = np.random.default_rng(7).random((2, 3, 4, 4), dtype="f4"), np.zeros((2, 3, 4, 4), "f4")
    launch(cluster(), compiled(SAMPLE), "volume", (4, 3, 2), [ImageArgument(cube), ImageArgument(to), facts])
    np.testing.assert_array_equal(to, cube * 2)
    assert facts[:2].tolist() == [2, 2]


LINES = """
kernel void line(read_only image1d_t im, sampler_t s, global const float *at, global float4 *out) {
  int i = get_global_id(0);
  out[i] = read_imagef(im, s, at[i]);
}
kernel void lines(read_only image1d_array_t im, sampler_t s, global const float2 *at, global float4 *out) {
  int i = get_global_id(0);
  out[i] = read_imagef(im, s, at[i]);
}
kernel void planes(read_only image2d_array_t im, sampler_t s, global const float4 *at, global float4 *out) {
  int i = get_global_id(0);
  out[i] = read_imagef(im, s, at[i]);
}
kernel void line_whole(read_only image1d_t im, sampler_t s, global const int4 *at, global float4 *out) {
  int i = get_global_id(0);
  out[i] = read_imagef(im, s, at[i].x);
}
kernel void lines_whole(read_only image1d_array_t im, sampler_t s, global const int4 *at, global float4 *out) {
  int i = get_global_id(0);
  out[i] = read_imagef(im, s, at[i].xy);
}
kernel void planes_whole(read_only image2d_array_t im, sampler_t s, global const int4 *at, global float4 *out) {
  int i = get_global_id(0);
  out[i] = read_imagef(im, s, at[i]);
}
kernel void copies(read_only image1d_t a, write_only image1d_t b, read_only image1d_array_t c,
                   write_only image1d_array_t d, read_only image2d_array_t e, write_only image2d_array_t f,
                   read_only image1d_buffer_t g, write_only image1d_buffer_t h, global int *facts) {
  int x = get_global_id(0);
  write_imagef(b, x, read_imagef(a, x) * 2.0f);
  write_imagei(h, x, read_imagei(g, x) + 1);
  for (int y = 0; y < (int)get_image_array_size(c); y++)
    write_imageui(d, (int2)(x, y), read_imageui(c, (int2)(x, y)) + (uint)y);
  for (int z = 0; z < (int)get_image_array_size(e); z++)
    for (int y = 0; y < get_image_height(e); y++) {
      int4 at = (int4)(x, y, z, 0);
      write_imagef(f, at, read_imagef(e, at) + (float)z);
    }
  write_imagef(b, -1, (float4)(9)); write_imagef(b, 100, (float4)(9)); write_imageui(d, (int2)(x, 2), (uint4)(9));
  if (!x) {
    facts[0] = get_image_width(a); facts[1] = get_image_width(g); facts[2] = get_image_array_size(c);
    facts[3] = get_image_array_size(e); facts[4] = get_image_dim(e).y; facts[5] = get_image_width(c);
    facts[6] = get_image_channel_order(g) == CLK_RGBA; facts[7] = get_image_channel_data_type(c) == CLK_UNSIGNED_INT8;
    facts[8] = get_image_channel_data_type(e) == CLK_HALF_FLOAT; facts[9] = get_image_channel_order(a) == CLK_RG;
  }
}
"""


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize(
    ("mode", "normal"), [(m, n) for m in MODES for n in (False, True) if n or m in ("edge", "border")]
)
def test_lines_and_layers_are_sampled(mode: str, normal: bool, linear: bool) -> None:
    """An image of one dimension, and a layer: the nearest of those there are, whatever its coordinate."""
    rng, sampler = np.random.default_rng(8), int(normal) + MODES[mode] + (32 if linear else 16)
    low, high = (0.05, 0.95) if mode == "none" else (-1.3, 2.2)
    for kernel, shape in (("line", (9, 4)), ("lines", (5, 7, 4)), ("planes", (3, 6, 5, 4))):
        image, sizes = rng.random(shape, dtype="f4"), shape[-2::-1]
        layered = kernel != "line"
        inner = len(sizes) - layered
        at = rng.uniform(low, high, (60, {"line": 1, "lines": 2, "planes": 4}[kernel])).astype("f4")
        at[:, :inner] *= 1 if normal else max(sizes[:inner])
        layers = np.zeros(60, int)
        if layered:
            at[:, inner] = rng.uniform(-2, sizes[-1] + 2, 60)
            at[:5, inner] = [-7, 0.5, 1.5, 100, sizes[-1] - 0.5]
            layers = np.clip(np.rint(at[:, inner]), 0, sizes[-1] - 1).astype(int)
        out = np.zeros((60, 4), "f4")
        launch(cluster(), compiled(LINES), kernel, (60,), [ImageArgument(image), sampler, at, out])
        planes = image if layered else image[None]
        wanted = [
            sampled(planes[layer].astype("f8"), point[None, :inner].astype("f8"), mode, normal, linear)[0]
            for layer, point in zip(layers, at, strict=True)
        ]
        np.testing.assert_allclose(out, wanted, rtol=1e-4, atol=2e-5)


def test_whole_places_of_lines_and_layers() -> None:
    rng = np.random.default_rng(9)
    at = np.stack([rng.integers(-2, 9, 40), rng.integers(-2, 8, 40), rng.integers(-2, 5, 40), np.zeros(40)], 1).astype(
        "i4"
    )
    for kernel, shape in (("line_whole", (7, 4)), ("lines_whole", (5, 7, 4)), ("planes_whole", (3, 6, 7, 4))):
        image = rng.random(shape, dtype="f4")
        sizes = shape[-2::-1]
        for sampler, clamps in ((2 + 16, True), (4 + 16, False)):
            out = np.zeros((40, 4), "f4")
            launch(cluster(), compiled(LINES), kernel, (40,), [ImageArgument(image), sampler, at, out])
            for point, found in zip(at, out, strict=True):
                index = [int(i) for i in point[: len(sizes)]]
                if len(sizes) > 1:
                    index[-1] = min(max(index[-1], 0), sizes[-1] - 1)
                inside = all(0 <= i < n for i, n in zip(index, sizes, strict=True))
                index = [min(max(i, 0), n - 1) for i, n in zip(index, sizes, strict=True)]
                wanted = image[tuple(reversed(index))] if inside or clamps else np.zeros(4)
                np.testing.assert_array_equal(found, wanted)


def test_lines_layers_and_buffers_are_read_and_written() -> None:
    rng = np.random.default_rng(10)
    a, c = rng.random((6, 2), dtype="f4"), rng.integers(0, 200, (2, 6, 4), dtype="u1")
    e = rng.random((3, 4, 6, 1)).astype("f2")
    g = rng.integers(-1000, 1000, (6, 4), dtype="i4")
    b, d, f, h, facts = (np.zeros_like(x) for x in (a, c, e, g, np.zeros(10, "i4")))
    arguments = [
        *(ImageArgument(x, "rg", "float") for x in (a, b)),
        *(ImageArgument(x, "rgba", "unsigned_int8") for x in (c, d)),
        *(ImageArgument(x, "r", "half_float") for x in (e, f)),
        *(ImageArgument(x, "rgba", "signed_int32") for x in (g, h)),
    ]
    launch(cluster(), compiled(LINES), "copies", (6,), [*arguments, facts])
    np.testing.assert_array_equal(b, a * 2)
    np.testing.assert_array_equal(d, c + np.arange(2, dtype="u1")[:, None, None])
    np.testing.assert_array_equal(f, (e.astype("f4") + np.arange(3, dtype="f4")[:, None, None, None]).astype("f2"))
    np.testing.assert_array_equal(h, g + 1)
    assert facts.tolist() == [6, 6, 2, 3, 4, 6, 1, 1, 1, 1]


def test_infinite_neighbours_do_not_reach_a_line() -> None:
    image = np.array([[1, 0, 0, 1], [np.inf, 0, 0, 1]], "f4")
    out = np.zeros((1, 4), "f4")
    edge = 2 + 32
    launch(cluster(), compiled(LINES), "line", (1,), [ImageArgument(image), edge, np.array([0.25], "f4"), out])
    assert out[0, 0] == 1


@pytest.mark.parametrize(
    ("kernel", "shape", "words"),
    [
        ("line", (4, 4, 4), "an image of one dimension"),
        ("lines", (4, 4), "an image of 2 dimensions, the first of which counts layers"),
        ("planes", (4, 4, 4), "an image of 3 dimensions, the first of which counts layers"),
    ],
)
def test_lines_and_layers_take_images_of_their_kind(kernel: str, shape: tuple[int, ...], words: str) -> None:
    out, at = np.zeros((4, 4), "f4"), np.zeros((4, {"line": 1, "lines": 2, "planes": 4}[kernel]), "f4")
    with pytest.raises(InvalidRequest, match=words):
        launch(cluster(), compiled(LINES), kernel, (4,), [ImageArgument(np.zeros(shape, "f4")), 0, at, out])


def test_what_is_no_image_of_its_kind_is_refused() -> None:
    texels, program = np.zeros((4, 4, 4), "f4"), compiled(SAMPLE)
    out, at = np.zeros((4, 4), "f4"), np.zeros((4, 2), "f4")
    for value, words in (
        (texels, "an image of 2 dimensions"),
        (ImageArgument(np.zeros((2, 2, 2, 4), "f4")), "an image of 2 dimensions"),
        (ImageArgument(texels, kind="unorm_int8"), "texels of uint8"),
        (ImageArgument(texels, "rg"), "order rg"),
        (ImageArgument(texels, "grb"), "an order of"),
    ):
        with pytest.raises(InvalidRequest, match=words):
            launch(cluster(), program, "flat", (4,), [value, 0, at, out])


def test_images_travel_in_requests() -> None:
    image = {"buffer": "0" * 64, "dtype": "|u1", "shape": [4, 4, 4], "image": ["rgba", "unorm_int8"]}
    raw = {"source": "", "kernel": "f", "global_size": [1], "arguments": [image]}
    assert KernelRequest.from_json(raw).to_json()["arguments"] == [image]
    for wrong in ("rgba", ["rgba"], ["rgba", "uint9"], ["rg", "unorm_int8"]):
        with pytest.raises(InvalidRequest):
            KernelRequest.from_json({**raw, "arguments": [{**image, "image": wrong}]})


def test_a_source_without_images_has_none_of_it() -> None:
    program = compiler().compile("kernel void f(global int *image) { int sampler = 1; image[0] = sampler; }")
    assert set(program.kernels) == {"f"}
