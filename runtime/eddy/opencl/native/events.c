// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Commands and their events: what waits for what, what is sent, and how it ends.
//
// A command is sent as soon as everything it waits for was sent; the helper orders what it was sent by the ids that come
// along. What is local (markers, barriers, maps without reading) ends when everything before it has; commands behind a marker
// wait for what the marker waits for, so that they need not wait here. Only user events hold back.
#include <stdlib.h>
#include <string.h>

#include "eddy.h"

static cl_event waiting, *waiting_end = &waiting; // not sent yet, oldest first
static cl_event sent_events, *sent_end = &sent_events; // sent, not ended, oldest first
static cl_ulong last_board_ns;

cl_int check_enqueue(const char *function, cl_command_queue queue, cl_uint count, const cl_event *list) {
    if (!is_live(queue, QUEUE)) return refuse(function, CL_INVALID_COMMAND_QUEUE, "%p is no queue", (void *)queue);
    if (!count != !list)
        return refuse(function, CL_INVALID_EVENT_WAIT_LIST, "a wait list of %u events at %p", count, (const void *)list);
    for (cl_uint k = 0; k < count; k++) {
        if (!is_live(list[k], EVENT))
            return refuse(function, CL_INVALID_EVENT_WAIT_LIST, "entry %u of the wait list is no event", k);
        if (list[k]->context != queue->context)
            return refuse(function, CL_INVALID_CONTEXT, "event %u of the wait list is another context's", k);
    }
    if (!channel_lives(queue->context->generation))
        return refuse(function, CL_OUT_OF_RESOURCES, "the context is lost: its helper ended");
    return CL_SUCCESS;
}

/// A command that the host does not hold yet; NULL without memory. Operation 0 is a local one.
cl_event new_command(cl_command_queue queue, cl_command_type type, uint32_t operation) {
    cl_event event = make_object(EVENT, sizeof *event);
    if (!event) return NULL;
    event->object.references = 0;
    event->object.uses = 1; // until it has ended
    event->id = next_id();
    event->context = queue->context;
    event->queue = queue;
    event->type = type;
    event->status = CL_QUEUED;
    event->operation = operation;
    event->local = !operation;
    hold(queue->context);
    hold(queue);
    return event;
}

/// Keeps an object until the command has ended.
void command_holds(cl_event command, void *object) {
    if (!object) return;
    struct object **grown = realloc(command->held, (command->held_count + 1) * sizeof *grown);
    if (!grown) abort();
    command->held = grown;
    command->held[command->held_count++] = object;
    hold(object);
}

/// Has a command wait for an event.
void waits_for(cl_event command, cl_event event) {
    if (!event || event->status == CL_COMPLETE) return;
    cl_event *grown = realloc(command->after, (command->after_count + 1) * sizeof(cl_event));
    if (!grown) abort();
    command->after = grown;
    command->after[command->after_count++] = event;
    hold(event);
}

static void give_up(cl_event event) {
    for (size_t k = 0; k < event->held_count; k++) drop(event->held[k]);
    free(event->held);
    event->held = NULL, event->held_count = 0;
    cl_event *after = event->after;
    size_t count = event->after_count;
    event->after = NULL, event->after_count = 0;
    for (size_t k = 0; k < count; k++) drop(after[k]);
    free(after);
    if (event->transfer) arena_give(event->block, event->block_size);
    event->transfer = false;
    clear(&event->frame);
}

void destroy_event(cl_event event) {
    give_up(event);
    while (event->callbacks) {
        struct callback *callback = event->callbacks;
        event->callbacks = callback->next;
        free(callback);
    }
    drop(event->queue);
    drop(event->context);
}

struct notice {
    void (*notify)(cl_event, cl_int, void *);
    cl_event event;
    cl_int status;
    void *user_data;
};

static void notify(void *argument) {
    struct notice *notice = argument;
    notice->notify(notice->event, notice->status, notice->user_data);
    pthread_mutex_lock(&lock);
    drop(notice->event);
    pthread_mutex_unlock(&lock);
    free(notice);
}

static void notify_later(cl_event event, const struct callback *callback) {
    struct notice *notice = malloc(sizeof *notice);
    if (!notice) return;
    cl_int status = event->status < 0 ? event->status : callback->status;
    *notice = (struct notice){callback->notify, event, status, callback->user_data};
    hold(event);
    call_later(notify, notice);
}

