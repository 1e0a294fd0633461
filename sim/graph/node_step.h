// SPDX-License-Identifier: BSD-3-Clause
// What a node does: parameters that were found to be good, with everything that they point to copied,
// and the work that came of them. A step never changes, and may be run by any number of launches.
#ifndef SIM_GRAPH_NODE_STEP_H
#define SIM_GRAPH_NODE_STEP_H

#include "sim/event.h"
#include "sim/stream.h"

struct graph_memory;

// Attributes of a kernel: which are set, and to what.
struct step_attributes {
    uint32_t set;
    CUlaunchAttributeValue values[CU_LAUNCH_ATTRIBUTE_MAX];
};

struct node_step;

// Counted; *out is the caller's. `attributes` may be NULL. The codes of the driver.
CUresult step_create(const CUgraphNodeParams *params, const struct step_attributes *attributes,
                     struct node_step **out);
// For an allocation, whose memory is there already, and for its free; the memory is taken over.
CUresult step_create_memory(const CUgraphNodeParams *params, struct graph_memory *memory,
                            struct node_step **out);
struct node_step *step_hold(struct node_step *step);
void step_put(struct node_step *step);

// Borrowed, as long as the step.
const CUgraphNodeParams *step_params(const struct node_step *step);
const struct step_attributes *step_kernel_attributes(const struct node_step *step);
struct function *step_function(const struct node_step *step);
struct event *step_event(const struct node_step *step);
struct graph_memory *step_memory(const struct node_step *step);

// The context that it runs in, NULL: in none.
struct context *step_context(const struct node_step *step);
// Whether it can be launched: its context is there, and is the one that it was made in, as a primary one has many lives.
CUresult step_status(const struct node_step *step);
// Does the work, on the calling thread; nothing for nodes that are not work. The fault that its
// context is lost to. *brief: not worth a thread of its own.
CUresult step_run(const struct node_step *step, uint32_t correlation);
bool step_is_brief(const struct node_step *step);

#endif
