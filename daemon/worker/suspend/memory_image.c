// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/suspend/memory_image.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "daemon/worker/copy/parts/direct.h"
#include "daemon/worker/suspend/movable_memory.h"

// Threads copy chunks between the GPU and two page-locked slots each, and between the slots and the
// image. On an H200 with 16 processors eight threads carry what the bus does into memory that is
// there, and half of that into fresh memory, which the kernel has to clear.
enum { THREADS_MAX = 8, SLOTS = 2, CHUNK = 4 << 20 };

static struct {
    char *bytes;   // memory for images; NULL: none yet
    uint64_t room; // its size
    uint64_t size; // of the saved image; 0: none
} image;

// ---- chunks ----

struct chunk {
    CUdeviceptr address;
    char *bytes; // in the image
    size_t size; // 0: there are no more
};

// A copy of all memory, and where its threads are.
struct image_copy {
    bool to_host;
    CUcontext context; // any one of the GPU: it reaches all addresses
    char *slots;
    pthread_mutex_t lock; // protects the rest
    struct movable **list;
    size_t count, at;
    uint64_t offset, place; // in list[at], and in the image
    CUresult result;
};

static struct chunk next_chunk(struct image_copy *copy)
{
    SCOPED_LOCK(&copy->lock);
    if (copy->at == copy->count || copy->result != CUDA_SUCCESS)
        return (struct chunk){.size = 0};
    const struct movable *memory = copy->list[copy->at];
    uint64_t left = memory->size - copy->offset;
    struct chunk chunk = {.address = memory->address + copy->offset,
                          .bytes = image.bytes + copy->place,
                          .size = left < CHUNK ? left : CHUNK};
    copy->offset += chunk.size;
    copy->place += chunk.size;
    if (copy->offset == memory->size) {
        copy->at++;
        copy->offset = 0;
    }
    return chunk;
}

static void memory_image_note_failure(struct image_copy *copy, CUresult result)
{
    SCOPED_LOCK(&copy->lock);
    if (copy->result == CUDA_SUCCESS)
        copy->result = result;
}

// ---- threads ----

// While the GPU fills one slot, the thread empties the other.
static CUresult memory_image_to_host(struct image_copy *copy, char *const slots[SLOTS],
                                     const CUstream streams[SLOTS])
{
    struct chunk chunks[SLOTS] = {next_chunk(copy)};
    CUresult result = CUDA_SUCCESS;
    unsigned now = 0;

    if (chunks[0].size)
        result =
            driver.cuMemcpyDtoHAsync_v2(slots[0], chunks[0].address, chunks[0].size, streams[0]);
    while (chunks[now].size && result == CUDA_SUCCESS) {
        unsigned other = !now;
        chunks[other] = next_chunk(copy);
        if (chunks[other].size)
            result = driver.cuMemcpyDtoHAsync_v2(slots[other], chunks[other].address,
                                                 chunks[other].size, streams[other]);
        if (result == CUDA_SUCCESS)
            result = driver.cuStreamSynchronize(streams[now]);
        if (result == CUDA_SUCCESS)
            memcpy(chunks[now].bytes, slots[now], chunks[now].size);
        now = other;
    }
    return result;
}

static CUresult memory_image_to_gpu(struct image_copy *copy, char *const slots[SLOTS],
                                    const CUstream streams[SLOTS])
{
    CUresult result = CUDA_SUCCESS;
    struct chunk chunk;

    for (unsigned now = 0; result == CUDA_SUCCESS && (chunk = next_chunk(copy)).size; now = !now) {
        result = driver.cuStreamSynchronize(streams[now]);
        if (result != CUDA_SUCCESS)
            break;
        memcpy(slots[now], chunk.bytes, chunk.size);
        result = driver.cuMemcpyHtoDAsync_v2(chunk.address, slots[now], chunk.size, streams[now]);
    }
    return result;
}

static CUresult copy_with_streams(struct image_copy *copy, char *const slots[SLOTS])
{
    CUstream streams[SLOTS] = {NULL};
    CUresult result = CUDA_SUCCESS;

    for (unsigned i = 0; i < SLOTS && result == CUDA_SUCCESS; i++)
        result = driver.cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING);
    if (result == CUDA_SUCCESS)
        result = copy->to_host ? memory_image_to_host(copy, slots, streams)
                               : memory_image_to_gpu(copy, slots, streams);
    for (unsigned i = 0; i < SLOTS && streams[i]; i++) {
        CUresult end = driver.cuStreamSynchronize(streams[i]);
        result = result == CUDA_SUCCESS ? end : result;
        driver.cuStreamDestroy_v2(streams[i]);
    }
    return result;
}

struct copy_thread {
    struct image_copy *copy;
    char *slots[SLOTS];
    pthread_t thread;
};

static void *memory_image_copy_main(void *argument)
{
    struct copy_thread *self = argument;
    CUresult result = driver.cuCtxSetCurrent(self->copy->context);

    if (result == CUDA_SUCCESS)
        result = copy_with_streams(self->copy, self->slots);
    if (result != CUDA_SUCCESS)
        memory_image_note_failure(self->copy, result);
    driver.cuCtxSetCurrent(NULL);
    return NULL;
}

static unsigned memory_image_threads(void)
{
    cpu_set_t set;
    int processors = sched_getaffinity(0, sizeof(set), &set) ? THREADS_MAX : CPU_COUNT(&set);

    return processors < THREADS_MAX ? (unsigned)processors : THREADS_MAX;
}

