// SPDX-License-Identifier: BSD-3-Clause
// A pool shared by two processes: one creates it as shareable and allocates from it; the other
// opens the pool and the allocations, and frees them. Pools that are not shareable, and invalid
// pools, have no handle.
#include <sys/wait.h>

#include "tests/programs/driver.h"
#include "tests/programs/other_process.h"

enum { WORDS = 1 << 18, SMALL_WORDS = 1000 };
#define DESCRIPTOR CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

struct offer {
    CUmemPoolPtrExportData large, small;
    int wrong; // answers of the sharer that are not the driver's
};

static CUmemoryPool make_pool(CUdevice device, CUmemAllocationHandleType types)
{
    CUmemoryPool pool;
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .handleTypes = types,
                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, device}};
    CHECK(cuMemPoolCreate(&pool, &props));
    return pool;
}

static CUdeviceptr filled(CUmemoryPool pool, uint32_t value, unsigned words)
{
    CUdeviceptr address;
    CHECK(cuMemAllocFromPoolAsync(&address, (size_t)words * 4, pool, NULL));
    CHECK(cuMemsetD32(address, value, words));
    CHECK(cuStreamSynchronize(NULL));
    return address;
}

static void turn(int link, char what)
{
    char byte = what;
    if (what)
        send_all(link, &byte, 1);
    else
        take_all(link, &byte, 1);
}

// ---- who shares ----

// Counts calls on unshareable memory that do not return INVALID_VALUE, the driver's answer.
static int wrong_answers(const struct gpu *gpu, CUmemoryPool pool, CUdeviceptr shared)
{
    int fd = -1;
    CUmemoryPool plain = make_pool(gpu->device, CU_MEM_HANDLE_TYPE_NONE), standard;
    CUmemPoolPtrExportData data;
    CUdeviceptr other = filled(plain, 1, 10), ordinary = device_alloc(4096);
    CHECK(cuDeviceGetDefaultMemPool(&standard, gpu->device));
    const CUresult got[] = {cuMemPoolExportToShareableHandle(&fd, plain, DESCRIPTOR, 0),
                            cuMemPoolExportToShareableHandle(&fd, standard, DESCRIPTOR, 0),
                            cuMemPoolExportToShareableHandle(&fd, pool, DESCRIPTOR, 1),
                            cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_NONE, 0),
                            cuMemPoolExportToShareableHandle(NULL, pool, DESCRIPTOR, 0),
                            cuMemPoolExportPointer(&data, other),
                            cuMemPoolExportPointer(&data, ordinary),
                            cuMemPoolExportPointer(&data, shared + 4096),
                            cuMemPoolExportPointer(&data, 0),
                            cuMemPoolExportPointer(NULL, shared)};
    int wrong = 0;
    for (size_t i = 0; i < sizeof(got) / sizeof(*got); i++)
        wrong += got[i] != CUDA_ERROR_INVALID_VALUE;
    CHECK(cuMemFree(ordinary));
    CHECK(cuMemFreeAsync(other, NULL));
    CHECK(cuMemPoolDestroy(plain));
    return wrong;
}

