// SPDX-License-Identifier: BSD-3-Clause
// Streams: queues of operations that run in order within a stream and at the same time across
// streams. Each stream with work has a thread of its own; a short operation on an idle stream
// runs on the caller's thread instead.
//
// Every operation has a sequence number in its stream. An operation can wait for a number of
// another stream, which is what events, default-stream rules and synchronization are made of.
// Such waits only ever name operations that were submitted before, so they cannot form a circle.
#ifndef SIM_STREAM_H
#define SIM_STREAM_H

#include <pthread.h>

#include "sim/context.h"
#include "sim/handle.h"

struct captured;
struct operation;
struct work_note;

struct stream {
    struct sim_object object;
    struct context *context;
    unsigned flags; // CU_STREAM_NON_BLOCKING
    int priority;
    uint64_t id;
    bool legacy;
    struct stream *next; // in context->streams, under its lock
    struct stream *previous;

    pthread_mutex_t lock;
    pthread_cond_t work;     // the queue is not empty, or closing
    pthread_cond_t progress; // completed has come to `awaited`
    uint64_t awaited;        // the first that somebody waits for; 0: nobody does
    struct operation *head;
    struct operation **tail;
    uint64_t submitted;
    atomic_ullong completed; // written under the lock
    bool running;
    bool closing;
    bool has_thread;
    CUaccessPolicyWindow policy_window; // attributes: kept, and of no effect
    CUsynchronizationPolicy synchronization_policy;
    CUlaunchMemSyncDomainMap domain_map;
    CUlaunchMemSyncDomain domain;
    struct captured *captured; // its place in a capture (sim/capture.h)
};

// A point that an operation waits for. Holds a reference to the stream.
struct stream_point {
    struct stream *stream;
    uint64_t sequence;
};

struct operation {
    struct operation *next;
    uint64_t sequence;
    struct stream_point *waits;
    unsigned wait_count;
    uint32_t correlation; // of the call that submitted it, where work is noted
    bool brief;           // may run on the submitting thread when nothing is before it
    bool even_failed;     // run also when the context was lost
    // Does the work: a fault that the context is lost to, or success.
    CUresult (*run)(struct operation *operation, struct stream *stream);
    // What it is to those who ask for notes; NULL: nothing.
    void (*describe)(const struct operation *operation, struct work_note *note);
    // Frees the operation; called once after run, or in place of it. Before completion shows.
    void (*release)(struct operation *operation);
};

// Runs it, and tells those who ask what it was, for the call CORRELATION; 0: nobody asks.
CUresult operation_run(struct operation *operation, struct stream *stream, uint32_t correlation);

// Fresh operation of `size` bytes (the struct operation first), zeroed; NULL: out of memory.
void *operation_create(size_t size, CUresult (*run)(struct operation *, struct stream *),
                       void (*release)(struct operation *));
// The plain release: frees the memory.
void operation_free(struct operation *operation);
// Gives up an operation that was not submitted.
void operation_discard(struct operation *operation);
// Makes the operation wait for a point. OUT_OF_MEMORY.
CUresult operation_wait_for(struct operation *operation, struct stream *stream, uint64_t sequence);

// The nearest priority that there is.
int stream_priority(int priority);

// A stream of a context, not published.
CUresult stream_create(struct context *context, unsigned flags, int priority, struct stream **out);

// A stream by handle, to be put with object_put: NULL and the special handles mean default
// streams of the current context. INVALID_HANDLE; the context's status, if it is not sound.
CUresult stream_get(CUstream handle, struct stream **out);
// As stream_get, but also for a context that was lost.
CUresult stream_get_any(CUstream handle, struct stream **out);

// Puts the operation into the queue and owns it from then on, also on failure.
CUresult stream_submit(struct stream *stream, struct operation *operation, uint64_t *sequence);

// A stream that runs nothing and is counted on by hand: what waits for its points goes on. It has to
// come to each number that somebody may wait for, whatever happens.
uint64_t stream_promise(struct stream *stream);
void stream_advance(struct stream *stream, uint64_t sequence);

// Blocks until the stream has completed `sequence`.
void stream_wait(struct stream *stream, uint64_t sequence);
bool stream_reached(const struct stream *stream, uint64_t sequence);
uint64_t stream_submitted(struct stream *stream);
// Blocks until everything submitted so far is done.
void stream_drain(struct stream *stream);

// Takes no more work; the stream leaves its context once what it has is done.
void stream_close(struct stream *stream);

// Submits, waits, shows printed text, and returns what the context says then.
CUresult stream_run(struct stream *stream, struct operation *operation);

#endif
