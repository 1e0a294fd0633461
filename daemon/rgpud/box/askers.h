// SPDX-License-Identifier: BSD-3-Clause
// Connections that send one question and get one answer: on the administration socket and on the
// exporter's port. Size, time and number of connections are limited, so that monitoring cannot
// disturb sessions. A connection above the limit makes the oldest one close.
#ifndef RGPU_DAEMON_ASKERS_H
#define RGPU_DAEMON_ASKERS_H

#include <event2/buffer.h>
#include <event2/event.h>

struct askers;

struct asker_rules {
    const char *end; // terminator of a question
    size_t size_max; // maximum bytes of a question
    int seconds;     // seconds to send the question, and then to read a part of the answer
    unsigned count_max;
    // Writes the complete answer to OUT. QUESTION lacks its terminator; "" if no terminator came
    // within size_max.
    void (*answer)(void *argument, const char *question, struct evbuffer *out);
};

// Serves the listening socket FD and takes ownership of it, also on failure. Returns 0 or -ENOMEM.
int askers_open(struct event_base *base, int fd, const struct asker_rules *rules, void *argument,
                struct askers **out) __attribute__((warn_unused_result));
void askers_close(struct askers **askers);

#endif
