// SPDX-License-Identifier: BSD-3-Clause
// Runs plans on the thread of the launch's stream, and on additional threads if several long nodes
// can run at once.
#include <signal.h>
#include <stdlib.h>

#include "sim/graph/exec_graph.h"
#include "sim/graph/graph_memory.h"
#include "sim/code/launch.h"

#define MOST_HELPERS 64

struct run_frame {
    struct graph_launch *launch;
    const struct exec_plan *plan;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t *waiting; // number of unfinished dependencies of each node
    size_t *queue;   // nodes that are ready to run, in order
    size_t first, last;
    size_t left; // nodes that have not run
    unsigned busy, idle;
    unsigned helper_count;
    pthread_t helpers[MOST_HELPERS];
    CUresult fault;
};

void launch_set_condition(void *opaque, uint64_t handle, unsigned value)
{
    struct graph_launch *launch = opaque;
    for (unsigned i = 0; i < launch->plan->slot_count; i++)
        if (launch->plan->slots[i].handle == handle)
            atomic_store(&launch->exec->values[i], value);
}

static CUresult run_condition(struct graph_launch *launch, const struct exec_plan_node *node)
{
    const CUDA_CONDITIONAL_NODE_PARAMS *params = &step_params(node->step)->conditional;
    atomic_uint *value = &launch->exec->values[node->slot];
    unsigned now = atomic_load(value);
    switch (params->type) {
    case CU_GRAPH_COND_TYPE_IF:
        now = now ? 0 : 1;
        return now < node->part_count ? run_plan(launch, node->parts[now]) : CUDA_SUCCESS;
    case CU_GRAPH_COND_TYPE_SWITCH:
        return now < node->part_count ? run_plan(launch, node->parts[now]) : CUDA_SUCCESS;
    case CU_GRAPH_COND_TYPE_WHILE:
        while (atomic_load(value)) {
            SIM_TRY(run_plan(launch, node->parts[0]));
            SIM_TRY(context_status(launch->context));
        }
    }
    return CUDA_SUCCESS;
}

static CUresult run_node(struct graph_launch *launch, const struct exec_plan_node *node)
{
    struct record *record;
    switch (step_params(node->step)->type) {
    case CU_GRAPH_NODE_TYPE_GRAPH: return run_plan(launch, node->parts[0]);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: return run_condition(launch, node);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        record = atomic_exchange(&launch->records[node->event], NULL);
        if (record)
            event_finish_record(record);
        return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        event_await_record(atomic_exchange(&launch->records[node->event], NULL));
        return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        memory_claim_open(launch->claim, step_memory(node->step));
        return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        graph_memory_close(step_memory(node->step));
        return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_KERNEL:
    case CU_GRAPH_NODE_TYPE_MEMCPY:
    case CU_GRAPH_NODE_TYPE_MEMSET:
    case CU_GRAPH_NODE_TYPE_HOST:
    case CU_GRAPH_NODE_TYPE_EMPTY:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: break;
    }
    return node->enabled ? step_run(node->step, launch->operation.correlation) : CUDA_SUCCESS;
}

static bool worth_a_thread(const struct exec_plan_node *node)
{
    switch (step_params(node->step)->type) {
    case CU_GRAPH_NODE_TYPE_GRAPH:
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return true;
    default: return node->enabled && !step_is_brief(node->step);
    }
}

static void *run_plan_help(void *frame);

// Starts helpers; the caller runs one of the nodes itself. Called under the lock.
static void call_helpers(struct run_frame *frame)
{
    size_t worth = 0;
    for (size_t i = frame->first; i < frame->last; i++)
        worth += worth_a_thread(&frame->plan->nodes[frame->queue[i]]);
    size_t hands = frame->idle + 1;
    for (; worth > hands && frame->helper_count < MOST_HELPERS; hands++) {
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        int error =
            pthread_create(&frame->helpers[frame->helper_count], NULL, run_plan_help, frame);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (error)
            break; // the running threads suffice
        frame->helper_count++;
    }
    if (frame->idle)
        pthread_cond_broadcast(&frame->changed);
}

// Finishes a node. Called under the lock.
static void finish_node(struct run_frame *frame, const struct exec_plan_node *node, CUresult fault)
{
    frame->busy--;
    frame->left--;
    if (fault && !frame->fault) {
        frame->fault = fault;
        launch_finish_records(frame->launch);
    }
    for (size_t i = 0; i < node->after_count && !frame->fault; i++)
        if (!--frame->waiting[node->after[i]])
            frame->queue[frame->last++] = node->after[i];
    if (!frame->left || frame->fault)
        pthread_cond_broadcast(&frame->changed);
    else if (frame->last > frame->first + 1)
        call_helpers(frame);
}

static void work(struct run_frame *frame)
{
    SCOPED_LOCK(&frame->lock);
    while (frame->left && !frame->fault) {
        if (frame->first == frame->last) {
            frame->idle++;
            pthread_cond_wait(&frame->changed, &frame->lock);
            frame->idle--;
            continue;
        }
        const struct exec_plan_node *node = &frame->plan->nodes[frame->queue[frame->first++]];
        frame->busy++;
        pthread_mutex_unlock(&frame->lock);
        CUresult fault = run_node(frame->launch, node);
        pthread_mutex_lock(&frame->lock);
        finish_node(frame, node, fault);
    }
}

static void *run_plan_help(void *opaque)
{
    struct run_frame *frame = opaque;
    launch_set_conditions(&frame->launch->conditions);
    work(frame);
    launch_set_conditions(NULL);
    return NULL;
}

static void run_all(struct run_frame *frame)
{
    const struct exec_plan *plan = frame->plan;
    for (size_t i = 0; i < plan->count; i++) {
        frame->waiting[i] = plan->nodes[i].before_count;
        if (!frame->waiting[i])
            frame->queue[frame->last++] = i;
    }
    pthread_mutex_lock(&frame->lock);
    if (frame->last > 1)
        call_helpers(frame);
    pthread_mutex_unlock(&frame->lock);
    work(frame);
    for (unsigned i = 0; i < frame->helper_count; i++)
        pthread_join(frame->helpers[i], NULL);
}

// Helpers may add further helpers at the end of the list, always before they end, so joining in
// order reaches all.
CUresult run_plan(struct graph_launch *launch, const struct exec_plan *plan)
{
    struct run_frame frame = {.launch = launch, .plan = plan, .left = plan->count};
    if (!plan->count)
        return CUDA_SUCCESS;
    frame.waiting = malloc(2 * plan->count * sizeof(size_t));
    SIM_RETURN_IF(!frame.waiting, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    frame.queue = frame.waiting + plan->count;
    pthread_mutex_init(&frame.lock, NULL);
    pthread_cond_init(&frame.changed, NULL);
    run_all(&frame);
    pthread_mutex_destroy(&frame.lock);
    pthread_cond_destroy(&frame.changed);
    free(frame.waiting);
    return frame.fault;
}
