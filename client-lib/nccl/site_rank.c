// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/nccl/site_rank.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/scope.h"

enum { SITE_MEET_MS = 120000 }; // limit for its connections

// The data that ranks exchange in one step.
struct site_word {
    uint32_t version;
    int32_t failed;
    ncclUniqueId id; // of rank 0
    char why[120];
};

static ncclResult_t exchange_words(const struct site_rank *rank, const struct site_word *own,
                                   struct site_word *all)
{
    return TEAM(rgpu_team_exchange(rank->team, own, all, sizeof(*own)));
}

static ncclResult_t decline(const struct site_rank *rank, int who, const char *why)
{
    nccl_tell("rank %d of %d takes links between the boxes: %s (rank %d)", rank->rank, rank->ranks,
              why, who);
    return ncclSuccess;
}

// Returns the first rank whose step failed; -1: none.
static int failed_rank(const struct site_rank *rank, const struct site_word *all)
{
    for (int i = 0; i < rank->ranks; i++)
        if (all[i].failed)
            return i;
    return -1;
}

// Returns the first rank whose box has no NCCL, or another version than rank 0's; -1: there is
// none.
static int other_version(const struct site_rank *rank, const struct site_word *all)
{
    for (int i = 0; i < rank->ranks; i++)
        if (!all[i].version || all[i].version != all[0].version)
            return i;
    return -1;
}

static void make_rank(struct site_rank *rank, const ncclUniqueId *id, int timeout_ms,
                      struct site_word *own)
{
    uint32_t ms = (uint32_t)(timeout_ms < SITE_MEET_MS ? timeout_ms : SITE_MEET_MS);
    CUresult result = loaded.site->make(rank->context, rank->ranks, rank->rank, id, ms,
                                        &rank->number, own->why, sizeof(own->why));
    own->failed = result != CUDA_SUCCESS;
    if (own->failed && !*own->why)
        snprintf(own->why, sizeof(own->why), "its box refuses it (%d)", (int)result);
    if (!own->failed && site_watch_begin(rank)) {
        own->failed = 1;
        snprintf(own->why, sizeof(own->why), "no thread looks after it");
    }
}

// Either all ranks make a rank of the boxes' NCCL, or none of them keeps one.
static ncclResult_t make_all_ranks(struct site_rank *rank, int timeout_ms, struct site_word *own,
                                   struct site_word *all)
{
    make_rank(rank, &all[0].id, timeout_ms, own);
    ncclResult_t result = exchange_words(rank, own, all);
    int failed = result ? 0 : failed_rank(rank, all);
    if (failed < 0) {
        nccl_tell("rank %d of %d uses the boxes' NCCL, version %u", rank->rank, rank->ranks,
                  own->version);
        return ncclSuccess;
    }
    site_rank_part(rank, true);
    rank->number = 0;
    return result ? result : decline(rank, failed, all[failed].why);
}

static ncclResult_t join(struct site_rank *rank, int timeout_ms, struct site_word *all)
{
    struct site_word own = {.version = loaded.site ? loaded.site->offer(rank->context) : 0};
    ncclResult_t result = exchange_words(rank, &own, all);
    int other = result ? -1 : other_version(rank, all);
    if (other >= 0)
        return decline(rank, other,
                       all[other].version ? "the boxes have different versions of NCCL"
                                          : "a box has no NCCL of its own");
    if (!result && !rank->rank)
        own.failed = loaded.site->make_id(rank->context, &own.id) != CUDA_SUCCESS;
    if (!result)
        result = exchange_words(rank, &own, all);
    if (result)
        return result;
    if (all[0].failed)
        return decline(rank, 0, "its box's NCCL makes no id");
    return make_all_ranks(rank, timeout_ms, &own, all);
}

ncclResult_t site_rank_join(struct site_rank *rank, int timeout_ms)
{
    if (rank->ranks == 1)
        return ncclSuccess;
    SCOPED_FREE struct site_word *all = calloc((size_t)rank->ranks, sizeof(struct site_word));
    return all ? join(rank, timeout_ms, all)
               : nccl_refuse(ncclSystemError, "no memory for a communicator");
}

ncclResult_t site_rank_ask(const struct site_rank *rank)
{
    ncclResult_t result = loaded.site->ask(rank->context, rank->number);
    return result ? nccl_refuse(result, "the boxes' NCCL has failed (%d)", (int)result)
                  : ncclSuccess;
}

void site_rank_part(struct site_rank *rank, bool aborted)
{
    if (!rank->number)
        return;
    site_watch_end(rank);
    if (!rank->ended)
        loaded.site->end(rank->context, rank->number, aborted);
}
