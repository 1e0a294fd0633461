// SPDX-License-Identifier: BSD-3-Clause
// Copies and sets of rectangles and boxes: offsets, pitches, both directions, and what lies
// between the rows stays as it was.
#include "tests/programs/driver.h"

#define HOST_PITCH 150u
#define HOST_ROWS 40u
#define WIDTH 77u
#define HEIGHT 19u

static unsigned char source[HOST_PITCH * HOST_ROWS], back[HOST_PITCH * HOST_ROWS];

static unsigned rectangle_errors(unsigned x, unsigned y, unsigned sx, unsigned sy)
{
    unsigned wrong = 0;
    for (unsigned row = 0; row < HOST_ROWS; row++)
        for (unsigned col = 0; col < HOST_PITCH; col++) {
            bool inside = row >= y && row < y + HEIGHT && col >= x && col < x + WIDTH;
            unsigned char want = inside ? source[(row - y + sy) * HOST_PITCH + col - x + sx] : 0x5A;
            wrong += back[row * HOST_PITCH + col] != want;
        }
    return wrong;
}

static void two_dimensions(bool asynchronous)
{
    CUdeviceptr device;
    size_t pitch;
    CHECK(cuMemAllocPitch(&device, &pitch, 100, HOST_ROWS, 4));
    ok(pitch >= 100 && pitch % 4 == 0, "a pitch of %zu for rows of 100 bytes", pitch);
    memset(back, 0x5A, sizeof back);
    CUDA_MEMCPY2D in = {
        .srcMemoryType = CU_MEMORYTYPE_HOST,
        .srcHost = source,
        .srcPitch = HOST_PITCH,
        .srcXInBytes = 11,
        .srcY = 3,
        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
        .dstDevice = device,
        .dstPitch = pitch,
        .dstXInBytes = 5,
        .dstY = 2,
        .WidthInBytes = WIDTH,
        .Height = HEIGHT,
    };
    CUDA_MEMCPY2D out = {
        .srcMemoryType = CU_MEMORYTYPE_DEVICE,
        .srcDevice = device,
        .srcPitch = pitch,
        .srcXInBytes = 5,
        .srcY = 2,
        .dstMemoryType = CU_MEMORYTYPE_HOST,
        .dstHost = back,
        .dstPitch = HOST_PITCH,
        .dstXInBytes = 31,
        .dstY = 7,
        .WidthInBytes = WIDTH,
        .Height = HEIGHT,
    };
    if (asynchronous) {
        CUstream stream;
        CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        CHECK(cuMemcpy2DAsync(&in, stream));
        CHECK(cuMemcpy2DAsync(&out, stream));
        CHECK(cuStreamSynchronize(stream));
        CHECK(cuStreamDestroy(stream));
    } else {
        CHECK(cuMemcpy2D(&in));
        CHECK(cuMemcpy2DUnaligned(&out));
    }
    is_int(rectangle_errors(31, 7, 11, 3), 0, "a rectangle there and back, %s",
           asynchronous ? "asynchronous" : "synchronous");

    CUdeviceptr second;
    size_t second_pitch;
    CHECK(cuMemAllocPitch(&second, &second_pitch, 200, HOST_ROWS, 16));
    CUDA_MEMCPY2D across = {
        .srcMemoryType = CU_MEMORYTYPE_DEVICE,
        .srcDevice = device,
        .srcPitch = pitch,
        .srcXInBytes = 5,
        .srcY = 2,
        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
        .dstDevice = second,
        .dstPitch = second_pitch,
        .dstXInBytes = 90,
        .dstY = 9,
        .WidthInBytes = WIDTH,
        .Height = HEIGHT,
    };
    CHECK(cuMemcpy2D(&across));
    out.srcDevice = second;
    out.srcPitch = second_pitch;
    out.srcXInBytes = 90;
    out.srcY = 9;
    memset(back, 0x5A, sizeof back);
    CHECK(cuMemcpy2D(&out));
    is_int(rectangle_errors(31, 7, 11, 3), 0, "from one place on the device to another");
    out.WidthInBytes = HOST_PITCH + 1;
    gives(cuMemcpy2D(&out), CUDA_ERROR_INVALID_VALUE, "rows wider than their pitch are refused");
    CHECK(cuMemFree(device));
    CHECK(cuMemFree(second));
}

