// SPDX-License-Identifier: BSD-3-Clause
// Step: the work of a node, that is, checked parameters, copies of everything that they point to,
// and a prepared operation. A step never changes and can run any number of times.
#ifndef SIM_GRAPH_NODE_STEP_H
#define SIM_GRAPH_NODE_STEP_H

#include "sim/engine/event.h"
#include "sim/engine/stream.h"

struct graph_memory;

// Kernel attributes: `set` is a bit mask of those with a value.
struct step_attributes {
    uint32_t set;
    CUlaunchAttributeValue values[CU_LAUNCH_ATTRIBUTE_MAX];
};

struct node_step;

// Creates a step with one reference. `attributes` may be NULL. Returns the driver's error codes.
CUresult step_create(const CUgraphNodeParams *params, const struct step_attributes *attributes,
                     struct node_step **out);
// Creates the step of an allocation or free. Takes ownership of a reference to `memory`.
CUresult step_create_memory(const CUgraphNodeParams *params, struct graph_memory *memory,
                            struct node_step **out);
struct node_step *step_hold(struct node_step *step);
void step_put(struct node_step *step);

// These results are valid as long as the step.
const CUgraphNodeParams *step_params(const struct node_step *step);
const struct step_attributes *step_kernel_attributes(const struct node_step *step);
struct function *step_function(const struct node_step *step);
struct event *step_event(const struct node_step *step);
struct graph_memory *step_memory(const struct node_step *step);

// Returns the context in which the step runs, or NULL.
struct context *step_context(const struct node_step *step);
// Returns an error if the step's context is destroyed or was reset since the step was created.
CUresult step_status(const struct node_step *step);
// step_run executes the step on the calling thread and returns a fault of the context.
// step_is_brief returns true if the step takes so little time that it needs no thread of its own.
CUresult step_run(const struct node_step *step, uint32_t correlation);
bool step_is_brief(const struct node_step *step);

#endif