static CUresult run_threads(struct image_copy *copy)
{
    struct copy_thread threads[THREADS_MAX];
    unsigned count = memory_image_threads(), started = 0;

    for (; started < count; started++) {
        struct copy_thread *self = &threads[started];
        *self = (struct copy_thread){.copy = copy};
        for (unsigned i = 0; i < SLOTS; i++)
            self->slots[i] = copy->slots + (size_t)(started * SLOTS + i) * CHUNK;
        if (pthread_create(&self->thread, NULL, memory_image_copy_main, self))
            break;
    }
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i].thread, NULL);
    return started ? copy->result : CUDA_ERROR_OUT_OF_MEMORY;
}

// Copies all listed memory.
static CUresult memory_image_copy_all(struct movable **list, size_t count, bool to_host)
{
    struct image_copy copy = {.to_host = to_host,
                              .context = list[0]->context,
                              .lock = PTHREAD_MUTEX_INITIALIZER,
                              .list = list,
                              .count = count};
    void *slots = NULL;
    CUcontext before;
    CUresult result = driver.cuCtxPushCurrent_v2(copy.context);

    if (result != CUDA_SUCCESS)
        return result;
    result = driver.cuMemHostAlloc(&slots, (size_t)memory_image_threads() * SLOTS * CHUNK,
                                   CU_MEMHOSTALLOC_PORTABLE);
    copy.slots = slots;
    if (result == CUDA_SUCCESS) {
        result = run_threads(&copy);
        driver.cuMemFreeHost(slots);
    }
    driver.cuCtxPopCurrent_v2(&before);
    return result;
}

// ---- out ----

// Takes memory for SIZE bytes. Memory of the last image stays as it is, and grows if necessary.
static void *memory_image_map(uint64_t size)
{
    if (!image.bytes)
        return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                    -1, 0);
    if (mprotect(image.bytes, image.room, PROT_READ | PROT_WRITE))
        return MAP_FAILED;
    return image.room >= size ? image.bytes : mremap(image.bytes, image.room, size, MREMAP_MAYMOVE);
}

static bool memory_image_reserve(uint64_t size)
{
    void *bytes = memory_image_map(size);

    if (bytes == MAP_FAILED)
        return false;
    image.bytes = bytes;
    image.room = image.room > size ? image.room : size;
    // Huge pages are cleared and mapped several times as fast, but not every system has them.
    (void)madvise(image.bytes, image.room, MADV_HUGEPAGE);
    return true;
}

// The kernel takes the memory back when somebody needs it. Until then the next image needs no
// cleared pages. Memory that cannot be written does not count against worker_memory.
static void memory_image_drop(void)
{
    image.size = 0;
    if (madvise(image.bytes, image.room, MADV_FREE) ||
        mprotect(image.bytes, image.room, PROT_READ)) {
        munmap(image.bytes, image.room);
        image.bytes = NULL;
        image.room = 0;
    }
}

static void memory_image_take_away(struct movable *memory)
{
    direct_forget(memory->address);
    CUresult result = movable_take_down(memory);
    memory->away = result == CUDA_SUCCESS;
    if (result != CUDA_SUCCESS)
        log_warn("device memory stays on the GPU address=0x%llx size=%llu result=%d",
                 (unsigned long long)memory->address, (unsigned long long)memory->size,
                 (int)result);
}

bool memory_image_save(uint64_t *bytes)
{
    int64_t start = clock_ms();
    size_t count = 0;
    SCOPED_FREE struct movable **list = image.size ? NULL : movable_list(&count);

    *bytes = image.size;
    if (!list)
        return image.size || !movable_bytes();
    uint64_t size = movable_bytes();
    CUresult result = memory_image_reserve(size) ? memory_image_copy_all(list, count, true)
                                                 : CUDA_ERROR_OUT_OF_MEMORY;
    if (result != CUDA_SUCCESS) {
        log_info("the driver moves the device memory result=%d", (int)result);
        if (image.bytes)
            memory_image_drop();
        return false;
    }
    for (size_t i = 0; i < count; i++)
        memory_image_take_away(list[i]);
    image.size = size;
    log_info("device memory is in the host bytes=%llu took_ms=%lld", (unsigned long long)size,
             (long long)(clock_ms() - start));
    *bytes = size;
    return true;
}

// ---- back ----

static CUresult memory_image_put_back(struct movable **list, size_t count)
{
    CUresult result = CUDA_SUCCESS;

    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++)
        if (list[i]->away && !list[i]->handle)
            result = movable_put_up(list[i]);
    return result == CUDA_SUCCESS ? memory_image_copy_all(list, count, false) : result;
}

CUresult memory_image_restore(void)
{
    int64_t start = clock_ms();
    size_t count = 0;

    if (!image.size)
        return CUDA_SUCCESS;
    SCOPED_FREE struct movable **list = movable_list(&count);
    CUresult result = list ? memory_image_put_back(list, count) : CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < count; i++)
        if (result == CUDA_SUCCESS)
            list[i]->away = false;
        else if (list[i]->away && list[i]->handle)
            movable_take_down(list[i]);
    if (result != CUDA_SUCCESS)
        return result;
    log_info("device memory is on the GPU again bytes=%llu took_ms=%lld",
             (unsigned long long)image.size, (long long)(clock_ms() - start));
    memory_image_drop();
    return CUDA_SUCCESS;
}