/// Calls those of an event's callbacks whose time has come.
static void call_callbacks(cl_event event) {
    struct callback **place = &event->callbacks;
    while (*place) {
        struct callback *callback = *place;
        if (event->status > callback->status) {
            place = &callback->next;
            continue;
        }
        *place = callback->next;
        notify_later(event, callback);
        free(callback);
    }
}

/// Has a function called once the event's status is this, or an error.
cl_int add_callback(cl_event event, void (*notify)(cl_event, cl_int, void *), cl_int status, void *user_data) {
    struct callback *callback = malloc(sizeof *callback);
    if (!callback) return refuse("clSetEventCallback", CL_OUT_OF_HOST_MEMORY, "no memory for a callback");
    *callback = (struct callback){notify, status, user_data, event->callbacks};
    event->callbacks = callback;
    call_callbacks(event);
    return CL_SUCCESS;
}

static void leave_queue(cl_event event) {
    if (!event->queue) return;
    cl_event *place = &event->queue->pending;
    while (*place && *place != event) place = &(*place)->next_pending;
    if (*place == event) {
        *place = event->next_pending;
        if (!*place) event->queue->pending_end = place;
    }
    if (event->queue->last == event) {
        event->queue->last = NULL;
        drop(event);
    }
}

/// An event's end: everything it held goes, and whoever waits is told. Call `advance` afterwards.
void end_event(cl_event event, cl_int status) {
    if (event->status <= 0) return;
    event->status = status;
    for (size_t k = 0; k < event->after_count; k++)
        if (!event->times[3] && event->after[k]->times[3] > event->times[2]) event->times[2] = event->after[k]->times[3];
    for (int k = 0; k < 4; k++)
        if (!event->times[k]) event->times[k] = k ? event->times[k - 1] : last_board_ns;
    if (event->times[3] > last_board_ns) last_board_ns = event->times[3];
    if (event->mapping) {
        end_mapping((cl_mem)event->held[0], event->mapping);
        event->mapping = NULL;
    }
    leave_queue(event);
    give_up(event);
    call_callbacks(event);
    pthread_cond_broadcast(&changed);
    drop(event);
}

static bool passed(const struct _cl_event *event) {
    return event->status == CL_COMPLETE || event->sent;
}

static bool failed_before(cl_event event) {
    for (size_t k = 0; k < event->explicit_count && k < event->after_count; k++)
        if (event->after[k]->status < 0) return true;
    return false;
}

/// Whether everything an event waits for was sent, or, if `ended`, has ended.
static bool ready(cl_event event, bool ended) {
    for (size_t k = 0; k < event->after_count; k++) {
        cl_event before = event->after[k];
        if (before->status > 0 && (ended || !passed(before))) return false;
    }
    return true;
}

/// The commands that an event waits for, each once: a local one stands for what it waits for itself.
static void put_ids(struct bytes *ids, cl_event event) {
    static uint64_t walks;
    cl_event last = event; // of those whose predecessors are still to be looked at, a chain through `next_walked`
    event->walk = ++walks;
    event->next_walked = NULL;
    for (; event; event = event->next_walked)
        for (size_t k = 0; k < event->after_count; k++) {
            cl_event before = event->after[k];
            if (before->status <= 0 || before->walk == walks) continue;
            before->walk = walks;
            if (!before->local) {
                put_u64(ids, before->id);
                continue;
            }
            before->next_walked = NULL;
            last = last->next_walked = before;
        }
}

static void send_command(cl_event event) {
    if (!channel_lives(event->context->generation)) {
        end_event(event, CL_OUT_OF_RESOURCES);
        return;
    }
    if (event->source) { // only now: what held it back may be the host, which fills it first
        struct geometry go = packed(&event->rows);
        copy_rows(arena_at(event->block), &go, event->source, &event->rows);
    }
    struct bytes body = {0}, ids = {0};
    put_ids(&ids, event);
    put_u64(&body, event->context->id);
    put_text(&body, ids.data, ids.size);
    put(&body, event->frame.data, event->frame.size);
    event->sent = true;
    event->status = CL_SUBMITTED;
    event->next_waiting = NULL;
    *sent_end = event;
    sent_end = &event->next_waiting;
    send_frame(event->operation, event->id, &body);
    clear(&body);
    clear(&ids);
    clear(&event->frame);
    call_callbacks(event);
}

