// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Contexts, each a session of the helper's, and command queues.
#include <string.h>

#include "eddy.h"

/// Reads a list of properties: how many words it has, its end included; 0 where it is wrong.
static cl_int check_properties(const char *function, const cl_context_properties *properties, size_t *count) {
    *count = 0;
    if (!properties) return CL_SUCCESS;
    for (; properties[*count]; *count += 2) {
        cl_context_properties name = properties[*count], value = properties[*count + 1];
        if (name != CL_CONTEXT_PLATFORM && name != CL_CONTEXT_INTEROP_USER_SYNC)
            return refuse(function, CL_INVALID_PROPERTY, "there is no property 0x%llx", (unsigned long long)name);
        if (name == CL_CONTEXT_PLATFORM && !is_live((void *)value, PLATFORM))
            return refuse(function, CL_INVALID_PLATFORM, "the platform of the properties is none of ours");
        if (name == CL_CONTEXT_INTEROP_USER_SYNC && value != CL_FALSE && value != CL_TRUE)
            return refuse(function, CL_INVALID_PROPERTY, "CL_CONTEXT_INTEROP_USER_SYNC is neither true nor false");
        for (size_t before = 0; before < *count; before += 2)
            if (properties[before] == name) return refuse(function, CL_INVALID_PROPERTY, "a property is given twice");
    }
    ++*count;
    return CL_SUCCESS;
}

static cl_context open_context(const char *function, const cl_context_properties *properties, size_t count,
    void (*notify)(const char *, const void *, size_t, void *), void *user_data, cl_int *errcode_ret) {
    uint32_t generation = channel_open(function);
    if (!generation) return refuse_null(function, errcode_ret, CL_DEVICE_NOT_AVAILABLE, "no helper");
    cl_context context = make_object(CONTEXT, sizeof *context);
    if (!context) return refuse_null(function, errcode_ret, CL_OUT_OF_HOST_MEMORY, "no memory for a context");
    context->id = next_id();
    context->generation = generation;
    context->notify = notify;
    context->user_data = user_data;
    context->property_count = count;
    if (count) memcpy(context->properties, properties, count * sizeof *properties);
    struct bytes body = {0};
    put_u64(&body, context->id);
    cl_int code = call_helper(function, CONTEXT_OPEN, &body, NULL);
    clear(&body);
    if (code) {
        context->generation = 0; // there is nothing to close
        release(function, context, CONTEXT, CL_INVALID_CONTEXT);
        return refuse_null(function, errcode_ret, code, "the context cannot be opened");
    }
    if (errcode_ret) *errcode_ret = CL_SUCCESS;
    return context;
}

cl_context clCreateContext(const cl_context_properties *properties, cl_uint count, const cl_device_id *devices,
    void (*notify)(const char *, const void *, size_t, void *), void *user_data, cl_int *errcode_ret) {
    LOCKED;
    if (!count || !devices) REFUSE_NULL(CL_INVALID_VALUE, "no devices");
    if (!notify && user_data) REFUSE_NULL(CL_INVALID_VALUE, "data for a function that is not given");
    for (cl_uint k = 0; k < count; k++)
        if (!is_live(devices[k], DEVICE)) REFUSE_NULL(CL_INVALID_DEVICE, "device %u is none of ours", k);
    size_t words;
    cl_int code = check_properties(__func__, properties, &words);
    if (code) REFUSE_NULL(code, "wrong properties");
    return open_context(__func__, properties, words, notify, user_data, errcode_ret);
}

cl_context clCreateContextFromType(const cl_context_properties *properties, cl_device_type type,
    void (*notify)(const char *, const void *, size_t, void *), void *user_data, cl_int *errcode_ret) {
    LOCKED;
    size_t words;
    cl_int code = check_properties(__func__, properties, &words);
    if (code) REFUSE_NULL(code, "wrong properties");
    if (!notify && user_data) REFUSE_NULL(CL_INVALID_VALUE, "data for a function that is not given");
    const cl_device_type all = CL_DEVICE_TYPE_DEFAULT | CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_GPU |
                               CL_DEVICE_TYPE_ACCELERATOR | CL_DEVICE_TYPE_CUSTOM;
    bool any = type == CL_DEVICE_TYPE_ALL;
    if (!any && (!type || (type & ~all))) REFUSE_NULL(CL_INVALID_DEVICE_TYPE, "there is no such device type");
    if ((!any && !(type & (CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_DEFAULT))) || !the_device(__func__))
        REFUSE_NULL(CL_DEVICE_NOT_FOUND, "no device of type 0x%llx", (unsigned long long)type);
    return open_context(__func__, properties, words, notify, user_data, errcode_ret);
}

void destroy_context(cl_context context) {
    struct bytes body = {0};
    if (!channel_lives(context->generation)) return;
    put_u64(&body, context->id);
    send_frame(CONTEXT_CLOSE, 0, &body);
    clear(&body);
}

cl_int clRetainContext(cl_context context) {
    LOCKED;
    return retain(__func__, context, CONTEXT, CL_INVALID_CONTEXT);
}

