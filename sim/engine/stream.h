// SPDX-License-Identifier: BSD-3-Clause
// Implements streams: queues of operations that run in order within a stream and concurrently
// across streams. Each stream with work has its own thread; a short operation on an idle stream
// runs on the caller's thread instead.
//
// Every operation has a sequence number in its stream. An operation can wait for a number of
// another stream; events, default-stream rules and synchronization are built on this. An operation
// waits only for operations submitted before it, so waits cannot form a cycle.
#ifndef SIM_STREAM_H
#define SIM_STREAM_H

#include <pthread.h>

#include "sim/engine/context.h"
#include "sim/engine/handle.h"

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
    bool created;        // by the program, so that it takes memory
    struct stream *next; // in context->streams, under its lock
    struct stream *previous;

    pthread_mutex_t lock;
    pthread_cond_t work;     // the queue is not empty, or the stream closes
    pthread_cond_t progress; // completed has reached `awaited`
    uint64_t awaited;        // the lowest sequence that a thread waits for; 0: none
    struct operation *head;
    struct operation **tail;
    uint64_t submitted;
    atomic_ullong completed; // written under the lock
    bool running;
    bool closing;
    bool has_thread;
    CUaccessPolicyWindow policy_window; // attributes, stored without effect
    CUsynchronizationPolicy synchronization_policy;
    CUlaunchMemSyncDomainMap domain_map;
    CUlaunchMemSyncDomain domain;
    struct captured *captured; // its position in a capture (sim/engine/capture.h)
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
    uint32_t correlation; // of the submitting call, if work is noted
    bool brief;           // may run on the submitting thread if no operation is before it
    bool even_failed;     // run also when the context was lost
    // Does the work. Returns the fault that loses the context, or CUDA_SUCCESS.
    CUresult (*run)(struct operation *operation, struct stream *stream);
    // Describes the operation for activity records. NULL: it has no record.
    void (*describe)(const struct operation *operation, struct work_note *note);
    // Frees the operation before its completion shows. Called once, after run or instead of it.
    void (*release)(struct operation *operation);
};

// Runs the operation and records it for the call CORRELATION, unless CORRELATION is 0.
CUresult operation_run(struct operation *operation, struct stream *stream, uint32_t correlation);

// Returns a new zeroed operation of `size` bytes (the struct operation first), or NULL.
void *operation_create(size_t size, CUresult (*run)(struct operation *, struct stream *),
                       void (*release)(struct operation *));
// Frees the memory of an operation; the default for `release`.
void operation_free(struct operation *operation);
// Releases an operation that was not submitted.
void operation_discard(struct operation *operation);
// Makes the operation wait for a point. Returns OUT_OF_MEMORY.
CUresult operation_wait_for(struct operation *operation, struct stream *stream, uint64_t sequence);

// Returns the nearest valid priority.
int stream_priority(int priority);

// Creates a stream of a context and does not publish it.
CUresult stream_create(struct context *context, unsigned flags, int priority, struct stream **out);

// Looks up a stream; the caller calls object_put. NULL and the special handles mean default streams
// of the current context. Returns INVALID_HANDLE, or the context's status if it has a fault.
CUresult stream_get(CUstream handle, struct stream **out);
// Does the same, also for a context with a fault.
CUresult stream_get_any(CUstream handle, struct stream **out);

// Queues the operation and takes it over, even on failure.
CUresult stream_submit(struct stream *stream, struct operation *operation, uint64_t *sequence);

// Count by hand on a stream that runs nothing; stream_advance releases the operations that wait for
// its points. The caller must reach each promised number in every case.
uint64_t stream_promise(struct stream *stream);
void stream_advance(struct stream *stream, uint64_t sequence);

// Blocks until the stream has completed `sequence`.
void stream_wait(struct stream *stream, uint64_t sequence);
bool stream_reached(const struct stream *stream, uint64_t sequence);
uint64_t stream_submitted(struct stream *stream);
// Blocks until all operations submitted so far are done.
void stream_drain(struct stream *stream);

// Refuses new work. The stream leaves its context when its queue is empty.
void stream_close(struct stream *stream);

// Submits, waits, prints the output of kernels, and returns the context's status.
CUresult stream_run(struct stream *stream, struct operation *operation);

#endif
