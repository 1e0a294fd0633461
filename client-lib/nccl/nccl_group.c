// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/nccl/nccl_group.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/quiet_thread.h"
#include "client-lib/nccl/group_run.h"
#include "client-lib/nccl/nccl_failure.h"

struct group {
    int depth;
    struct nccl_operation *operations;
    size_t operation_count, operation_room;
    struct comm_making *makings;
    size_t making_count, making_room;
    ncclResult_t failed; // the error of the first refused call of the group
};
static _Thread_local struct group group;

// ---- making communicators ----

static void *make_one(void *argument)
{
    struct comm_making *making = argument;
    making->result = making->make(making);
    if (making->result)
        snprintf(making->why, sizeof(making->why), "%s", last_refusal());
    return NULL;
}

static ncclResult_t make_all(struct comm_making *makings, size_t count)
{
    pthread_t *threads = calloc(count, sizeof(*threads));
    bool *started = calloc(count, sizeof(*started));
    ncclResult_t result =
        threads && started ? ncclSuccess : nccl_refuse(ncclSystemError, "no memory for threads");
    for (size_t i = 0; i < count && !result; i++) {
        started[i] = !quiet_thread_start(&threads[i], make_one, &makings[i]);
        if (!started[i])
            result = nccl_refuse(ncclSystemError, "no thread for a communicator");
    }
    for (size_t i = 0; i < count && started; i++) {
        if (!started[i])
            continue;
        pthread_join(threads[i], NULL);
        if (makings[i].result && !result)
            result = nccl_refuse(makings[i].result, "%s", makings[i].why);
    }
    free(threads);
    free(started);
    return result;
}

// ---- groups ----

static ncclResult_t nccl_group_run(void)
{
    struct group all = group;
    group = (struct group){0};
    ncclResult_t result = all.failed;
    if (!result && all.making_count)
        result = make_all(all.makings, all.making_count);
    if (!result && all.operation_count)
        result = group_run_operations(all.operations, all.operation_count);
    free(all.makings);
    free(all.operations);
    return result;
}

// Returns the list with space for one more entry of EACH bytes, or NULL.
static void *nccl_group_grow(void *array, size_t count, size_t *room, size_t each)
{
    if (count < *room)
        return array;
    size_t wanted = *room ? 2 * *room : 16;
    void *grown = reallocarray(array, wanted, each);
    if (grown)
        *room = wanted;
    return grown;
}

static ncclResult_t no_memory(void)
{
    return group.failed = nccl_refuse(ncclSystemError, "no memory for a group of calls");
}

ncclResult_t group_add_operation(const struct nccl_operation *operation)
{
    if (!group.depth)
        return group_run_operations(operation, 1);
    struct nccl_operation *grown = nccl_group_grow(group.operations, group.operation_count,
                                                   &group.operation_room, sizeof(*grown));
    if (!grown)
        return no_memory();
    group.operations = grown;
    group.operations[group.operation_count++] = *operation;
    return ncclSuccess;
}

ncclResult_t group_add_making(const struct comm_making *making)
{
    struct comm_making one = *making;
    if (!group.depth)
        return one.make(&one);
    struct comm_making *grown =
        nccl_group_grow(group.makings, group.making_count, &group.making_room, sizeof(*grown));
    if (!grown)
        return no_memory();
    group.makings = grown;
    group.makings[group.making_count++] = one;
    return ncclSuccess;
}

ncclResult_t ncclGroupStart(void)
{
    group.depth++;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void)
{
    if (!group.depth)
        return nccl_refuse(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
    if (--group.depth)
        return ncclSuccess;
    return nccl_group_run();
}

// Simulates nothing: the estimate is always 0.
ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t *information)
{
    if (!group.depth)
        return nccl_refuse(ncclInvalidUsage, "ncclGroupSimulateEnd without ncclGroupStart");
    group.depth = 0;
    free(group.makings);
    free(group.operations);
    group = (struct group){0};
    if (information)
        information->estimatedTime = 0;
    return ncclSuccess;
}
