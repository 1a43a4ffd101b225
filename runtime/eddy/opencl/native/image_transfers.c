// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Entry points that move texels.
#include <string.h>

#include "eddy.h"

static cl_int host_may(const char *function, cl_mem image, cl_mem_flags against) {
    if (image->flags & (CL_MEM_HOST_NO_ACCESS | against))
        return refuse(function, CL_INVALID_OPERATION, "the host may not do this by the image's flags");
    return CL_SUCCESS;
}

cl_int clEnqueueReadImage(cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *origin,
    const size_t *region, size_t row_pitch, size_t slice_pitch, void *pointer, cl_uint count, const cl_event *list,
    cl_event *event) {
    LOCKED;
    struct geometry device, host;
    CHECK(check_enqueue(__func__, queue, count, list));
    CHECK(check_memory(__func__, queue, image, true));
    CHECK(image_geometry(__func__, image, origin, region, &device));
    CHECK(host_geometry(__func__, image, region, row_pitch, slice_pitch, &host));
    if (!pointer) REFUSE(CL_INVALID_VALUE, "nowhere to read to");
    CHECK(host_may(__func__, image, CL_MEM_HOST_WRITE_ONLY));
    return enqueue_read(__func__, queue, CL_COMMAND_READ_IMAGE, image, &device, &host, pointer, count, list, event,
                        blocking);
}

cl_int clEnqueueWriteImage(cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *origin,
    const size_t *region, size_t row_pitch, size_t slice_pitch, const void *pointer, cl_uint count,
    const cl_event *list, cl_event *event) {
    LOCKED;
    struct geometry device, host;
    CHECK(check_enqueue(__func__, queue, count, list));
    CHECK(check_memory(__func__, queue, image, true));
    CHECK(image_geometry(__func__, image, origin, region, &device));
    CHECK(host_geometry(__func__, image, region, row_pitch, slice_pitch, &host));
    if (!pointer) REFUSE(CL_INVALID_VALUE, "nothing to write");
    CHECK(host_may(__func__, image, CL_MEM_HOST_READ_ONLY));
    return enqueue_write(__func__, queue, CL_COMMAND_WRITE_IMAGE, image, &device, &host, pointer, count, list, event,
                         blocking);
}

cl_int clEnqueueCopyImage(cl_command_queue queue, cl_mem source, cl_mem target, const size_t *source_origin,
    const size_t *target_origin, const size_t *region, cl_uint count, const cl_event *list, cl_event *event) {
    LOCKED;
    struct geometry from, to;
    CHECK(check_enqueue(__func__, queue, count, list));
    CHECK(check_memory(__func__, queue, source, true));
    CHECK(check_memory(__func__, queue, target, true));
    if (memcmp(&source->format, &target->format, sizeof source->format))
        REFUSE(CL_IMAGE_FORMAT_MISMATCH, "the images have different formats");
    CHECK(image_geometry(__func__, source, source_origin, region, &from));
    CHECK(image_geometry(__func__, target, target_origin, region, &to));
    bool apart = false;
    for (int k = 0; k < 3; k++)
        apart = apart || source_origin[k] + region[k] <= target_origin[k] || target_origin[k] + region[k] <= source_origin[k];
    if (source == target && !apart) REFUSE(CL_MEM_COPY_OVERLAP, "the regions overlap");
    return enqueue_copy(__func__, queue, CL_COMMAND_COPY_IMAGE, source, &from, target, &to, count, list, event);
}

/// A region's texels one behind the other in a buffer.
static cl_int packed_rows(const char *function, cl_mem buffer, size_t offset, const struct geometry *like,
    struct geometry *made) {
    *made = (struct geometry){offset, like->width, like->height, like->depth, like->width, like->width * like->height};
    if (offset > buffer->size || extent_of(made) > buffer->size - offset)
        return refuse(function, CL_INVALID_VALUE, "the texels reach beyond the buffer's %zu bytes", buffer->size);
    return CL_SUCCESS;
}

cl_int clEnqueueCopyImageToBuffer(cl_command_queue queue, cl_mem source, cl_mem target, const size_t *origin,
    const size_t *region, size_t offset, cl_uint count, const cl_event *list, cl_event *event) {
    LOCKED;
    struct geometry from, to;
    CHECK(check_enqueue(__func__, queue, count, list));
    CHECK(check_memory(__func__, queue, source, true));
    CHECK(check_memory(__func__, queue, target, false));
    CHECK(image_geometry(__func__, source, origin, region, &from));
    CHECK(packed_rows(__func__, target, offset, &from, &to));
    return enqueue_copy(__func__, queue, CL_COMMAND_COPY_IMAGE_TO_BUFFER, source, &from, target, &to, count, list,
                        event);
}

