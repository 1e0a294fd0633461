// SPDX-License-Identifier: BSD-3-Clause
// Functions for the programs of this folder: some ranks of a communicator run in this process, and
// the others in further processes. They find each other by an id in a file.
#ifndef RGPU_TESTS_COMMUNICATORS_H
#define RGPU_TESTS_COMMUNICATORS_H

#include <time.h>
#include <unistd.h>

#include "proto/nccl_abi.h"
#include "tests/programs/driver.h"
#include "tests/programs/graph_calls.h"

enum { RANKS_MOST = 8 };

static int ranks, first_rank, own_ranks;
static ncclComm_t comms[RANKS_MOST]; // of this process's, as all that follows
static CUcontext contexts[RANKS_MOST];
static cudaStream_t streams[RANKS_MOST];

#define NCCL(call) nccl_must((call), #call, __FILE__, __LINE__)
static inline void nccl_must(ncclResult_t result, const char *text, const char *file, int line)
{
    if (result)
        tap_bail(file, line, "%s gave %d: %s", text, (int)result, ncclGetLastError(NULL));
}

#define nccl_refuses(call, want, ...) \
    nccl_refuses_with((call), (want), __FILE__, __LINE__, __VA_ARGS__)
__attribute__((format(printf, 5, 6))) static inline void
nccl_refuses_with(ncclResult_t got, ncclResult_t want, const char *file, int line,
                  const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tap_report(file, line, got == want && *ncclGetLastError(NULL), format, args);
    va_end(args);
    if (got != want)
        diag("    got: %d (%s)   want: %d", (int)got, ncclGetLastError(NULL), (int)want);
}

static inline void on_rank(int i)
{
    CHECK(cuCtxSetCurrent(contexts[i]));
}

static inline void open_ranks(void)
{
    int devices = 0;
    CHECK(cuInit(0));
    CHECK(cuDeviceGetCount(&devices));
    for (int i = 0; i < own_ranks; i++) {
        CUdevice device;
        CHECK(cuDeviceGet(&device, (first_rank + i) % devices));
        CHECK(cuDevicePrimaryCtxRetain(&contexts[i], device));
        on_rank(i);
        CHECK(cuStreamCreate((CUstream *)&streams[i], CU_STREAM_NON_BLOCKING));
    }
}

static inline bool read_id(const char *path, ncclUniqueId *id)
{
    FILE *file = fopen(path, "r");
    bool read = file && fread(id, sizeof(*id), 1, file) == 1;
    if (file)
        fclose(file);
    return read;
}

// The process with rank 0 makes the id; the others wait for the file.
static inline ncclUniqueId share_id(const char *path)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    char made[512];
    ncclUniqueId id;
    if (first_rank) {
        while (!read_id(path, &id))
            nanosleep(&pause, NULL);
        return id;
    }
    NCCL(ncclGetUniqueId(&id));
    snprintf(made, sizeof(made), "%s.made", path);
    FILE *file = fopen(made, "w");
    if (!file || fwrite(&id, sizeof(id), 1, file) != 1 || fclose(file) || rename(made, path))
        bail("cannot write %s", path);
    return id;
}

static inline void meet_ranks(const char *path)
{
    ncclUniqueId id = share_id(path);
    NCCL(ncclGroupStart());
    for (int i = 0; i < own_ranks; i++) {
        on_rank(i);
        NCCL(ncclCommInitRank(&comms[i], ranks, id, first_rank + i));
    }
    NCCL(ncclGroupEnd());
}

static inline void wait_for_ranks(void)
{
    for (int i = 0; i < own_ranks; i++) {
        on_rank(i);
        CHECK(cuStreamSynchronize((CUstream)streams[i]));
    }
}

#endif
