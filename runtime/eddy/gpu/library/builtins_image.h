// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Images of one to three dimensions, layers of them, and buffers as images, in software. A section begins with the names it defines.
//@ image1d_t image1d_buffer_t image1d_array_t image2d_t image2d_array_t image3d_t sampler_t eddy_image2d eddy_image3d eddy_sampler EDDY_OF_IMAGE EDDY_OF_IMAGES EDDY_OF_PLANES
#define __read_only
#define __write_only
#define read_only
#define write_only
struct eddy_image { uint data, width, height, depth, order, type, row, slice; };
struct eddy_image_1d { struct eddy_image image; };
struct eddy_image_1d_buffer { struct eddy_image image; };
struct eddy_image_1d_array { struct eddy_image image; };
struct eddy_image_2d { struct eddy_image image; };
struct eddy_image_2d_array { struct eddy_image image; };
struct eddy_image_3d { struct eddy_image image; };
typedef __global struct eddy_image_1d *eddy_image1d;
typedef __global struct eddy_image_1d_buffer *eddy_image1d_buffer;
typedef __global struct eddy_image_1d_array *eddy_image1d_array;
typedef __global struct eddy_image_2d *eddy_image2d;
typedef __global struct eddy_image_2d_array *eddy_image2d_array;
typedef __global struct eddy_image_3d *eddy_image3d;
typedef uint eddy_sampler;
#define image1d_t eddy_image1d
#define image1d_buffer_t eddy_image1d_buffer
#define image1d_array_t eddy_image1d_array
#define image2d_t eddy_image2d
#define image2d_array_t eddy_image2d_array
#define image3d_t eddy_image3d
#define sampler_t eddy_sampler
#define CLK_NORMALIZED_COORDS_FALSE 0
#define CLK_NORMALIZED_COORDS_TRUE 1
#define CLK_ADDRESS_NONE 0
#define CLK_ADDRESS_CLAMP_TO_EDGE 2
#define CLK_ADDRESS_CLAMP 4
#define CLK_ADDRESS_REPEAT 6
#define CLK_ADDRESS_MIRRORED_REPEAT 8
#define CLK_FILTER_NEAREST 16
#define CLK_FILTER_LINEAR 32
#define CLK_R 0x10b0
#define CLK_A 0x10b1
#define CLK_RG 0x10b2
#define CLK_RA 0x10b3
#define CLK_RGBA 0x10b5
#define CLK_BGRA 0x10b6
#define CLK_INTENSITY 0x10b8
#define CLK_LUMINANCE 0x10b9
#define CLK_SNORM_INT8 0x10d0
#define CLK_SNORM_INT16 0x10d1
#define CLK_UNORM_INT8 0x10d2
#define CLK_UNORM_INT16 0x10d3
#define CLK_SIGNED_INT8 0x10d7
#define CLK_SIGNED_INT16 0x10d8
#define CLK_SIGNED_INT32 0x10d9
#define CLK_UNSIGNED_INT8 0x10da
#define CLK_UNSIGNED_INT16 0x10db
#define CLK_UNSIGNED_INT32 0x10dc
#define CLK_HALF_FLOAT 0x10dd
#define CLK_FLOAT 0x10de
void eddy_image_sample(__global struct eddy_image *, uint, const __private float *, __private uint *);
void eddy_image_sample_line(__global struct eddy_image *, uint, float, int, __private uint *);
void eddy_image_sample_layer(__global struct eddy_image *, uint, const __private float *, int, __private uint *);
void eddy_image_read(__global struct eddy_image *, uint, const __private int *, __private uint *);
void eddy_image_write(__global struct eddy_image *, const __private int *, const __private uint *);
#define EDDY_IMAGE_READ(name, T, image_type, vector, third) \
  EDDY_FN T##4 name(image_type im, eddy_sampler s, float##vector at) { \
    const float p[3] = {at.x, at.y, third(at.z, 0.0f)}; uint v[4]; \
    eddy_image_sample(&im->image, s, p, v); return __builtin_astype((uint4)(v[0], v[1], v[2], v[3]), T##4); } \
  EDDY_FN T##4 name(image_type im, eddy_sampler s, int##vector at) { \
    const int p[3] = {at.x, at.y, third(at.z, 0)}; uint v[4]; \
    eddy_image_read(&im->image, s, p, v); return __builtin_astype((uint4)(v[0], v[1], v[2], v[3]), T##4); } \
  EDDY_FN T##4 name(image_type im, int##vector at) { return name(im, 0u, at); }
#define EDDY_IMAGE_WRITE(name, T, image_type, vector, third) EDDY_FN void name(image_type im, int##vector at, T##4 color) { \
    const int p[3] = {at.x, at.y, third(at.z, 0)}; const uint4 c = __builtin_astype(color, uint4); \
    const uint v[4] = {c.x, c.y, c.z, c.w}; eddy_image_write(&im->image, p, v); }
#define EDDY_FIRST(a, b) a
#define EDDY_SECOND(a, b) b
#define EDDY_TEXEL(v, T) __builtin_astype((uint4)(v[0], v[1], v[2], v[3]), T##4)
/// A sampler takes the nearest of the layers there are.
#define EDDY_LAYER(at, size) ({ const int eddy_l = (at), eddy_n = (int)(size) - 1; eddy_l < 0 ? 0 : eddy_l > eddy_n ? eddy_n : eddy_l; })
#define EDDY_IMAGE_READ_AT(name, T, image_type, C, i, j, k) EDDY_FN T##4 name(image_type im, eddy_sampler s, C at) { \
    const int p[3] = {i, j, k}; uint v[4]; eddy_image_read(&im->image, s, p, v); return EDDY_TEXEL(v, T); }
