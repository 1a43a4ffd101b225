// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// The host's callbacks, called one after the other by a thread of their own, which holds no lock: they may call OpenCL.
#include <signal.h>
#include <stdlib.h>

#include "eddy.h"

struct waiting {
    void (*function)(void *);
    void *argument;
    struct waiting *next;
};

static struct waiting *first, *last;
static pthread_cond_t some = PTHREAD_COND_INITIALIZER;
static bool started;

static void *run(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!first) pthread_cond_wait(&some, &lock);
        struct waiting *next = first;
        first = next->next;
        pthread_mutex_unlock(&lock);
        next->function(next->argument);
        free(next);
        pthread_mutex_lock(&lock);
    }
    return NULL;
}

/// In a forked child: what is to be called is the parent's. Before what was under way fails, and once more afterwards.
void leave_callbacks(bool failed) {
    some = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    while (first) {
        struct waiting *next = first;
        first = next->next;
        free(next);
    }
    started = !failed; // no thread is begun meanwhile
}

/// Has the function called soon, without the lock.
void call_later(void (*function)(void *), void *argument) {
    struct waiting *made = malloc(sizeof *made);
    if (!made) return;
    *made = (struct waiting){function, argument, NULL};
    if (first) last->next = made;
    else first = made;
    last = made;
    if (!started) {
        pthread_t thread;
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        started = !pthread_create(&thread, NULL, run, NULL);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (started) pthread_detach(thread);
    }
    pthread_cond_signal(&some);
}
