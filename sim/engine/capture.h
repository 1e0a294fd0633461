// SPDX-License-Identifier: BSD-3-Clause
// Implements stream capture for the streams: which streams and events belong to a capture, which
// calls are refused meanwhile, and how a call becomes a graph node instead of work. sim/graph holds
// the graphs; it begins and ends captures and adds the nodes.
#ifndef SIM_CAPTURE_H
#define SIM_CAPTURE_H

#include "sim/engine/stream.h"

struct event;

// The work that a captured call stands for: node parameters and, for a kernel, its launch
// attributes.
struct capture_item {
    CUgraphNodeParams params; // an allocation's address is returned in it
    const CUlaunchAttribute *attributes;
    unsigned attribute_count;
};

// A node that the next captured node depends on. Holds a reference to the node.
struct capture_point {
    struct sim_object *node;
    CUgraphEdgeData edge;
};

// A sequence of captured calls, from its begin in one stream to its end there. Guarded by
// graph_mutex.
struct capture_sequence {
    struct capture_sequence *next; // in the list of captures in progress
    int references;
    uint64_t id;
    CUstreamCaptureMode mode;
    pthread_t thread;
    bool over;    // ended, or abandoned because its stream was destroyed
    bool invalid; // a call that cannot be captured was made
    struct stream *origin;
    struct sim_object *graph; // counted
    bool graph_is_new;        // created by the capture, not by the program
    struct captured *streams;
};

// The position of a stream in a capture, or of an event that was recorded in it.
struct captured {
    struct captured *next; // in the capture's list of streams
    struct capture_sequence *capture;
    struct stream *stream; // NULL for an event
    struct capture_point *points;
    size_t count;
    CUgraphNode *handles; // last list returned to the program, valid until its next query
    CUgraphEdgeData *edges;
};

// Guards all graphs and captures. Its holders never wait for the GPU.
extern pthread_mutex_t graph_mutex;

// The operations of sim/graph that captures call.
struct capture_ops {
    // Adds a node to the capture's graph after the stream's points; the node becomes the only
    // point. Called under graph_mutex.
    CUresult (*add)(struct captured *captured, struct capture_item *item);
    // Drops a graph that the capture created. Called under graph_mutex.
    void (*give_up)(struct sim_object *graph);
};

// ---- for sim/graph, under graph_mutex ----
CUresult capture_open(struct stream *stream, CUstreamCaptureMode mode, struct sim_object *graph,
                      bool graph_is_new, const struct capture_ops *ops, struct captured **out);
// Removes all streams from the capture.
void capture_close(struct capture_sequence *capture);
void capture_invalidate(struct capture_sequence *capture);
bool capture_is_of(const struct sim_object *graph); // in progress
// Replaces the points that the next node depends on. Takes over `points`.
void captured_set_points(struct captured *captured, struct capture_point *points, size_t count);
CUresult captured_add_point(struct captured *captured, struct sim_object *node,
                            const CUgraphEdgeData *edge);
void captured_free(struct captured **captured);

// ---- for all other files ----
//
// Returns true if the stream is being captured, even if the capture is invalid.
bool capture_contains(struct stream *stream);
// Adds the call to the graph. On failure returns an error of 900 or above, and the capture becomes
// invalid.
CUresult capture_add(struct stream *stream, struct capture_item *item);
// Refuses a call on a stream that cannot be captured. For the legacy stream, also refuses a call
// that would have to include streams being captured. Invalidates the capture.
CUresult capture_refuse(struct stream *stream);
// Does the same as capture_refuse, for the legacy stream only.
CUresult capture_refuse_legacy(struct stream *stream);
// Refuses a wait for the whole context while one of its streams is captured.
CUresult capture_refuse_context(const struct context *context);
// Refuses a call of this thread that could disturb a capture in progress.
CUresult capture_check_unsafe(void);
CUstreamCaptureMode capture_exchange_mode(CUstreamCaptureMode mode);
// Ends the capture of a stream that is being destroyed.
void capture_give_up(struct stream *stream);

// Handle events during capture; the event's position in a capture lies at *event. They set *handled
// if the stream is captured, so that the caller queues nothing.
CUresult capture_record(struct stream *stream, struct captured **event, bool *handled);
CUresult capture_wait(struct stream *stream, struct captured **event, bool event_is_recorded,
                      bool *handled);
// Returns CAPTURED_EVENT if the event was last recorded in a capture in progress, which becomes
// invalid if `spoils` is set. Returns INVALID_VALUE if that capture is over.
CUresult capture_check_event(struct captured **event, bool spoils);

#endif
