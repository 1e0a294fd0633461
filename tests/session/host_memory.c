// SPDX-License-Identifier: BSD-3-Clause
// Page-locked memory as programs have it by the ten thousand: small pieces, freed and allocated
// again while work is under way, and processes that may have no more mappings.
//
//     host-memory many COUNT BYTES | again COUNT BYTES | busy | captured | forked | full |
//     until-refused COUNT BYTES
#include "tests/programs/graph_calls.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static struct gpu gpu;
static CUstream stream;

static uint32_t *allocate(int number, size_t bytes)
{
    void *memory = NULL;
    CHECK(number % 2 ? cuMemAllocHost(&memory, bytes) : cuMemHostAlloc(&memory, bytes, 0));
    return memory;
}

// A kernel, which says whether the session is still of use.
static void launches(const char *when)
{
    static const uint32_t five = 5, one = 1;
    uint32_t word = 1;
    CUdeviceptr data = device_alloc(sizeof(word));
    CHECK(cuMemcpyHtoD(data, &word, sizeof(word)));
    launch(kernel(&gpu, "add"), 1, 1, stream, &data, (void *)&five, (void *)&one);
    gives(cuStreamSynchronize(stream), CUDA_SUCCESS, "a kernel runs %s", when);
    CHECK(cuMemcpyDtoH(&word, data, sizeof(word)));
    is_int(word, 6, "and computes");
    CHECK(cuMemFree(data));
}

static void many(int count, size_t bytes)
{
    uint32_t **pieces = calloc((size_t)count, sizeof(*pieces));
    long wrong = 0;
    for (int i = 0; i < count; i++) {
        pieces[i] = allocate(i, bytes);
        pieces[i][0] = pieces[i][bytes / 4 - 1] = (uint32_t)i;
    }
    for (int i = 0; i < count; i++)
        wrong += pieces[i][0] != (uint32_t)i || pieces[i][bytes / 4 - 1] != (uint32_t)i;
    is_int(wrong, 0, "%d allocations of %zu bytes are memory of their own", count, bytes);
    launches("beside them");
    uint32_t seven = 7, one = 1, *last = pieces[count - 1];
    CUdeviceptr address = (CUdeviceptr)(uintptr_t)last;
    if (device_attribute(gpu.device, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY)) {
        CHECK(cuMemHostGetDevicePointer(&address, last, 0));
        launch(kernel(&gpu, "add"), 1, 1, stream, &address, &seven, &one);
        CHECK(cuStreamSynchronize(stream));
        is_int(last[0], (uint32_t)count - 1 + 7, "a kernel writes to the last of them");
    }
    for (int i = 0; i < count; i++)
        CHECK(cuMemFreeHost(pieces[i]));
    free(pieces);
    launches("after them");
}

static void again(int count, size_t bytes)
{
    for (int i = 0; i < count; i++) {
        uint32_t *memory = allocate(i, bytes);
        memory[bytes / 4 - 1] = 1;
        CHECK(cuMemFreeHost(memory));
    }
    pass("%d allocations of %zu bytes, one after the other", count, bytes);
    launches("after them");
}

// Memory that is allocated again is not written by operations on its earlier use.
static void busy(void)
{
    enum { SIZE = 32768, WORDS = SIZE / 4, ROUNDS = 100 };
    long wrong = 0;
    CUdeviceptr data = device_alloc(SIZE);
    for (int round = 0; round < ROUNDS; round++) {
        uint32_t *memory = allocate(round, SIZE);
        CHECK(cuMemsetD32Async(data, 1, WORDS, stream));
        for (int i = 0; i < 4; i++)
            CHECK(cuMemcpyDtoHAsync(memory, data, SIZE, stream));
        CHECK(cuMemFreeHost(memory));
        memory = allocate(round, SIZE);
        for (uint32_t i = 0; i < WORDS; i++)
            memory[i] = i;
        CHECK(cuStreamSynchronize(stream));
        for (uint32_t i = 0; i < WORDS; i++)
            wrong += memory[i] != i;
        CHECK(cuMemFreeHost(memory));
    }
    is_int(wrong, 0, "memory that was freed below copies is given out again after them");
    CHECK(cuMemFree(data));
}

