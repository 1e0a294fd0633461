// SPDX-License-Identifier: BSD-3-Clause
// The calls that move data: their arguments, and the meaning of operations.
#include <string.h>

#include "common/base/scope.h"
#include "client-lib/nccl/nccl_failure.h"
#include "client-lib/nccl/nccl_group.h"

// ---- operations on numbers ----

static ncclResult_t use_scalar(struct nccl_operation *o, int op)
{
    const struct scalar_operation *made = &o->comm->scalars[op - ncclNumOps];
    if (op - ncclNumOps >= SCALARS_MAX || !made->used)
        return nccl_refuse(ncclInvalidArgument, "there is no operation %d", op);
    if (made->type != o->type)
        return nccl_refuse(ncclInvalidArgument, "the operation %d is for another type", op);
    o->combining = COMBINE_SUM;
    o->is_scaled = true;
    o->scalar = made->place;
    o->value = made->value;
    return ncclSuccess;
}

// Sets the operation. Averages of integers divide the result; other averages scale each
// contribution, so that sums do not overflow.
static ncclResult_t use_operation(struct nccl_operation *o, ncclRedOp_t op)
{
    static const enum combining known[] = {[ncclSum] = COMBINE_SUM,
                                           [ncclProd] = COMBINE_PRODUCT,
                                           [ncclMax] = COMBINE_MAXIMUM,
                                           [ncclMin] = COMBINE_MINIMUM};
    if ((int)op < 0)
        return nccl_refuse(ncclInvalidArgument, "there is no operation %d", (int)op);
    o->op = op;
    if (op >= ncclNumOps)
        return use_scalar(o, (int)op);
    if (op != ncclAvg) {
        o->combining = known[op];
        return ncclSuccess;
    }
    o->combining = COMBINE_SUM;
    o->is_scaled = !number_is_integer(o->type);
    *(o->is_scaled ? &o->scalar : &o->divisor) = average_number(o->comm, o->type);
    return ncclSuccess;
}

// ---- arguments ----

static ncclResult_t nccl_collectives_check(const struct nccl_operation *o, bool gives, bool gets)
{
    const struct ncclComm *comm = o->comm;
    ncclResult_t result = communicator_check(o->comm);
    if (result)
        return result;
    if (!number_type_is_known(o->type))
        return nccl_refuse(ncclInvalidArgument, "there is no type %d", (int)o->type);
    if (o->root < 0 || o->root >= comm->ranks)
        return nccl_refuse(ncclInvalidArgument, "there is no rank %d, but %d of them", o->root,
                           comm->ranks);
    if (o->count > (size_t)-1 / 64 / number_size(o->type))
        return nccl_refuse(ncclInvalidArgument, "%zu numbers are too many", o->count);
    if (o->count && ((gives && !o->from) || (gets && !o->to)))
        return nccl_refuse(ncclInvalidArgument, "a buffer is NULL");
    return ncclSuccess;
}

static struct nccl_operation new_operation(enum operation_kind kind, const void *from, void *to,
                                           size_t count, ncclDataType_t type, int root,
                                           ncclComm_t comm, cudaStream_t stream)
{
    return (struct nccl_operation){.kind = kind,
                                   .comm = comm,
                                   .from = (CUdeviceptr)(uintptr_t)from,
                                   .to = (CUdeviceptr)(uintptr_t)to,
                                   .count = count,
                                   .type = type,
                                   .root = root,
                                   .stream = (CUstream)stream};
}

static ncclResult_t nccl_collectives_queue(const struct nccl_operation *o)
{
    return o->count ? group_add_operation(o) : ncclSuccess;
}

static ncclResult_t queue_reduction(struct nccl_operation *o, ncclRedOp_t op, bool gets)
{
    ncclResult_t result = nccl_collectives_check(o, true, gets);
    if (!result)
        result = use_operation(o, op);
    return result ? result : nccl_collectives_queue(o);
}

// ---- the calls ----

ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
    struct nccl_operation o =
        new_operation(OPERATION_ALL_REDUCE, from, to, count, type, 0, comm, stream);
    return queue_reduction(&o, op, true);
}

ncclResult_t ncclReduce(const void *from, void *to, size_t count, ncclDataType_t type,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream)
{
    struct nccl_operation o =
        new_operation(OPERATION_REDUCE, from, to, count, type, root, comm, stream);
    return queue_reduction(&o, op, comm && comm->rank == root);
}

ncclResult_t ncclReduceScatter(const void *from, void *to, size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
    struct nccl_operation o =
        new_operation(OPERATION_REDUCE_SCATTER, from, to, count, type, 0, comm, stream);
    return queue_reduction(&o, op, true);
}

ncclResult_t ncclBroadcast(const void *from, void *to, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream)
{
    struct nccl_operation o =
        new_operation(OPERATION_BROADCAST, from, to, count, type, root, comm, stream);
    ncclResult_t result = nccl_collectives_check(&o, comm && comm->rank == root, true);
    return result ? result : nccl_collectives_queue(&o);
}

ncclResult_t ncclBcast(void *data, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                       cudaStream_t stream)
{
    return ncclBroadcast(data, data, count, type, root, comm, stream);
}

