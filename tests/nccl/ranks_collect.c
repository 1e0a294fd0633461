// SPDX-License-Identifier: BSD-3-Clause
// usage: ranks_collect RANKS FIRST COUNT ID-FILE. A process with some ranks of a communicator:
// compares all collectives, types and operations, in sizes from one number to several pieces, with
// the host's results.
#include "tests/nccl/all_numbers.h"
#include "tests/nccl/communicators.h"

enum { ROOM = 24 << 20 };

static CUdeviceptr given[RANKS_MOST], got[RANKS_MOST];
static uint8_t *host;

// Returns the rank's number at a position: 0, 1 or 2.
static int small_number(int rank, size_t place)
{
    return (int)((place * 5 + place / 7 + (size_t)rank * 2 + (size_t)rank * place) % 3);
}

static void give(int i, CUdeviceptr to, const struct number_type *type, size_t count)
{
    for (size_t k = 0; k < count; k++)
        memcpy(host + k * type->size, &type->small[small_number(first_rank + i, k)], type->size);
    on_rank(i);
    CHECK(cuMemcpyHtoD(to, host, count * type->size));
    CHECK(cuCtxSynchronize());
}

static double combined(const struct number_type *type, ncclRedOp_t op, size_t place)
{
    double value = small_number(0, place);
    for (int rank = 1; rank < ranks; rank++) {
        double other = small_number(rank, place);
        if (op == ncclSum || op == ncclAvg)
            value += other;
        else if (op == ncclProd)
            value *= other;
        else
            value = (op == ncclMax) == (other > value) ? other : value;
    }
    return op != ncclAvg ? value : type->exponent ? value / ranks : floor(value / ranks);
}

// Returns the number of wrong results among COUNT, from position FIRST on.
static size_t wrong_numbers(int i, CUdeviceptr from, const struct number_type *type, ncclRedOp_t op,
                            size_t first, size_t count)
{
    size_t wrong = 0;
    on_rank(i);
    CHECK(cuMemcpyDtoH(host, from, count * type->size));
    for (size_t k = 0; k < count; k++) {
        double want = combined(type, op, first + k), is = number_value(type, host + k * type->size);
        wrong += !(fabs(is - want) <= (op == ncclAvg ? number_tolerance(type, want) : 0));
    }
    return wrong;
}

static void reductions(ncclDataType_t kind, size_t count, bool in_place, ncclRedOp_t last)
{
    const struct number_type *type = &number_types[kind];
    size_t wrong = 0;
    for (int op = ncclSum; op <= (int)last; op++) {
        for (int i = 0; i < own_ranks; i++)
            give(i, given[i], type, count);
        NCCL(ncclGroupStart());
        for (int i = 0; i < own_ranks; i++)
            NCCL(ncclAllReduce((void *)given[i], (void *)(in_place ? given : got)[i], count, kind,
                               (ncclRedOp_t)op, comms[i], streams[i]));
        NCCL(ncclGroupEnd());
        wait_for_ranks();
        for (int i = 0; i < own_ranks; i++)
            wrong += wrong_numbers(i, (in_place ? given : got)[i], type, (ncclRedOp_t)op, 0, count);
    }
    is_int(wrong, 0, "all-reduce of %zu %s%s%s", count, type->name,
           last == ncclAvg ? " in all operations" : "", in_place ? ", in place" : "");
}

static void reduce_to_each(ncclDataType_t kind, size_t count)
{
    const struct number_type *type = &number_types[kind];
    size_t wrong = 0;
    for (int root = 0; root < ranks; root++) {
        ncclRedOp_t op = root % 2 ? ncclAvg : ncclSum;
        for (int i = 0; i < own_ranks; i++)
            give(i, given[i], type, count);
        NCCL(ncclGroupStart());
        for (int i = 0; i < own_ranks; i++)
            NCCL(ncclReduce((void *)given[i], first_rank + i == root ? (void *)got[i] : NULL, count,
                            kind, op, root, comms[i], streams[i]));
        NCCL(ncclGroupEnd());
        wait_for_ranks();
        for (int i = 0; i < own_ranks; i++)
            if (first_rank + i == root)
                wrong += wrong_numbers(i, got[i], type, op, 0, count);
    }
    is_int(wrong, 0, "reduce of %zu %s to each rank", count, type->name);
}

