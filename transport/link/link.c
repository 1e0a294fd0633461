// SPDX-License-Identifier: BSD-3-Clause
// Common part of all transports: argument checks, failure, and the calls through the table.
#include "transport/link/link_private.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/assert.h"
#include "common/base/log.h"
#include "common/base/quiet_thread.h"
#include "common/base/scope.h"

uint32_t link_default_spin_us(void)
{
    cpu_set_t set;
    int processors = sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);

    // If both ends and the rest of the program share few processors, spinning keeps the other end
    // from running.
    return processors <= 1 ? 0 : processors <= 2 ? 10 : processors <= 4 ? 20 : 50;
}

bool link_thread_start(pthread_t *thread, const char *name, const char *purpose,
                       void *(*routine)(void *argument), void *argument)
{
    int err = quiet_thread_start(thread, routine, argument);

    RGPU_ASSERT(strlen(name) < 16);
    if (err) {
        log_warn("no thread for %s: error=%s", purpose, strerror(-err));
        return false;
    }
    pthread_setname_np(*thread, name);
    return true;
}

void link_init(struct link *link, const struct link_ops *ops, const char *name,
               const struct link_options *options)
{
    link->ops = ops;
    link->name = name;
    link->spin_us = options ? options->spin_us : link_default_spin_us();
    if (options)
        link->throttle = options->throttle;
    pthread_mutex_init(&link->failure_lock, NULL);
}

// Programs close descriptors that they have not opened: by a loop over all of them, closefrom() or
// close_range().
static void say_closed(struct link *link)
{
    size_t used = strlen(link->error);
    snprintf(link->error + used, sizeof(link->error) - used,
             " (this process has closed a descriptor of the library)");
}

int link_fail(struct link *link, int error, const char *format, ...)
{
    va_list arguments;

    if (link_failure(link))
        return link_failure(link);
    SCOPED_LOCK(&link->failure_lock);
    if (!link_failure(link)) {
        va_start(arguments, format);
        vsnprintf(link->error, sizeof(link->error), format, arguments);
        va_end(arguments);
        if (error == -EBADF || error == -ENOTSOCK)
            say_closed(link);
        atomic_store_explicit(&link->failure, error, memory_order_release);
        link->ops->wake_all(link);
    }
    return link_failure(link);
}

void *link_reserve(struct link *link, uint32_t size)
{
    if (link_failure(link))
        return NULL;
    if (!link_record_size_valid(size)) {
        link_fail(link, -EINVAL, "this side wants to send a record of %u bytes", size);
        return NULL;
    }
    return link->ops->reserve(link, size);
}

void link_commit(struct link *link)
{
    link->ops->commit(link, LINK_LEAVES_SOON);
}

void link_commit_ahead(struct link *link)
{
    link->ops->commit(link, LINK_LEAVES_LATER);
}

int link_commit_flush(struct link *link)
{
    return link->ops->commit(link, LINK_LEAVES_NOW);
}

void link_cancel(struct link *link)
{
    link->ops->cancel(link);
}

int link_flush(struct link *link)
{
    int failure = link_failure(link);

    return failure ? failure : link->ops->flush(link);
}

int link_send_bulk(struct link *link, const void *record, uint32_t size, const void *payload,
                   size_t length)
{
    int failure = link_failure(link);

    if (failure)
        return failure;
    if (!link_record_size_valid(size))
        return link_fail(link, -EINVAL, "this side wants to send a record of %u bytes", size);
    return link->ops->send_bulk(link, record, size, payload, length);
}

int link_receive(struct link *link, void *buffer, size_t room, int timeout_ms)
{
    int failure = link_failure(link);

    return failure ? failure : link->ops->receive(link, buffer, room, timeout_ms);
}

int link_receive_bulk(struct link *link, void *payload, size_t length)
{
    int failure = link_failure(link);

    return failure ? failure : link->ops->receive_bulk(link, payload, length);
}

int link_send_bulk_ahead(struct link *link, const void *record, uint32_t size, const void *payload,
                         size_t length, struct link_ahead *ahead)
{
    int failure = link_failure(link);

    if (failure)
        return failure;
    if (!link_record_size_valid(size))
        return link_fail(link, -EINVAL, "this side wants to send a record of %u bytes", size);
    return link->ops->advance->send(link, record, size, payload, length, ahead);
}