ncclResult_t ncclAllGather(const void *from, void *to, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream)
{
    struct nccl_operation o =
        new_operation(OPERATION_ALL_GATHER, from, to, count, type, 0, comm, stream);
    ncclResult_t result = nccl_collectives_check(&o, true, true);
    return result ? result : nccl_collectives_queue(&o);
}

ncclResult_t ncclSend(const void *from, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream)
{
    struct nccl_operation o =
        new_operation(OPERATION_SEND, from, NULL, count, type, peer, comm, stream);
    ncclResult_t result = nccl_collectives_check(&o, true, false);
    return result ? result : nccl_collectives_queue(&o);
}

ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
    struct nccl_operation o =
        new_operation(OPERATION_RECEIVE, NULL, to, count, type, peer, comm, stream);
    ncclResult_t result = nccl_collectives_check(&o, false, true);
    return result ? result : nccl_collectives_queue(&o);
}

// ---- collectives that consist of sends and receives ----

static ncclResult_t end_group(ncclResult_t result)
{
    ncclResult_t ended = ncclGroupEnd();
    return result ? result : ended;
}

ncclResult_t ncclAlltoAll(const void *from, void *to, size_t count, ncclDataType_t type,
                          ncclComm_t comm, cudaStream_t stream)
{
    struct nccl_operation o = new_operation(OPERATION_SEND, from, to, count, type, 0, comm, stream);
    ncclResult_t result = nccl_collectives_check(&o, true, true);
    if (result)
        return result;
    size_t each = operation_bytes(&o);
    ncclGroupStart();
    for (int peer = 0; peer < comm->ranks && !result; peer++) {
        result =
            ncclSend((const char *)from + (size_t)peer * each, count, type, peer, comm, stream);
        if (!result)
            result = ncclRecv((char *)to + (size_t)peer * each, count, type, peer, comm, stream);
    }
    return end_group(result);
}

ncclResult_t ncclGather(const void *from, void *to, size_t count, ncclDataType_t type, int root,
                        ncclComm_t comm, cudaStream_t stream)
{
    struct nccl_operation o =
        new_operation(OPERATION_SEND, from, to, count, type, root, comm, stream);
    ncclResult_t result = nccl_collectives_check(&o, true, comm && comm->rank == root);
    if (result)
        return result;
    size_t each = operation_bytes(&o);
    ncclGroupStart();
    result = ncclSend(from, count, type, root, comm, stream);
    for (int peer = 0; comm->rank == root && peer < comm->ranks && !result; peer++)
        result = ncclRecv((char *)to + (size_t)peer * each, count, type, peer, comm, stream);
    return end_group(result);
}

ncclResult_t ncclScatter(const void *from, void *to, size_t count, ncclDataType_t type, int root,
                         ncclComm_t comm, cudaStream_t stream)
{
    struct nccl_operation o =
        new_operation(OPERATION_SEND, from, to, count, type, root, comm, stream);
    ncclResult_t result = nccl_collectives_check(&o, comm && comm->rank == root, true);
    if (result)
        return result;
    size_t each = operation_bytes(&o);
    ncclGroupStart();
    for (int peer = 0; comm->rank == root && peer < comm->ranks && !result; peer++)
        result =
            ncclSend((const char *)from + (size_t)peer * each, count, type, peer, comm, stream);
    if (!result)
        result = ncclRecv(to, count, type, root, comm, stream);
    return end_group(result);
}

// ---- operations that the program creates ----

static ncclResult_t keep_scalar(struct ncclComm *comm, const struct scalar_operation *scalar,
                                ncclRedOp_t *op)
{
    int i = 0;
    while (i < SCALARS_MAX && comm->scalars[i].used)
        i++;
    if (i == SCALARS_MAX)
        return nccl_refuse(ncclInvalidUsage, "a communicator has %d such operations at a time",
                           SCALARS_MAX);
    comm->scalars[i] = *scalar;
    *op = (ncclRedOp_t)(ncclNumOps + i);
    return ncclSuccess;
}

// A number in host memory is read now, and stored in the operation.
ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t *op, void *scalar, ncclDataType_t type,
                                      ncclScalarResidence_t residence, ncclComm_t comm)
{
    ncclResult_t result = communicator_check(comm);
    struct scalar_operation made = {.used = true, .type = type};
    if (result)
        return result;
    if (!op || !scalar || !number_type_is_known(type) ||
        (unsigned int)residence > ncclScalarHostImmediate)
        return nccl_refuse(ncclInvalidArgument,
                           "ncclRedOpCreatePreMulSum: something is NULL or unknown");
    if (residence == ncclScalarHostImmediate)
        memcpy(&made.value, scalar, number_size(type));
    else
        made.place = (CUdeviceptr)(uintptr_t)scalar;
    SCOPED_LOCK(&comm->lock);
    return keep_scalar(comm, &made, op);
}

ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm)
{
    ncclResult_t result = communicator_check(comm);
    int i = (int)op - ncclNumOps;
    if (result)
        return result;
    SCOPED_LOCK(&comm->lock);
    if (i < 0 || i >= SCALARS_MAX || !comm->scalars[i].used)
        return nccl_refuse(ncclInvalidArgument, "there is no operation %d of the program", (int)op);
    comm->scalars[i] = (struct scalar_operation){0};
    return ncclSuccess;
}
