// SPDX-License-Identifier: BSD-3-Clause
// Images are kept by the client's number until the client frees them. Their size and number are
// limited.
#include "daemon/worker/execute/serve_image.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/driver/image.h"
#include "common/service/ledger.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "daemon/worker/core/gpus.h"
#include "daemon/worker/core/session.h"
#include "worker_serve.h"

enum { IMAGES_MAX = 256, TAIL = 64, READ_MAX = 64 << 20 };
static const uint64_t TOTAL_MAX = UINT64_C(4) << 30;

static struct uploaded_image *images;
static unsigned image_count;
static uint64_t total;
static uint32_t refused; // the last one for which there was no room
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct uploaded_image **serve_image_place_of(uint32_t number)
{
    struct uploaded_image **at = &images;

    while (*at && (*at)->number != number)
        at = &(*at)->next;
    return at;
}

static void put_locked(struct uploaded_image *image)
{
    if (--image->users)
        return;
    total -= image->size;
    if (session.account)
        ledger_give_images(session.account, session.account_line, image->size);
    image_count--;
    munmap(image->data, image->size + TAIL);
    free(image);
}

void image_put(struct uploaded_image *image)
{
    SCOPED_LOCK(&lock);
    put_locked(image);
}

struct uploaded_image *image_take(struct serve *serve, uint32_t number)
{
    SCOPED_LOCK(&lock);
    struct uploaded_image *image = *serve_image_place_of(number);
    if (image && image->received == image->size)
        image->users++;
    else
        image = NULL;
    if (!image)
        serve_fail(serve, number == refused ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE);
    return image;
}

static struct uploaded_image *image_new(uint32_t number, uint64_t size)
{
    struct uploaded_image *image = calloc(1, sizeof(*image));

    if (!image)
        return NULL;
    // Pages that were never written to cost nothing, whatever size was announced.
    image->data = mmap(NULL, size + TAIL, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (image->data == MAP_FAILED) {
        free(image);
        return NULL;
    }
    image->number = number;
    image->size = size;
    image->users = 1;
    return image;
}

// Within what the lease has left for all its sessions.
static struct uploaded_image *image_for_lease(uint32_t number, uint64_t size)
{
    if (session.account && !ledger_take_images(session.account, session.account_line, size))
        return NULL;
    struct uploaded_image *image = image_new(number, size);
    if (!image && session.account)
        ledger_give_images(session.account, session.account_line, size);
    return image;
}

void serve_image_begin(struct serve *serve, const struct args_image_begin *args)
{
    SCOPED_LOCK(&lock);
    if (!args->size || *serve_image_place_of(args->image)) {
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    } else if (image_count == IMAGES_MAX || args->size > TOTAL_MAX - total) {
        refused = args->image;
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
    } else {
        struct uploaded_image *image = image_for_lease(args->image, args->size);
        if (image) {
            image->next = images;
            images = image;
            image_count++;
            total += args->size;
        } else {
            refused = args->image;
            log_warn(
                "no room for an image bytes=%llu, within max_images_per_lease and worker_memory",
                (unsigned long long)args->size);
            serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
        }
    }
}

void serve_image_data(struct serve *serve, const struct args_image_data *args)
{
    SCOPED_LOCK(&lock);
    struct uploaded_image *image = *serve_image_place_of(args->image);
    // Parts arrive in order, so a count is enough to detect the end.
    if (image && args->offset == image->received && args->bytes <= image->size - args->offset) {
        memcpy(image->data + args->offset, args + 1, args->bytes);
        image->received += args->bytes;
    } else {
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    }
}

void serve_image_free(struct serve *serve, const struct args_image_free *args)
{
    SCOPED_LOCK(&lock);
    struct uploaded_image **at = serve_image_place_of(args->image), *image = *at;
    if (image) {
        *at = image->next;
        put_locked(image);
    } else {
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    }
}

// Returns the architecture of the session's devices; 0 if they differ.
static unsigned common_arch(void)
{
    unsigned arch = session.device_count ? gpu_arch(session.ordinals[0]) : 0;

    for (unsigned i = 1; i < session.device_count; i++)
        if (gpu_arch(session.ordinals[i]) != arch)
            return 0;
    return arch;
}

// A larger image is not read for this: the search would delay the load for longer than the saved
// synchronize calls take.
bool image_prints(const struct uploaded_image *image)
{
    return image_may_name(image->data, image->size, common_arch(), "vprintf", READ_MAX);
}