static void scatter_reduced(ncclDataType_t kind, size_t count, bool in_place)
{
    const struct number_type *type = &number_types[kind];
    size_t wrong = 0;
    for (int op = ncclSum; op < ncclNumOps; op++) {
        CUdeviceptr to[RANKS_MOST];
        for (int i = 0; i < own_ranks; i++) {
            give(i, given[i], type, count * (size_t)ranks);
            to[i] = in_place ? given[i] + (size_t)(first_rank + i) * count * type->size : got[i];
        }
        NCCL(ncclGroupStart());
        for (int i = 0; i < own_ranks; i++)
            NCCL(ncclReduceScatter((void *)given[i], (void *)to[i], count, kind, (ncclRedOp_t)op,
                                   comms[i], streams[i]));
        NCCL(ncclGroupEnd());
        wait_for_ranks();
        for (int i = 0; i < own_ranks; i++)
            wrong += wrong_numbers(i, to[i], type, (ncclRedOp_t)op,
                                   (size_t)(first_rank + i) * count, count);
    }
    is_int(wrong, 0, "reduce-scatter of %zu %s%s", count, type->name, in_place ? ", in place" : "");
}

// ---- operations that only move data ----

static uint8_t byte_of(int rank, size_t place)
{
    return (uint8_t)(place * 31 + place / 251 + (size_t)rank * 77 + 1);
}

static void give_bytes(int i, CUdeviceptr to, size_t count)
{
    for (size_t k = 0; k < count; k++)
        host[k] = byte_of(first_rank + i, k);
    on_rank(i);
    CHECK(cuMemcpyHtoD(to, host, count));
    CHECK(cuCtxSynchronize());
}

// Bytes that rank GIVER gave from PLACE on.
static size_t wrong_bytes(int i, CUdeviceptr from, int giver, size_t place, size_t count)
{
    size_t wrong = 0;
    on_rank(i);
    CHECK(cuMemcpyDtoH(host, from, count));
    for (size_t k = 0; k < count; k++)
        wrong += host[k] != byte_of(giver, place + k);
    return wrong;
}

static void gathers(size_t count, bool in_place)
{
    size_t wrong = 0;
    CUdeviceptr from[RANKS_MOST];
    for (int i = 0; i < own_ranks; i++) {
        from[i] = in_place ? got[i] + (size_t)(first_rank + i) * count : given[i];
        give_bytes(i, from[i], count);
    }
    NCCL(ncclGroupStart());
    for (int i = 0; i < own_ranks; i++)
        NCCL(
            ncclAllGather((void *)from[i], (void *)got[i], count, ncclUint8, comms[i], streams[i]));
    NCCL(ncclGroupEnd());
    wait_for_ranks();
    for (int i = 0; i < own_ranks; i++)
        for (int rank = 0; rank < ranks; rank++)
            wrong += wrong_bytes(i, got[i] + (size_t)rank * count, rank, 0, count);
    is_int(wrong, 0, "all-gather of %zu bytes%s", count, in_place ? ", in place" : "");
}

static void broadcasts(size_t count)
{
    size_t wrong = 0;
    for (int root = 0; root < ranks; root++) {
        for (int i = 0; i < own_ranks; i++)
            give_bytes(i, given[i], count);
        NCCL(ncclGroupStart());
        for (int i = 0; i < own_ranks; i++)
            NCCL(root % 2 ? ncclBcast((void *)given[i], count, ncclInt8, root, comms[i], streams[i])
                          : ncclBroadcast((void *)given[i], (void *)got[i], count, ncclInt8, root,
                                          comms[i], streams[i]));
        NCCL(ncclGroupEnd());
        wait_for_ranks();
        for (int i = 0; i < own_ranks; i++)
            wrong += wrong_bytes(i, (root % 2 ? given : got)[i], root, 0, count);
    }
    is_int(wrong, 0, "broadcast of %zu bytes from each rank", count);
}

// Everybody sends to everybody, itself too.
static void all_to_all(size_t count)
{
    size_t wrong = 0;
    for (int i = 0; i < own_ranks; i++)
        give_bytes(i, given[i], count * (size_t)ranks);
    NCCL(ncclGroupStart());
    for (int i = 0; i < own_ranks; i++)
        NCCL(
            ncclAlltoAll((void *)given[i], (void *)got[i], count, ncclUint8, comms[i], streams[i]));
    NCCL(ncclGroupEnd());
    wait_for_ranks();
    for (int i = 0; i < own_ranks; i++)
        for (int rank = 0; rank < ranks; rank++)
            wrong += wrong_bytes(i, got[i] + (size_t)rank * count, rank,
                                 (size_t)(first_rank + i) * count, count);
    is_int(wrong, 0, "all-to-all of %zu bytes", count);
}

