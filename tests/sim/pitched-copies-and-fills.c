// SPDX-License-Identifier: BSD-3-Clause
// Rectangles and boxes: every byte inside is copied or filled, none outside, between pitched
// device memory and host memory; bad shapes are refused.
#include "tests/sim/sim_test.h"

enum { WIDTH = 60, HEIGHT = 9, DEPTH = 4 };

static void check_2d(void)
{
    CUdeviceptr device;
    size_t pitch;
    unsigned char host[HEIGHT][WIDTH], back[HEIGHT][WIDTH + 4];
    CHECK(cuMemAllocPitch(&device, &pitch, WIDTH, HEIGHT, 4));
    is_int(pitch % 512, 0, "rows are aligned");
    CHECK(cuMemsetD2D8(device, pitch, 0xee, WIDTH, HEIGHT));
    fill_random(host, sizeof(host), 1);
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = host,
                          .srcPitch = WIDTH,
                          .srcXInBytes = 5,
                          .srcY = 2,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = device,
                          .dstPitch = pitch,
                          .dstXInBytes = 7,
                          .dstY = 1,
                          .WidthInBytes = 20,
                          .Height = 6};
    CHECK(cuMemcpy2D(&copy));
    memset(back, 0xaa, sizeof(back));
    CUDA_MEMCPY2D all = {.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                         .srcDevice = device,
                         .srcPitch = pitch,
                         .dstMemoryType = CU_MEMORYTYPE_HOST,
                         .dstHost = back,
                         .dstPitch = WIDTH + 4,
                         .WidthInBytes = WIDTH,
                         .Height = HEIGHT};
    CHECK(cuMemcpy2D(&all));
    int wrong = 0;
    for (int y = 0; y < HEIGHT; y++) {
        for (int x = 0; x < WIDTH + 4; x++) {
            bool inside = x >= 7 && x < 27 && y >= 1 && y < 7;
            unsigned char want = x >= WIDTH ? 0xaa : inside ? host[y + 1][x - 2] : 0xee;
            wrong += back[y][x] != want;
        }
    }
    is_int(wrong, 0, "a rectangle goes where it belongs and nowhere else");
    copy.srcPitch = 10;
    gives(cuMemcpy2D(&copy), CUDA_ERROR_INVALID_VALUE, "a pitch below the width is refused");
    copy.srcPitch = WIDTH;
    copy.Height = HEIGHT + 1;
    copy.srcY = 0;
    gives(cuMemcpy2D(&copy), CUDA_ERROR_INVALID_VALUE, "and a rectangle beyond the allocation");
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    gives(cuMemcpy2D(&copy), CUDA_ERROR_INVALID_VALUE, "and one from no array");
    copy.Height = 0;
    gives(cuMemcpy2D(&copy), CUDA_SUCCESS, "nothing is copied from anywhere");
}

static void check_3d(void)
{
    uint32_t host[DEPTH][HEIGHT][WIDTH], back[2][3][4];
    CUdeviceptr device = device_alloc(sizeof(host));
    fill_random(host, sizeof(host), 2);
    CUDA_MEMCPY3D up = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = host,
                        .srcPitch = WIDTH * 4,
                        .srcHeight = HEIGHT,
                        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                        .dstDevice = device,
                        .dstPitch = WIDTH * 4,
                        .dstHeight = HEIGHT,
                        .WidthInBytes = WIDTH * 4,
                        .Height = HEIGHT,
                        .Depth = DEPTH};
    CHECK(cuMemcpy3D(&up));
    CUDA_MEMCPY3D down = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = device,
                          .srcPitch = WIDTH * 4,
                          .srcHeight = HEIGHT,
                          .srcXInBytes = 8,
                          .srcY = 3,
                          .srcZ = 1,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = back,
                          .dstPitch = 16,
                          .dstHeight = 3,
                          .WidthInBytes = 16,
                          .Height = 3,
                          .Depth = 2};
    CHECK(cuMemcpy3D(&down));
    int wrong = 0;
    for (int z = 0; z < 2; z++)
        for (int y = 0; y < 3; y++)
            for (int x = 0; x < 4; x++)
                wrong += back[z][y][x] != host[z + 1][y + 3][x + 2];
    is_int(wrong, 0, "a box comes back as it was");
    down.srcZ = 3;
    gives(cuMemcpy3D(&down), CUDA_ERROR_INVALID_VALUE, "one beyond the allocation is refused");
}

static void check_fills(void)
{
    CUdeviceptr device = device_alloc(1024);
    uint16_t back[512];
    CHECK(cuMemsetD16(device, 0x1234, 512));
    CHECK(cuMemsetD2D16(device + 4, 32, 0xabcd, 3, 4));
    CHECK(cuMemcpyDtoH(back, device, sizeof(back)));
    int wrong = 0;
    for (int i = 0; i < 512; i++) {
        int row = i / 16, column = i % 16;
        bool inside = row < 4 && column >= 2 && column < 5;
        wrong += back[i] != (inside ? 0xabcd : 0x1234);
    }
    is_int(wrong, 0, "fills keep within their rows");
    gives(cuMemsetD32(device + 2, 0, 1), CUDA_ERROR_INVALID_VALUE, "a crooked address is refused");
    gives(cuMemsetD8(device, 0, 1025), CUDA_ERROR_INVALID_VALUE, "and a fill that is too long");
}

int main(void)
{
    sim_isolate("1", "256M");
    sim_context(0);
    check_2d();
    check_3d();
    check_fills();
    return done();
}
