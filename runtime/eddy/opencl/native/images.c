// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Images: storage of rows without gaps, whose texels the device library reads. Entry points that make and copy them.
#include <string.h>

#include "eddy.h"

static const struct { cl_channel_order order; size_t channels; } ORDERS[] = {
    {CL_R, 1}, {CL_A, 1}, {CL_RG, 2}, {CL_RA, 2}, {CL_RGBA, 4}, {CL_BGRA, 4}, {CL_INTENSITY, 1}, {CL_LUMINANCE, 1},
};
static const struct { cl_channel_type type; size_t bytes; } TYPES[] = {
    {CL_SNORM_INT8, 1}, {CL_SNORM_INT16, 2}, {CL_UNORM_INT8, 1}, {CL_UNORM_INT16, 2}, {CL_SIGNED_INT8, 1},
    {CL_SIGNED_INT16, 2}, {CL_SIGNED_INT32, 4}, {CL_UNSIGNED_INT8, 1}, {CL_UNSIGNED_INT16, 2},
    {CL_UNSIGNED_INT32, 4}, {CL_HALF_FLOAT, 2}, {CL_FLOAT, 4},
};
#define COUNT(array) (sizeof(array) / sizeof *(array))

static bool fits(cl_channel_order order, cl_channel_type type) {
    bool normalized = type == CL_SNORM_INT8 || type == CL_SNORM_INT16 || type == CL_UNORM_INT8 || type == CL_UNORM_INT16;
    bool real = normalized || type == CL_HALF_FLOAT || type == CL_FLOAT;
    bool byte = type == CL_SNORM_INT8 || type == CL_UNORM_INT8 || type == CL_SIGNED_INT8 || type == CL_UNSIGNED_INT8;
    if (order == CL_INTENSITY || order == CL_LUMINANCE) return real;
    return order != CL_BGRA || byte;
}

/// Bytes of a texel; 0 where there are no images of this format.
size_t element_bytes(const cl_image_format *format) {
    for (size_t j = 0; j < COUNT(ORDERS); j++)
        for (size_t k = 0; k < COUNT(TYPES); k++)
            if (ORDERS[j].order == format->image_channel_order && TYPES[k].type == format->image_channel_data_type)
                return fits(ORDERS[j].order, TYPES[k].type) ? ORDERS[j].channels * TYPES[k].bytes : 0;
    return 0;
}

static bool is_image_type(cl_mem_object_type type) {
    return type >= CL_MEM_OBJECT_IMAGE2D && type <= CL_MEM_OBJECT_IMAGE1D_BUFFER;
}

cl_int clGetSupportedImageFormats(cl_context context, cl_mem_flags flags, cl_mem_object_type type, cl_uint room,
    cl_image_format *formats, cl_uint *count) {
    LOCKED;
    NEED(context, CONTEXT, CL_INVALID_CONTEXT);
    CHECK(check_flags(__func__, flags & ~(cl_mem_flags)(CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR), NULL));
    if (!is_image_type(type)) REFUSE(CL_INVALID_VALUE, "0x%x is no type of images", type);
    if (!room && formats) REFUSE(CL_INVALID_VALUE, "room for no formats");
    cl_uint found = 0;
    for (size_t j = 0; j < COUNT(ORDERS); j++)
        for (size_t k = 0; k < COUNT(TYPES); k++) {
            if (!fits(ORDERS[j].order, TYPES[k].type)) continue;
            if (formats && found < room) formats[found] = (cl_image_format){ORDERS[j].order, TYPES[k].type};
            found++;
        }
    if (count) *count = found;
    return CL_SUCCESS;
}

/// Sides of an image in texels: layers of an array are its last side.
static void sides(const cl_image_desc *image, size_t side[3]) {
    bool one = image->image_type == CL_MEM_OBJECT_IMAGE1D || image->image_type == CL_MEM_OBJECT_IMAGE1D_BUFFER;
    side[0] = image->image_width;
    side[1] = one ? 1 : image->image_height;
    side[2] = image->image_type == CL_MEM_OBJECT_IMAGE3D ? image->image_depth : 1;
    if (image->image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY) side[1] = image->image_array_size;
    if (image->image_type == CL_MEM_OBJECT_IMAGE2D_ARRAY) side[2] = image->image_array_size;
}

static cl_int check_sides(const char *function, const cl_image_desc *image) {
    cl_device_id device = the_device(function);
    size_t side[3], most[3];
    if (!device) return refuse(function, CL_DEVICE_NOT_AVAILABLE, "no device");
    sides(image, side);
    most[0] = most[1] = device->image_limit;
    most[2] = device->array_limit;
    if (image->image_type == CL_MEM_OBJECT_IMAGE3D) most[0] = most[1] = most[2] = device->image3d_limit;
    if (image->image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY) most[1] = device->array_limit;
    if (image->image_type == CL_MEM_OBJECT_IMAGE1D_BUFFER) most[0] = device->image_buffer_limit;
    for (int k = 0; k < 3; k++) {
        if (!side[k]) return refuse(function, CL_INVALID_IMAGE_DESCRIPTOR, "side %d of the image is 0", k);
        if (side[k] > most[k])
            return refuse(function, CL_INVALID_IMAGE_SIZE, "side %d is %zu; at most %zu", k, side[k], most[k]);
    }
    return CL_SUCCESS;
}

