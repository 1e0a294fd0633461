// SPDX-License-Identifier: BSD-3-Clause
// Guards with userfaultfd: threads wait in the kernel, without signals. Closing a range drops its
// page table entries and keeps the pages; opening it enters them again.
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "client-lib/cuda/managed/guard.h"
#include "client-lib/cuda/objects/thread.h"
#include "common/base/descriptor.h"
#include "common/base/log.h"

// The headers of the oldest supported system lack these.
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#ifndef USERFAULTFD_IOC_NEW
#define USERFAULTFD_IOC_NEW _IO(0xAA, 0x00)
#endif
#ifndef UFFDIO_CONTINUE_MODE_WP
#define UFFDIO_CONTINUE_MODE_WP ((__u64)1 << 1)
#endif

enum { PAGE_SIZE = 4096 };

#define NEEDED \
    (UFFD_FEATURE_MISSING_SHMEM | UFFD_FEATURE_MINOR_SHMEM | UFFD_FEATURE_PAGEFAULT_FLAG_WP | \
     UFFD_FEATURE_WP_HUGETLBFS_SHMEM)

static int uffd = -1;
static const struct guard_client *client;
static atomic_bool cannot_protect; // older kernel: opened pages are always writable

// Handles faults inside system calls too, if permitted.
static int open_descriptor(void)
{
    int device = descriptor_own(open("/dev/userfaultfd", O_RDWR | O_CLOEXEC));
    int fd = -1;
    if (device >= 0)
        fd = descriptor_own(ioctl(device, USERFAULTFD_IOC_NEW, O_CLOEXEC | O_NONBLOCK));
    if (device >= 0)
        close(device);
    if (fd < 0)
        fd = descriptor_own((int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK));
    if (fd < 0) {
        fd = descriptor_own(
            (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY));
        if (fd >= 0)
            log_info("managed memory is not for system calls reason=\"userfaultfd of the kernel's "
                     "own faults needs vm.unprivileged_userfaultfd=1 or /dev/userfaultfd\"");
    }
    return fd;
}

// Lets the program have its fault.
static void guard_userfaultfd_refuse(uint64_t address)
{
    struct uffdio_range range = {.start = address & ~(uint64_t)(PAGE_SIZE - 1), .len = PAGE_SIZE};
    (void)mprotect((void *)(uintptr_t)range.start, PAGE_SIZE, PROT_NONE);
    (void)ioctl(uffd, UFFDIO_WAKE, &range);
}

static void *guard_userfaultfd_serve_faults(void *unused)
{
    struct pollfd waiting = {.fd = uffd, .events = POLLIN};
    bool more = false;
    for (;;) {
        struct uffd_msg fault;
        if (poll(&waiting, 1, more ? 0 : -1) <= 0) {
            more = more && client->ahead();
            continue;
        }
        if (read(uffd, &fault, sizeof(fault)) != (ssize_t)sizeof(fault) ||
            fault.event != UFFD_EVENT_PAGEFAULT)
            continue;
        uint64_t address = fault.arg.pagefault.address;
        bool write =
            (fault.arg.pagefault.flags & (UFFD_PAGEFAULT_FLAG_WRITE | UFFD_PAGEFAULT_FLAG_WP)) != 0;
        if (!client->touch(address, write))
            guard_userfaultfd_refuse(address);
        more = true;
    }
    return NULL;
}

static bool guard_userfaultfd_start(const struct guard_client *asks)
{
    struct uffdio_api api = {.api = UFFD_API, .features = NEEDED};
    client = asks;
    uffd = open_descriptor();
    if (uffd < 0)
        return false;
    if (ioctl(uffd, UFFDIO_API, &api) == 0 && thread_start(guard_userfaultfd_serve_faults, NULL))
        return true;
    close(uffd);
    uffd = -1;
    return false;
}

static int guard_userfaultfd_add(uint64_t address, size_t size)
{
    struct uffdio_register range = {
        .range = {.start = address, .len = size},
        .mode = UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_MINOR | UFFDIO_REGISTER_MODE_WP,
    };
    if (ioctl(uffd, UFFDIO_REGISTER, &range) != 0 ||
        mprotect((void *)(uintptr_t)address, size, PROT_READ | PROT_WRITE) != 0)
        return -errno;
    return 0;
}

static void guard_userfaultfd_remove_range(uint64_t address, size_t size)
{
    struct uffdio_range range = {.start = address, .len = size};
    (void)mprotect((void *)(uintptr_t)address, size, PROT_NONE);
    (void)ioctl(uffd, UFFDIO_UNREGISTER, &range);
}

// Enters pages; those already entered stay as they are. Returns 0 or -errno.
static int enter_pages(uint64_t *address, uint64_t end, uint64_t mode)
{
    while (*address < end) {
        struct uffdio_continue pages = {.range = {.start = *address, .len = end - *address},
                                        .mode = mode};
        if (ioctl(uffd, UFFDIO_CONTINUE, &pages) == 0)
            return 0;
        int err = errno;
        if (pages.mapped > 0)
            *address += (uint64_t)pages.mapped;
        else if (err == EEXIST)
            *address += PAGE_SIZE;
        else if (err != EAGAIN && err != EINTR)
            return -err;
    }
    return 0;
}

static int unprotect(uint64_t address, size_t size)
{
    struct uffdio_writeprotect pages = {.range = {.start = address, .len = size}};
    while (ioctl(uffd, UFFDIO_WRITEPROTECT, &pages) != 0)
        if (errno != EAGAIN)
            return -errno;
    return 0;
}

static int guard_userfaultfd_open_range(uint64_t address, size_t size, bool write)
{
    uint64_t at = address, end = address + size;
    int err = -EINVAL;
    if (!write && !atomic_load(&cannot_protect)) {
        err = enter_pages(&at, end, UFFDIO_CONTINUE_MODE_WP);
        if (err == -EINVAL)
            atomic_store(&cannot_protect, true);
    }
    if (err == 0)
        return 0;
    err = enter_pages(&at, end, 0);
    (void)unprotect(address, size); // for pages that were open for reading
    return err ? err : 1;
}

static void guard_userfaultfd_close_range_of(uint64_t address, size_t size)
{
    (void)madvise((void *)(uintptr_t)address, size, MADV_DONTNEED);
}

static void guard_userfaultfd_renew(void)
{
}

const struct guard guard_userfaultfd = {
    .name = "userfaultfd",
    .start = guard_userfaultfd_start,
    .add = guard_userfaultfd_add,
    .remove = guard_userfaultfd_remove_range,
    .open = guard_userfaultfd_open_range,
    .allow = unprotect,
    .close = guard_userfaultfd_close_range_of,
    .renew = guard_userfaultfd_renew,
};
