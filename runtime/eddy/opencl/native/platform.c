// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Platform, device and contexts. What the device is the helper says, as bytes by the standard's numbers.
#include <stdlib.h>
#include <string.h>

#include "eddy.h"

#define PUBLIC __attribute__((visibility("default")))

static struct _cl_platform_id *platform;
static struct _cl_device_id *device;

static cl_platform_id the_platform(void) {
    if (!platform) platform = make_object(PLATFORM, sizeof *platform);
    return platform;
}

cl_int clGetPlatformIDs(cl_uint room, cl_platform_id *platforms, cl_uint *count) {
    LOCKED;
    if ((!room && platforms) || (!platforms && !count))
        REFUSE(CL_INVALID_VALUE, "room for %u platforms at %p", room, (void *)platforms);
    if (!the_platform()) REFUSE(CL_OUT_OF_HOST_MEMORY, "no memory for the platform");
    if (platforms) platforms[0] = platform;
    if (count) *count = 1;
    return CL_SUCCESS;
}

PUBLIC cl_int clIcdGetPlatformIDsKHR(cl_uint room, cl_platform_id *platforms, cl_uint *count) {
    return clGetPlatformIDs(room, platforms, count);
}

static const char *platform_text(cl_platform_info name) {
    switch (name) {
    case CL_PLATFORM_PROFILE: return "FULL_PROFILE";
    case CL_PLATFORM_VERSION: return "OpenCL 1.2 Eddy";
    case CL_PLATFORM_NAME: return "Eddy";
    case CL_PLATFORM_VENDOR: return "Eddy";
    case CL_PLATFORM_EXTENSIONS: return "cl_khr_icd";
    case CL_PLATFORM_ICD_SUFFIX_KHR: return "EDDY";
    default: return NULL;
    }
}

cl_int clGetPlatformInfo(cl_platform_id given, cl_platform_info name, size_t room, void *value, size_t *size_ret) {
    LOCKED;
    if (given && !is_live(given, PLATFORM)) REFUSE(CL_INVALID_PLATFORM, "%p is no platform", (void *)given);
    const char *text = platform_text(name);
    if (!text) REFUSE(CL_INVALID_VALUE, "platforms have no information 0x%x", name);
    return answer(__func__, text, strlen(text) + 1, room, value, size_ret);
}

static const struct info *find_info(cl_device_id of, cl_uint name) {
    for (size_t k = 0; k < of->count; k++)
        if (of->infos[k].name == name) return &of->infos[k];
    return NULL;
}

/// A number of the device's description, whatever its width.
static size_t number(cl_device_id of, cl_uint name) {
    const struct info *info = find_info(of, name);
    uint64_t value = 0;
    if (info && info->size <= sizeof value) memcpy(&value, info->data, info->size);
    return (size_t)value;
}