int link_receive_bulk_ahead(struct link *link, void *payload, size_t length,
                            struct link_ahead *ahead)
{
    int failure = link_failure(link);

    return failure ? failure : link->ops->advance->receive(link, payload, length, ahead);
}

int link_settle(struct link *link, const struct link_ahead *ahead)
{
    link->ops->advance->settle(link, ahead);
    return link_failure(link);
}

bool link_pending(struct link *link)
{
    return link_failure(link) || link->ops->pending(link);
}

bool link_wants_reading(struct link *link)
{
    if (!atomic_load_explicit(&link->crowded, memory_order_relaxed))
        return false;
    atomic_store_explicit(&link->crowded, false, memory_order_relaxed);
    return true;
}

void link_interrupt(struct link *link)
{
    link->ops->interrupt(link);
}

enum link_memory link_memory(const struct link *link)
{
    return link->ops->memory;
}

int link_expose(struct link *link, void *base, size_t size, uint32_t *key)
{
    int failure = link_failure(link);

    if (failure)
        return failure;
    return link->ops->reaching->expose(link, base, size, key);
}

void link_conceal(struct link *link, void *base, size_t size)
{
    link->ops->reaching->conceal(link, base, size);
}

int link_expose_staging(struct link *link, uint32_t *key)
{
    const struct link_staging *staging = link_staging(link);

    return staging ? link_expose(link, staging->base, staging->size, key) : -EOPNOTSUPP;
}

int link_register(struct link *link, const struct link_local *memory, struct link_registered **out)
{
    int failure = link_failure(link);

    *out = NULL;
    if (failure)
        return failure;
    return link->ops->reaching->register_local(link, memory, out);
}

uint32_t link_registered_key(const struct link *link, const struct link_registered *memory)
{
    return link->ops->reaching->local_key(memory);
}

void link_unregister(struct link *link, struct link_registered *memory)
{
    link->ops->reaching->unregister_local(link, memory);
}

int link_transfer_start(struct link *link, const struct link_transfer *transfer)
{
    int failure = link_failure(link);

    return failure ? failure : link->ops->reaching->transfer_start(link, transfer);
}

int link_transfer_poll(struct link *link, void **cookies, int room)
{
    int failure = link_failure(link);

    return failure ? failure : link->ops->reaching->transfer_poll(link, cookies, room);
}

int link_transfer_wait(struct link *link, uint32_t us)
{
    int failure = link_failure(link);

    return failure ? failure : link->ops->reaching->transfer_wait(link, us);
}

void link_transfer_wake(struct link *link)
{
    link->ops->reaching->transfer_wake(link);
}

const struct link_staging *link_staging(const struct link *link)
{
    return link->ops->staging(link);
}

int link_window(const struct link *link)
{
    return link->ops->window(link);
}

int link_send_region(struct link *link, uint32_t region, int fd)
{
    int failure = link_failure(link);

    if (failure)
        return failure;
    return link->ops->sharing->send_region(link, region, fd);
}

int link_receive_region(struct link *link, uint32_t region, enum link_region_kind kind, int *fd)
{
    int failure = link_failure(link);

    if (failure)
        return failure;
    return link->ops->sharing->receive_region(link, region, kind, fd);
}

const char *link_name(const struct link *link)
{
    return link->name;
}

const char *link_error(const struct link *link)
{
    return link_failure(link) ? link->error : "";
}

void link_bytes(const struct link *link, uint64_t *sent, uint64_t *received)
{
    *sent = atomic_load_explicit(&link->sent, memory_order_relaxed);
    *received = atomic_load_explicit(&link->received, memory_order_relaxed);
}

uint64_t link_waited(const struct link *link)
{
    return atomic_load_explicit(&link->waited, memory_order_relaxed);
}

void link_shutdown(struct link *link)
{
    link_fail(link, -EPIPE, "this side has shut the link down");
}

void link_abandon(struct link *link)
{
    static const char reason[] = "the link belongs to the parent process";

    // Another thread of the parent may have held any lock at the time of the fork.
    if (!link_failure(link)) {
        memcpy(link->error, reason, sizeof(reason));
        atomic_store_explicit(&link->failure, -EPIPE, memory_order_release);
    }
    link->ops->close(link);
}

void link_free(struct link **link)
{
    struct link *old = *link;

    if (!old)
        return;
    *link = NULL;
    old->ops->free(old);
}
