// SPDX-License-Identifier: BSD-3-Clause
// Puts each GPU's number into the memory of the next GPU, and waits until all have received theirs.
#include <cuda.h>
#include <rgpu.h>
#include <stdio.h>
#include <stdlib.h>

#define CU(call) \
    if (call) \
    (fprintf(stderr, "%s failed\n", #call), exit(1))
#define RGPU(call) \
    if (call) \
    (fprintf(stderr, "%s: %s\n", #call, rgpu_error_text()), exit(1))
enum { MOST = 16, TAG = 0 };

int main(void)
{
    CUcontext contexts[MOST];
    CUstream streams[MOST];
    CUdeviceptr numbers[MOST]; // of each GPU: its own number and its neighbour's
    size_t sizes[MOST];
    struct rgpu_team *team;
    struct rgpu_window *window;
    int count, got;
    CU(cuInit(0));
    CU(cuDeviceGetCount(&count));
    count = count < MOST ? count : MOST;
    for (int i = 0; i < count; i++) {
        CU(cuDevicePrimaryCtxRetain(&contexts[i], i));
        CU(cuCtxSetCurrent(contexts[i]));
        CU(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
        CU(cuMemAlloc(&numbers[i], sizes[i] = 2 * sizeof(int)));
        CU(cuMemsetD32(numbers[i], i + 1, 2));
        CU(cuCtxSynchronize());
    }
    RGPU(rgpu_team_create(&team, contexts, count));
    RGPU(rgpu_window_register(team, numbers, sizes, 1, &window));
    for (int i = 0; i < count; i++) // into the second number of the next GPU
        RGPU(rgpu_put_signal_async(window, i, (i + 1) % count, 4, numbers[i], 4, TAG, streams[i]));
    for (int i = 0; i < count; i++)
        RGPU(rgpu_signal_wait_async(window, i, (i + count - 1) % count, TAG, 1, streams[i]));
    RGPU(rgpu_barrier_async(team, streams));
    for (int i = 0; i < count; i++) {
        CU(cuCtxSetCurrent(contexts[i]));
        CU(cuStreamSynchronize(streams[i]));
        CU(cuMemcpyDtoH(&got, numbers[i] + 4, sizeof got));
        printf("GPU %d: %d from its neighbour\n", i, got);
    }
    RGPU(rgpu_team_check(team));
    RGPU(rgpu_window_free(&window));
    rgpu_team_destroy(&team);
    return 0;
}
