// SPDX-License-Identifier: BSD-3-Clause
// Bytes arrive: small ones in records, large ones in blocks, and over shared memory without us.
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/worker/peer.h"

static void rows(struct peer *peer)
{
    uint8_t sent[3000], got[3000];
    CUdeviceptr memory = peer_alloc(peer, 64 * 1024);
    uint32_t used = 0;

    fill(sent, sizeof(sent), 1);
    POST_TAIL(peer, write_rows, sent, sizeof(sent), .dst = memory, .pitch = 512, .width = 100,
              .rows = 30, .bytes = sizeof(sent));
    struct args_read_rows args = {
        .src = memory, .pitch = 512, .width = 100, .rows = 30, .reply_room = sizeof(got)};
    is_int(peer_ask(peer, OP_read_rows, &args, sizeof(args), NULL, 0, NULL, 0, got, sizeof(got),
                    &used),
           CUDA_SUCCESS, "rows that lie apart are read back");
    is_int(used, sizeof(got), "packed, all of them");
    is_mem(got, sent, sizeof(got), "and as they were written");
    args = (struct args_read_rows){
        .src = memory, .pitch = 7, .width = 7, .rows = 1, .reply_room = sizeof(got)};
    peer_ask(peer, OP_read_rows, &args, sizeof(args), NULL, 0, NULL, 0, got, sizeof(got), &used);
    is_int(used, 7, "a length that is no multiple of eight is told exactly");
    is_mem(got, sent, 7, "with its bytes");
}

static void blocks(struct peer *peer)
{
    // More than all staging blocks hold, and no multiple of a block.
    size_t size = (size_t)20 * 1024 * 1024 + 12345;
    uint8_t *sent = malloc(size), *got = calloc(1, size);
    CUdeviceptr memory = peer_alloc(peer, size);
    uint64_t stream = peer_stream(peer);

    fill(sent, size, 2);
    peer_push(peer, 1, memory, sent, size, stream);
    peer_pull(peer, 2, got, memory, size, stream);
    while (!peer->jobs[2].ended)
        peer_take_event(peer, 10000);
    is_int(peer->jobs[2].result, CUDA_SUCCESS, "a pull of 20 MiB ends well");
    is_int((int64_t)peer->jobs[2].received, (int64_t)size, "after all of its data");
    ok(!memcmp(got, sent, size), "which is what was pushed");
    free(sent);
    free(got);
}

static CUresult read_mirror(struct peer *peer, uint32_t region, uint64_t at, uint64_t size,
                            uint64_t *done, void *changes, uint32_t room, uint32_t *used)
{
    struct args_host_mirror_read args = {
        .region = region, .at = at, .size = size, .reply_room = room};
    struct reply_host_mirror_read reply = {0};
    CUresult result = peer_ask(peer, OP_host_mirror_read, &args, sizeof(args), NULL, 0, &reply,
                               sizeof(reply), changes, room, used);
    *done = reply.done;
    return result;
}

// Changes go both ways, and only such as fit.
static void mirrors(struct peer *peer)
{
    const uint64_t place = UINT64_C(0x200000000000), size = 8192;
    struct {
        uint32_t at, size;
        char bytes[8];
    } run = {100, 8, "changed"}, past = {4090, 8, ""};
    uint8_t changes[256];
    uint32_t used = 0;
    uint64_t done = 0;
    is_int(ASK(peer, host_mirror, .address = place + 1, .size = size, .region = 1),
           CUDA_ERROR_INVALID_VALUE, "a mirror begins with a page");
    is_int(ASK(peer, host_mirror, .address = place, .size = size, .region = 0),
           CUDA_ERROR_INVALID_VALUE, "and has a number");
    is_int(ASK(peer, host_mirror, .address = place, .size = size, .region = 1), CUDA_SUCCESS,
           "host memory is mirrored over a byte stream");
    is_int(ASK(peer, host_mirror, .address = place, .size = size, .region = 2),
           CUDA_ERROR_ALREADY_MAPPED, "not where another one is");
    is_int(ASK(peer, host_mirror, .address = place + size, .size = size, .region = 1),
           CUDA_ERROR_INVALID_VALUE, "nor under its number");
    POST_TAIL(peer, host_mirror_write, &run, sizeof(run), .region = 1, .bytes = sizeof(run));
    is_int(read_mirror(peer, 1, 0, size, &done, changes, sizeof(changes), &used), CUDA_SUCCESS,
           "it is read");
    ok(done == size && !used, "what the client has written is not told to it");
    POST(peer, cuMemsetD8Async, .dstDevice = place + 4096, .uc = 7, .N = 4);
    ASK(peer, cuStreamSynchronize);
    is_int(read_mirror(peer, 1, 4096, 4096, &done, changes, sizeof(changes), &used), CUDA_SUCCESS,
           "a part of it is read");
    is_mem(changes, "\0\0\0\0\4\0\0\0\7\7\7\7", 12, "with what the GPU has written");
    is_int(used, 12, "and no more");
    peer->deferred = CUDA_SUCCESS;
    POST_TAIL(peer, host_mirror_write, &past, sizeof(past), .region = 1, .at = 4096,
              .bytes = sizeof(past));
    ASK(peer, cuStreamSynchronize);
    is_int(peer->deferred, CUDA_ERROR_INVALID_VALUE, "changes behind its end are refused");
    is_int(read_mirror(peer, 1, 4096, 4097, &done, changes, sizeof(changes), &used),
           CUDA_ERROR_INVALID_VALUE, "as is reading there");
    is_int(ASK(peer, host_mirror_end, .region = 1), CUDA_SUCCESS, "it ends");
    is_int(ASK(peer, host_mirror_end, .region = 1), CUDA_ERROR_INVALID_VALUE, "once");
}

