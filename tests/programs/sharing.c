// SPDX-License-Identifier: BSD-3-Clause
// Tests memory between two processes: one shares allocations and physical memory, the other opens
// them. Both see each other's writes, and open memory outlives the process that shared it.
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/programs/driver.h"
#include "tests/programs/other_process.h"

enum { SIZE = 1 << 20, WORDS = SIZE / 4 };

struct offer {
    CUipcMemHandle memory, small;
    int same; // asked for again, and at another address of it, the handle is the same
    size_t chunk;
    CUresult refused; // for physical memory
};

// ---- physical memory ----

struct range {
    CUmemGenericAllocationHandle memory;
    CUdeviceptr base;
    size_t size;
};

static CUmemAllocationProp on_device(CUdevice device)
{
    return (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                 .location = {CU_MEM_LOCATION_TYPE_DEVICE, device}};
}

static void map_range(struct range *range, CUdevice device)
{
    CUmemAccessDesc open = {{CU_MEM_LOCATION_TYPE_DEVICE, device},
                            CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CHECK(cuMemAddressReserve(&range->base, range->size, 0, 0, 0));
    CHECK(cuMemMap(range->base, range->size, 0, range->memory, 0));
    CHECK(cuMemSetAccess(range->base, range->size, &open, 1));
}

static struct range make_range(CUdevice device)
{
    struct range range;
    CUmemAllocationProp prop = on_device(device);
    CHECK(cuMemGetAllocationGranularity(&range.size, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    CHECK(cuMemCreate(&range.memory, range.size, &prop, 0));
    map_range(&range, device);
    return range;
}

// ---- who shares ----

static void obey(int link, CUdeviceptr memory, CUdeviceptr chunk)
{
    char command;
    uint32_t word;
    while (recv(link, &command, 1, MSG_WAITALL) == 1) {
        switch (command) {
        case 'm': word = word_at(memory + SIZE - 4); break;
        case 'c': word = word_at(chunk + 8); break;
        case 's':
            CHECK(cuMemsetD32(memory, 77, WORDS));
            CHECK(cuCtxSynchronize());
            word = 0;
            break;
        case 'f': word = cuMemFree(memory); break;
        default: return;
        }
        send_all(link, &word, sizeof(word));
    }
}

static void share(int link)
{
    struct gpu gpu = open_gpu(0);
    CUdeviceptr memory = device_alloc(SIZE), small = device_alloc(1000);
    struct range range = make_range(gpu.device);
    struct offer offer = {.chunk = range.size};
    CUipcMemHandle again, inside;
    int fd = -1;
    CHECK(cuMemsetD32(memory, 11, WORDS));
    CHECK(cuMemsetD32(small, 22, 250));
    CHECK(cuMemsetD32(range.base, 33, range.size / 4));
    CHECK(cuCtxSynchronize());
    CHECK(cuIpcGetMemHandle(&offer.memory, memory));
    CHECK(cuIpcGetMemHandle(&again, memory));
    CHECK(cuIpcGetMemHandle(&inside, memory + 4096));
    CHECK(cuIpcGetMemHandle(&offer.small, small));
    offer.same = !memcmp(&again, &offer.memory, sizeof(again)) &&
                 !memcmp(&inside, &offer.memory, sizeof(inside)) &&
                 memcmp(&offer.small, &offer.memory, sizeof(again));
    offer.refused = cuIpcGetMemHandle(&again, range.base);
    CHECK(cuMemExportToShareableHandle(&fd, range.memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                       0));
    send_all(link, &offer, sizeof(offer));
    send_fd(link, fd);
    close(fd);
    obey(link, memory, range.base);
}

// ---- who opens ----

static uint32_t ask(int link, char command)
{
    uint32_t word = 0;
    send_all(link, &command, 1);
    take_all(link, &word, sizeof(word));
    return word;
}

static CUdeviceptr check_allocation(const struct gpu *gpu, const struct offer *offer, int link)
{
    CUdeviceptr memory = 0, again = 0, base = 0;
    uint32_t n = WORDS, one = 1;
    size_t size = 0;
    ok(offer->same, "an allocation has one handle, and another another");
    gives((CUresult)offer->refused, CUDA_ERROR_INVALID_VALUE, "what is mapped has none");
    gives(cuIpcOpenMemHandle(&memory, offer->memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
          CUDA_SUCCESS, "another process opens it");
    is_int((int)word_at(memory), 11, "and reads what was written");
    CHECK(cuMemGetAddressRange(&base, &size, memory + 5));
    ok(base == memory && size == SIZE, "it is as large as it is");
    launch(kernel(gpu, "add"), WORDS / 256, 256, NULL, &memory, &one, &n);
    CHECK(cuCtxSynchronize());
    is_int((int)ask(link, 'm'), 12, "what a kernel writes is there");
    ask(link, 's');
    is_int((int)word_at(memory + 4000), 77, "and what is set there is here");
    gives(cuIpcOpenMemHandle(&again, offer->memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
          CUDA_SUCCESS, "it is opened once more");
    ok(again == memory, "at the same address");
    gives(cuIpcCloseMemHandle(again), CUDA_SUCCESS, "closed once");
    is_int((int)word_at(memory), 77, "it is still open");
    gives(cuMemFree(memory), CUDA_ERROR_INVALID_VALUE, "it is not freed here");
    return memory;
}

static void check_small(const struct offer *offer)
{
    CUdeviceptr small = 0;
    CHECK(cuIpcOpenMemHandle(&small, offer->small, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    is_int((int)word_at(small + 996), 22, "a small allocation is opened where it begins");
    CHECK(cuIpcCloseMemHandle(small));
    gives(cuIpcCloseMemHandle(small), CUDA_ERROR_INVALID_VALUE, "and closed as often as opened");
}

static struct range check_physical(const struct gpu *gpu, const struct offer *offer, int fd,
                                   int link)
{
    struct range range = {.size = offer->chunk};
    CUmemAllocationProp prop;
    uint32_t n = (uint32_t)(offer->chunk / 4), four = 4;
    gives(cuMemImportFromShareableHandle(&range.memory, (void *)(intptr_t)fd,
                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
          CUDA_SUCCESS, "physical memory comes as a descriptor");
    close(fd);
    CHECK(cuMemGetAllocationPropertiesFromHandle(&prop, range.memory));
    ok(prop.type == CU_MEM_ALLOCATION_TYPE_PINNED && prop.location.id == gpu->device,
       "and says whose it is");
    map_range(&range, gpu->device);
    is_int((int)word_at(range.base), 33, "mapped, it has what was written");
    launch(kernel(gpu, "add"), (n + 255) / 256, 256, NULL, &range.base, &four, &n);
    CHECK(cuCtxSynchronize());
    is_int((int)ask(link, 'c'), 37, "and both have what is written here");
    return range;
}

static void check_wrong(void)
{
    CUmemGenericAllocationHandle memory;
    int nothing[2];
    if (pipe(nothing))
        bail("no pipe");
    ok(cuMemImportFromShareableHandle(&memory, (void *)(intptr_t)nothing[0],
                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != CUDA_SUCCESS,
       "a pipe is no memory");
    unsigned char fabric[64] = {0};
    gives(cuMemImportFromShareableHandle(&memory, fabric, CU_MEM_HANDLE_TYPE_FABRIC) ==
              CUDA_SUCCESS,
          false, "nor is it of a fabric");
    close(nothing[0]);
    close(nothing[1]);
}

static void check_outliving(CUdeviceptr memory, struct range *range, int link, pid_t sharer)
{
    int status = -1;
    send_all(link, "q", 1);
    if (waitpid(sharer, &status, 0) != sharer)
        bail("the other process is lost");
    is_int(status, 0, "who has shared it ends");
    is_int((int)word_at(range->base), 37, "physical memory that is open is there still");
    CHECK(cuMemsetD32(range->base, 5, range->size / 4));
    is_int((int)word_at(range->base + range->size - 4), 5, "and can be used");
    gives(cuIpcCloseMemHandle(memory), CUDA_SUCCESS, "an allocation of it is closed");
    CHECK(cuMemUnmap(range->base, range->size));
    CHECK(cuMemRelease(range->memory));
    CHECK(cuMemAddressFree(range->base, range->size));
}

int main(void)
{
    int ends[2];
    struct offer offer;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
        bail("no sockets");
    fflush(stdout);
    pid_t sharer = fork();
    if (!sharer) {
        close(ends[0]);
        share(ends[1]);
        _exit(0);
    }
    close(ends[1]);
    struct gpu gpu = open_gpu(0);
    take_all(ends[0], &offer, sizeof(offer));
    int fd = take_fd(ends[0]);
    CUdeviceptr memory = check_allocation(&gpu, &offer, ends[0]);
    check_small(&offer);
    struct range range = check_physical(&gpu, &offer, fd, ends[0]);
    check_wrong();
    check_outliving(memory, &range, ends[0], sharer);
    close_gpu(&gpu);
    return done();
}