cl_int clReleaseContext(cl_context context) {
    LOCKED;
    return release(__func__, context, CONTEXT, CL_INVALID_CONTEXT);
}

cl_int clGetContextInfo(cl_context context, cl_context_info name, size_t room, void *value, size_t *size_ret) {
    LOCKED;
    NEED(context, CONTEXT, CL_INVALID_CONTEXT);
    cl_device_id device = the_device(__func__);
    cl_uint one = 1;
    switch (name) {
    case CL_CONTEXT_REFERENCE_COUNT:
        return answer(__func__, &context->object.references, sizeof(cl_uint), room, value, size_ret);
    case CL_CONTEXT_NUM_DEVICES: return answer(__func__, &one, sizeof one, room, value, size_ret);
    case CL_CONTEXT_DEVICES: return answer(__func__, &device, sizeof device, room, value, size_ret);
    case CL_CONTEXT_PROPERTIES:
        return answer(__func__, context->properties, context->property_count * sizeof(cl_context_properties), room,
                      value, size_ret);
    default: REFUSE(CL_INVALID_VALUE, "contexts have no information 0x%x", name);
    }
}

cl_command_queue clCreateCommandQueue(cl_context context, cl_device_id device, cl_command_queue_properties properties,
    cl_int *errcode_ret) {
    LOCKED;
    NEED_OR_NULL(context, CONTEXT, CL_INVALID_CONTEXT);
    NEED_OR_NULL(device, DEVICE, CL_INVALID_DEVICE);
    if (properties & ~(cl_command_queue_properties)(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE))
        REFUSE_NULL(CL_INVALID_VALUE, "there are no properties 0x%llx", (unsigned long long)properties);
    cl_command_queue queue = make_object(QUEUE, sizeof *queue);
    if (!queue) REFUSE_NULL(CL_OUT_OF_HOST_MEMORY, "no memory for a queue");
    queue->context = context;
    queue->properties = properties;
    queue->pending_end = &queue->pending;
    hold(context);
    if (errcode_ret) *errcode_ret = CL_SUCCESS;
    return queue;
}

cl_command_queue clCreateCommandQueueWithProperties(cl_context context, cl_device_id device,
    const cl_ulong *properties, cl_int *errcode_ret) {
    cl_command_queue_properties wanted = 0;
    for (; properties && properties[0]; properties += 2) {
        if (properties[0] != CL_QUEUE_PROPERTIES)
            REFUSE_NULL(CL_INVALID_VALUE, "there is no property 0x%llx", (unsigned long long)properties[0]);
        wanted = properties[1];
    }
    return clCreateCommandQueue(context, device, wanted, errcode_ret);
}

void destroy_queue(cl_command_queue queue) {
    cl_event last = queue->last;
    queue->last = NULL;
    drop(last);
    drop(queue->context);
}

cl_int clRetainCommandQueue(cl_command_queue queue) {
    LOCKED;
    return retain(__func__, queue, QUEUE, CL_INVALID_COMMAND_QUEUE);
}

cl_int clReleaseCommandQueue(cl_command_queue queue) {
    LOCKED;
    return release(__func__, queue, QUEUE, CL_INVALID_COMMAND_QUEUE);
}

cl_int clGetCommandQueueInfo(cl_command_queue queue, cl_command_queue_info name, size_t room, void *value,
    size_t *size_ret) {
    LOCKED;
    NEED(queue, QUEUE, CL_INVALID_COMMAND_QUEUE);
    cl_device_id device = the_device(__func__);
    switch (name) {
    case CL_QUEUE_CONTEXT: return answer(__func__, &queue->context, sizeof queue->context, room, value, size_ret);
    case CL_QUEUE_DEVICE: return answer(__func__, &device, sizeof device, room, value, size_ret);
    case CL_QUEUE_REFERENCE_COUNT:
        return answer(__func__, &queue->object.references, sizeof(cl_uint), room, value, size_ret);
    case CL_QUEUE_PROPERTIES:
        return answer(__func__, &queue->properties, sizeof queue->properties, room, value, size_ret);
    default: REFUSE(CL_INVALID_VALUE, "queues have no information 0x%x", name);
    }
}

cl_int clSetCommandQueueProperty(cl_command_queue queue, cl_command_queue_properties properties, cl_bool enable,
    cl_command_queue_properties *old) {
    LOCKED;
    (void)properties, (void)enable, (void)old;
    NEED(queue, QUEUE, CL_INVALID_COMMAND_QUEUE);
    REFUSE(CL_INVALID_OPERATION, "a queue's properties are those it was made with");
}

cl_int clFlush(cl_command_queue queue) {
    LOCKED;
    return check_enqueue(__func__, queue, 0, NULL); // commands are sent as they come
}

cl_int clFinish(cl_command_queue queue) {
    LOCKED;
    cl_int code = check_enqueue(__func__, queue, 0, NULL);
    if (code) return code;
    hold(queue);
    while (queue->pending) pthread_cond_wait(&changed, &lock);
    drop(queue);
    return CL_SUCCESS;
}
