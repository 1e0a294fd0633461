// SPDX-License-Identifier: BSD-3-Clause
// Streams: queues of operations that run in order within a stream, and concurrently with other
// streams. A stream with work has a thread; a short operation in an idle stream runs on the
// caller's thread instead.
//
// Operations of a stream are numbered. An operation can wait until another stream completes a
// number; events, default streams and synchronization use this. The number must be of an operation
// submitted earlier, so waits cannot form a cycle.
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
    bool created;        // created by the program, so its memory is charged
    struct stream *next; // links of context->streams, guarded by the context's lock
    struct stream *previous;

    pthread_mutex_t lock;
    pthread_cond_t work;     // signalled when the queue is not empty, or the stream closes
    pthread_cond_t progress; // signalled when `completed` reaches `awaited`
    uint64_t awaited;        // lowest number that a thread waits for; 0: none
    struct operation *head;
    struct operation **tail;
    uint64_t submitted;
    atomic_ullong completed; // written with `lock` held
    bool running;
    bool closing;
    bool has_thread;
    CUaccessPolicyWindow policy_window; // attributes without effect
    CUsynchronizationPolicy synchronization_policy;
    CUlaunchMemSyncDomainMap domain_map;
    CUlaunchMemSyncDomain domain;
    struct captured *captured; // position in a capture (capture.h), or NULL
};

// Completion of an operation of a stream. Counts as a reference to the stream.
struct stream_point {
    struct stream *stream;
    uint64_t sequence;
};

struct operation {
    struct operation *next;
    uint64_t sequence;
    struct stream_point *waits;
    unsigned wait_count;
    uint32_t correlation; // CUPTI correlation id of the submitting call; 0: no record
    bool brief;           // may run on the submitting thread if the stream is idle
    bool even_failed;     // runs even if the context has a fault
    // Executes the operation. Returns CUDA_SUCCESS or a fault of the context.
    CUresult (*run)(struct operation *operation, struct stream *stream);
    // Describes the operation for activity records. NULL: the operation has none.
    void (*describe)(const struct operation *operation, struct work_note *note);
    // Frees the operation, before its number counts as completed. Called once, even if run was not.
    void (*release)(struct operation *operation);
};

// Calls run, and creates the activity record unless CORRELATION is 0.
CUresult operation_run(struct operation *operation, struct stream *stream, uint32_t correlation);

// Returns a zeroed operation of `size` bytes, which begins with a struct operation, or NULL.
void *operation_create(size_t size, CUresult (*run)(struct operation *, struct stream *),
                       void (*release)(struct operation *));
// Frees the memory of an operation; the default for `release`.
void operation_free(struct operation *operation);
// Frees an operation that was not submitted.
void operation_discard(struct operation *operation);
// Makes the operation wait until STREAM completes SEQUENCE. Returns OUT_OF_MEMORY.
CUresult operation_wait_for(struct operation *operation, struct stream *stream, uint64_t sequence);

// Returns the nearest valid priority.
int stream_priority(int priority);

// Creates a stream without a handle.
CUresult stream_create(struct context *context, unsigned flags, int priority, struct stream **out);

// Returns the stream of a handle with a new reference; the caller calls object_put. NULL and the
// special handles stand for default streams of the current context. Returns INVALID_HANDLE, or the
// fault of the context.
CUresult stream_get(CUstream handle, struct stream **out);
// As stream_get, but accepts a context with a fault.
CUresult stream_get_any(CUstream handle, struct stream **out);

// Queues the operation and takes ownership, even on failure.
CUresult stream_submit(struct stream *stream, struct operation *operation, uint64_t *sequence);

// For a stream without operations: stream_promise returns the next number, and stream_advance
// completes it. Every promised number must be completed.
uint64_t stream_promise(struct stream *stream);
void stream_advance(struct stream *stream, uint64_t sequence);

// Blocks until the stream has completed `sequence`.
void stream_wait(struct stream *stream, uint64_t sequence);
bool stream_reached(const struct stream *stream, uint64_t sequence);
uint64_t stream_submitted(struct stream *stream);
// Blocks until all operations submitted so far are done.
void stream_drain(struct stream *stream);

// Makes the stream reject new work. The stream leaves its context once its queue is empty.
void stream_close(struct stream *stream);

// Queues the operation, waits for it, prints kernels' output, and returns the context's fault.
CUresult stream_run(struct stream *stream, struct operation *operation);

#endif
