// SPDX-License-Identifier: BSD-3-Clause
// Serves connections that ask one question and get one answer: those of the administrator's socket
// and of the exporter. The question's size, the time and the number of connections are bounded, so
// that monitoring cannot disturb sessions. A new connection beyond the limit closes the oldest.
#ifndef RGPU_DAEMON_ASKERS_H
#define RGPU_DAEMON_ASKERS_H

#include <event2/buffer.h>
#include <event2/event.h>

struct askers;

struct asker_rules {
    const char *end; // terminator of a question
    size_t size_max; // largest question, bytes
    int seconds;     // time to ask, and then time in which the peer must read something
    unsigned count_max;
    // QUESTION is without its terminator; it is empty if there is none within the limit. OUT holds
    // the whole answer when this returns.
    void (*answer)(void *argument, const char *question, struct evbuffer *out);
};

// Serves the listening socket FD and takes ownership of it, also on failure. Returns 0 or -ENOMEM.
int askers_open(struct event_base *base, int fd, const struct asker_rules *rules, void *argument,
                struct askers **out) __attribute__((warn_unused_result));
void askers_close(struct askers **askers);

#endif