// To the last rank and back in another stream.
static void scatter_and_gather(size_t count)
{
    size_t wrong = 0;
    int root = ranks - 1;
    for (int i = 0; i < own_ranks; i++)
        give_bytes(i, given[i], count * (size_t)ranks);
    for (int i = 0; i < own_ranks; i++) {
        on_rank(i);
        CHECK(cuMemsetD8(got[i], 0, count * (size_t)ranks));
        CHECK(cuCtxSynchronize());
    }
    NCCL(ncclGroupStart());
    for (int i = 0; i < own_ranks; i++)
        NCCL(ncclScatter((void *)given[i], (void *)got[i], count, ncclUint8, root, comms[i],
                         streams[i]));
    NCCL(ncclGroupEnd());
    NCCL(ncclGroupStart());
    for (int i = 0; i < own_ranks; i++)
        NCCL(ncclGather((void *)got[i], (void *)(given[i] + count * (size_t)ranks), count,
                        ncclUint8, root, comms[i], NULL));
    NCCL(ncclGroupEnd());
    for (int i = 0; i < own_ranks; i++) {
        on_rank(i);
        CHECK(cuCtxSynchronize());
        wrong += wrong_bytes(i, got[i], root, (size_t)(first_rank + i) * count, count);
        if (first_rank + i == root)
            wrong +=
                wrong_bytes(i, given[i] + count * (size_t)ranks, root, 0, count * (size_t)ranks);
    }
    is_int(wrong, 0, "scatter and gather of %zu bytes, in two streams", count);
}

// Two messages to the next rank in one group.
static void messages_in_order(size_t count)
{
    size_t wrong = 0;
    for (int i = 0; i < own_ranks; i++)
        give_bytes(i, given[i], 2 * count);
    NCCL(ncclGroupStart());
    for (int i = 0; i < own_ranks; i++) {
        int rank = first_rank + i, next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
        NCCL(ncclSend((void *)given[i], count, ncclUint8, next, comms[i], streams[i]));
        NCCL(ncclSend((void *)(given[i] + count), count, ncclUint8, next, comms[i], streams[i]));
        NCCL(ncclRecv((void *)got[i], count, ncclUint8, before, comms[i], streams[i]));
        NCCL(ncclRecv((void *)(got[i] + count), count, ncclUint8, before, comms[i], streams[i]));
    }
    NCCL(ncclGroupEnd());
    wait_for_ranks();
    for (int i = 0; i < own_ranks; i++)
        wrong += wrong_bytes(i, got[i], (first_rank + i + ranks - 1) % ranks, 0, 2 * count);
    is_int(wrong, 0, "messages of %zu bytes come in the order of the calls", count);
}

// ---- operations of the program, splits, mistakes ----

static void own_operations(void)
{
    const struct number_type *type = &number_types[ncclFloat32];
    size_t wrong = 0;
    for (int residence = ncclScalarDevice; residence <= ncclScalarHostImmediate; residence++) {
        // At last several pieces on each channel.
        const size_t count = residence == ncclScalarDevice ? 1000 : 4300000;
        ncclRedOp_t ops[RANKS_MOST];
        for (int i = 0; i < own_ranks; i++) {
            float scalar = (float)(first_rank + i + 1);
            give(i, given[i], type, count);
            CHECK(cuMemcpyHtoD(got[i] + ROOM - 4, &scalar, 4));
            CHECK(cuCtxSynchronize());
            NCCL(ncclRedOpCreatePreMulSum(
                &ops[i], residence == ncclScalarDevice ? (void *)(got[i] + ROOM - 4) : &scalar,
                ncclFloat32, (ncclScalarResidence_t)residence, comms[i]));
        }
        NCCL(ncclGroupStart());
        for (int i = 0; i < own_ranks; i++) {
            NCCL(ncclAllReduce((void *)given[i], (void *)got[i], count, ncclFloat32, ops[i],
                               comms[i], streams[i]));
            NCCL(ncclRedOpDestroy(ops[i], comms[i]));
        }
        NCCL(ncclGroupEnd());
        wait_for_ranks();
        for (int i = 0; i < own_ranks; i++) {
            on_rank(i);
            CHECK(cuMemcpyDtoH(host, got[i], count * 4));
            for (size_t k = 0; k < count; k++) {
                double want = 0;
                for (int rank = 0; rank < ranks; rank++)
                    want += (rank + 1) * small_number(rank, k);
                wrong += number_value(type, host + 4 * k) != want;
            }
        }
    }
    is_int(wrong, 0, "each rank's numbers are multiplied by its own scalar");
}