static void over_tcp(void)
{
    struct peer peer;

    peer_start(&peer, &(struct peer_options){.transport = "tcp"});
    peer_retain(&peer, 0);
    rows(&peer);
    blocks(&peer);
    is_int(ASK(&peer, host_map, .address = 0x10000, .size = 4096, .region = 1),
           CUDA_ERROR_NOT_SUPPORTED, "a byte stream maps no host memory");
    mirrors(&peer);
    peer_stop(&peer);
}

// Plays the client's side of staging: fills a block, requests its copy, waits for the flag after
// it.
static void staging(struct peer *peer)
{
    const struct link_staging *staging = link_staging(peer->link);
    uint8_t *block = (uint8_t *)staging->base + staging->blocks_offset;
    size_t size = staging->block_size;
    CUdeviceptr memory = peer_alloc(peer, size);
    uint8_t *sent = malloc(size);

    fill(block, size, 3);
    memcpy(sent, block, size);
    POST(peer, copy_to_device, .dst = memory, .host = WIRE_HOST(0, staging->blocks_offset),
         .size = size);
    POST(peer, signal, .index = 5, .value = 77);
    is_int(ASK(peer, cuStreamSynchronize), CUDA_SUCCESS, "a staged copy goes through");
    is_int(__atomic_load_n(&staging->flags[5], __ATOMIC_ACQUIRE), 77,
           "and the GPU has raised the flag behind it");
    memset(block, 0, size);
    POST(peer, copy_from_device, .host = WIRE_HOST(0, staging->blocks_offset), .src = memory,
         .size = size);
    ASK(peer, cuStreamSynchronize);
    is_mem(block, sent, size, "the block comes back");
    free(sent);
}

static int sealed_file(size_t size, unsigned seals)
{
    int fd = memfd_create("host", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0 || ftruncate(fd, (off_t)size) || (seals && fcntl(fd, F_ADD_SEALS, seals)))
        bail("no memory file");
    return fd;
}

static CUresult map_region(struct peer *peer, uint32_t region, uint8_t *at, size_t size, int fd,
                           CUdeviceptr *device)
{
    struct reply_host_map reply = {0};

    if (link_send_region(peer->link, region, fd))
        bail("the descriptor is not sent");
    CUresult result =
        ASK_REPLY(peer, host_map, &reply, .address = (uintptr_t)at, .size = size, .region = region);
    *device = reply.device_address;
    return result;
}

// At an address that is free in both processes, as the client library looks for one.
static uint8_t *map_somewhere(struct peer *peer, uint32_t region, size_t size, int fd,
                              CUdeviceptr *device)
{
    for (int tries = 0; tries < 64; tries++) {
        uint8_t *at = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CUresult result = map_region(peer, region, at, size, fd, device);
        if (result == CUDA_SUCCESS)
            return at;
        if (result != CUDA_ERROR_ALREADY_MAPPED)
            bail("a region is not mapped: %d", result);
    }
    bail("no address is free in both processes");
}

static void host_memory(struct peer *peer)
{
    size_t size = 1024 * 1024;
    int fd = sealed_file(size, F_SEAL_SHRINK), loose = sealed_file(size, 0);
    uint8_t *host = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CUdeviceptr device = 0, memory = peer_alloc(peer, size);
    uint8_t *sent = malloc(size);

    is_int(map_region(peer, 1, host, size, loose, &device), CUDA_ERROR_INVALID_VALUE,
           "a file that could shrink is not mapped");
    memset(host, 0, size); // a client makes the pages, since a worker makes none of them
    uint8_t *far = map_somewhere(peer, 1, size, fd, &device);
    is_int((int64_t)device, (int64_t)(uintptr_t)far,
           "a sealed file is, with one address for host and device");
    is_int(map_region(peer, 2, far + 4096, size, fd, &device), CUDA_ERROR_ALREADY_MAPPED,
           "an address that is taken is refused");
    fill(host, size, 4);
    memcpy(sent, host, size);
    POST(peer, copy_to_device, .dst = memory, .host = WIRE_HOST(1, 0), .size = size);
    ASK(peer, cuStreamSynchronize);
    memset(host, 0, size);
    POST(peer, copy_from_device, .host = WIRE_HOST(1, 0), .src = memory, .size = size);
    is_int(ASK(peer, cuStreamSynchronize), CUDA_SUCCESS, "copies reach it");
    is_mem(host, sent, size, "without any copy of ours");
    is_int(ASK(peer, host_unmap, .region = 1), CUDA_SUCCESS, "it can be unmapped");
    is_int(ASK(peer, host_unmap, .region = 1), CUDA_ERROR_INVALID_VALUE, "but once");
    POST(peer, copy_to_device, .dst = memory, .host = WIRE_HOST(1, 0), .size = 16);
    peer->deferred = CUDA_SUCCESS;
    ASK(peer, cuStreamSynchronize);
    is_int(peer->deferred, CUDA_ERROR_INVALID_VALUE, "what is unmapped cannot be named");
    free(sent);
    munmap(host, size);
    close(fd);
    close(loose);
}