cl_int clEnqueueCopyBufferToImage(cl_command_queue queue, cl_mem source, cl_mem target, size_t offset,
    const size_t *origin, const size_t *region, cl_uint count, const cl_event *list, cl_event *event) {
    LOCKED;
    struct geometry from, to;
    CHECK(check_enqueue(__func__, queue, count, list));
    CHECK(check_memory(__func__, queue, source, false));
    CHECK(check_memory(__func__, queue, target, true));
    CHECK(image_geometry(__func__, target, origin, region, &to));
    CHECK(packed_rows(__func__, source, offset, &to, &from));
    return enqueue_copy(__func__, queue, CL_COMMAND_COPY_BUFFER_TO_IMAGE, source, &from, target, &to, count, list,
                        event);
}

static int16_t half_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000, whole = bits & 0x7FFFFFFF;
    if (whole > 0x7F800000) return (int16_t)(sign | 0x7E00);
    if (whole >= 0x477FF000) return (int16_t)(sign | 0x7C00); // rounds to infinity
    if (whole < 0x38800000) { // subnormal: add a number whose last place is a half's, and let it round
        float magnitude;
        memcpy(&magnitude, &whole, sizeof magnitude);
        magnitude += 0.5f;
        memcpy(&whole, &magnitude, sizeof whole);
        return (int16_t)(sign | (whole - 0x3F000000));
    }
    whole += 0xC8000FFF + (whole >> 13 & 1);
    return (int16_t)(sign | whole >> 13);
}

static long rounded(float value, float scale, float least, float most) {
    float scaled = value * scale;
    if (!(scaled == scaled)) return 0;
    scaled = scaled < least ? least : scaled > most ? most : scaled;
    long whole = (long)scaled;
    float rest = scaled - (float)whole;
    if (rest > 0.5f || (rest == 0.5f && whole & 1)) whole++;
    if (rest < -0.5f || (rest == -0.5f && whole & 1)) whole--;
    return whole;
}

static long within(long value, long least, long most) {
    return value < least ? least : value > most ? most : value;
}

/// One channel of a fill colour, in the image's type; how many bytes it is.
static size_t put_channel(uint8_t *to, cl_channel_type type, const void *colour, int channel) {
    float real = ((const float *)colour)[channel];
    cl_int whole = ((const cl_int *)colour)[channel];
    cl_uint natural = ((const cl_uint *)colour)[channel];
    long value;
    switch (type) {
    case CL_FLOAT: memcpy(to, &real, 4); return 4;
    case CL_SIGNED_INT32:
    case CL_UNSIGNED_INT32: memcpy(to, &whole, 4); return 4;
    case CL_HALF_FLOAT: value = half_of(real); memcpy(to, &value, 2); return 2;
    case CL_SNORM_INT16: value = rounded(real, 32767, -32768, 32767); memcpy(to, &value, 2); return 2;
    case CL_UNORM_INT16: value = rounded(real, 65535, 0, 65535); memcpy(to, &value, 2); return 2;
    case CL_SIGNED_INT16: value = within(whole, -32768, 32767); memcpy(to, &value, 2); return 2;
    case CL_UNSIGNED_INT16: value = within(natural, 0, 65535); memcpy(to, &value, 2); return 2;
    case CL_SNORM_INT8: *to = (uint8_t)rounded(real, 127, -128, 127); return 1;
    case CL_UNORM_INT8: *to = (uint8_t)rounded(real, 255, 0, 255); return 1;
    case CL_SIGNED_INT8: *to = (uint8_t)within(whole, -128, 127); return 1;
    default: *to = (uint8_t)within(natural, 0, 255); return 1;
    }
}

static void put_texel(uint8_t *texel, const cl_image_format *format, const void *colour) {
    static const int RGBA[] = {0, 1, 2, 3}, BGRA[] = {2, 1, 0, 3}, RA[] = {0, 3}, A[] = {3};
    cl_channel_order order = format->image_channel_order;
    const int *from = order == CL_BGRA ? BGRA : order == CL_RA ? RA : order == CL_A ? A : RGBA;
    int channels = order == CL_RGBA || order == CL_BGRA ? 4 : order == CL_RG || order == CL_RA ? 2 : 1;
    for (int k = 0; k < channels; k++) texel += put_channel(texel, format->image_channel_data_type, colour, from[k]);
}

cl_int clEnqueueFillImage(cl_command_queue queue, cl_mem image, const void *colour, const size_t *origin,
    const size_t *region, cl_uint count, const cl_event *list, cl_event *event) {
    LOCKED;
    struct geometry device;
    uint8_t texel[16] = {0};
    CHECK(check_enqueue(__func__, queue, count, list));
    CHECK(check_memory(__func__, queue, image, true));
    if (!colour) REFUSE(CL_INVALID_VALUE, "no colour to fill with");
    CHECK(image_geometry(__func__, image, origin, region, &device));
    put_texel(texel, &image->format, colour);
    return enqueue_fill(__func__, queue, CL_COMMAND_FILL_IMAGE, image, &device, texel, image->element, count, list,
                        event);
}
