// SPDX-License-Identifier: BSD-3-Clause
#include "sim/graph/exec_plan.h"

#include <stdlib.h>
#include <string.h>

#include "sim/graph/condition.h"

struct making {
    struct exec_plan *root;
    struct node *error;
    CUgraphInstantiateResult reason;
};

static CUresult blame(struct making *making, struct node *node, CUgraphInstantiateResult reason,
                      CUresult result)
{
    making->error = node;
    making->reason = reason;
    return result;
}

static void free_nodes(struct exec_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        struct exec_plan_node *node = &plan->nodes[i];
        step_put(node->step);
        for (unsigned part = 0; part < node->part_count; part++) {
            free_nodes(node->parts[part]);
            free(node->parts[part]);
        }
        if (node->line)
            object_put(&node->line->object);
        free(node->parts);
        free(node->after);
        free(node->data);
    }
    free(plan->nodes);
    free(plan->slots);
}

struct exec_plan *exec_plan_hold(struct exec_plan *plan)
{
    atomic_fetch_add(&plan->references, 1);
    return plan;
}

void exec_plan_put(struct exec_plan *plan)
{
    if (!plan || atomic_fetch_sub(&plan->references, 1) != 1)
        return;
    free_nodes(plan);
    free(plan);
}

static struct exec_plan *exec_plan_new(size_t count)
{
    struct exec_plan *plan = calloc(1, sizeof(*plan));
    if (!plan)
        return NULL;
    atomic_init(&plan->references, 1);
    plan->nodes = calloc(count ? count : 1, sizeof(struct exec_plan_node));
    if (!plan->nodes) {
        free(plan);
        return NULL;
    }
    return plan;
}

// Adds a slot for each condition. A condition has its own value in each executable graph, used or
// not.
static CUresult add_slots(struct making *making, const struct graph *graph)
{
    struct exec_plan *root = making->root;
    for (const struct graph_condition *c = graph->conditions; c; c = c->next) {
        if (!c->used)
            return blame(making, NULL, CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED,
                         CUDA_ERROR_INVALID_VALUE);
        struct exec_plan_slot *slots =
            realloc(root->slots, (root->slot_count + 1) * sizeof(*slots));
        SIM_RETURN_IF(!slots, CUDA_ERROR_OUT_OF_MEMORY);
        root->slots = slots;
        slots[root->slot_count++] =
            (struct exec_plan_slot){c->handle, c->value, c->flags & CU_GRAPH_COND_ASSIGN_DEFAULT};
    }
    return CUDA_SUCCESS;
}

static unsigned slot_of(const struct exec_plan *root, uint64_t handle)
{
    for (unsigned i = 0; i < root->slot_count; i++)
        if (root->slots[i].handle == handle)
            return i;
    return NO_SLOT;
}

static CUresult add_edges(struct exec_plan_node *to, const struct node *from)
{
    size_t count = from->after.count;
    to->before_count = from->before.count;
    to->after = calloc(count ? count : 1, sizeof(size_t));
    to->data = calloc(count ? count : 1, sizeof(CUgraphEdgeData));
    SIM_RETURN_IF(!to->after || !to->data, CUDA_ERROR_OUT_OF_MEMORY);
    for (size_t i = 0; i < count; i++) {
        to->after[i] = from->after.items[i].node->place;
        to->data[i] = from->after.items[i].data;
    }
    to->after_count = count;
    return CUDA_SUCCESS;
}

static CUresult exec_plan_add_event(struct making *making, struct exec_plan_node *node)
{
    node->event = making->root->event_count++;
    if (step_params(node->step)->type != CU_GRAPH_NODE_TYPE_EVENT_RECORD)
        return CUDA_SUCCESS;
    SIM_TRY(stream_create(event_context(step_event(node->step)), CU_STREAM_NON_BLOCKING, 0,
                          &node->line));
    stream_close(node->line); // takes no work, so the context does not list it
    return CUDA_SUCCESS;
}

static CUresult fill_plan(struct making *making, struct graph *graph, struct exec_plan *plan);

static CUresult add_parts(struct making *making, struct exec_plan_node *to, const struct node *from)
{
    if (!from->part_count)
        return CUDA_SUCCESS;
    to->parts = calloc(from->part_count, sizeof(struct exec_plan *));
    SIM_RETURN_IF(!to->parts, CUDA_ERROR_OUT_OF_MEMORY);
    for (unsigned i = 0; i < from->part_count; i++) {
        struct exec_plan *part = exec_plan_new(from->parts[i]->node_count);
        SIM_RETURN_IF(!part, CUDA_ERROR_OUT_OF_MEMORY);
        to->parts[to->part_count++] = part;
        SIM_TRY(fill_plan(making, from->parts[i], part));
    }
    return CUDA_SUCCESS;
}

