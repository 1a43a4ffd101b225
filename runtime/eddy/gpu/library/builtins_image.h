// Images of two and three dimensions, in software. A section begins with the names it defines.
//@ image2d_t image3d_t sampler_t eddy_image2d eddy_image3d eddy_sampler EDDY_OF_IMAGES
#define __read_only
#define __write_only
#define read_only
#define write_only
struct eddy_image { uint data, width, height, depth, order, type, row, slice; };
struct eddy_image_2d { struct eddy_image image; };
struct eddy_image_3d { struct eddy_image image; };
typedef __global struct eddy_image_2d *eddy_image2d;
typedef __global struct eddy_image_3d *eddy_image3d;
typedef uint eddy_sampler;
#define image2d_t eddy_image2d
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
#define EDDY_OF_IMAGES(name, R, expression) EDDY_FN R name(eddy_image2d im) { return expression; } EDDY_FN R name(eddy_image3d im) { return expression; }
//@ read_imagef
EDDY_IMAGE_READ(read_imagef, float, eddy_image2d, 2, EDDY_SECOND) EDDY_IMAGE_READ(read_imagef, float, eddy_image3d, 4, EDDY_FIRST)
//@ read_imagei
EDDY_IMAGE_READ(read_imagei, int, eddy_image2d, 2, EDDY_SECOND) EDDY_IMAGE_READ(read_imagei, int, eddy_image3d, 4, EDDY_FIRST)
//@ read_imageui
EDDY_IMAGE_READ(read_imageui, uint, eddy_image2d, 2, EDDY_SECOND) EDDY_IMAGE_READ(read_imageui, uint, eddy_image3d, 4, EDDY_FIRST)
//@ write_imagef
EDDY_IMAGE_WRITE(write_imagef, float, eddy_image2d, 2, EDDY_SECOND) EDDY_IMAGE_WRITE(write_imagef, float, eddy_image3d, 4, EDDY_FIRST)
//@ write_imagei
EDDY_IMAGE_WRITE(write_imagei, int, eddy_image2d, 2, EDDY_SECOND) EDDY_IMAGE_WRITE(write_imagei, int, eddy_image3d, 4, EDDY_FIRST)
//@ write_imageui
EDDY_IMAGE_WRITE(write_imageui, uint, eddy_image2d, 2, EDDY_SECOND) EDDY_IMAGE_WRITE(write_imageui, uint, eddy_image3d, 4, EDDY_FIRST)
//@ get_image_width
EDDY_OF_IMAGES(get_image_width, int, (int)im->image.width)
//@ get_image_height
EDDY_OF_IMAGES(get_image_height, int, (int)im->image.height)
//@ get_image_depth
EDDY_FN int get_image_depth(eddy_image3d im) { return (int)im->image.depth; }
//@ get_image_channel_data_type
EDDY_OF_IMAGES(get_image_channel_data_type, int, (int)im->image.type)
//@ get_image_channel_order
EDDY_OF_IMAGES(get_image_channel_order, int, (int)im->image.order)
//@ get_image_dim
EDDY_FN int2 get_image_dim(eddy_image2d im) { return (int2)((int)im->image.width, (int)im->image.height); }
EDDY_FN int4 get_image_dim(eddy_image3d im) { return (int4)((int)im->image.width, (int)im->image.height, (int)im->image.depth, 0); }