static void share(int link)
{
    struct gpu gpu = open_gpu(0);
    struct offer offer;
    int fd = -1;
    if (!(device_attribute(gpu.device, CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES) &
          DESCRIPTOR))
        _exit(0);
    CUmemoryPool pool = make_pool(gpu.device, DESCRIPTOR);
    CUdeviceptr large = filled(pool, 11, WORDS), small = filled(pool, 22, SMALL_WORDS);
    offer.wrong = wrong_answers(&gpu, pool, large);
    CHECK(cuMemPoolExportToShareableHandle(&fd, pool, DESCRIPTOR, 0));
    CHECK(cuMemPoolExportPointer(&offer.large, large));
    CHECK(cuMemPoolExportPointer(&offer.small, small));
    send_all(link, &offer, sizeof(offer));
    send_fd(link, fd);
    close(fd);
    turn(link, 0); // the other has added one to each word
    offer.wrong = word_at(large + 400) != 12;
    send_all(link, &offer.wrong, sizeof(offer.wrong));
    turn(link, 0); // it has freed the opened allocations
    CHECK(cuMemFreeAsync(small, NULL));
    CHECK(cuMemFreeAsync(large, NULL));
    CHECK(cuStreamSynchronize(NULL));
    CHECK(cuMemPoolDestroy(pool));
    CUdeviceptr again;
    pool = make_pool(gpu.device, DESCRIPTOR);
    again = filled(pool, 44, WORDS);
    CHECK(cuMemPoolExportToShareableHandle(&fd, pool, DESCRIPTOR, 0));
    CHECK(cuMemPoolExportPointer(&offer.large, again));
    send_all(link, &offer, sizeof(offer));
    send_fd(link, fd);
    turn(link, 0); // it has opened this one, which outlives this process
    _exit(0);
}

// ---- who opens ----

static void check_wrong(CUmemoryPool pool, int fd, const struct offer *offer)
{
    CUmemoryPool none = NULL, standard;
    CUdeviceptr address = 0;
    CUmemPoolPtrExportData garbage = {{0}}, good = offer->large;
    int ends[2];
    if (pipe(ends))
        bail("no pipe");
    CHECK(cuDeviceGetDefaultMemPool(&standard, 0));
    gives(cuMemPoolImportFromShareableHandle(&none, (void *)(intptr_t)ends[0], DESCRIPTOR, 0),
          CUDA_ERROR_UNKNOWN, "a pipe is no pool");
    gives(cuMemPoolImportFromShareableHandle(&none, (void *)(intptr_t)fd, DESCRIPTOR, 1),
          CUDA_ERROR_INVALID_VALUE, "flags are refused");
    gives(cuMemPoolImportFromShareableHandle(&none, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_NONE,
                                             0),
          CUDA_ERROR_INVALID_VALUE, "and a handle of no kind");
    gives(cuMemPoolImportPointer(&address, pool, &garbage), CUDA_ERROR_INVALID_VALUE,
          "nothing is no allocation");
    memcpy(&garbage, &good, sizeof(good));
    garbage.reserved[20] ^= 0x55;
    gives(cuMemPoolImportPointer(&address, pool, &garbage), CUDA_ERROR_INVALID_VALUE,
          "nor is what nobody has shared");
    gives(cuMemPoolImportPointer(&address, standard, &good), CUDA_ERROR_INVALID_VALUE,
          "it is not in a pool of one's own");
    gives(cuMemPoolImportPointer(NULL, pool, &good), CUDA_ERROR_INVALID_VALUE,
          "there must be a place for it");
    close(ends[0]);
    close(ends[1]);
}

// Allocations of an opened pool can be opened, but calls on the pool itself are refused.
static void check_pool(CUmemoryPool pool)
{
    cuuint64_t value = 0;
    CUdeviceptr address;
    int fd;
    gives(cuMemAllocFromPoolAsync(&address, 4096, pool, NULL), CUDA_ERROR_INVALID_VALUE,
          "another process's pool gives no memory");
    gives(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value),
          CUDA_ERROR_INVALID_VALUE, "has no attributes");
    gives(cuMemPoolTrimTo(pool, 0), CUDA_ERROR_INVALID_VALUE, "is not trimmed");
    gives(cuMemPoolExportToShareableHandle(&fd, pool, DESCRIPTOR, 0), CUDA_ERROR_INVALID_VALUE,
          "is not passed on");
    gives(cuDeviceSetMemPool(0, pool), CUDA_ERROR_INVALID_VALUE, "and is no device's");
}

