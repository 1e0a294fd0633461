// SPDX-License-Identifier: BSD-3-Clause
// Stream capture: tracks which streams and events belong to a capture, refuses calls that a capture
// forbids, and turns calls into graph nodes. The graphs are in sim/graph, which begins and ends
// captures and adds the nodes.
#ifndef SIM_CAPTURE_H
#define SIM_CAPTURE_H

#include "sim/engine/stream.h"

struct event;

// A captured call: node parameters and, for a kernel, its launch attributes.
struct capture_item {
    CUgraphNodeParams params; // for an allocation node, the allocated address is returned here
    const CUlaunchAttribute *attributes;
    unsigned attribute_count;
};

// A node that the next captured node depends on. Counts as a reference to the node.
struct capture_point {
    struct sim_object *node;
    CUgraphEdgeData edge;
};

// One capture, from cuStreamBeginCapture to cuStreamEndCapture. Guarded by graph_mutex.
struct capture_sequence {
    struct capture_sequence *next; // in the list of running captures
    int references;
    uint64_t id;
    CUstreamCaptureMode mode;
    pthread_t thread;
    bool over;    // ended, or its stream was destroyed
    bool invalid; // a call that cannot be captured was made
    struct stream *origin;
    struct sim_object *graph; // counted reference
    bool graph_is_new;        // the capture created the graph
    struct captured *streams;
};

// Position in a capture: of a stream, or of an event that was recorded in a captured stream.
struct captured {
    struct captured *next; // in the list capture_sequence.streams
    struct capture_sequence *capture;
    struct stream *stream; // NULL for an event
    struct capture_point *points;
    size_t count;
    CUgraphNode *handles; // arrays that the last query returned; valid until the next query
    CUgraphEdgeData *edges;
};

// Guards all graphs and captures. A thread that holds it never waits for the GPU.
extern pthread_mutex_t graph_mutex;

// The operations of sim/graph that captures call.
struct capture_ops {
    // Adds a node to the capture's graph. The node depends on the points of CAPTURED and then
    // replaces them. The caller holds graph_mutex.
    CUresult (*add)(struct captured *captured, struct capture_item *item);
    // Frees a graph that a capture created. The caller holds graph_mutex.
    void (*give_up)(struct sim_object *graph);
};

// ---- for sim/graph; the caller holds graph_mutex ----
CUresult capture_open(struct stream *stream, CUstreamCaptureMode mode, struct sim_object *graph,
                      bool graph_is_new, const struct capture_ops *ops, struct captured **out);
// Removes all streams from the capture.
void capture_close(struct capture_sequence *capture);
void capture_invalidate(struct capture_sequence *capture);
bool capture_is_of(const struct sim_object *graph); // true while it is captured to
// Replaces the points that the next node depends on. Takes ownership of POINTS.
void captured_set_points(struct captured *captured, struct capture_point *points, size_t count);
CUresult captured_add_point(struct captured *captured, struct sim_object *node,
                            const CUgraphEdgeData *edge);
void captured_free(struct captured **captured);

// ---- for all other files ----
//
// Returns true if the stream is being captured, even if the capture has become invalid.
bool capture_contains(struct stream *stream);
// Adds the call to the graph. On failure the capture becomes invalid, and the error is 900 or
// above.
CUresult capture_add(struct stream *stream, struct capture_item *item);
// Refuses a call that cannot be captured, if the stream is captured. For the legacy default stream,
// also if the call would have to wait for a captured stream. The capture becomes invalid.
CUresult capture_refuse(struct stream *stream);
// As capture_refuse, but only for the legacy default stream.
CUresult capture_refuse_legacy(struct stream *stream);
// Refuses a wait for the whole context while one of its streams is captured.
CUresult capture_refuse_context(const struct context *context);
// Refuses a call of this thread that the modes of running captures forbid.
CUresult capture_check_unsafe(void);
CUstreamCaptureMode capture_exchange_mode(CUstreamCaptureMode mode);
// Ends the capture of a stream that is destroyed.
void capture_give_up(struct stream *stream);

// Record, or wait for, an event in a captured stream; *EVENT is the event's position in a capture.
// They set *HANDLED if the stream is captured; the caller must then queue nothing.
CUresult capture_record(struct stream *stream, struct captured **event, bool *handled);
CUresult capture_wait(struct stream *stream, struct captured **event, bool event_is_recorded,
                      bool *handled);
// Returns CAPTURED_EVENT if the event was last recorded in a running capture. SPOILS: this capture
// becomes invalid. Returns INVALID_VALUE if the capture has ended.
CUresult capture_check_event(struct captured **event, bool spoils);

#endif
