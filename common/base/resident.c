// SPDX-License-Identifier: BSD-3-Clause
#include "common/base/resident.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#include "common/base/quiet_thread.h"

// Newer than the headers of the oldest system that this is built on.
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

enum { THREADS_MAX = 4, PAGE = 4096 };
static const size_t least_piece = 4 << 20; // of a thread

struct resident_piece {
    char *base;
    size_t size;
    pthread_t thread;
    bool started, refused;
};

bool memory_enter_pages(void *base, size_t size, bool write)
{
    return madvise(base, size, write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) == 0;
}

static void *populate(void *argument)
{
    struct resident_piece *piece = argument;

    // Kernels before 5.14 do not know the advice.
    piece->refused = !memory_enter_pages(piece->base, piece->size, true) && errno != EINVAL;
    return NULL;
}

static unsigned pieces_of(size_t size)
{
    cpu_set_t set;
    unsigned threads = sched_getaffinity(0, sizeof(set), &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;

    if (threads > THREADS_MAX)
        threads = THREADS_MAX;
    return size / least_piece < threads ? (unsigned)(size / least_piece) : threads;
}

static void resident_start(struct resident_piece *pieces, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        pieces[i].started = !quiet_thread_start(&pieces[i].thread, populate, &pieces[i]);
}

bool memory_make_resident(void *base, size_t size)
{
    struct resident_piece pieces[THREADS_MAX];
    unsigned count = pieces_of(size);
    size_t each = count ? size / count & ~(size_t)(PAGE - 1) : 0;

    for (unsigned i = 0; i + 1 < count; i++)
        pieces[i] = (struct resident_piece){.base = (char *)base + i * each, .size = each};
    size_t done = count ? (count - 1) * each : 0;
    struct resident_piece own = {.base = (char *)base + done, .size = size - done};
    resident_start(pieces, count ? count - 1 : 0);
    populate(&own);
    bool refused = own.refused;
    for (unsigned i = 0; i + 1 < count; i++) {
        if (pieces[i].started)
            pthread_join(pieces[i].thread, NULL);
        else
            populate(&pieces[i]);
        refused |= pieces[i].refused;
    }
    return !refused;
}

// Returns true if this kernel does that.
static bool kernel_enters_pages(void)
{
    static char page[2 * PAGE];

    return memory_enter_pages((void *)(((uintptr_t)page + PAGE - 1) & ~(uintptr_t)(PAGE - 1)), PAGE,
                              true);
}

// Returns false if a page is not mapped or not accessible in this way. The kernel adds 0 to a word
// or compares one, so no access ends the process, and the program's data stay.
static bool page_is_accessible(const void *page, bool write)
{
    static const struct timespec no_time;
    long result = write ? syscall(SYS_futex, page, FUTEX_WAKE_OP_PRIVATE, 0, NULL, page,
                                  FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, 0))
                        : syscall(SYS_futex, page, FUTEX_WAIT_PRIVATE, 0, &no_time, NULL, 0);

    return result >= 0 || errno != EFAULT;
}

static bool pages_are_accessible(uintptr_t first, size_t size, bool write)
{
    for (size_t done = 0; done < size; done += PAGE)
        if (!page_is_accessible((const void *)(first + done), write))
            return false;
    return true;
}

int memory_make_lockable(void *base, size_t size, bool write)
{
    uintptr_t first = (uintptr_t)base & ~(uintptr_t)(PAGE - 1);
    size_t whole = ((uintptr_t)base + size - first + PAGE - 1) & ~(size_t)(PAGE - 1);
    struct sysinfo host;

    if (sysinfo(&host) == 0 && whole / host.mem_unit > host.totalram)
        return -ENOMEM;
    // This only asks whether all of it is mapped, by a call that confined processes have, as they
    // have not mincore().
    if (msync((void *)first, whole, MS_ASYNC) && errno == ENOMEM)
        return -EFAULT;
    if (write)
        (void)!memory_make_resident((void *)first, whole); // locking finds out
    if (memory_enter_pages((void *)first, whole, write))
        return 0;
    return !kernel_enters_pages() && pages_are_accessible(first, whole, write) ? 0 : -EFAULT;
}