static void three_dimensions(void)
{
    enum { W = 30, H = 9, D = 4, PITCH = 40, ROWS = 12 };
    static unsigned char in[PITCH * ROWS * D], out[PITCH * ROWS * D];
    CUdeviceptr device = device_alloc(64 * ROWS * D);
    unsigned wrong = 0;
    fill_random(in, sizeof in, 5);
    memset(out, 0x5A, sizeof out);
    CUDA_MEMCPY3D there = {
        .srcMemoryType = CU_MEMORYTYPE_HOST,
        .srcHost = in,
        .srcPitch = PITCH,
        .srcHeight = ROWS,
        .srcXInBytes = 4,
        .srcY = 2,
        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
        .dstDevice = device,
        .dstPitch = 64,
        .dstHeight = ROWS,
        .dstXInBytes = 8,
        .dstY = 1,
        .WidthInBytes = W,
        .Height = H,
        .Depth = D,
    };
    CUDA_MEMCPY3D here = {
        .srcMemoryType = CU_MEMORYTYPE_DEVICE,
        .srcDevice = device,
        .srcPitch = 64,
        .srcHeight = ROWS,
        .srcXInBytes = 8,
        .srcY = 1,
        .dstMemoryType = CU_MEMORYTYPE_HOST,
        .dstHost = out,
        .dstPitch = PITCH,
        .dstHeight = ROWS,
        .dstXInBytes = 4,
        .dstY = 2,
        .WidthInBytes = W,
        .Height = H,
        .Depth = D,
    };
    CHECK(cuMemcpy3D(&there));
    CHECK(cuMemcpy3D(&here));
    for (unsigned z = 0; z < D; z++)
        for (unsigned y = 0; y < ROWS; y++)
            for (unsigned x = 0; x < PITCH; x++) {
                bool inside = x >= 4 && x < 4 + W && y >= 2 && y < 2 + H;
                size_t at = (z * ROWS + y) * PITCH + x;
                wrong += out[at] != (inside ? in[at] : 0x5A);
            }
    is_int(wrong, 0, "a box there and back");
    CHECK(cuMemFree(device));
}

struct shape {
    const char *name;
    size_t width, height, depth;
    size_t host_pitch, host_rows; // of a plane
    size_t device_pitch, device_rows;
};

static size_t wrong_bytes(const unsigned char *got, const unsigned char *in,
                          const struct shape *shape)
{
    size_t wrong = 0;
    for (size_t z = 0; z < shape->depth; z++)
        for (size_t y = 0; y < shape->host_rows; y++) {
            size_t at = (z * shape->host_rows + y) * shape->host_pitch;
            for (size_t x = 0; x < shape->host_pitch; x++)
                wrong += got[at + x] != (y < shape->height && x < shape->width ? in[at + x] : 0x5A);
        }
    return wrong;
}

// Copies to the device, back to other memory, and to the device again from the memory that the
// second copy is still writing.
static void many_rows(const struct shape *shape, bool locked)
{
    size_t size = shape->host_pitch * shape->host_rows * shape->depth;
    CUdeviceptr device = device_alloc(shape->device_pitch * shape->device_rows * shape->depth);
    CUdeviceptr second = device_alloc(shape->device_pitch * shape->device_rows * shape->depth);
    unsigned char *in, *out, *again = must_alloc(size);
    CUstream stream;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    if (locked) {
        CHECK(cuMemAllocHost((void **)&in, size));
        CHECK(cuMemAllocHost((void **)&out, size));
    } else {
        in = must_alloc(size);
        out = must_alloc(size);
    }
    fill_random(in, size, 9);
    memset(out, 0x5A, size);
    memset(again, 0x5A, size);
    CUDA_MEMCPY3D there = {
        .srcMemoryType = CU_MEMORYTYPE_HOST,
        .srcHost = in,
        .srcPitch = shape->host_pitch,
        .srcHeight = shape->host_rows,
        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
        .dstDevice = device,
        .dstPitch = shape->device_pitch,
        .dstHeight = shape->device_rows,
        .WidthInBytes = shape->width,
        .Height = shape->height,
        .Depth = shape->depth,
    };
    CUDA_MEMCPY3D here = {
        .srcMemoryType = CU_MEMORYTYPE_DEVICE,
        .srcDevice = device,
        .srcPitch = shape->device_pitch,
        .srcHeight = shape->device_rows,
        .dstMemoryType = CU_MEMORYTYPE_HOST,
        .dstHost = out,
        .dstPitch = shape->host_pitch,
        .dstHeight = shape->host_rows,
        .WidthInBytes = shape->width,
        .Height = shape->height,
        .Depth = shape->depth,
    };
    CHECK(cuMemcpy3DAsync(&there, stream));
    CHECK(cuMemcpy3DAsync(&here, stream));
    there.srcHost = out;
    there.dstDevice = second;
    CHECK(cuMemcpy3DAsync(&there, stream));
    CHECK(cuStreamSynchronize(stream));
    is_int(wrong_bytes(out, in, shape), 0, "%s, %s memory", shape->name,
           locked ? "page-locked" : "ordinary");
    here.srcDevice = second;
    here.dstHost = again;
    CHECK(cuMemcpy3D(&here));
    is_int(wrong_bytes(again, in, shape), 0, "and there again");
    CHECK(cuStreamDestroy(stream));
    CHECK(cuMemFree(device));
    CHECK(cuMemFree(second));
    if (locked) {
        CHECK(cuMemFreeHost(in));
        CHECK(cuMemFreeHost(out));
    } else {
        free(in);
        free(out);
    }
    free(again);
}