static cl_int check_description(const char *function, const cl_image_format *format, const cl_image_desc *image,
    const void *host) {
    if (!format || !element_bytes(format))
        return refuse(function, format ? CL_IMAGE_FORMAT_NOT_SUPPORTED : CL_INVALID_IMAGE_FORMAT_DESCRIPTOR,
                      "order 0x%x of type 0x%x; clGetSupportedImageFormats lists what there is",
                      format ? format->image_channel_order : 0, format ? format->image_channel_data_type : 0);
    if (!image || !is_image_type(image->image_type) || image->num_mip_levels || image->num_samples)
        return refuse(function, CL_INVALID_IMAGE_DESCRIPTOR, "no description, no type of images, or mip levels or samples");
    if (!host && (image->image_row_pitch || image->image_slice_pitch))
        return refuse(function, CL_INVALID_IMAGE_DESCRIPTOR, "pitches without a host pointer");
    if ((image->image_type == CL_MEM_OBJECT_IMAGE1D_BUFFER) != (image->buffer != NULL))
        return refuse(function, CL_INVALID_IMAGE_DESCRIPTOR, "a buffer goes with an image of a buffer, and with no other");
    return check_sides(function, image);
}

/// Where the host keeps the texels: its pitches, or none for rows without gaps. Layers of an array of images of one
/// dimension are rows to us, and slices to the host.
static cl_int host_rows(const char *function, cl_mem_object_type type, const size_t side[3], size_t element,
    size_t row, size_t slice, struct geometry *made) {
    size_t least = side[0] * element;
    if (type == CL_MEM_OBJECT_IMAGE1D_ARRAY) row = slice ? slice : row, slice = 0;
    if ((row && (row < least || row % element)) || (slice && (slice < (row ? row : least) * side[1] || slice % (row ? row : least))))
        return refuse(function, CL_INVALID_VALUE, "pitches %zu and %zu do not fit rows of %zu bytes", row, slice, least);
    if (!row) row = least;
    if (!slice) slice = row * side[1];
    *made = (struct geometry){0, least, side[1], side[2], row, slice};
    return CL_SUCCESS;
}

static cl_mem view_of_buffer(const char *function, cl_context context, cl_mem_flags flags, const cl_image_desc *image,
    size_t element, cl_int *errcode_ret) {
    cl_mem buffer = image->buffer;
    if (!is_live(buffer, MEMORY) || buffer->type != CL_MEM_OBJECT_BUFFER || image->image_width * element > buffer->size)
        return refuse_null(function, errcode_ret, CL_INVALID_IMAGE_DESCRIPTOR, "no buffer, or one that is too small");
    cl_mem memory = make_object(MEMORY, sizeof *memory);
    if (!memory) return refuse_null(function, errcode_ret, CL_OUT_OF_HOST_MEMORY, "no memory for an object");
    memory->context = context;
    memory->parent = buffer;
    memory->id = buffer->id;
    memory->origin = buffer->origin;
    memory->size = image->image_width * element;
    memory->flags = flags ? flags : buffer->flags;
    hold(context);
    hold(buffer);
    if (errcode_ret) *errcode_ret = CL_SUCCESS;
    return memory;
}

static cl_mem make_image(const char *function, cl_context context, cl_mem_flags flags, const cl_image_format *format,
    const cl_image_desc *image, void *host, cl_int *errcode_ret) {
    struct geometry rows;
    size_t side[3];
    if (!is_live(context, CONTEXT)) return refuse_null(function, errcode_ret, CL_INVALID_CONTEXT, "no context");
    cl_device_id device = the_device(function);
    if (device && !device->images)
        return refuse_null(function, errcode_ret, CL_INVALID_OPERATION, "sessions of this server take no images");
    cl_int code = check_flags(function, flags, host);
    if (!code) code = check_description(function, format, image, host);
    if (code) return refuse_null(function, errcode_ret, code, "this image cannot be made");
    size_t element = element_bytes(format);
    sides(image, side);
    code = host_rows(function, image->image_type, side, element, image->image_row_pitch, image->image_slice_pitch, &rows);
    if (code) return refuse_null(function, errcode_ret, CL_INVALID_IMAGE_DESCRIPTOR, "wrong pitches");
    cl_mem memory = image->buffer ? view_of_buffer(function, context, flags, image, element, errcode_ret)
                                  : make_storage(function, context, flags, side[0] * side[1] * side[2] * element, host,
                                                 &rows, errcode_ret);
    if (!memory) return NULL;
    memory->type = image->image_type;
    memory->format = *format;
    memory->image = *image;
    memory->element = element;
    memory->image.image_row_pitch = flags & CL_MEM_USE_HOST_PTR ? rows.row : side[0] * element;
    memory->image.image_slice_pitch = flags & CL_MEM_USE_HOST_PTR ? rows.slice : side[0] * side[1] * element;
    if (image->image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY)
        memory->image.image_slice_pitch = memory->image.image_row_pitch;
    return memory;
}