static void captured(void)
{
    enum { PIECES = 200 };
    CUgraph graph;
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    for (int i = 0; i < PIECES; i++) {
        uint32_t *memory = allocate(i, 4096);
        CHECK(cuMemFreeHost(memory));
    }
    gives(cuStreamEndCapture(stream, &graph), CUDA_SUCCESS,
          "memory that is allocated and freed while a stream is captured breaks no capture");
    CHECK(cuGraphDestroy(graph));
    again(PIECES, 4096);
}

// Every second page is another mapping, until the process may have no more.
static void full(void)
{
    enum { PAGE = 4096, PAGES = 4 << 20 };
    size_t at = 0, size = (size_t)PAGES * PAGE;
    void *memory = NULL;
    uint8_t *own = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (own == MAP_FAILED)
        bail("mmap");
    launches("before");
    while (at < PAGES && mprotect(own + at * PAGE, PAGE, PROT_READ) == 0)
        at += 2;
    if (at >= PAGES)
        skip_all("this process may have more mappings than there is room for");
    // Shared memory is a mapping of its own each time.
    while (mmap(NULL, PAGE, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
        ;
    gives(cuMemHostAlloc(&memory, 1 << 20, 0), CUDA_ERROR_OUT_OF_MEMORY,
          "a process without any mapping left gets no page-locked memory");
    launches("all the same");
    munmap(own, size);
    gives(cuMemHostAlloc(&memory, 1 << 20, 0), CUDA_SUCCESS, "once it has some it gets memory");
    CHECK(cuMemFreeHost(memory));
}

// Tests page-locked memory, small and large, in a forked child.
static void forked(void)
{
    static const size_t sizes[] = {4096, 1 << 20};
    for (int i = 0; i < 2; i++) {
        int status = 0;
        uint32_t *memory = allocate(i, sizes[i]);
        memory[0] = 5;
        fflush(stdout);
        pid_t child = fork();
        if (!child) {
            memory[0] = 6;
            _exit(0);
        }
        if (waitpid(child, &status, 0) != child)
            bail("waitpid");
        ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV,
           "a child has no page-locked memory, %zu bytes", sizes[i]);
        is_int(memory[0], 5, "its parent has what it wrote");
        CHECK(cuMemFreeHost(memory));
    }
}

static void until_refused(int expected, size_t bytes)
{
    enum { MOST = 100000 };
    static void *pieces[MOST];
    int count = 0;
    CUresult result = CUDA_SUCCESS;
    while (count < MOST && (result = cuMemHostAlloc(&pieces[count], bytes, 0)) == CUDA_SUCCESS)
        count++;
    is_int(result, CUDA_ERROR_OUT_OF_MEMORY, "one of many allocations is refused");
    is_int(count, expected, "as a quarter of the mappings is kept");
    launches("after that");
    CHECK(cuMemFreeHost(pieces[--count]));
    gives(cuMemHostAlloc(&pieces[count], bytes, 0), CUDA_SUCCESS,
          "what was freed can be had again");
    while (count >= 0)
        CHECK(cuMemFreeHost(pieces[count--]));
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "busy";
    int count = argc > 2 ? atoi(argv[2]) : 0;
    size_t bytes = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
    gpu = open_gpu(0);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    if (!strcmp(mode, "many"))
        many(count, bytes);
    else if (!strcmp(mode, "again"))
        again(count, bytes);
    else if (!strcmp(mode, "captured"))
        captured();
    else if (!strcmp(mode, "forked"))
        forked();
    else if (!strcmp(mode, "full"))
        full();
    else if (!strcmp(mode, "until-refused"))
        until_refused(count, bytes);
    else
        busy();
    CHECK(cuStreamDestroy(stream));
    close_gpu(&gpu);
    return done();
}
