// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Entry points of events: user events, waiting, queries, callbacks, profile.
#include <stdlib.h>

#include "eddy.h"

cl_event clCreateUserEvent(cl_context context, cl_int *errcode_ret) {
    LOCKED;
    NEED_OR_NULL(context, CONTEXT, CL_INVALID_CONTEXT);
    cl_event event = make_object(EVENT, sizeof *event);
    if (!event) REFUSE_NULL(CL_OUT_OF_HOST_MEMORY, "no memory for an event");
    event->object.uses = 1;
    event->id = next_id();
    event->context = context;
    event->type = CL_COMMAND_USER;
    event->status = CL_SUBMITTED;
    event->local = true;
    hold(context);
    if (errcode_ret) *errcode_ret = CL_SUCCESS;
    return event;
}

cl_int clSetUserEventStatus(cl_event event, cl_int status) {
    LOCKED;
    if (!is_there(event, EVENT) || (!event->object.references && event->type != CL_COMMAND_USER))
        REFUSE(CL_INVALID_EVENT, "event %p is not a live object", (void *)event);
    if (event->type != CL_COMMAND_USER) REFUSE(CL_INVALID_EVENT, "it is a command's event, not a user's");
    if (status > CL_COMPLETE) REFUSE(CL_INVALID_VALUE, "status %d is neither complete nor an error", status);
    if (event->status <= 0) REFUSE(CL_INVALID_OPERATION, "its status was set before");
    if (!event->object.references) hold(event); // in the stead of what its release gave up
    end_event(event, status);
    advance();
    return CL_SUCCESS;
}

cl_int clWaitForEvents(cl_uint count, const cl_event *list) {
    LOCKED;
    if (!count || !list) REFUSE(CL_INVALID_VALUE, "no events to wait for");
    for (cl_uint k = 0; k < count; k++) {
        if (!is_live(list[k], EVENT)) REFUSE(CL_INVALID_EVENT, "entry %u is no event", k);
        if (list[k]->context != list[0]->context) REFUSE(CL_INVALID_CONTEXT, "event %u is another context's", k);
    }
    cl_int result = CL_SUCCESS;
    for (cl_uint k = 0; k < count; k++) hold(list[k]);
    for (cl_uint k = 0; k < count; k++)
        if (wait_for(list[k]) < 0) result = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    for (cl_uint k = 0; k < count; k++) drop(list[k]);
    return result;
}

cl_int clGetEventInfo(cl_event event, cl_event_info name, size_t room, void *value, size_t *size_ret) {
    LOCKED;
    NEED(event, EVENT, CL_INVALID_EVENT);
    switch (name) {
    case CL_EVENT_COMMAND_QUEUE:
        return answer(__func__, &event->queue, sizeof event->queue, room, value, size_ret);
    case CL_EVENT_CONTEXT:
        return answer(__func__, &event->context, sizeof event->context, room, value, size_ret);
    case CL_EVENT_COMMAND_TYPE:
        return answer(__func__, &event->type, sizeof event->type, room, value, size_ret);
    case CL_EVENT_COMMAND_EXECUTION_STATUS:
        return answer(__func__, &event->status, sizeof event->status, room, value, size_ret);
    case CL_EVENT_REFERENCE_COUNT:
        return answer(__func__, &event->object.references, sizeof(cl_uint), room, value, size_ret);
    default: REFUSE(CL_INVALID_VALUE, "events have no information 0x%x", name);
    }
}

cl_int clRetainEvent(cl_event event) {
    LOCKED;
    return retain(__func__, event, EVENT, CL_INVALID_EVENT);
}

cl_int clReleaseEvent(cl_event event) {
    LOCKED;
    NEED(event, EVENT, CL_INVALID_EVENT);
    bool unset = event->type == CL_COMMAND_USER && event->status > 0;
    if (unset && event->object.references == 1) {
        // What waits for it holds it, and so it can be set as long as something does: hosts release first and set later.
        event->object.references = 0;
        if (event->object.uses > 1) say("event %p is released and not set: what waits for it waits until it is", (void *)event);
        drop(event);
        return CL_SUCCESS;
    }
    return release(__func__, event, EVENT, CL_INVALID_EVENT);
}

cl_int clSetEventCallback(cl_event event, cl_int status, void (*notify)(cl_event, cl_int, void *), void *user_data) {
    LOCKED;
    NEED(event, EVENT, CL_INVALID_EVENT);
    if (!notify) REFUSE(CL_INVALID_VALUE, "no function to call");
    if (status != CL_COMPLETE && status != CL_RUNNING && status != CL_SUBMITTED)
        REFUSE(CL_INVALID_VALUE, "status %d is none a callback can wait for", status);
    return add_callback(event, notify, status, user_data);
}

cl_int clGetEventProfilingInfo(cl_event event, cl_profiling_info name, size_t room, void *value, size_t *size_ret) {
    LOCKED;
    NEED(event, EVENT, CL_INVALID_EVENT);
    if (name < CL_PROFILING_COMMAND_QUEUED || name > CL_PROFILING_COMMAND_END)
        REFUSE(CL_INVALID_VALUE, "there is no profiling information 0x%x", name);
    if (!event->queue || !(event->queue->properties & CL_QUEUE_PROFILING_ENABLE))
        REFUSE(CL_PROFILING_INFO_NOT_AVAILABLE, "its queue was made without profiling, or it is a user's event");
    if (event->status != CL_COMPLETE)
        REFUSE(CL_PROFILING_INFO_NOT_AVAILABLE, "it is not complete: its status is %d", event->status);
    cl_ulong time = event->times[name - CL_PROFILING_COMMAND_QUEUED];
    return answer(__func__, &time, sizeof time, room, value, size_ret);
}
