// SPDX-License-Identifier: BSD-3-Clause
// Who asks this box one thing over a connection of its own and gets one answer: the administrator's socket and the
// exporter. What is read is bounded, who is slow is dropped, and one too many takes the place of the oldest: sessions must
// not suffer from who watches them, nor who watches from a crowd.
#ifndef RGPU_DAEMON_ASKERS_H
#define RGPU_DAEMON_ASKERS_H

#include <event2/buffer.h>
#include <event2/event.h>

struct askers;

struct asker_rules {
    const char *end; // of a question
    size_t size_max; // of a question, bytes
    int seconds;     // that one may take to ask, and then without reading anything
    unsigned count_max;
    // LINE is the question's first line, empty where there was no end within the bounds. What stands in OUT when this
    // returns is the whole answer.
    void (*answer)(void *argument, const char *line, struct evbuffer *out);
};

// FD listens, and is closed with the askers, or where they cannot be made: -ENOMEM.
int askers_open(struct event_base *base, int fd, const struct asker_rules *rules, void *argument,
                struct askers **out) __attribute__((warn_unused_result));
void askers_close(struct askers **askers);

#endif
