// SPDX-License-Identifier: BSD-3-Clause
// Two processes with a GPU each act like ranks of a collective library on one host. Each opens
// physical memory of the other's GPU, which a thread without a context has exported, and writes
// there. Kernels wait for flags in memory of /dev/shm that both have registered. Allocations and
// events are opened on another GPU than that of their creation.
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/programs/driver.h"
#include "tests/programs/other_process.h"

enum { ROUNDS = 3, WORDS = 1 << 16, SHARED_BYTES = 1 << 16, FLAG_STRIDE = 64 };

struct rank {
    int number, link;
    struct gpu gpu;
    CUstream stream, sender;
    CUfunction wait_flag, poke,
        add; // there before any kernel waits: to load one may wait for all that runs
    bool maps_host_memory, shares_events;
    CUmemGenericAllocationHandle mine, theirs;
    size_t size;
    CUdeviceptr inbox, outbox; // memory of this GPU that the other writes, and the other way round
    CUdeviceptr data;
    unsigned char *shared;
    CUdeviceptr shared_device;
};

// Both have come here.
static void meet(const struct rank *rank)
{
    char byte = 'm';
    send_all(rank->link, &byte, 1);
    take_all(rank->link, &byte, 1);
}

// ---- physical memory ----

static CUdeviceptr map(CUmemGenericAllocationHandle memory, size_t size,
                       const CUmemAccessDesc *open, size_t count)
{
    CUdeviceptr address;
    CHECK(cuMemAddressReserve(&address, size, 0, 0, 0));
    CHECK(cuMemMap(address, size, 0, memory, 0));
    CHECK(cuMemSetAccess(address, size, open, count));
    return address;
}