// Ranks of even and of odd number, in the opposite order; the last one takes no part.
static void splits(void)
{
    ncclComm_t parts[RANKS_MOST];
    size_t wrong = 0;
    NCCL(ncclGroupStart());
    for (int i = 0; i < own_ranks; i++) {
        int rank = first_rank + i;
        on_rank(i);
        NCCL(ncclCommSplit(comms[i], rank == ranks - 1 ? NCCL_SPLIT_NOCOLOR : rank % 2, -rank,
                           &parts[i], NULL));
    }
    NCCL(ncclGroupEnd());
    NCCL(ncclGroupStart());
    for (int i = 0; i < own_ranks; i++) {
        give_bytes(i, given[i], 1000);
        if (parts[i])
            NCCL(ncclBroadcast((void *)given[i], (void *)got[i], 1000, ncclUint8, 0, parts[i],
                               streams[i]));
    }
    NCCL(ncclGroupEnd());
    wait_for_ranks();
    for (int i = 0; i < own_ranks; i++) {
        int rank = first_rank + i, size = 0, place = -1, last = ranks - 2;
        if (rank == ranks - 1) {
            wrong += parts[i] != NULL;
            continue;
        }
        last -= (last - rank) % 2;
        NCCL(ncclCommCount(parts[i], &size));
        NCCL(ncclCommUserRank(parts[i], &place));
        wrong += size != last / 2 + 1 || place != (last - rank) / 2;
        wrong += wrong_bytes(i, got[i], last, 0, 1000);
        NCCL(ncclCommDestroy(parts[i]));
    }
    is_int(wrong, 0, "a communicator is split by color, in the order of keys");
}

// All GPUs that there are by the one call for that, and one GPU twice.
static void all_at_once(void)
{
    ncclComm_t all[RANKS_MOST], twice[2];
    const int same[2] = {0, 0}, none[1] = {1000};
    uint32_t one = 1, word = 0;
    int devices, device = -1;
    CHECK(cuDeviceGetCount(&devices));
    NCCL(ncclCommInitAll(all, devices < RANKS_MOST ? devices : RANKS_MOST, NULL));
    NCCL(ncclCommCuDevice(all[devices - 1], &device));
    is_int(device, devices - 1, "a communicator for each GPU");
    for (int i = 0; i < devices; i++)
        NCCL(ncclCommDestroy(all[i]));
    NCCL(ncclCommInitAll(twice, 2, same));
    on_rank(0);
    CUdevice first;
    CUcontext context;
    CUstream both[2];
    CHECK(cuDeviceGet(&first, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, first));
    CHECK(cuCtxSetCurrent(context));
    CUdeviceptr words = device_alloc(8);
    CHECK(cuMemsetD32(words, one, 2));
    CHECK(cuCtxSynchronize());
    NCCL(ncclGroupStart());
    for (int i = 0; i < 2; i++) {
        CHECK(cuStreamCreate(&both[i], CU_STREAM_NON_BLOCKING));
        NCCL(ncclAllReduce((void *)(words + 4 * (CUdeviceptr)i),
                           (void *)(words + 4 * (CUdeviceptr)i), 1, ncclUint32, ncclSum, twice[i],
                           (cudaStream_t)both[i]));
    }
    NCCL(ncclGroupEnd());
    for (int i = 0; i < 2; i++)
        CHECK(cuStreamSynchronize(both[i]));
    CHECK(cuMemcpyDtoH(&word, words + 4, 4));
    is_int(word, 2, "two ranks may have one GPU");
    for (int i = 0; i < 2; i++)
        NCCL(ncclCommDestroy(twice[i]));
    nccl_refuses(ncclCommInitAll(all, 1, none), ncclInvalidArgument, "a GPU that there is not");
}

