// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Images and samplers in software: an image is an array with a descriptor before it, a sampler a number.
#include "eddy_math.h"

/// As image.py packs it.
typedef struct { u32 data, width, height, depth, order, type, row, slice; } image;

enum { SNORM8 = 0x10d0, SNORM16, UNORM8, UNORM16, SIGNED8 = 0x10d7, SIGNED16, SIGNED32, UNSIGNED8, UNSIGNED16, UNSIGNED32, HALF, FLOAT };
enum { R = 0x10b0, A, RG, RA, RGBA = 0x10b5, BGRA, INTENSITY = 0x10b8, LUMINANCE };
enum { NORMALIZED = 1, TO_EDGE = 2, TO_BORDER = 4, REPEAT = 6, MIRROR = 8, ADDRESS = 14, LINEAR = 32 };

float eddy_from_half(u32 h);
u32 eddy_to_half(float x, u32 mode);

static u32 size_of(u32 type) {
  if (type == SNORM8 || type == UNORM8 || type == SIGNED8 || type == UNSIGNED8) return 1;
  return type == SIGNED32 || type == UNSIGNED32 || type == FLOAT ? 4 : 2;
}
static u32 channels(u32 order) { return order == RGBA || order == BGRA ? 4 : order == RG || order == RA ? 2 : 1; }
static float floor_(float x) { const float t = abs_(x) < 0x1p23f ? (float)(s32)x : x; return t > x ? t - 1.0f : t; }

/// One channel's number, as float or as it is.
static u32 channel(const image *im, u32 at) {
  const u32 type = im->type, size = size_of(type);
  u32 v = size == 1 ? *(const u8 *)at : size == 2 ? *(const unsigned short *)at : *(const u32 *)at;
  const s32 s = size == 1 ? (s32)(v << 24) >> 24 : (s32)(v << 16) >> 16;
  float f;
  if (type == SIGNED8 || type == SIGNED16) return (u32)s;
  if (type >= SIGNED8 && type <= UNSIGNED32) return v;
  if (type == FLOAT) return v;
  if (type == HALF) return bits(eddy_from_half(v));
  f = type == UNORM8 ? (float)v / 255.0f : type == UNORM16 ? (float)v / 65535.0f : type == SNORM8 ? (float)s / 127.0f : (float)s / 32767.0f;
  return bits(f < -1.0f ? -1.0f : f);
}

/// Four numbers of a texel; beyond the image, its border.
static void texel(const image *im, s32 i, s32 j, s32 k, u32 out[4]) {
  const u32 n = channels(im->order), integer = im->type >= SIGNED8 && im->type <= UNSIGNED32, one = integer ? 1 : bits(1.0f);
  const u32 order = im->order;
  const int inside = (u32)i < im->width && (u32)j < im->height && (u32)k < im->depth;
  const u32 at = im->data + (u32)k * im->slice + (u32)j * im->row + (u32)i * n * size_of(im->type);
  u32 v[4] = {0, 0, 0, 0};
  for (u32 c = 0; inside && c < n; c++) v[c] = channel(im, at + c * size_of(im->type));
  out[0] = order == A ? 0 : order == BGRA ? v[2] : v[0];
  out[1] = order == INTENSITY || order == LUMINANCE ? v[0] : order == RG || order == RGBA || order == BGRA ? v[1] : 0;
  out[2] = order == INTENSITY || order == LUMINANCE ? v[0] : order == RGBA ? v[2] : order == BGRA ? v[0] : 0;
  out[3] = order == A || order == INTENSITY ? v[0] : order == RA ? v[1] : n == 4 ? v[3] : one;
}

/// A coordinate as whole texels: two of them and the part of the second, one where the sampler takes the nearest.
static float along(float s, u32 size, u32 sampler, s32 *first, s32 *second) {
  const u32 mode = sampler & ADDRESS;
  const s32 last = (s32)size - 1;
  const float n = (float)size;
  float u = sampler & NORMALIZED ? s * n : s, part = 0.0f;
  if (!(abs_(u) < 0x1p30f)) u = bits(u) >> 31 ? -0x1p30f : 0x1p30f;
  if (mode == REPEAT) u = (s - floor_(s)) * n;
  if (mode == MIRROR) u = abs_(s - 2.0f * floor_(0.5f * s + 0.5f)) * n;
  s32 a, b;
  if (sampler & LINEAR) {
    const float low = floor_(u - 0.5f);
    part = u - 0.5f - low;
    a = (s32)low, b = a + 1;
  } else {
    a = b = (s32)floor_(u);
  }
  if (mode == REPEAT) {
    if (a < 0) a += (s32)size;
    if (a > last) a -= (s32)size;
    if (b > last) b -= (s32)size;
  } else if (mode == MIRROR || mode == TO_EDGE) {
    a = a < 0 ? 0 : a > last ? last : a;
    b = b < 0 ? 0 : b > last ? last : b;
  }
  *first = a, *second = b;
  return part;
}