/// What can be done with a command that waits: true where it waits no more.
static bool move_on(cl_event event) {
    if (failed_before(event)) {
        end_event(event, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
        return true;
    }
    if (!event->local) {
        if (!ready(event, false)) return false;
        send_command(event);
        return true;
    }
    if (ready(event, true)) {
        end_event(event, CL_COMPLETE);
        return true;
    }
    if (ready(event, false)) event->sent = true;
    return false;
}

/// Sends and ends what can be, until nothing more can.
void advance(void) {
    static bool inside, again;
    again = true;
    if (inside) return;
    inside = true;
    while (again) {
        again = false;
        cl_event *place = &waiting;
        while (*place) {
            cl_event event = *place, next = event->next_waiting;
            hold(event);
            bool moved = move_on(event);
            if (moved) {
                *place = next;
                if (!next) waiting_end = place;
                again = again || event->local || event->status < 0;
            } else {
                place = &event->next_waiting;
            }
            drop(event);
        }
    }
    inside = false;
}

static cl_event take_sent(uint64_t id) {
    for (cl_event *place = &sent_events; *place; place = &(*place)->next_waiting)
        if ((*place)->id == id) {
            cl_event event = *place;
            *place = event->next_waiting;
            if (!*place) sent_end = place;
            return event;
        }
    return NULL;
}

/// The helper says that a command has ended.
void command_ended(uint64_t id, cl_int status, const cl_ulong *times, const char *message) {
    cl_event event = take_sent(id);
    if (!event) return;
    if (status < 0) say("command %llu (0x%x) failed: %d: %s", (unsigned long long)id, event->type, status, message);
    memcpy(event->times, times, sizeof event->times);
    if (status == CL_COMPLETE && event->target) {
        struct geometry come = packed(&event->rows);
        copy_rows(event->target, &event->rows, arena_at(event->block), &come);
    }
    end_event(event, status < 0 ? status : CL_COMPLETE);
    advance();
}

/// The helper is gone: what it had fails, and so does what waits to be sent.
void fail_all(const char *reason) {
    while (sent_events) {
        cl_event event = take_sent(sent_events->id);
        say("command %llu (0x%x) failed: %s", (unsigned long long)event->id, event->type, reason);
        end_event(event, CL_OUT_OF_RESOURCES);
    }
    cl_event rest = waiting;
    waiting = NULL;
    waiting_end = &waiting;
    while (rest) {
        cl_event event = rest;
        rest = event->next_waiting;
        end_event(event, CL_OUT_OF_RESOURCES);
    }
}

/// Whether something is under way that will end by itself.
bool any_sent(void) {
    return sent_events != NULL;
}

cl_int wait_for(cl_event event) {
    hold(event);
    while (event->status > 0) pthread_cond_wait(&changed, &lock);
    cl_int status = event->status;
    drop(event);
    return status;
}

/// What a command waits for without being told to, `listed` events being in its wait list.
static void order_in_queue(cl_event command, cl_uint listed) {
    cl_command_queue queue = command->queue;
    bool in_order = !(queue->properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    bool barrier = command->type == CL_COMMAND_BARRIER;
    waits_for(command, queue->last);
    if (!in_order && !listed && (barrier || command->type == CL_COMMAND_MARKER))
        for (cl_event event = queue->pending; event; event = event->next_pending) waits_for(command, event);
    *queue->pending_end = command;
    queue->pending_end = &command->next_pending;
    if (!in_order && !barrier) return;
    hold(command);
    cl_event last = queue->last;
    queue->last = command;
    drop(last);
}

/// Puts a command into its queue and, if blocking, waits for its end.
cl_int submit(cl_event command, cl_uint count, const cl_event *list, cl_event *event_ret, cl_bool blocking) {
    for (cl_uint k = 0; k < count; k++) waits_for(command, list[k]);
    command->explicit_count = command->after_count;
    order_in_queue(command, count);
    if (event_ret) {
        command->object.references = 1;
        *event_ret = command;
    }
    command->next_waiting = NULL;
    *waiting_end = command;
    waiting_end = &command->next_waiting;
    hold(command);
    advance();
    cl_int status = blocking ? wait_for(command) : CL_SUCCESS;
    drop(command);
    return status > 0 ? CL_SUCCESS : status;
}
