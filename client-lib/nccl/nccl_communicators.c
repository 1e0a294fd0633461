// SPDX-License-Identifier: BSD-3-Clause
// The calls that make, query and end communicators.
#include <string.h>

#include "common/base/scope.h"
#include "client-lib/nccl/nccl_failure.h"
#include "client-lib/nccl/nccl_group.h"
#include "client-lib/nccl/site_rank.h"

_Static_assert(sizeof(ncclUniqueId) == sizeof(struct rgpu_rendezvous),
               "an id of a rendezvous is one of NCCL");

static ncclResult_t nccl_communicators_is_there(void)
{
    const char *why = loaded_open();
    return why ? nccl_refuse(ncclSystemError, "%s", why) : ncclSuccess;
}

ncclResult_t ncclGetVersion(int *version)
{
    if (!version)
        return nccl_refuse(ncclInvalidArgument, "ncclGetVersion: no place for it");
    *version = NCCL_VERSION_HERE;
    return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    ncclResult_t result = nccl_communicators_is_there();
    if (result)
        return result;
    return id ? TEAM(rgpu_rendezvous_open((struct rgpu_rendezvous *)id))
              : nccl_refuse(ncclInvalidArgument, "ncclGetUniqueId: no place for it");
}

// ---- making ----

static ncclResult_t make_met(struct comm_making *making)
{
    ncclResult_t result = making->primary
                              ? CU(cuDevicePrimaryCtxRetain(&making->context, making->rank))
                              : ncclSuccess;
    return result ? result
                  : communicator_make(making->made, making->ranks, making->rank,
                                      &making->rendezvous, making->context);
}

// Finds the caller's context, or without one that of the first GPU, as the CUDA runtime does.
static ncclResult_t current_context(CUcontext *context)
{
    ncclResult_t result = CU(cuInit(0));
    if (!result)
        result = CU(cuCtxGetCurrent(context));
    return result || *context ? result : CU(cuDevicePrimaryCtxRetain(context, 0));
}

static ncclResult_t check_ranks(ncclComm_t *comm, int ranks, int rank)
{
    if (!comm)
        return nccl_refuse(ncclInvalidArgument, "no place for a communicator");
    if (ranks < 1 || ranks > RGPU_MEMBERS_MAX)
        return nccl_refuse(ncclInvalidArgument,
                           "a communicator between boxes has 1 to %d ranks, not %d",
                           RGPU_MEMBERS_MAX, ranks);
    if (rank < 0 || rank >= ranks)
        return nccl_refuse(ncclInvalidArgument, "there is no rank %d among %d", rank, ranks);
    return nccl_communicators_is_there();
}

static ncclResult_t check_config(const ncclConfig_t *config)
{
    if (config && (config->magic != NCCL_CONFIG_MAGIC || config->size < sizeof(*config)))
        return nccl_refuse(ncclInvalidArgument,
                           "the configuration has not been made by NCCL_CONFIG_INITIALIZER");
    return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t *config)
{
    struct comm_making making = {.make = make_met, .made = comm, .ranks = ranks, .rank = rank};
    ncclResult_t result = check_ranks(comm, ranks, rank);
    if (!result)
        result = check_config(config);
    if (!result)
        result = current_context(&making.context);
    if (result)
        return result;
    *comm = NULL;
    memcpy(&making.rendezvous, &id, sizeof(id));
    return group_add_making(&making);
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank)
{
    return ncclCommInitRankConfig(comm, ranks, id, rank, NULL);
}

// The first id is enough, however many ranks there are.
ncclResult_t ncclCommInitRankScalable(ncclComm_t *comm, int ranks, int rank, int id_count,
                                      ncclUniqueId *ids, ncclConfig_t *config)
{
    if (!ids || id_count < 1)
        return nccl_refuse(ncclInvalidArgument, "ncclCommInitRankScalable: no id");
    return ncclCommInitRankConfig(comm, ranks, ids[0], rank, config);
}

static ncclResult_t check_devices(int count, const int *devices)
{
    int there = 0;
    ncclResult_t result = CU(cuInit(0));
    if (!result)
        result = CU(cuDeviceGetCount(&there));
    for (int i = 0; i < count && !result; i++)
        if (devices && (devices[i] < 0 || devices[i] >= there))
            result = nccl_refuse(ncclInvalidArgument, "there is no GPU %d, but %d of them",
                                 devices[i], there);
    return result || devices || count <= there
               ? result
               : nccl_refuse(ncclInvalidArgument, "there are %d GPUs, not %d", there, count);
}

ncclResult_t ncclCommInitAll(ncclComm_t *comms, int count, const int *devices)
{
    struct comm_making making = {.make = make_met, .ranks = count};
    ncclResult_t result = check_ranks(comms, count, 0);
    if (!result)
        result = check_devices(count, devices);
    if (!result)
        result = TEAM(rgpu_rendezvous_open(&making.rendezvous));
    if (result)
        return result;
    ncclGroupStart();
    for (int i = 0; i < count && !result; i++) {
        result = CU(cuDevicePrimaryCtxRetain(&making.context, devices ? devices[i] : i));
        making.made = &comms[i];
        making.rank = i;
        if (!result)
            result = group_add_making(&making);
    }
    ncclResult_t ended = ncclGroupEnd();
    return result ? result : ended;
}

// ---- splitting ----