void eddy_image_sample(const image *im, u32 sampler, const float at[3], u32 out[4]) {
  s32 i[2], j[2], k[2] = {0, 0};
  const float a = along(at[0], im->width, sampler, &i[0], &i[1]), b = along(at[1], im->height, sampler, &j[0], &j[1]);
  const float c = im->depth > 1 ? along(at[2], im->depth, sampler, &k[0], &k[1]) : 0.0f;
  if (!(sampler & LINEAR)) { texel(im, i[0], j[0], k[0], out); return; }
  float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  for (u32 corner = 0; corner < (im->depth > 1 ? 8u : 4u); corner++) {
    const u32 x = corner & 1, y = corner >> 1 & 1, z = corner >> 2;
    const float w = (x ? a : 1.0f - a) * (y ? b : 1.0f - b) * (im->depth > 1 ? (z ? c : 1.0f - c) : 1.0f);
    u32 v[4];
    texel(im, i[x], j[y], k[z], v);
    for (u32 d = 0; d < 4; d++) sum[d] = sum[d] + w * real(v[d]);
  }
  for (u32 d = 0; d < 4; d++) out[d] = bits(sum[d]);
}

/// Of an image of one dimension, or of a layer of such.
void eddy_image_sample_line(const image *im, u32 sampler, float at, s32 layer, u32 out[4]) {
  s32 i[2];
  const float a = along(at, im->width, sampler, &i[0], &i[1]);
  u32 v[4];
  texel(im, i[0], layer, 0, out);
  if (!(sampler & LINEAR)) return;
  texel(im, i[1], layer, 0, v);
  for (u32 d = 0; d < 4; d++) out[d] = bits((1.0f - a) * real(out[d]) + a * real(v[d]));
}
void eddy_image_sample_layer(const image *im, u32 sampler, const float at[3], s32 layer, u32 out[4]) {
  image one = *im;
  one.data += (u32)layer * im->slice, one.depth = 1;
  eddy_image_sample(&one, sampler, at, out);
}

void eddy_image_read(const image *im, u32 sampler, const s32 at[3], u32 out[4]) {
  s32 p[3] = {at[0], at[1], at[2]};
  const u32 size[3] = {im->width, im->height, im->depth};
  for (u32 d = 0; d < 3 && (sampler & ADDRESS) == TO_EDGE; d++) p[d] = p[d] < 0 ? 0 : p[d] >= (s32)size[d] ? (s32)size[d] - 1 : p[d];
  texel(im, p[0], p[1], p[2], out);
}

static u32 whole(float x, float scale, s32 least, s32 most) {
  const float v = x * scale;
  if (is_nan(v)) return 0;
  if (v <= (float)least) return (u32)least;
  if (v >= (float)most) return (u32)most;
  // To the nearest, and to even in between.
  const float t = (v + sign_of(0x1.8p23f, v)) - sign_of(0x1.8p23f, v);
  return (u32)(s32)t;
}

/// in: four floats, or four integers, by the image's type. Nothing happens beyond the image.
void eddy_image_write(const image *im, const s32 at[3], const u32 in[4]) {
  const u32 n = channels(im->order), size = size_of(im->type), type = im->type;
  if ((u32)at[0] >= im->width || (u32)at[1] >= im->height || (u32)at[2] >= im->depth) return;
  const u32 place = im->data + (u32)at[2] * im->slice + (u32)at[1] * im->row + (u32)at[0] * n * size;
  for (u32 c = 0; c < n; c++) {
    const u32 from = im->order == BGRA && c != 1 && c != 3 ? 2 - c : im->order == A || (im->order == RA && c) ? 3 : c;
    u32 v = in[from];
    const float f = real(v);
    const s32 s = (s32)v;
    if (type == UNORM8) v = whole(f, 255.0f, 0, 255);
    else if (type == UNORM16) v = whole(f, 65535.0f, 0, 65535);
    else if (type == SNORM8) v = whole(f, 127.0f, -128, 127);
    else if (type == SNORM16) v = whole(f, 32767.0f, -32768, 32767);
    else if (type == HALF) v = eddy_to_half(f, 0);
    else if (type == SIGNED8) v = (u32)(s < -128 ? -128 : s > 127 ? 127 : s);
    else if (type == SIGNED16) v = (u32)(s < -32768 ? -32768 : s > 32767 ? 32767 : s);
    else if (type == UNSIGNED8) v = v > 255 ? 255 : v;
    else if (type == UNSIGNED16) v = v > 65535 ? 65535 : v;
    const u32 to = place + c * size;
    if (size == 1) *(volatile u8 *)to = (u8)v;
    else if (size == 2) *(volatile unsigned short *)to = (unsigned short)v;
    else *(volatile u32 *)to = v;
  }
}