static CUresult exec_plan_add_node(struct making *making, struct exec_plan *plan, struct node *node)
{
    struct exec_plan_node *made = &plan->nodes[plan->count++];
    const CUgraphNodeParams *params = step_params(node->step);
    made->step = step_hold(node->step);
    made->handle = node_handle(node);
    made->id = node->id;
    made->enabled = true;
    made->slot = NO_SLOT;
    if (step_event(node->step))
        SIM_TRY(exec_plan_add_event(making, made));
    if (params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
        made->slot = slot_of(making->root, params->conditional.handle);
    CUresult status = step_status(node->step);
    if (status)
        return blame(making, node, CUDA_GRAPH_INSTANTIATE_ERROR, status);
    SIM_TRY(add_edges(made, node));
    return add_parts(making, made, node);
}

static CUresult fill_plan(struct making *making, struct graph *graph, struct exec_plan *plan)
{
    CUresult result;
    SIM_TRY(add_slots(making, graph));
    struct node **order = edge_order(graph, &result);
    if (!order)
        return blame(making, NULL,
                     result == CUDA_ERROR_INVALID_VALUE ? CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE
                                                        : CUDA_GRAPH_INSTANTIATE_ERROR,
                     result);
    for (size_t i = 0; i < graph->node_count; i++)
        order[i]->place = i;
    for (size_t i = 0; !result && i < graph->node_count; i++)
        result = exec_plan_add_node(making, plan, order[i]);
    free(order);
    return result;
}

CUresult exec_plan_create(struct graph *graph, struct exec_plan **out, struct node **error,
                          CUgraphInstantiateResult *reason)
{
    struct making making = {.root = exec_plan_new(graph->node_count),
                            .reason = CUDA_GRAPH_INSTANTIATE_ERROR};
    SIM_RETURN_IF(!making.root, CUDA_ERROR_OUT_OF_MEMORY);
    CUresult result = fill_plan(&making, graph, making.root);
    *error = result ? making.error : NULL;
    *reason = result ? making.reason : CUDA_GRAPH_INSTANTIATE_SUCCESS;
    if (result)
        exec_plan_put(making.root);
    else
        *out = making.root;
    return result;
}

static CUresult copy_nodes(const struct exec_plan *from, struct exec_plan *to);

static CUresult copy_node(const struct exec_plan_node *from, struct exec_plan_node *to)
{
    size_t count = from->after_count ? from->after_count : 1;
    *to = *from;
    step_hold(to->step);
    if (to->line)
        object_hold(&to->line->object);
    to->part_count = 0;
    to->parts = from->part_count ? calloc(from->part_count, sizeof(struct exec_plan *)) : NULL;
    to->after = malloc(count * sizeof(size_t));
    to->data = malloc(count * sizeof(CUgraphEdgeData));
    SIM_RETURN_IF(!to->after || !to->data || (from->part_count && !to->parts),
                  CUDA_ERROR_OUT_OF_MEMORY);
    memcpy(to->after, from->after, from->after_count * sizeof(size_t));
    memcpy(to->data, from->data, from->after_count * sizeof(CUgraphEdgeData));
    for (unsigned i = 0; i < from->part_count; i++) {
        struct exec_plan *part = exec_plan_new(from->parts[i]->count);
        SIM_RETURN_IF(!part, CUDA_ERROR_OUT_OF_MEMORY);
        to->parts[to->part_count++] = part;
        SIM_TRY(copy_nodes(from->parts[i], part));
    }
    return CUDA_SUCCESS;
}

static CUresult copy_nodes(const struct exec_plan *from, struct exec_plan *to)
{
    for (size_t i = 0; i < from->count; i++)
        SIM_TRY(copy_node(&from->nodes[i], &to->nodes[to->count++]));
    return CUDA_SUCCESS;
}

CUresult exec_plan_copy(const struct exec_plan *plan, struct exec_plan **out)
{
    struct exec_plan *copy = exec_plan_new(plan->count);
    SIM_RETURN_IF(!copy, CUDA_ERROR_OUT_OF_MEMORY);
    copy->event_count = plan->event_count;
    copy->slot_count = plan->slot_count;
    copy->slots = malloc((plan->slot_count + 1) * sizeof(*copy->slots));
    CUresult result = copy->slots ? copy_nodes(plan, copy) : CUDA_ERROR_OUT_OF_MEMORY;
    if (result) {
        exec_plan_put(copy);
        return result;
    }
    if (plan->slot_count)
        memcpy(copy->slots, plan->slots, plan->slot_count * sizeof(*copy->slots));
    *out = copy;
    return CUDA_SUCCESS;
}

struct exec_plan_node *exec_plan_find(struct exec_plan *plan, uint64_t id)
{
    struct exec_plan_node *found = NULL;
    for (size_t i = 0; i < plan->count && !found; i++) {
        if (plan->nodes[i].id == id)
            return &plan->nodes[i];
        for (unsigned part = 0; part < plan->nodes[i].part_count && !found; part++)
            found = exec_plan_find(plan->nodes[i].parts[part], id);
    }
    return found;
}

void exec_plan_set_step(struct exec_plan_node *node, struct node_step *step)
{
    step_put(node->step);
    node->step = step;
}

CUresult exec_plan_visit(struct exec_plan *plan, exec_plan_visitor visit, void *opaque)
{
    for (size_t i = 0; i < plan->count; i++) {
        SIM_TRY(visit(&plan->nodes[i], opaque));
        for (unsigned part = 0; part < plan->nodes[i].part_count; part++)
            SIM_TRY(exec_plan_visit(plan->nodes[i].parts[part], visit, opaque));
    }
    return CUDA_SUCCESS;
}