cl_mem clCreateImage(cl_context context, cl_mem_flags flags, const cl_image_format *format, const cl_image_desc *image,
    void *host, cl_int *errcode_ret) {
    LOCKED;
    return make_image(__func__, context, flags, format, image, host, errcode_ret);
}

cl_mem clCreateImage2D(cl_context context, cl_mem_flags flags, const cl_image_format *format, size_t width,
    size_t height, size_t row_pitch, void *host, cl_int *errcode_ret) {
    LOCKED;
    cl_image_desc image = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = width, .image_height = height,
                           .image_row_pitch = row_pitch};
    if (!width || !height) REFUSE_NULL(CL_INVALID_IMAGE_SIZE, "an image of %zu x %zu", width, height);
    return make_image(__func__, context, flags, format, &image, host, errcode_ret);
}

cl_mem clCreateImage3D(cl_context context, cl_mem_flags flags, const cl_image_format *format, size_t width,
    size_t height, size_t depth, size_t row_pitch, size_t slice_pitch, void *host, cl_int *errcode_ret) {
    LOCKED;
    cl_image_desc image = {.image_type = CL_MEM_OBJECT_IMAGE3D, .image_width = width, .image_height = height,
                           .image_depth = depth, .image_row_pitch = row_pitch, .image_slice_pitch = slice_pitch};
    if (!width || !height || depth < 2) REFUSE_NULL(CL_INVALID_IMAGE_SIZE, "an image of %zu x %zu x %zu", width, height, depth);
    return make_image(__func__, context, flags, format, &image, host, errcode_ret);
}

/// A region of an image in its storage.
cl_int image_geometry(const char *function, cl_mem image, const size_t *origin, const size_t *region,
    struct geometry *made) {
    size_t side[3];
    if (!origin || !region) return refuse(function, CL_INVALID_VALUE, "no origin or region");
    sides(&image->image, side);
    for (int k = 0; k < 3; k++)
        if (!region[k] || origin[k] > side[k] || region[k] > side[k] - origin[k])
            return refuse(function, CL_INVALID_VALUE, "%zu texels at %zu of a side of %zu", region[k], origin[k], side[k]);
    size_t row = side[0] * image->element, slice = row * side[1];
    size_t offset = origin[2] * slice + origin[1] * row + origin[0] * image->element;
    *made = (struct geometry){offset, region[0] * image->element, region[1], region[2], row, slice};
    return CL_SUCCESS;
}

/// The same region where the host has it.
cl_int host_geometry(const char *function, cl_mem image, const size_t *region, size_t row_pitch, size_t slice_pitch,
    struct geometry *made) {
    return host_rows(function, image->type, region, image->element, row_pitch, slice_pitch, made);
}

cl_int clGetImageInfo(cl_mem image, cl_image_info name, size_t room, void *value, size_t *size_ret) {
    LOCKED;
    if (!is_live(image, MEMORY) || image->type == CL_MEM_OBJECT_BUFFER) REFUSE(CL_INVALID_MEM_OBJECT, "no image");
    const cl_image_desc *is = &image->image;
    bool three = is->image_type == CL_MEM_OBJECT_IMAGE3D, two = three || is->image_type == CL_MEM_OBJECT_IMAGE2D ||
                                                                is->image_type == CL_MEM_OBJECT_IMAGE2D_ARRAY;
    bool array = is->image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY || is->image_type == CL_MEM_OBJECT_IMAGE2D_ARRAY;
    size_t height = two ? is->image_height : 0, depth = three ? is->image_depth : 0;
    size_t layers = array ? is->image_array_size : 0, slice = three || array ? is->image_slice_pitch : 0;
    cl_uint none = 0;
    switch (name) {
    case CL_IMAGE_FORMAT: return answer(__func__, &image->format, sizeof image->format, room, value, size_ret);
    case CL_IMAGE_ELEMENT_SIZE: return answer(__func__, &image->element, sizeof(size_t), room, value, size_ret);
    case CL_IMAGE_ROW_PITCH: return answer(__func__, &is->image_row_pitch, sizeof(size_t), room, value, size_ret);
    case CL_IMAGE_SLICE_PITCH: return answer(__func__, &slice, sizeof slice, room, value, size_ret);
    case CL_IMAGE_WIDTH: return answer(__func__, &is->image_width, sizeof(size_t), room, value, size_ret);
    case CL_IMAGE_HEIGHT: return answer(__func__, &height, sizeof height, room, value, size_ret);
    case CL_IMAGE_DEPTH: return answer(__func__, &depth, sizeof depth, room, value, size_ret);
    case CL_IMAGE_ARRAY_SIZE: return answer(__func__, &layers, sizeof layers, room, value, size_ret);
    case CL_IMAGE_BUFFER: return answer(__func__, &is->buffer, sizeof is->buffer, room, value, size_ret);
    case CL_IMAGE_NUM_MIP_LEVELS:
    case CL_IMAGE_NUM_SAMPLES: return answer(__func__, &none, sizeof none, room, value, size_ret);
    default: REFUSE(CL_INVALID_VALUE, "images have no information 0x%x", name);
    }
}
