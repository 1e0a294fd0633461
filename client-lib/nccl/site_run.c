// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/nccl/site_run.h"

#include <stdlib.h>

#include "common/base/scope.h"
#include "client-lib/nccl/nccl_failure.h"

static struct site_collective collective_of(const struct nccl_operation *o)
{
    static const uint8_t kinds[] = {
        [OPERATION_ALL_REDUCE] = WIRE_ALL_REDUCE,
        [OPERATION_REDUCE] = WIRE_REDUCE,
        [OPERATION_BROADCAST] = WIRE_BROADCAST,
        [OPERATION_ALL_GATHER] = WIRE_ALL_GATHER,
        [OPERATION_REDUCE_SCATTER] = WIRE_REDUCE_SCATTER,
        [OPERATION_SEND] = WIRE_SEND,
        [OPERATION_RECEIVE] = WIRE_RECEIVE,
    };
    bool own = o->op >= ncclNumOps;
    struct wire_collective asked = {.comm = o->comm->site.number,
                                    .kind = kinds[o->kind],
                                    .type = (uint8_t)o->type,
                                    .op = own ? ncclSum : (uint8_t)o->op,
                                    .from = o->from,
                                    .to = o->to,
                                    .count = o->count,
                                    .root = o->root};
    if (own) {
        asked.scale = o->scalar ? WIRE_SCALED_BY_MEMORY : WIRE_SCALED_BY_NUMBER;
        asked.scalar = o->scalar ? o->scalar : o->value;
    }
    return (
        struct site_collective){.context = o->comm->context, .stream = o->stream, .asked = asked};
}

// Aborts the team, because the other ranks would wait forever.
static ncclResult_t give_up_all(const struct nccl_operation *operations, size_t count,
                                ncclResult_t result)
{
    for (size_t i = 0; i < count; i++) {
        if (!operations[i].comm->site.number)
            continue;
        communicator_failed(operations[i].comm, result);
        loaded.rgpu_team_abort(operations[i].comm->team);
    }
    return result;
}

ncclResult_t site_run_operations(const struct nccl_operation *operations, size_t count)
{
    size_t used = 0;
    SCOPED_FREE struct site_collective *list = NULL;
    for (size_t i = 0; i < count; i++)
        used += operations[i].comm->site.number != 0;
    if (!used)
        return ncclSuccess;
    list = calloc(used, sizeof(*list));
    if (!list)
        return nccl_refuse(ncclSystemError, "no memory for a group of calls");
    used = 0;
    for (size_t i = 0; i < count; i++)
        if (operations[i].comm->site.number)
            list[used++] = collective_of(&operations[i]);
    CUresult sent = loaded.site->run(list, used);
    if (sent == CUDA_ERROR_NOT_SUPPORTED)
        return nccl_refuse(ncclInvalidUsage, "a group has too many operations for one box");
    return sent == CUDA_SUCCESS ? ncclSuccess
                                : give_up_all(operations, count, refuse_driver(sent, "a group"));
}
