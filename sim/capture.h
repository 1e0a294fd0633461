// SPDX-License-Identifier: BSD-3-Clause
// Stream capture as the streams see it: which streams and events are part of one, what may not be done
// meanwhile, and how a call becomes a node of a graph instead of work. The graphs themselves are in
// sim/graph, which begins and ends captures and adds the nodes.
#ifndef SIM_CAPTURE_H
#define SIM_CAPTURE_H

#include "sim/stream.h"

struct event;

// What a call would have queued: a node, and of a kernel its launch attributes.
struct capture_item {
    CUgraphNodeParams params; // of an allocation, the address comes back in it
    const CUlaunchAttribute *attributes;
    unsigned attribute_count;
};

// A node that the next one depends on. The node is counted.
struct capture_point {
    struct sim_object *node;
    CUgraphEdgeData edge;
};

// A sequence of captured calls, from its begin in one stream to its end there. All of it is guarded
// by graph_mutex.
struct capture_sequence {
    struct capture_sequence *next; // of those in progress
    int references;
    uint64_t id;
    CUstreamCaptureMode mode;
    pthread_t thread;
    bool over;    // ended, or given up with its stream
    bool invalid; // something was done that cannot be captured
    struct stream *origin;
    struct sim_object *graph; // counted
    bool graph_is_new;        // and not one of the program's
    struct captured *streams;
};

// The place of a stream in a capture, or of an event that was recorded there.
struct captured {
    struct captured *next; // of the capture's streams
    struct capture_sequence *capture;
    struct stream *stream; // NULL: an event's
    struct capture_point *points;
    size_t count;
    CUgraphNode *handles; // as last told the program; its until it asks again
    CUgraphEdgeData *edges;
};

// Guards all graphs and captures. Nothing waits for the GPU under it.
extern pthread_mutex_t graph_mutex;

// What the graphs do for captures.
struct capture_ops {
    // Under graph_mutex: a new node of the capture's graph behind the stream's points, which it
    // becomes the only one of.
    CUresult (*add)(struct captured *captured, struct capture_item *item);
    // The same: a graph that was new is not wanted any more.
    void (*give_up)(struct sim_object *graph);
};

// --- for sim/graph, under graph_mutex
CUresult capture_open(struct stream *stream, CUstreamCaptureMode mode, struct sim_object *graph,
                      bool graph_is_new, const struct capture_ops *ops, struct captured **out);
// All streams leave the capture.
void capture_close(struct capture_sequence *capture);
void capture_invalidate(struct capture_sequence *capture);
bool capture_is_of(const struct sim_object *graph); // that is in progress
// Makes `points` what the next node depends on; they are taken over.
void captured_set_points(struct captured *captured, struct capture_point *points, size_t count);
CUresult captured_add_point(struct captured *captured, struct sim_object *node,
                            const CUgraphEdgeData *edge);
void captured_free(struct captured **captured);

// --- for everybody else
// Whether the stream is being captured, soundly or not.
bool capture_contains(struct stream *stream);
// Puts the call into the graph: 900 and more, after which the capture is invalid.
CUresult capture_add(struct stream *stream, struct capture_item *item);
// The stream is asked for something that cannot be captured, or the legacy stream for something that
// streams being captured would have to take part in: the capture is invalid then.
CUresult capture_refuse(struct stream *stream);
// The same for the legacy stream alone.
CUresult capture_refuse_legacy(struct stream *stream);
// The context as a whole is to be waited for.
CUresult capture_refuse_context(const struct context *context);
// A call that could disturb a capture in progress is made by this thread.
CUresult capture_check_unsafe(void);
CUstreamCaptureMode capture_exchange_mode(CUstreamCaptureMode mode);
// The stream ends, and its capture with it.
void capture_give_up(struct stream *stream);

// An event's part, which lies at *event. *handled: in a capture, so that there is nothing to queue.
CUresult capture_record(struct stream *stream, struct captured **event, bool *handled);
CUresult capture_wait(struct stream *stream, struct captured **event, bool event_is_recorded,
                      bool *handled);
// CAPTURED_EVENT: it was last recorded in a capture, which this spoils or not; INVALID_VALUE: in one that
// is over.
CUresult capture_check_event(struct captured **event, bool spoils);

#endif