static void make_inbox(struct rank *rank)
{
    CUmemAccessDesc open[2] = {
        {{CU_MEM_LOCATION_TYPE_DEVICE, rank->number}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE},
        {{CU_MEM_LOCATION_TYPE_DEVICE, !rank->number}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE}};
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                .location = {CU_MEM_LOCATION_TYPE_DEVICE, rank->number}};
    CHECK(cuMemGetAllocationGranularity(&rank->size, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    CHECK(cuMemCreate(&rank->mine, rank->size, &prop, 0));
    rank->inbox = map(rank->mine, rank->size, open, 2);
    CHECK(cuMemsetD32(rank->inbox, 0, rank->size / 4));
    CHECK(cuCtxSynchronize());
}

// As a proxy does for its rank.
static void *export_without_context(void *argument)
{
    const struct rank *rank = argument;
    static int fd[1];
    CUcontext none = NULL;
    CHECK(cuCtxGetCurrent(&none));
    ok(!none, "rank %d: a thread has no context", rank->number);
    CHECK(
        cuMemExportToShareableHandle(fd, rank->mine, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    return fd;
}

static void open_outbox(struct rank *rank)
{
    pthread_t proxy;
    void *exported;
    CUmemAccessDesc open = {{CU_MEM_LOCATION_TYPE_DEVICE, rank->number},
                            CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    if (pthread_create(&proxy, NULL, export_without_context, rank) ||
        pthread_join(proxy, &exported))
        bail("no thread");
    send_fd(rank->link, *(int *)exported);
    close(*(int *)exported);
    int fd = take_fd(rank->link);
    gives(cuMemImportFromShareableHandle(&rank->theirs, (void *)(intptr_t)fd,
                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
          CUDA_SUCCESS, "rank %d has memory of the other GPU", rank->number);
    close(fd);
    rank->outbox = map(rank->theirs, rank->size, &open, 1);
    CHECK(cuMemRelease(rank->theirs)); // the mapping keeps it
}

static void close_boxes(struct rank *rank)
{
    CHECK(cuMemUnmap(rank->outbox, rank->size));
    CHECK(cuMemAddressFree(rank->outbox, rank->size));
    meet(rank);
    CHECK(cuMemUnmap(rank->inbox, rank->size));
    CHECK(cuMemAddressFree(rank->inbox, rank->size));
    CHECK(cuMemRelease(rank->mine));
}

// ---- memory of the host that both have ----

static void open_shared(struct rank *rank)
{
    char path[64] = "";
    int fd = -1;
    if (!rank->number) {
        snprintf(path, sizeof(path), "/dev/shm/rgpu-ranks-%d", (int)getpid());
        fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0 || ftruncate(fd, SHARED_BYTES))
            bail("no file in /dev/shm");
        send_all(rank->link, path, sizeof(path));
    } else {
        take_all(rank->link, path, sizeof(path));
        fd = open(path, O_RDWR | O_CLOEXEC);
        unlink(path);
    }
    rank->shared = mmap(NULL, SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd < 0 || rank->shared == MAP_FAILED)
        bail("cannot map %s", path);
    gives(cuMemHostRegister(rank->shared, SHARED_BYTES,
                            CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP),
          CUDA_SUCCESS, "rank %d registers memory that both have", rank->number);
    close(fd);
    if (rank->maps_host_memory)
        CHECK(cuMemHostGetDevicePointer(&rank->shared_device, rank->shared, 0));
}

// ---- rounds ----

static CUdeviceptr flag_of(const struct rank *rank, int number, int round)
{
    return rank->shared_device + (CUdeviceptr)((number * ROUNDS + round) * FLAG_STRIDE);
}

// A kernel waits for the flag that the other rank's kernel sets after it has written its data.
static void exchange_by_flags(struct rank *rank, int round)
{
    CUdeviceptr wanted = flag_of(rank, rank->number, round),
                raised = flag_of(rank, !rank->number, round);
    uint32_t one = 1;
    launch(rank->wait_flag, 1, 1, rank->stream, &wanted);
    meet(rank); // both wait before either writes
    CHECK(cuMemcpyDtoDAsync(rank->outbox, rank->data, WORDS * 4, rank->sender));
    launch(rank->poke, 1, 1, rank->sender, &raised, &one);
    CHECK(cuStreamSynchronize(rank->sender));
}

static void exchange_by_waiting(struct rank *rank)
{
    CHECK(cuMemcpyDtoDAsync(rank->outbox, rank->data, WORDS * 4, rank->stream));
    CHECK(cuStreamSynchronize(rank->stream));
    meet(rank);
}

static void check_rounds(struct rank *rank)
{
    uint32_t n = WORDS, one = 1, *got;
    CHECK(cuMemAllocHost((void **)&got, WORDS * 4));
    for (int round = 0; round < ROUNDS; round++) {
        uint32_t theirs = 100u * (uint32_t)(round + 1) + (uint32_t)!rank->number;
        CHECK(cuMemsetD32Async(rank->data, 100u * (uint32_t)(round + 1) + (uint32_t)rank->number,
                               WORDS, rank->stream));
        CHECK(cuStreamSynchronize(rank->stream));
        if (rank->maps_host_memory)
            exchange_by_flags(rank, round);
        else
            exchange_by_waiting(rank);
        launch(rank->add, WORDS / 256, 256, rank->stream, &rank->inbox, &one, &n);
        CHECK(cuMemcpyDtoHAsync(got, rank->inbox, WORDS * 4, rank->stream));
        CHECK(cuStreamSynchronize(rank->stream));
        unsigned wrong = 0;
        for (int i = 0; i < WORDS; i++)
            wrong += got[i] != theirs + 1;
        is_int(wrong, 0, "rank %d, round %d: all has come that the other GPU wrote", rank->number,
               round);
        meet(rank);
    }
    CHECK(cuMemFreeHost(got));
}

// ---- allocations and events of the other GPU ----

struct offer {
    CUipcMemHandle memory;
    CUipcEventHandle event;
};

static void share(const struct rank *rank)
{
    struct offer offer = {0};
    CUevent event;
    CUdeviceptr memory = device_alloc(WORDS * 4);
    CHECK(cuEventCreate(&event, (rank->shares_events ? CU_EVENT_INTERPROCESS : 0) |
                                    CU_EVENT_DISABLE_TIMING));
    CHECK(cuIpcGetMemHandle(&offer.memory, memory));
    if (rank->shares_events)
        CHECK(cuIpcGetEventHandle(&offer.event, event));
    struct hold hold = hold_stream(&rank->gpu, rank->stream);
    CHECK(cuMemsetD32Async(memory, 55, WORDS, rank->stream));
    CHECK(cuEventRecord(event, rank->stream));
    send_all(rank->link, &offer, sizeof(offer));
    if (rank->shares_events)
        meet(rank); // the other's stream waits
    hold_release(&hold);
    CHECK(cuStreamSynchronize(rank->stream));
    if (!rank->shares_events)
        meet(rank);
    meet(rank); // the other has written
    is_int((int)word_at(memory + 400), 66, "what another GPU has written is here");
    CHECK(cuEventDestroy(event));
    CHECK(cuMemFree(memory));
}

static CUevent wait_for_event(const struct rank *rank, const CUipcEventHandle *handle)
{
    CUevent event;
    gives(cuIpcOpenEventHandle(&event, *handle), CUDA_SUCCESS, "and an event");
    gives(cuEventQuery(event), CUDA_ERROR_NOT_READY, "which has not come");
    CHECK(cuStreamWaitEvent(rank->stream, event, 0));
    return event;
}

static void open_shares(const struct rank *rank)
{
    struct offer offer;
    CUdeviceptr memory = 0;
    CUevent event = NULL;
    uint32_t *got;
    take_all(rank->link, &offer, sizeof(offer));
    CHECK(cuMemAllocHost((void **)&got, 4));
    gives(cuIpcOpenMemHandle(&memory, offer.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
          CUDA_SUCCESS, "an allocation of another GPU is opened");
    if (rank->shares_events)
        event = wait_for_event(rank, &offer.event);
    else
        meet(rank); // it is written
    CHECK(cuMemcpyDtoHAsync(got, memory, 4, rank->stream));
    CHECK(cuMemsetD32Async(memory, 66, WORDS, rank->stream));
    if (rank->shares_events)
        meet(rank);
    CHECK(cuStreamSynchronize(rank->stream));
    is_int((int)*got, 55, "a stream of this GPU has what was written before");
    meet(rank);
    if (event)
        CHECK(cuEventDestroy(event));
    CHECK(cuIpcCloseMemHandle(memory));
    CHECK(cuMemFreeHost(got));
}

static void run_rank(int number, int link)
{
    struct rank rank = {.number = number, .link = link, .gpu = open_gpu(number)};
    rank.maps_host_memory =
        device_attribute(rank.gpu.device, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
    rank.shares_events = device_attribute(rank.gpu.device, CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED);
    CHECK(cuStreamCreate(&rank.stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&rank.sender, CU_STREAM_NON_BLOCKING));
    rank.wait_flag = kernel(&rank.gpu, "wait_flag");
    rank.poke = kernel(&rank.gpu, "poke");
    rank.add = kernel(&rank.gpu, "add");
    rank.data = device_alloc(WORDS * 4);
    make_inbox(&rank);
    open_outbox(&rank);
    open_shared(&rank);
    meet(&rank);
    check_rounds(&rank);
    if (number)
        open_shares(&rank);
    else
        share(&rank);
    CHECK(cuMemHostUnregister(rank.shared));
    munmap(rank.shared, SHARED_BYTES);
    close_boxes(&rank);
    CHECK(cuMemFree(rank.data));
    CHECK(cuStreamDestroy(rank.stream));
    CHECK(cuStreamDestroy(rank.sender));
    close_gpu(&rank.gpu);
}

static bool can_work_together(void)
{
    int count = 0, there = 0, back = 0;
    CHECK(cuInit(0));
    CHECK(cuDeviceGetCount(&count));
    if (count < 2)
        return false;
    CHECK(cuDeviceCanAccessPeer(&there, 0, 1));
    CHECK(cuDeviceCanAccessPeer(&back, 1, 0));
    return there && back;
}

int main(void)
{
    int ends[2], status = -1;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
        bail("no sockets");
    pid_t other = fork();
    if (!other) {
        close(ends[1]);
        dup2(STDERR_FILENO, STDOUT_FILENO); // its checks are shown where one fails, and not counted
        if (can_work_together())
            run_rank(0, ends[0]);
        fflush(stdout);
        _exit(tap_failures ? 1 : 0);
    }
    close(ends[0]);
    if (!can_work_together())
        skip_all("no two GPUs that reach each other");
    run_rank(1, ends[1]);
    ok(waitpid(other, &status, 0) == other && status == 0, "the other rank ends well");
    return done();
}