static void sizes(void)
{
    static const struct shape shapes[] = {
        {"rows", 1000, 700, 1, 1011, 705, 1024, 700},
        {"narrow rows", 77, 9000, 1, 80, 9000, 96, 9001},
        {"rows packed on the host", 640, 1200, 1, 640, 1200, 768, 1200},
        {"wide rows", 70001, 9, 1, 70016, 9, 70400, 9},
        {"small planes", 300, 11, 90, 320, 12, 512, 13},
        {"large planes", 900, 800, 2, 1000, 801, 1024, 803},
        {"a few rows", 500, 3, 1, 600, 4, 512, 3},
    };
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        many_rows(&shapes[i], false);
        many_rows(&shapes[i], true);
    }
}

static void sets(void)
{
    static uint32_t words[1000];
    static unsigned char bytes[64 * 20];
    unsigned wrong = 0;
    CUdeviceptr device = device_alloc(4000);
    CHECK(cuMemsetD32(device, 0xDEADBEEF, 1000));
    CHECK(cuMemsetD16(device + 100, 0x1234, 50));
    CHECK(cuMemsetD8(device + 301, 0x77, 33));
    CHECK(cuMemcpyDtoH(words, device, 4000));
    for (unsigned i = 0; i < 4000; i++) {
        static const unsigned char pattern[] = {0xEF, 0xBE, 0xAD, 0xDE};
        unsigned char want = pattern[i % 4];
        if (i >= 100 && i < 200)
            want = i % 2 ? 0x12 : 0x34;
        if (i >= 301 && i < 334)
            want = 0x77;
        wrong += ((unsigned char *)words)[i] != want;
    }
    is_int(wrong, 0, "sets of bytes, halves and words");

    CUstream stream;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemsetD32Async(device, 7, 1000, stream));
    CHECK(cuMemsetD8Async(device, 1, 4, stream));
    CHECK(cuMemcpyDtoHAsync(words, device, 4000, stream));
    CHECK(cuStreamSynchronize(stream));
    ok(words[0] == 0x01010101 && words[1] == 7 && words[999] == 7, "sets on a stream, in order");
    CHECK(cuStreamDestroy(stream));
    CHECK(cuMemFree(device));

    device = device_alloc(sizeof bytes);
    CHECK(cuMemsetD8(device, 0, sizeof bytes));
    CHECK(cuMemsetD2D8(device + 3, 64, 9, 20, 10));
    CHECK(cuMemsetD2D32(device + 64 * 12 + 8, 64, 0x0A0B0C0D, 5, 3));
    CHECK(cuMemcpyDtoH(bytes, device, sizeof bytes));
    wrong = 0;
    for (unsigned row = 0; row < 20; row++)
        for (unsigned col = 0; col < 64; col++) {
            unsigned char want = 0;
            if (row < 10 && col >= 3 && col < 23)
                want = 9;
            if (row >= 12 && row < 15 && col >= 8 && col < 28)
                want = (unsigned char)(0x0D - col % 4);
            wrong += bytes[row * 64 + col] != want;
        }
    is_int(wrong, 0, "sets of rectangles");
    CHECK(cuMemFree(device));
}

// The driver (580, on an H200) compares pitch and width also for a copy of one row, but not for a
// set of one.
static void refusals(void)
{
    static unsigned char host[256];
    CUdeviceptr device = device_alloc(256);
    for (int rows = 1; rows <= 2; rows++)
        for (int toward = 0; toward < 2; toward++)
            for (int narrow = 0; narrow < 2; narrow++) {
                CUDA_MEMCPY3D copy = {
                    .srcMemoryType = toward ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
                    .dstMemoryType = toward ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST,
                    .srcHost = host,
                    .dstHost = host,
                    .srcDevice = device,
                    .dstDevice = device,
                    .srcPitch = narrow ? 64 : 8,
                    .dstPitch = narrow ? 8 : 64,
                    .WidthInBytes = 64,
                    .Height = rows,
                    .Depth = 1,
                };
                gives(cuMemcpy3D(&copy), CUDA_ERROR_INVALID_VALUE,
                      "%d rows of 64 bytes, pitch 8 of the %s", rows, narrow ? "target" : "source");
                copy.srcPitch = copy.dstPitch = 64;
                copy.srcHeight = copy.dstHeight = rows;
                copy.Height = rows + 1;
                gives(cuMemcpy3DAsync(&copy, NULL), CUDA_ERROR_INVALID_VALUE,
                      "%d rows of planes of %d", rows + 1, rows);
            }
    CHECK(cuMemsetD2D8(device, 8, 0, 64, 1));
    gives(cuMemsetD2D8Async(device, 8, 0, 64, 2, NULL), CUDA_ERROR_INVALID_VALUE,
          "a set of rows that overlap");
    gives(cuMemsetD2D32(device, 64, 0, 17, 2), CUDA_ERROR_INVALID_VALUE, "and without Async");
    CHECK(cuCtxSynchronize());
    CHECK(cuMemFree(device));
}

int main(void)
{
    struct gpu gpu = open_gpu(0);
    refusals();
    fill_random(source, sizeof source, 1);
    two_dimensions(false);
    two_dimensions(true);
    three_dimensions();
    sizes();
    sets();
    close_gpu(&gpu);
    return done();
}
