// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// The channel: the helper process, frames to it, answers, and the thread that reads what comes from it.
//
// A frame is its payload's size (u32), what it is (u32), a tag (u64) and the payload. Calls wait for a REPLY with their
// tag; commands are ended by ENDED with their event's. Where the helper ends, everything under way fails, and the next
// context starts another.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "eddy.h"

#define SOCKET_OF_HELPER 3
#define ARENA_OF_HELPER 4
#define FRAME_LIMIT (1u << 30)

extern char **environ;

struct head {
    uint32_t size, operation;
    uint64_t tag;
};

struct call {
    uint64_t tag;
    bool done;
    struct bytes *reply;
    struct call *next;
};

static struct {
    int socket;
    pid_t helper;
    uint32_t generation;
    bool alive;
    struct call *calls;
} channel = {.socket = -1};

uint64_t next_id(void) {
    static uint64_t last;
    return ++last;
}

/// Whether the helper that objects of this generation are of is there.
bool channel_lives(uint32_t generation) {
    return channel.alive && channel.generation == generation;
}

static bool write_all(const void *data, size_t size) {
    const char *at = data;
    while (size) {
        ssize_t written = send(channel.socket, at, size, MSG_NOSIGNAL);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        at += written;
        size -= (size_t)written;
    }
    return true;
}

static bool read_all(int socket, void *data, size_t size) {
    char *at = data;
    while (size) {
        ssize_t got = recv(socket, at, size, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        at += got;
        size -= (size_t)got;
    }
    return true;
}

/// Sends a frame; false where the helper is gone, which the reading thread will say to all.
bool send_frame(uint32_t operation, uint64_t tag, const struct bytes *body) {
    struct head head = {body ? (uint32_t)body->size : 0, operation, tag};
    if (!channel.alive) return false;
    return write_all(&head, sizeof head) && (!head.size || write_all(body->data, body->size));
}

static void take_reply(const struct head *head, struct bytes *body) {
    for (struct call *call = channel.calls; call; call = call->next)
        if (call->tag == head->tag) {
            *call->reply = *body;
            *body = (struct bytes){0};
            call->done = true;
            pthread_cond_broadcast(&changed);
            return;
        }
}

static void take_frame(const struct head *head, struct bytes *body) {
    struct reader reader = {body->data, body->data + body->size, false};
    if (head->operation == REPLY) take_reply(head, body);
    if (head->operation == PRINTED) {
        fwrite(body->data, 1, body->size, stdout);
        fflush(stdout);
    }
    if (head->operation == ENDED) {
        cl_int status = (cl_int)get_u32(&reader);
        cl_ulong times[4];
        for (int k = 0; k < 4; k++) times[k] = get_u64(&reader);
        char *message = get_string(&reader);
        command_ended(head->tag, reader.bad ? CL_OUT_OF_RESOURCES : status, times, message ? message : "");
        free(message);
    }
}

static bool read_frame(int socket, struct head *head, struct bytes *body) {
    if (!read_all(socket, head, sizeof *head) || head->size > FRAME_LIMIT) return false;
    body->data = malloc(head->size + 1);
    body->size = body->room = head->size;
    return body->data && read_all(socket, body->data, head->size);
}

static void channel_lost(uint32_t generation) {
    if (channel.generation != generation || !channel.alive) return;
    channel.alive = false;
    say("the helper ended; what was under way failed, and contexts made before are lost");
    for (struct call *call = channel.calls; call; call = call->next) call->done = true;
    fail_all("the helper ended");
    pthread_cond_broadcast(&changed);
    waitpid(channel.helper, NULL, WNOHANG);
}

static void *read_frames(void *argument) {
    int socket = channel.socket;
    uint32_t generation = (uint32_t)(uintptr_t)argument;
    for (;;) {
        struct head head;
        struct bytes body = {0};
        bool good = read_frame(socket, &head, &body);
        pthread_mutex_lock(&lock);
        if (good) take_frame(&head, &body);
        else channel_lost(generation);
        pthread_mutex_unlock(&lock);
        clear(&body);
        if (!good) break;
    }
    close(socket);
    return NULL;
}

static bool start_reader(uint32_t generation) {
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all); // the host's signals are its own threads'
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = !pthread_create(&thread, NULL, read_frames, (void *)(uintptr_t)generation);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started) pthread_detach(thread);
    return started;
}