struct split_word {
    int32_t color, key;
    struct rgpu_rendezvous rendezvous; // set by the first rank of each color
};

static bool nccl_communicators_is_before(const struct split_word *words, int a, int b)
{
    return words[a].key < words[b].key || (words[a].key == words[b].key && a < b);
}

// Returns the position of RANK among the ranks of its color; *SIZE is their number, *FIRST the
// first one.
static int place_among(const struct split_word *words, int count, int rank, int *size, int *first)
{
    int place = 0;
    *size = 0;
    *first = rank;
    for (int i = 0; i < count; i++) {
        if (words[i].color != words[rank].color)
            continue;
        ++*size;
        place += nccl_communicators_is_before(words, i, rank);
        if (nccl_communicators_is_before(words, i, *first))
            *first = i;
    }
    return place;
}

static ncclResult_t make_split(struct comm_making *making)
{
    struct ncclComm *parent = making->parent;
    struct split_word own = {.color = making->color, .key = making->key}, all[RGPU_MEMBERS_MAX];
    int size = 0, first = 0, place = 0;
    ncclResult_t result = TEAM(rgpu_team_exchange(parent->team, &own, all, sizeof(own)));
    if (result)
        return result;
    place = place_among(all, parent->ranks, parent->rank, &size, &first);
    bool takes_part = own.color != NCCL_SPLIT_NOCOLOR;
    if (takes_part && first == parent->rank)
        result = TEAM(rgpu_rendezvous_open(&own.rendezvous));
    ncclResult_t reported = TEAM(rgpu_team_exchange(parent->team, &own, all, sizeof(own)));
    if (result || reported || !takes_part)
        return result ? result : reported;
    return communicator_make(making->made, size, place, &all[first].rendezvous, parent->context);
}

static ncclResult_t nccl_communicators_split(ncclComm_t comm, int color, int key, ncclComm_t *made)
{
    struct comm_making making = {
        .make = make_split, .made = made, .parent = comm, .color = color, .key = key};
    *made = NULL;
    return group_add_making(&making);
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *made,
                           ncclConfig_t *config)
{
    ncclResult_t result = communicator_check(comm);
    if (!result)
        result = check_config(config);
    if (!result && (!made || color < NCCL_SPLIT_NOCOLOR))
        result = nccl_refuse(ncclInvalidArgument, "ncclCommSplit: no place for it, or the color %d",
                             color);
    return result ? result : nccl_communicators_split(comm, color, key, made);
}

// A shrunk communicator would be made by the remaining ranks alone, since the excluded ones may be
// gone.
ncclResult_t ncclCommShrink(ncclComm_t comm, int *excluded, int count, ncclComm_t *made,
                            ncclConfig_t *config, int flags)
{
    (void)comm, (void)excluded, (void)count, (void)made, (void)config, (void)flags;
    return nccl_refuse(ncclInvalidUsage,
                       "ncclCommShrink is not supported between boxes: make a new communicator");
}

// ---- queries ----

ncclResult_t ncclCommCount(ncclComm_t comm, int *count)
{
    ncclResult_t result = communicator_check(comm);
    if (!result)
        *count = comm->ranks;
    return result;
}

ncclResult_t ncclCommCuDevice(ncclComm_t comm, int *device)
{
    ncclResult_t result = communicator_check(comm);
    if (!result)
        *device = comm->device;
    return result;
}

ncclResult_t ncclCommUserRank(ncclComm_t comm, int *rank)
{
    ncclResult_t result = communicator_check(comm);
    if (!result)
        *rank = comm->rank;
    return result;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error)
{
    ncclResult_t result = communicator_check(comm);
    if (result)
        return result;
    SCOPED_LOCK(&comm->lock);
    if (!comm->failed)
        communicator_failed(comm, TEAM(rgpu_team_check(comm->team)));
    if (!comm->failed && comm->site.number)
        communicator_failed(comm, site_rank_ask(&comm->site));
    *error = comm->failed;
    return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result)
{
    static const char *const texts[ncclNumResults] = {
        [ncclSuccess] = "no error",
        [ncclUnhandledCudaError] = "a call of the CUDA driver failed",
        [ncclSystemError] = "a call of the system failed",
        [ncclInternalError] = "an error within the library",
        [ncclInvalidArgument] = "an invalid argument",
        [ncclInvalidUsage] = "an invalid use of the library",
        [ncclRemoteError] = "another rank is gone, or its box is",
        [ncclInProgress] = "an operation is under way",
    };
    return (unsigned int)result < ncclNumResults ? texts[result] : "an unknown result";
}

const char *ncclGetLastError(ncclComm_t comm)
{
    const char *own = last_refusal();
    return comm && *comm->why ? comm->why : own;
}

void ncclResetDebugInit(void)
{
}

// ---- ending ----

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    return communicator_check(comm);
}

static ncclResult_t nccl_communicators_end(ncclComm_t comm, bool aborted)
{
    if (comm)
        communicator_end(comm, aborted);
    return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    return nccl_communicators_end(comm, false);
}

ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    return nccl_communicators_end(comm, true);
}

ncclResult_t ncclCommRevoke(ncclComm_t comm, int flags)
{
    ncclResult_t result = communicator_check(comm);
    (void)flags;
    if (!result)
        loaded.rgpu_team_abort(comm->team);
    return result;
}