static void boxes(struct peer *peer)
{
    const struct link_staging *staging = link_staging(peer->link);
    uint8_t *block = (uint8_t *)staging->base + staging->blocks_offset;
    CUdeviceptr memory = peer_alloc(peer, 64 * 64);
    CUDA_MEMCPY3D copy = {
        .srcMemoryType = CU_MEMORYTYPE_HOST,
        .srcHost = (void *)(uintptr_t)WIRE_HOST(0, staging->blocks_offset),
        .srcPitch = 16,
        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
        .dstDevice = memory,
        .dstPitch = 64,
        .WidthInBytes = 16,
        .Height = 8,
        .Depth = 1,
    };

    fill(block, 16 * 8, 5);
    POST(peer, copy_3d, .copy = copy);
    POST(peer, copy_from_device, .host = WIRE_HOST(0, staging->blocks_offset + 4096),
         .src = memory + 7 * 64, .size = 16);
    is_int(ASK(peer, cuStreamSynchronize), CUDA_SUCCESS, "a rectangle is copied");
    is_mem(block + 4096, block + 7 * 16, 16, "its last row is where it belongs");
    copy.Height = 1u << 30;
    POST(peer, copy_3d, .copy = copy);
    peer->deferred = CUDA_SUCCESS;
    ASK(peer, cuStreamSynchronize);
    is_int(peer->deferred, CUDA_ERROR_INVALID_VALUE, "one that leaves its memory is refused");
}

// Returns the address of the worker's staging blocks, which the GPU knows as well.
static uint64_t blocks_of_worker(const struct peer *peer)
{
    char path[64], line[512];
    uint64_t found = 0, largest = 0;
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)peer->pid);
    FILE *maps = fopen(path, "r");
    while (maps && fgets(line, sizeof(line), maps)) {
        unsigned long start, end;
        if (!strstr(line, "/memfd:rgpu ") || sscanf(line, "%lx-%lx", &start, &end) != 2 ||
            end - start <= largest)
            continue;
        largest = end - start;
        found = end - 4096;
    }
    if (maps)
        fclose(maps);
    if (!found)
        bail("the worker has no staging blocks");
    return found;
}

// A program's address may be one of the worker's own memory.
static void texture_of_worker(struct peer *peer)
{
    CUDA_RESOURCE_DESC linear = {.resType = CU_RESOURCE_TYPE_LINEAR};
    CUDA_RESOURCE_DESC rows = {.resType = CU_RESOURCE_TYPE_PITCH2D};
    linear.res.linear.devPtr = rows.res.pitch2D.devPtr = blocks_of_worker(peer);
    linear.res.linear.format = rows.res.pitch2D.format = CU_AD_FORMAT_FLOAT;
    linear.res.linear.numChannels = rows.res.pitch2D.numChannels = 1;
    linear.res.linear.sizeInBytes = 1024;
    rows.res.pitch2D.width = rows.res.pitch2D.height = 8;
    rows.res.pitch2D.pitchInBytes = 256;
    is_int(ASK(peer, cuTexObjectCreate, .pResDesc = linear), CUDA_ERROR_INVALID_VALUE,
           "no texture is made of the worker's own memory");
    is_int(ASK(peer, cuTexObjectCreate, .pResDesc = rows), CUDA_ERROR_INVALID_VALUE,
           "nor one with rows");
    linear.res.linear.devPtr = peer_alloc(peer, 4096);
    is_int(ASK(peer, cuTexObjectCreate, .pResDesc = linear), CUDA_SUCCESS,
           "but of the client's memory");
}

static void over_shm(void)
{
    struct peer peer;

    peer_start(&peer, &(struct peer_options){.transport = "shm"});
    peer_retain(&peer, 0);
    staging(&peer);
    host_memory(&peer);
    texture_of_worker(&peer);
    boxes(&peer);
    peer_stop(&peer);
}

int main(void)
{
    over_tcp();
    over_shm();
    return done();
}