static void mistakes(void)
{
    ncclComm_t none = NULL;
    ncclUniqueId id = {"no id"};
    void *data = (void *)given[0];
    ncclResult_t state;
    int number;
    nccl_refuses(ncclAllReduce(data, data, 4, ncclNumTypes, ncclSum, comms[0], streams[0]),
                 ncclInvalidArgument, "there is no such type");
    nccl_refuses(ncclAllReduce(data, data, 4, ncclInt8, (ncclRedOp_t)900, comms[0], streams[0]),
                 ncclInvalidArgument, "nor such an operation");
    nccl_refuses(ncclAllReduce(data, data, 4, ncclInt8, ncclNumOps, comms[0], streams[0]),
                 ncclInvalidArgument, "nor one that has been ended");
    nccl_refuses(ncclBroadcast(data, data, 4, ncclInt8, ranks, comms[0], streams[0]),
                 ncclInvalidArgument, "nor such a rank");
    nccl_refuses(ncclAllGather(NULL, data, 4, ncclInt8, comms[0], streams[0]), ncclInvalidArgument,
                 "a buffer that is NULL");
    nccl_refuses(ncclAllGather(data, data, 4, ncclInt8, NULL, streams[0]), ncclInvalidArgument,
                 "a communicator that is none");
    nccl_refuses(ncclAllGather(data, data, (size_t)-1, ncclInt64, comms[0], streams[0]),
                 ncclInvalidArgument, "more numbers than there can be");
    nccl_refuses(ncclGroupEnd(), ncclInvalidUsage, "a group that has not begun");
    nccl_refuses(ncclSend(data, 4, ncclInt8, first_rank, comms[0], streams[0]), ncclInvalidUsage,
                 "a message to itself that is not received");
    nccl_refuses(ncclCommInitRank(&none, 2, id, 0), ncclInvalidArgument, "an id that is none");
    nccl_refuses(ncclCommInitRank(&none, 2, id, 2), ncclInvalidArgument,
                 "a rank beyond the last one");
    nccl_refuses(ncclCommInitRank(&none, 1000, id, 2), ncclInvalidArgument,
                 "more ranks than there can be");
    on_rank(0);
    CHECK(cuStreamBeginCapture((CUstream)streams[0], CU_STREAM_CAPTURE_MODE_RELAXED));
    nccl_refuses(ncclAllReduce(data, data, 4, ncclInt8, ncclSum, comms[0], streams[0]),
                 ncclInvalidUsage, "a stream that is captured");
    CUgraph graph;
    CHECK(cuStreamEndCapture((CUstream)streams[0], &graph));
    CHECK(cuGraphDestroy(graph));
    NCCL(ncclCommGetAsyncError(comms[0], &state));
    is_int(state, ncclSuccess, "nothing of this does the communicator any harm");
    NCCL(ncclCommCount(comms[0], &number));
    is_int(number, ranks, "which knows how many ranks there are");
}

static void check_all(void)
{
    for (int type = 0; type < ncclNumTypes; type++)
        reductions((ncclDataType_t)type, 1003, type % 2, ncclAvg);
    reductions(ncclFloat32, 1, false, ncclAvg);
    reductions(ncclBfloat16, 20001, false, ncclAvg);
    reductions(ncclInt32, 2500003, true, ncclSum);
    reductions(ncclFloat16, 800001, false, ncclSum);
    reduce_to_each(ncclUint8, 13);
    reduce_to_each(ncclInt64, 170001);
    scatter_reduced(ncclFloat16, 77, false);
    scatter_reduced(ncclInt32, 300001, true);
    gathers(1, false);
    gathers(3000001, true);
    broadcasts(5);
    broadcasts(5000001);
    all_to_all(9);
    all_to_all(2500003);
    scatter_and_gather(100001);
    messages_in_order(5000002);
    own_operations();
    splits();
    if (!first_rank)
        all_at_once();
    mistakes();
    reductions(ncclUint64, 3, false, ncclAvg);
}

int main(int argc, char **argv)
{
    if (argc < 5)
        bail("usage: ranks_collect RANKS FIRST COUNT ID-FILE");
    ranks = atoi(argv[1]);
    first_rank = atoi(argv[2]);
    own_ranks = atoi(argv[3]);
    host = must_alloc(ROOM);
    open_ranks();
    for (int i = 0; i < own_ranks; i++) {
        on_rank(i);
        given[i] = device_alloc(ROOM);
        got[i] = device_alloc(ROOM);
    }
    meet_ranks(argv[4]);
    check_all();
    for (int i = 0; i < own_ranks; i++) {
        NCCL(ncclCommFinalize(comms[i]));
        NCCL(ncclCommDestroy(comms[i]));
    }
    free(host);
    return done();
}