#define EDDY_IMAGE_READ_LINES(name, T) \
  EDDY_FN T##4 name(eddy_image1d im, eddy_sampler s, float at) { \
    uint v[4]; eddy_image_sample_line(&im->image, s, at, 0, v); return EDDY_TEXEL(v, T); } \
  EDDY_IMAGE_READ_AT(name, T, eddy_image1d, int, at, 0, 0) \
  EDDY_FN T##4 name(eddy_image1d im, int at) { return name(im, 0u, at); } \
  EDDY_FN T##4 name(eddy_image1d_buffer im, int at) { \
    const int p[3] = {at, 0, 0}; uint v[4]; eddy_image_read(&im->image, 0, p, v); return EDDY_TEXEL(v, T); } \
  EDDY_FN T##4 name(eddy_image1d_array im, eddy_sampler s, float2 at) { \
    uint v[4]; eddy_image_sample_line(&im->image, s, at.x, EDDY_LAYER(__builtin_rintf(at.y), im->image.height), v); return EDDY_TEXEL(v, T); } \
  EDDY_IMAGE_READ_AT(name, T, eddy_image1d_array, int2, at.x, EDDY_LAYER(at.y, im->image.height), 0) \
  EDDY_FN T##4 name(eddy_image1d_array im, int2 at) { return name(im, 0u, at); } \
  EDDY_FN T##4 name(eddy_image2d_array im, eddy_sampler s, float4 at) { \
    const float p[3] = {at.x, at.y, 0.0f}; uint v[4]; \
    eddy_image_sample_layer(&im->image, s, p, EDDY_LAYER(__builtin_rintf(at.z), im->image.depth), v); return EDDY_TEXEL(v, T); } \
  EDDY_IMAGE_READ_AT(name, T, eddy_image2d_array, int4, at.x, at.y, EDDY_LAYER(at.z, im->image.depth)) \
  EDDY_FN T##4 name(eddy_image2d_array im, int4 at) { return name(im, 0u, at); }
#define EDDY_IMAGE_WRITE_AT(name, T, image_type, C, i, j, k) EDDY_FN void name(image_type im, C at, T##4 color) { \
    const int p[3] = {i, j, k}; const uint4 c = __builtin_astype(color, uint4); \
    const uint v[4] = {c.x, c.y, c.z, c.w}; eddy_image_write(&im->image, p, v); }
#define EDDY_IMAGE_WRITE_LINES(name, T) \
  EDDY_IMAGE_WRITE_AT(name, T, eddy_image1d, int, at, 0, 0) EDDY_IMAGE_WRITE_AT(name, T, eddy_image1d_buffer, int, at, 0, 0) \
  EDDY_IMAGE_WRITE_AT(name, T, eddy_image1d_array, int2, at.x, at.y, 0) EDDY_IMAGE_WRITE_AT(name, T, eddy_image2d_array, int4, at.x, at.y, at.z)
