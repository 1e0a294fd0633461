// SPDX-License-Identifier: BSD-3-Clause
// Makes ranks wait in an all-reduce for ranks that do not come. usage: ranks_lost RANKS FIRST COUNT
// ID-FILE [stay|meet|strange]. With `stay` a process joins the rendezvous only, until it is killed.
// With `meet` it prints the result of the rendezvous, with `strange` it uses another key.
#include "tests/nccl/communicators.h"

enum { COUNT = 300000 };

static CUdeviceptr data[RANKS_MOST];

static void reduce_all(void)
{
    NCCL(ncclGroupStart());
    for (int i = 0; i < own_ranks; i++)
        NCCL(ncclAllReduce((void *)data[i], (void *)data[i], COUNT, ncclFloat32, ncclSum, comms[i],
                           streams[i]));
    NCCL(ncclGroupEnd());
}

static void say(const char *what, const char *text)
{
    printf("# %s %s\n", what, text);
    fflush(stdout);
}

static void meet_and_tell(const char *path, bool strange)
{
    char text[400];
    ncclUniqueId id = share_id(path);
    if (strange)
        id.internal[40] ^= 1;
    on_rank(0);
    ncclResult_t result = ncclCommInitRank(&comms[0], ranks, id, first_rank);
    snprintf(text, sizeof(text), "%d %s", (int)result, result ? ncclGetLastError(NULL) : "");
    say("met", text);
    if (!result)
        NCCL(ncclCommDestroy(comms[0]));
}

static void wait_in_vain(void)
{
    ncclResult_t state = ncclSuccess;
    uint32_t word = 1;
    reduce_all();
    say("waits", "");
    for (int i = 0; i < own_ranks; i++) {
        on_rank(i);
        cuStreamSynchronize((CUstream)streams[i]); // of a box that is gone it says so
    }
    NCCL(ncclCommGetAsyncError(comms[0], &state));
    is_int(state, ncclRemoteError, "the communicator has lost a rank");
    say("lost", ncclGetLastError(comms[0]));
    nccl_refuses(ncclAllReduce((void *)data[0], (void *)data[0], COUNT, ncclFloat32, ncclSum,
                               comms[0], streams[0]),
                 ncclRemoteError, "nothing more is done with it");
    for (int i = 0; i < own_ranks; i++)
        NCCL(ncclCommAbort(comms[i]));
    on_rank(0);
    if (cuMemsetD32(data[0], 7, COUNT) == CUDA_SUCCESS)
        cuMemcpyDtoH(&word, data[0], 4);
    say("word", word == 7 ? "is written" : "is not written");
}

int main(int argc, char **argv)
{
    if (argc < 5)
        bail("usage: ranks_lost RANKS FIRST COUNT ID-FILE [stay|meet|strange]");
    const char *mode = argc > 5 ? argv[5] : "";
    ranks = atoi(argv[1]);
    first_rank = atoi(argv[2]);
    own_ranks = atoi(argv[3]);
    open_ranks();
    if (!strcmp(mode, "meet") || !strcmp(mode, "strange")) {
        meet_and_tell(argv[4], !strcmp(mode, "strange"));
        return 0;
    }
    meet_ranks(argv[4]);
    for (int i = 0; i < own_ranks; i++) {
        on_rank(i);
        data[i] = device_alloc(COUNT * sizeof(float));
    }
    reduce_all();
    wait_for_ranks();
    if (!strcmp(mode, "stay")) {
        say("stays", "");
        for (;;)
            pause();
    }
    wait_in_vain();
    return done();
}
