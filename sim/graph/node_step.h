// SPDX-License-Identifier: BSD-3-Clause
// Defines the work of a node: checked parameters, with copies of all that they point to, and the
// prepared operation. A step never changes, and any number of launches may run it.
#ifndef SIM_GRAPH_NODE_STEP_H
#define SIM_GRAPH_NODE_STEP_H

#include "sim/engine/event.h"
#include "sim/engine/stream.h"

struct graph_memory;

// Kernel attributes: the set ones and their values.
struct step_attributes {
    uint32_t set;
    CUlaunchAttributeValue values[CU_LAUNCH_ATTRIBUTE_MAX];
};

struct node_step;

// Creates a step; the caller owns a reference to *out. `attributes` may be NULL. Returns the
// driver's error codes.
CUresult step_create(const CUgraphNodeParams *params, const struct step_attributes *attributes,
                     struct node_step **out);
// Creates the step of an allocation or free and takes over `memory`.
CUresult step_create_memory(const CUgraphNodeParams *params, struct graph_memory *memory,
                            struct node_step **out);
struct node_step *step_hold(struct node_step *step);
void step_put(struct node_step *step);

// These results are borrowed and live as long as the step.
const CUgraphNodeParams *step_params(const struct node_step *step);
const struct step_attributes *step_kernel_attributes(const struct node_step *step);
struct function *step_function(const struct node_step *step);
struct event *step_event(const struct node_step *step);
struct graph_memory *step_memory(const struct node_step *step);

// Returns the context that the step runs in, or NULL.
struct context *step_context(const struct node_step *step);
// Checks that the step can be launched: its context exists and has not been reset since, as a
// primary context can be.
CUresult step_status(const struct node_step *step);
// Does the work on the calling thread, if the node has any. Returns the fault that loses the
// context. step_is_brief returns true if the work does not need a thread of its own.
CUresult step_run(const struct node_step *step, uint32_t correlation);
bool step_is_brief(const struct node_step *step);

#endif