static void check_memory(const struct gpu *gpu, CUmemoryPool pool, struct offer *offer, int link)
{
    CUdeviceptr large = 0, small = 0, again = 0, base = 0;
    CUmemPoolPtrExportData data;
    uint32_t n = WORDS, one = 1;
    size_t size = 0;
    int wrong = 1;
    gives(cuMemPoolImportPointer(&large, pool, &offer->large), CUDA_SUCCESS,
          "an allocation of the pool is opened");
    gives(cuMemPoolImportPointer(&small, pool, &offer->small), CUDA_SUCCESS, "and a small one");
    gives(cuMemPoolImportPointer(&again, pool, &offer->large), CUDA_SUCCESS, "and one once more");
    ok(again == large, "which is where it was");
    CHECK(cuMemGetAddressRange(&base, &size, large + 5));
    ok(base == large && size >= WORDS * 4, "it is as large as it is");
    is_int((int)word_at(large), 11, "it has what was written");
    is_int((int)word_at(small + 400), 22, "and so has the other");
    gives(cuMemPoolExportPointer(&data, large), CUDA_ERROR_INVALID_VALUE, "it is not passed on");
    launch(kernel(gpu, "add"), WORDS / 256, 256, NULL, &large, &one, &n);
    CHECK(cuCtxSynchronize());
    turn(link, 'w');
    take_all(link, &wrong, sizeof(wrong));
    is_int(wrong, 0, "who shares it sees what a kernel writes here");
    gives(cuMemFreeAsync(small, NULL), CUDA_SUCCESS, "it is freed in a stream");
    gives(cuMemFree(large), CUDA_SUCCESS, "or at once");
    CHECK(cuStreamSynchronize(NULL));
    gives(cuMemFree(large), CUDA_ERROR_INVALID_VALUE, "however often it was opened");
    gives(cuMemPoolImportPointer(&large, pool, &offer->large), CUDA_SUCCESS,
          "and can be opened again");
    is_int((int)word_at(large), 12, "as it is");
    CHECK(cuMemFree(large));
}

static void check_outliving(struct offer *offer, int link, pid_t sharer)
{
    CUmemoryPool pool = NULL;
    CUdeviceptr large = 0;
    int status = -1, fd;
    take_all(link, offer, sizeof(*offer));
    fd = take_fd(link);
    CHECK(cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)fd, DESCRIPTOR, 0));
    CHECK(cuMemPoolImportPointer(&large, pool, &offer->large));
    turn(link, 'q');
    if (waitpid(sharer, &status, 0) != sharer)
        bail("the other process is lost");
    is_int(status, 0, "who has shared it ends");
    is_int((int)word_at(large + 4000), 44, "what is open is there still");
    CHECK(cuMemFree(large));
    close(fd);
}

int main(void)
{
    int ends[2];
    struct offer offer;
    CUmemoryPool pool = NULL, again = NULL;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
        bail("no sockets");
    fflush(stdout);
    pid_t sharer = fork();
    if (!sharer) {
        close(ends[0]);
        share(ends[1]);
    }
    close(ends[1]);
    struct gpu gpu = open_gpu(0);
    if (!(device_attribute(gpu.device, CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES) &
          DESCRIPTOR))
        skip_all("the device says that its pools are for one process");
    take_all(ends[0], &offer, sizeof(offer));
    int fd = take_fd(ends[0]);
    is_int(offer.wrong, 0, "what is not made for it is not shared");
    gives(cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)fd, DESCRIPTOR, 0),
          CUDA_SUCCESS, "a pool comes as a descriptor");
    CHECK(cuMemPoolImportFromShareableHandle(&again, (void *)(intptr_t)fd, DESCRIPTOR, 0));
    ok(again == pool, "and is the same one when it comes again");
    check_wrong(pool, fd, &offer);
    check_pool(pool);
    check_memory(&gpu, pool, &offer, ends[0]);
    turn(ends[0], 'f');
    check_outliving(&offer, ends[0], sharer);
    close(fd);
    close_gpu(&gpu);
    return done();
}
