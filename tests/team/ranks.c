// SPDX-License-Identifier: BSD-3-Clause
// usage: ranks [MEMBERS [wait]]. Blocks of kernels put to each other and wait for each other. With
// `wait` they wait for what does not come, until the program is killed.
#include "tests/team/teams.h"

enum { BLOCKS = 4, STEPS = 20 };

__asm__(".pushsection .rodata\n"
        "ranks_ptx: .incbin \"tests/team/ranks.ptx\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char ranks_ptx[] __attribute__((visibility("hidden")));

static void run_ranks(const CUdeviceptr *handles)
{
    CUdeviceptr source[MOST], wrong[MOST];
    CUmodule module[MOST];
    CUfunction function[MOST];
    unsigned int steps = STEPS;
    for (int i = 0; i < members; i++) {
        on(i);
        source[i] = device_alloc(BLOCKS * 256);
        wrong[i] = device_alloc(4);
        CHECK(cuMemsetD32(wrong[i], 0, 1));
        CHECK(cuCtxSynchronize());
        CHECK(cuModuleLoadData(&module[i], ranks_ptx));
        CHECK(cuModuleGetFunction(&function[i], module[i], "ranks_around"));
    }
    for (int i = 0; i < members; i++) {
        void *parameters[] = {(void *)&handles[i], &source[i], &wrong[i], &steps};
        on(i);
        CHECK(cuLaunchCooperativeKernel(function[i], BLOCKS, 1, 1, 64, 1, 1, 0, streams[i],
                                        parameters));
    }
    synchronize_all();
    uint32_t all = 0;
    for (int i = 0; i < members; i++) {
        on(i);
        all += word_at(wrong[i]);
        CHECK(cuModuleUnload(module[i]));
        CHECK(cuMemFree(source[i]));
        CHECK(cuMemFree(wrong[i]));
    }
    is_int(all, 0,
           "%d ranks find what the one before has put, %d times, and nothing out of range is done",
           members * BLOCKS, STEPS);
}

static void wait_in_vain(const CUdeviceptr *handles)
{
    CUmodule module;
    CUfunction function;
    on(0);
    CHECK(cuModuleLoadData(&module, ranks_ptx));
    CHECK(cuModuleGetFunction(&function, module, "ranks_wait"));
    CHECK(cuLaunchCooperativeKernel(function, BLOCKS, 1, 1, 64, 1, 1, 0, streams[0],
                                    (void *[]){(void *)&handles[0]}));
    gives(cuStreamQuery(streams[0]), CUDA_ERROR_NOT_READY, "a kernel waits");
    printf("# waits\n");
    fflush(stdout);
    cuStreamSynchronize(streams[0]);
}

// The GPU of the last member has no memory for its part.
static void open_in_vain(struct rgpu_window *window, CUdeviceptr *handles)
{
    CUdeviceptr taken[64];
    int count = 0;
    on(members - 1);
    for (size_t size = (size_t)1 << 36; size >= 1 << 16; size /= 2)
        while (count < 64 && cuMemAlloc(&taken[count], size) == CUDA_SUCCESS)
            count++;
    refuses(rgpu_window_open_device(window, RGPU_BLOCKS_MAX, handles), RGPU_ERROR_MEMORY,
            "no memory is left");
    on(members - 1);
    while (count)
        CHECK(cuMemFree(taken[--count]));
}

int main(int argc, char **argv)
{
    CUdeviceptr handles[MOST];
    open_members(argc > 1 ? atoi(argv[1]) : 0);
    struct area area = new_area(BLOCKS * 256, 2);
    refuses(rgpu_window_open_device(area.window, 0, handles), RGPU_ERROR_RANGE, "no blocks");
    open_in_vain(area.window, handles);
    TEAM(rgpu_window_open_device(area.window, BLOCKS, handles));
    refuses(rgpu_window_open_device(area.window, BLOCKS, handles), RGPU_ERROR_INVALID,
            "a window is opened once");
    if (argc > 2)
        wait_in_vain(handles);
    run_ranks(handles);
    run_ranks(handles);
    free_area(&area);
    close_members();
    return done();
}
