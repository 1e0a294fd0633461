// SPDX-License-Identifier: BSD-3-Clause
// Measures copies of given sizes from and to one kind of host memory, in microseconds.
//
//   copy_speed pinned|pageable|queued SIZE...
//
// pinned: one asynchronous copy of page-locked memory with its synchronization; queued: eight of
// them with one synchronization; pageable: one synchronous copy of ordinary memory. STUDY_NAIVE=1
// registers the memory for each copy; STUDY_SECONDS is the time for each size and direction.
#include "bench/studies/programs/study.h"

struct copy {
    CUstream stream;
    void *host;
    CUdeviceptr device;
    size_t size;
    bool to_device, pinned;
    int queued;
};

static double copy_once(void *argument)
{
    struct copy *c = argument;
    double start = study_now();
    if (!c->pinned) {
        study_copy(c->to_device, c->device, c->host, c->size);
        return study_now() - start;
    }
    for (int i = 0; i < c->queued; i++)
        CHECK(c->to_device ? cuMemcpyHtoDAsync(c->device, c->host, c->size, c->stream)
                           : cuMemcpyDtoHAsync(c->host, c->device, c->size, c->stream));
    CHECK(cuStreamSynchronize(c->stream));
    return (study_now() - start) / c->queued;
}

// Checks that the last bytes of a copy there and back are equal.
static void check(struct copy *c)
{
    unsigned char *bytes = c->host;
    bytes[c->size - 1] = 77;
    c->to_device = true;
    copy_once(c);
    bytes[c->size - 1] = 0;
    c->to_device = false;
    copy_once(c);
    if (bytes[c->size - 1] != 77)
        bail("a copy of %zu bytes came back wrong", c->size);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    bool naive = study_naive();
    struct copy c = {.pinned = strcmp(argv[1], "pageable") != 0 && !naive,
                     .queued = strcmp(argv[1], "queued") ? 1 : 8};
    struct gpu gpu = open_gpu(0);
    size_t most = 0;
    CHECK(cuStreamCreate(&c.stream, CU_STREAM_NON_BLOCKING));
    for (int i = 2; i < argc; i++) {
        size_t size = strtoull(argv[i], NULL, 10);
        most = size > most ? size : most;
    }
    c.device = device_alloc(most);
    if (c.pinned)
        CHECK(cuMemAllocHost(&c.host, most));
    else
        c.host = must_alloc(most);
    memset(c.host, 1, most);
    for (int i = 2; i < argc; i++) {
        c.size = strtoull(argv[i], NULL, 10);
        if (!c.size)
            return 2;
        check(&c);
        for (int to = 1; to >= 0; to--) {
            c.to_device = to;
            study_figure_at(to ? "to the GPU" : "from the GPU", c.size,
                            study_repeat(copy_once, &c, study_seconds(0.04), 3), "us");
        }
    }
    if (c.pinned)
        CHECK(cuMemFreeHost(c.host));
    else
        free(c.host);
    CHECK(cuMemFree(c.device));
    CHECK(cuStreamDestroy(c.stream));
    close_gpu(&gpu);
    return 0;
}