/// Starts the helper: the Python that EDDY_OPENCL_PYTHON names, with the socket as file 3 and the arena as file 4.
static bool start_helper(int socket) {
    const char *python = getenv("EDDY_OPENCL_PYTHON"), *module = getenv("EDDY_OPENCL_HELPER");
    const char *log = getenv("EDDY_OPENCL_LOG");
    char *arguments[] = {(char *)(python && *python ? python : "python3"), "-m",
                         (char *)(module && *module ? module : "eddy.cli.tenant.opencl_helper"), NULL};
    bool to_file = log && *log && strcmp(log, "-");
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    if (!log || strcmp(log, "-"))
        posix_spawn_file_actions_addopen(&actions, 2, to_file ? log : "/dev/null", O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&actions, socket, SOCKET_OF_HELPER);
    posix_spawn_file_actions_adddup2(&actions, arena_file(), ARENA_OF_HELPER);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attributes, &none);
    int failed = posix_spawnp(&channel.helper, arguments[0], &actions, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (failed) say("cannot start %s: %s; `eddy opencl env` prints what to set", arguments[0], strerror(failed));
    return !failed;
}

static void before_fork(void) {
    pthread_mutex_lock(&lock);
}

static void in_parent(void) {
    pthread_mutex_unlock(&lock);
}

/// The helper, the threads and what is under way are the parent's; a new context starts a helper of the child's own.
static void in_child(void) {
    changed = (pthread_cond_t)PTHREAD_COND_INITIALIZER; // nobody waits any more
    leave_callbacks(false);
    if (channel.alive) {
        channel.alive = false;
        channel.calls = NULL; // of threads that are not here
        close(channel.socket);
        arena_leave(); // what is given back there is taken from the parent, too
        fail_all("this is a fork of the host it belongs to");
    }
    leave_callbacks(true);
    pthread_mutex_unlock(&lock);
}

static bool start_channel(void) {
    static bool watched;
    if (!watched) watched = !pthread_atfork(before_fork, in_parent, in_child);
    int pair[2];
    if (!arena_make() || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
        say("no shared memory or socket: %s", strerror(errno));
        return false;
    }
    int theirs = fcntl(pair[1], F_DUPFD_CLOEXEC, 10); // above the numbers it gets there
    close(pair[1]);
    bool started = theirs >= 0 && start_helper(theirs);
    if (theirs >= 0) close(theirs);
    if (!started) {
        close(pair[0]);
        return false;
    }
    channel.socket = pair[0];
    channel.alive = true;
    channel.generation++;
    return start_reader(channel.generation);
}

/// The generation of a helper that is there, started where need be; 0 where there is none to be had.
uint32_t channel_open(const char *function) {
    if (channel.alive || start_channel()) return channel.generation;
    refuse(function, CL_DEVICE_NOT_AVAILABLE, "there is no helper process");
    return 0;
}

/// Asks the helper and waits for its answer, without the lock; what is behind its code and message goes to `reply`.
cl_int call_helper(const char *function, uint32_t operation, struct bytes *body, struct bytes *reply) {
    struct bytes answered = {0};
    struct call call = {next_id(), false, &answered, channel.calls};
    channel.calls = &call;
    if (!send_frame(operation, call.tag, body)) call.done = true;
    while (!call.done) pthread_cond_wait(&changed, &lock);
    struct call **place = &channel.calls;
    while (*place != &call) place = &(*place)->next;
    *place = call.next;
    struct reader reader = {answered.data, answered.data + answered.size, false};
    cl_int code = (cl_int)get_u32(&reader);
    char *message = get_string(&reader);
    if (reader.bad) code = CL_DEVICE_NOT_AVAILABLE;
    if (code) refuse(function, code, "%s", message && *message ? message : "the helper is gone");
    if (reply && !reader.bad) put(reply, reader.at, (size_t)(reader.end - reader.at));
    free(message);
    clear(&answered);
    return code;
}