#define EDDY_OF_IMAGE(name, R, image_type, expression) EDDY_FN R name(image_type im) { return expression; }
#define EDDY_OF_PLANES(name, R, expression) EDDY_OF_IMAGE(name, R, eddy_image2d, expression) EDDY_OF_IMAGE(name, R, eddy_image3d, expression) \
  EDDY_OF_IMAGE(name, R, eddy_image2d_array, expression)
#define EDDY_OF_IMAGES(name, R, expression) EDDY_OF_PLANES(name, R, expression) EDDY_OF_IMAGE(name, R, eddy_image1d, expression) \
  EDDY_OF_IMAGE(name, R, eddy_image1d_buffer, expression) EDDY_OF_IMAGE(name, R, eddy_image1d_array, expression)
//@ read_imagef
EDDY_IMAGE_READ(read_imagef, float, eddy_image2d, 2, EDDY_SECOND) EDDY_IMAGE_READ(read_imagef, float, eddy_image3d, 4, EDDY_FIRST)
EDDY_IMAGE_READ_LINES(read_imagef, float)
//@ read_imagei
EDDY_IMAGE_READ(read_imagei, int, eddy_image2d, 2, EDDY_SECOND) EDDY_IMAGE_READ(read_imagei, int, eddy_image3d, 4, EDDY_FIRST)
EDDY_IMAGE_READ_LINES(read_imagei, int)
//@ read_imageui
EDDY_IMAGE_READ(read_imageui, uint, eddy_image2d, 2, EDDY_SECOND) EDDY_IMAGE_READ(read_imageui, uint, eddy_image3d, 4, EDDY_FIRST)
EDDY_IMAGE_READ_LINES(read_imageui, uint)
//@ write_imagef
EDDY_IMAGE_WRITE(write_imagef, float, eddy_image2d, 2, EDDY_SECOND) EDDY_IMAGE_WRITE(write_imagef, float, eddy_image3d, 4, EDDY_FIRST)
EDDY_IMAGE_WRITE_LINES(write_imagef, float)
//@ write_imagei
EDDY_IMAGE_WRITE(write_imagei, int, eddy_image2d, 2, EDDY_SECOND) EDDY_IMAGE_WRITE(write_imagei, int, eddy_image3d, 4, EDDY_FIRST)
EDDY_IMAGE_WRITE_LINES(write_imagei, int)
//@ write_imageui
EDDY_IMAGE_WRITE(write_imageui, uint, eddy_image2d, 2, EDDY_SECOND) EDDY_IMAGE_WRITE(write_imageui, uint, eddy_image3d, 4, EDDY_FIRST)
EDDY_IMAGE_WRITE_LINES(write_imageui, uint)
//@ get_image_width
EDDY_OF_IMAGES(get_image_width, int, (int)im->image.width)
//@ get_image_height
EDDY_OF_PLANES(get_image_height, int, (int)im->image.height)
//@ get_image_depth
EDDY_FN int get_image_depth(eddy_image3d im) { return (int)im->image.depth; }
//@ get_image_array_size
EDDY_FN size_t get_image_array_size(eddy_image1d_array im) { return im->image.height; }
EDDY_FN size_t get_image_array_size(eddy_image2d_array im) { return im->image.depth; }
// Needs image2d_t.
//@ get_image_channel_data_type
EDDY_OF_IMAGES(get_image_channel_data_type, int, (int)im->image.type)
//@ get_image_channel_order
EDDY_OF_IMAGES(get_image_channel_order, int, (int)im->image.order)
//@ get_image_dim
EDDY_FN int2 get_image_dim(eddy_image2d im) { return (int2)((int)im->image.width, (int)im->image.height); }
EDDY_FN int2 get_image_dim(eddy_image2d_array im) { return (int2)((int)im->image.width, (int)im->image.height); }
EDDY_FN int4 get_image_dim(eddy_image3d im) { return (int4)((int)im->image.width, (int)im->image.height, (int)im->image.depth, 0); }
