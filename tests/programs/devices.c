// SPDX-License-Identifier: BSD-3-Clause
// Two devices in one process: each with its context, work on both at once, copies between them.
#include "tests/programs/driver.h"

#define N 30000u

int main(void)
{
    need_two_devices();

    struct gpu gpu[2];
    CUstream stream[2];
    CUdeviceptr data[2];
    unsigned n = N;
    uint32_t *in = must_alloc(N * 4), *out = must_alloc(N * 4);
    unsigned wrong = 0;
    fill_random(in, N * 4, 11);
    for (int d = 0; d < 2; d++) {
        gpu[d] = open_gpu(d);
        CHECK(cuStreamCreate(&stream[d], CU_STREAM_NON_BLOCKING));
        data[d] = device_alloc(N * 4);
    }
    CUuuid a, b;
    CHECK(cuDeviceGetUuid(&a, gpu[0].device));
    CHECK(cuDeviceGetUuid(&b, gpu[1].device));
    ok(memcmp(&a, &b, sizeof a), "two devices have two UUIDs");
    ok(data[0] != data[1], "addresses of two devices differ");

    for (int d = 0; d < 2; d++) {
        unsigned value = 100 + (unsigned)d;
        CHECK(cuCtxSetCurrent(gpu[d].context));
        CHECK(cuMemcpyHtoDAsync(data[d], in, N * 4, stream[d]));
        launch(kernel(&gpu[d], "add"), 4, 128, stream[d], &data[d], &value, &n);
    }
    for (int d = 0; d < 2; d++) {
        CHECK(cuCtxSetCurrent(gpu[d].context));
        CHECK(cuMemcpyDtoHAsync(out, data[d], N * 4, stream[d]));
        CHECK(cuStreamSynchronize(stream[d]));
        for (unsigned i = 0; i < N; i++)
            wrong += out[i] != in[i] + 100 + (unsigned)d;
    }
    is_int(wrong, 0, "both devices computed at once, each on its own data");

    CHECK(cuMemcpyPeer(data[1], gpu[1].context, data[0], gpu[0].context, N * 4));
    CHECK(cuCtxSetCurrent(gpu[1].context));
    CHECK(cuMemcpyDtoH(out, data[1], N * 4));
    wrong = 0;
    for (unsigned i = 0; i < N; i++)
        wrong += out[i] != in[i] + 100;
    is_int(wrong, 0, "a copy from device 0 to device 1");

    CHECK(cuCtxSetCurrent(gpu[0].context)); // memory is set in its own device's context
    CHECK(cuMemsetD32(data[0], 0, N));
    CHECK(cuCtxSynchronize());
    CHECK(cuCtxSetCurrent(gpu[1].context));
    CHECK(cuMemcpyPeerAsync(data[0], gpu[0].context, data[1], gpu[1].context, N * 4, stream[1]));
    CHECK(cuStreamSynchronize(stream[1]));
    CHECK(cuCtxSetCurrent(gpu[0].context));
    CHECK(cuMemcpyDtoH(out, data[0], N * 4));
    wrong = 0;
    for (unsigned i = 0; i < N; i++)
        wrong += out[i] != in[i] + 100;
    is_int(wrong, 0, "and back, on a stream");

    CUcontext current;
    CUdevice device;
    CHECK(cuCtxSetCurrent(gpu[1].context));
    CHECK(cuCtxGetCurrent(&current));
    CHECK(cuCtxGetDevice(&device));
    ok(current == gpu[1].context && device == gpu[1].device, "the current context says its device");
    CUdeviceptr address = data[0];
    int owner = -1;
    CHECK(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address));
    is_int(owner, 0, "a pointer tells its device whatever context is current");

    for (int d = 0; d < 2; d++) {
        CHECK(cuCtxSetCurrent(gpu[d].context));
        CHECK(cuMemFree(data[d]));
        CHECK(cuStreamDestroy(stream[d]));
        close_gpu(&gpu[d]);
    }
    free(in);
    free(out);
    return done();
}