static bool read_description(cl_device_id made) {
    struct reader reader = {made->description.data, made->description.data + made->description.size, false};
    size_t count = get_u32(&reader);
    if (count > 1000 || !(made->infos = calloc(count ? count : 1, sizeof *made->infos))) return false;
    for (size_t k = 0; k < count; k++) {
        made->infos[k].name = get_u32(&reader);
        made->infos[k].data = get_text(&reader, &made->infos[k].size);
    }
    made->count = count;
    made->group_limit = number(made, CL_DEVICE_MAX_WORK_GROUP_SIZE);
    made->alignment = number(made, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8;
    made->allocation_limit = number(made, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
    made->image_limit = number(made, CL_DEVICE_IMAGE2D_MAX_WIDTH);
    made->image3d_limit = number(made, CL_DEVICE_IMAGE3D_MAX_WIDTH);
    made->array_limit = number(made, CL_DEVICE_IMAGE_MAX_ARRAY_SIZE);
    made->image_buffer_limit = number(made, CL_DEVICE_IMAGE_MAX_BUFFER_SIZE);
    made->local_bytes = number(made, CL_DEVICE_LOCAL_MEM_SIZE);
    made->images = number(made, CL_DEVICE_IMAGE_SUPPORT);
    return !reader.bad;
}

/// The device, described by the helper once; NULL where there is no helper, server or key.
cl_device_id the_device(const char *function) {
    if (device) return device;
    struct bytes description = {0};
    if (!channel_open(function) || call_helper(function, HELLO, NULL, &description)) {
        clear(&description);
        return NULL;
    }
    if (device) { // another thread asked at the same time
        clear(&description);
        return device;
    }
    cl_device_id made = make_object(DEVICE, sizeof *made);
    if (!made) return NULL;
    made->description = description;
    if (!read_description(made)) {
        refuse(function, CL_DEVICE_NOT_FOUND, "the helper's description of the device cannot be read");
        made->object.references = 0;
        return NULL;
    }
    return device = made;
}

cl_int clGetDeviceIDs(cl_platform_id given, cl_device_type type, cl_uint room, cl_device_id *devices, cl_uint *count) {
    LOCKED;
    const cl_device_type all = CL_DEVICE_TYPE_DEFAULT | CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_GPU |
                               CL_DEVICE_TYPE_ACCELERATOR | CL_DEVICE_TYPE_CUSTOM;
    if (given && !is_live(given, PLATFORM)) REFUSE(CL_INVALID_PLATFORM, "%p is no platform", (void *)given);
    if (type != CL_DEVICE_TYPE_ALL && (!type || (type & ~all)))
        REFUSE(CL_INVALID_DEVICE_TYPE, "there is no device type 0x%llx", (unsigned long long)type);
    if ((!room && devices) || (!devices && !count))
        REFUSE(CL_INVALID_VALUE, "room for %u devices at %p", room, (void *)devices);
    bool wanted = type == CL_DEVICE_TYPE_ALL || (type & (CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_DEFAULT));
    if (count) *count = 0;
    if (!wanted || !the_device(__func__)) REFUSE(CL_DEVICE_NOT_FOUND, "no device of type 0x%llx", (unsigned long long)type);
    if (devices) devices[0] = device;
    if (count) *count = 1;
    return CL_SUCCESS;
}

cl_int clGetDeviceInfo(cl_device_id of, cl_device_info name, size_t room, void *value, size_t *size_ret) {
    LOCKED;
    NEED(of, DEVICE, CL_INVALID_DEVICE);
    cl_platform_id owner = the_platform();
    cl_device_id parent = NULL;
    cl_uint references = 1;
    switch (name) {
    case CL_DEVICE_PLATFORM: return answer(__func__, &owner, sizeof owner, room, value, size_ret);
    case CL_DEVICE_PARENT_DEVICE: return answer(__func__, &parent, sizeof parent, room, value, size_ret);
    case CL_DEVICE_REFERENCE_COUNT: return answer(__func__, &references, sizeof references, room, value, size_ret);
    default: break;
    }
    const struct info *info = find_info(of, name);
    if (!info) REFUSE(CL_INVALID_VALUE, "the device has no information 0x%x", name);
    return answer(__func__, info->data, info->size, room, value, size_ret);
}

cl_int clCreateSubDevices(cl_device_id of, const cl_device_partition_property *properties, cl_uint room,
    cl_device_id *devices, cl_uint *count) {
    LOCKED;
    (void)room, (void)devices, (void)count;
    NEED(of, DEVICE, CL_INVALID_DEVICE);
    REFUSE(CL_INVALID_VALUE, "the device cannot be divided (property 0x%llx)",
           properties ? (unsigned long long)properties[0] : 0ull);
}

cl_int clRetainDevice(cl_device_id of) {
    LOCKED;
    NEED(of, DEVICE, CL_INVALID_DEVICE);
    return CL_SUCCESS;
}

cl_int clReleaseDevice(cl_device_id of) {
    LOCKED;
    NEED(of, DEVICE, CL_INVALID_DEVICE);
    return CL_SUCCESS;
}

cl_int clUnloadCompiler(void) {
    return CL_SUCCESS;
}

cl_int clUnloadPlatformCompiler(cl_platform_id given) {
    LOCKED;
    NEED(given, PLATFORM, CL_INVALID_PLATFORM);
    return CL_SUCCESS;
}
