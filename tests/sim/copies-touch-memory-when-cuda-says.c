// SPDX-License-Identifier: BSD-3-Clause
// The times at which a copy reads its source and writes its destination: pageable memory during the
// call, pinned memory when the stream reaches the copy. Copies to pageable memory are complete when
// the call returns.
#include "tests/sim/sim_test.h"

enum { SMALL = 1000, LARGE = 3 << 20 };

static uint32_t *gate;

static void check_source(CUdeviceptr device, unsigned char *source, size_t size, bool pinned)
{
    CUstream stream = sim_stream(CU_STREAM_NON_BLOCKING);
    unsigned char *back = must_alloc(size);
    memset(source, 1, size);
    __atomic_store_n(gate, 0, __ATOMIC_RELEASE);
    sim_close_gate(stream, gate);
    CHECK(cuMemcpyHtoDAsync(device, source, size, stream));
    pass("the call returns while the stream is held");
    memset(source, 2, size);
    sim_open_gate(gate);
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuMemcpyDtoH(back, device, size));
    is_int(back[0], pinned ? 2 : 1, "%zu bytes: a %s source is read %s", size,
           pinned ? "pinned" : "pageable", pinned ? "when the copy runs" : "at the call");
    is_int(back[size - 1], back[0], "to the end");
    CHECK(cuStreamDestroy(stream));
    free(back);
}

// The copy's own stream is idle, but has to wait for another one by the default stream's rules.
static void check_default_stream(CUdeviceptr device, unsigned char *source)
{
    CUstream held = sim_stream(CU_STREAM_DEFAULT);
    unsigned char byte = 0;
    __atomic_store_n(gate, 0, __ATOMIC_RELEASE);
    sim_close_gate(held, gate);
    memset(source, 5, LARGE);
    CHECK(cuMemcpyHtoDAsync(device, source, LARGE, NULL));
    pass("a copy in the default stream returns while a blocking stream is held");
    memset(source, 6, LARGE);
    sim_open_gate(gate);
    CHECK(cuMemcpyDtoH(&byte, device + LARGE - 1, 1));
    is_int(byte, 5, "with its source read at the call");
    CHECK(cuStreamDestroy(held));
}

static void check_destination(CUdeviceptr device, uint32_t *pinned)
{
    CUstream stream = sim_stream(CU_STREAM_NON_BLOCKING);
    unsigned char pageable[SMALL] = {0};
    unsigned char *bytes = (unsigned char *)pinned;
    CHECK(cuMemsetD8(device, 7, LARGE));
    CHECK(cuCtxSynchronize());
    bytes[0] = 0;
    __atomic_store_n(gate, 0, __ATOMIC_RELEASE);
    sim_close_gate(stream, gate);
    CHECK(cuMemcpyDtoHAsync(bytes, device, SMALL, stream));
    is_int(bytes[0], 0, "a pinned destination is not written before the stream gets there");
    gives(cuStreamQuery(stream), CUDA_ERROR_NOT_READY, "and the stream is busy");
    sim_open_gate(gate);
    CHECK(cuStreamSynchronize(stream));
    is_int(bytes[SMALL - 1], 7, "it is written then");
    CHECK(cuMemcpyDtoHAsync(pageable, device, SMALL, stream));
    is_int(pageable[SMALL - 1], 7, "a pageable destination is written when the call returns");
}

static void check_checks(CUdeviceptr device)
{
    char host[16];
    gives(cuMemcpyHtoD(device + LARGE - 8, host, 16), CUDA_ERROR_INVALID_VALUE,
          "a copy over the end of an allocation is refused");
    gives(cuMemcpyDtoH(host, device + LARGE, 1), CUDA_ERROR_INVALID_VALUE,
          "and one from behind it");
    gives(cuMemcpyHtoD((CUdeviceptr)(uintptr_t)host, host, 1), CUDA_ERROR_INVALID_VALUE,
          "and one to host memory that is said to be the device's");
    gives(cuMemcpyDtoD(device, 16, 16), CUDA_ERROR_INVALID_VALUE, "and one from nowhere");
    gives(cuMemcpyHtoD(device, host, 0), CUDA_SUCCESS, "nothing is copied from anywhere");
}

static void check_inference(CUdeviceptr device)
{
    char from[64], to[64] = {0};
    memset(from, 5, sizeof(from));
    CHECK(cuMemcpy(device, (CUdeviceptr)(uintptr_t)from, sizeof(from)));
    CHECK(cuMemcpy(device + 64, device, sizeof(from)));
    CHECK(cuMemcpy((CUdeviceptr)(uintptr_t)to, device + 64, sizeof(to)));
    is_mem(to, from, sizeof(to), "cuMemcpy finds out what its addresses are");
}

static void check_batch(CUdeviceptr device)
{
    CUstream stream = sim_stream(CU_STREAM_NON_BLOCKING);
    char a[16], b[16], back[32];
    memset(a, 1, sizeof(a));
    memset(b, 2, sizeof(b));
    CUdeviceptr to[2] = {device, device + 16};
    CUdeviceptr from[2] = {(CUdeviceptr)(uintptr_t)a, (CUdeviceptr)(uintptr_t)b};
    size_t sizes[2] = {16, 16}, first[2] = {0, 1};
    CUmemcpyAttributes attributes[2] = {
        {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM},
        {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL},
    };
    __atomic_store_n(gate, 0, __ATOMIC_RELEASE);
    sim_close_gate(stream, gate);
    CHECK(cuMemcpyBatchAsync_v2(to, from, sizes, 2, attributes, first, 2, stream));
    memset(a, 3, sizeof(a));
    memset(b, 4, sizeof(b));
    sim_open_gate(gate);
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuMemcpyDtoH(back, device, sizeof(back)));
    is_int(back[0], 3, "a batch reads a source in stream order if told so");
    is_int(back[31], 2, "and at the call if told so");
    gives(cuMemcpyBatchAsync_v2(to, from, sizes, 2, attributes, first, 2, NULL),
          CUDA_ERROR_INVALID_VALUE, "not in the default stream");
}

int main(void)
{
    sim_isolate("1", "1G");
    sim_context(0);
    gate = sim_word();
    CUdeviceptr device = device_alloc(LARGE);
    unsigned char *pageable = must_alloc(LARGE);
    void *pinned;
    CHECK(cuMemAllocHost(&pinned, LARGE));
    check_source(device, pageable, SMALL, false);
    check_source(device, pageable, LARGE, false);
    check_default_stream(device, pageable);
    check_source(device, pinned, SMALL, true);
    check_source(device, pinned, LARGE, true);
    CHECK(cuMemHostRegister(pageable, LARGE, 0));
    check_source(device, pageable, LARGE, true);
    CHECK(cuMemHostUnregister(pageable));
    check_destination(device, pinned);
    check_checks(device);
    check_inference(device);
    check_batch(device);
    free(pageable);
    return done();
}
