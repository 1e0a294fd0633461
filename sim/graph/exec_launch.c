// SPDX-License-Identifier: BSD-3-Clause
// Launches executable graphs. Launches of one executable graph run one after another, in any
// streams.
#include "sim/graph/exec_launch.h"

#include <stdlib.h>

#include "sim/graph/exec_graph.h"
#include "sim/graph/graph_memory.h"

static CUresult exec_launch_run(struct operation *operation, struct stream *stream)
{
    struct graph_launch *launch = (struct graph_launch *)operation;
    for (unsigned i = 0; i < launch->plan->slot_count; i++)
        if (launch->plan->slots[i].assign)
            atomic_store(&launch->exec->values[i], launch->plan->slots[i].value);
    launch_set_conditions(&launch->conditions);
    CUresult fault = run_plan(launch, launch->plan);
    launch_set_conditions(NULL);
    return fault;
}

static CUresult finish_record(struct exec_plan_node *node, void *opaque)
{
    struct graph_launch *launch = opaque;
    if (!step_event(node->step) || !node->line)
        return CUDA_SUCCESS;
    struct record *record = atomic_exchange(&launch->records[node->event], NULL);
    if (record)
        event_finish_record(record);
    return CUDA_SUCCESS;
}

void launch_finish_records(struct graph_launch *launch)
{
    (void)exec_plan_visit(launch->plan, finish_record, launch);
}

// Releases a launch, and completes the records of nodes that did not run.
static void exec_launch_release(struct operation *operation)
{
    struct graph_launch *launch = (struct graph_launch *)operation;
    launch_finish_records(launch);
    for (unsigned i = 0; i < launch->plan->event_count; i++)
        event_put_record(atomic_exchange(&launch->records[i], NULL));
    if (launch->claim)
        memory_claim_end(launch->claim);
    exec_plan_put(launch->plan);
    object_put(&launch->exec->object);
    free(launch->records);
    free(launch);
}

// Prepares a launch. Called under graph_mutex.
static CUresult exec_launch_prepare(struct exec *exec, struct stream *stream,
                                    struct graph_launch **out)
{
    struct graph_launch *launch =
        operation_create(sizeof(*launch), exec_launch_run, exec_launch_release);
    SIM_RETURN_IF(!launch, CUDA_ERROR_OUT_OF_MEMORY);
    object_hold(&exec->object);
    launch->exec = exec;
    launch->plan = exec_plan_hold(exec->plan);
    launch->context = stream->context;
    launch->conditions = (struct launch_conditions){launch, launch_set_condition};
    launch->records = calloc(launch->plan->event_count + 1, sizeof(launch->records[0]));
    *out = launch;
    SIM_RETURN_IF(!launch->records, CUDA_ERROR_OUT_OF_MEMORY);
    bool free_first = exec->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
    return memory_claim_create(launch->plan, free_first, &launch->claim);
}

// Makes later waits for the event wait for this launch.
static CUresult settle_event(struct exec_plan_node *node, void *opaque)
{
    struct graph_launch *launch = opaque;
    struct record *record;
    struct event *event = step_event(node->step);
    if (!event)
        return CUDA_SUCCESS;
    if (node->line) {
        record = event_begin_record(event, node->line, stream_promise(node->line));
        SIM_RETURN_IF(!record, CUDA_ERROR_OUT_OF_MEMORY);
    } else {
        record = event_last_record(event);
    }
    atomic_store(&launch->records[node->event], record);
    return CUDA_SUCCESS;
}

static CUresult exec_launch_submit(struct exec *exec, struct stream *stream,
                                   struct graph_launch *launch)
{
    CUresult result = CUDA_SUCCESS;
    if (exec->last)
        result = operation_wait_for(&launch->operation, exec->last, exec->last_sequence);
    if (!result)
        result = exec_plan_visit(launch->plan, settle_event, launch);
    if (result) {
        operation_discard(&launch->operation);
        return result;
    }
    uint64_t sequence;
    context_flush_print(stream->context);
    SIM_TRY(stream_submit(stream, &launch->operation, &sequence));
    if (exec->last)
        object_put(&exec->last->object);
    object_hold(&stream->object);
    exec->last = stream;
    exec->last_sequence = sequence;
    return CUDA_SUCCESS;
}

static CUresult check_context(struct exec_plan_node *node, void *opaque)
{
    return step_status(node->step);
}

static CUresult launch_in(struct exec *exec, struct stream *stream)
{
    struct graph_launch *launch = NULL;
    SIM_TRY(capture_refuse(stream));
    SCOPED_LOCK(&exec->launching);
    pthread_mutex_lock(&graph_mutex);
    CUresult result = exec_plan_visit(exec->plan, check_context, NULL);
    if (!result)
        result = exec_launch_prepare(exec, stream, &launch);
    pthread_mutex_unlock(&graph_mutex);
    if (!result)
        return exec_launch_submit(exec, stream, launch);
    if (launch)
        operation_discard(&launch->operation);
    return result;
}

SIM_API(cuGraphLaunch, CUgraphExec handle, CUstream stream_handle)
{
    struct stream *stream;
    SIM_TRY(sim_check_ready());
    SCOPED_OBJECT struct exec *exec = handle_get(OBJECT_EXEC, handle);
    SIM_RETURN_IF(!exec, CUDA_ERROR_INVALID_VALUE);
    CUresult result = stream_get(stream_handle, &stream);
    if (!result) {
        result = launch_in(exec, stream);
        object_put(&stream->object);
    }
    return result;
}

CUresult exec_upload(CUgraphExec handle, CUstream stream_handle)
{
    SCOPED_OBJECT struct stream *stream = NULL;
    struct exec *exec;
    SIM_TRY(sim_check_ready());
    {
        SCOPED_LOCK(&graph_mutex);
        SIM_TRY(exec_find(handle, &exec));
    }
    SIM_TRY(stream_get(stream_handle, &stream));
    CUresult result = capture_refuse(stream);
    if (!result) {
        SCOPED_LOCK(&graph_mutex);
        result = exec_find(handle, &exec);
        if (!result)
            result = memory_claim_upload(exec->plan);
    }
    return result;
}

SIM_CALL(cuGraphUpload, (CUgraphExec exec, CUstream stream), exec_upload(exec, stream))
