// SPDX-License-Identifier: BSD-3-Clause
#include "common/security/features.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/descriptor.h"
#include "common/base/log.h"
#include "common/base/resident.h"
#include "common/base/scope.h"
#include "common/security/landlock.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

// ---- features of boxes ----

static bool has_pidfd(void)
{
    SCOPED_FD int fd = descriptor_own((int)syscall(SYS_pidfd_open, getpid(), 0));

    return fd >= 0;
}

static bool has_sealed_memory(void)
{
    SCOPED_FD int fd = descriptor_own(memfd_create("rgpu-probe", MFD_CLOEXEC | MFD_ALLOW_SEALING));

    return fd >= 0 && !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE);
}

static bool has_close_range(void)
{
    return !syscall(SYS_close_range, ~0U, ~0U, CLOSE_RANGE_CLOEXEC);
}

static bool has_seccomp_notify(void)
{
    struct seccomp_notif_sizes sizes;

    return !syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes);
}

// The filter allows everything. A request for no pending call fails with ENOENT, an unknown request
// with EINVAL.
static bool try_addfd(void)
{
    struct sock_filter allow = {.code = BPF_RET, .k = SECCOMP_RET_ALLOW};
    struct sock_fprog program = {.len = 1, .filter = &allow};
    struct seccomp_notif_addfd place = {.newfd_flags = O_CLOEXEC};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return false;
    int fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                          &program);
    return fd >= 0 && ioctl(fd, SECCOMP_IOCTL_NOTIF_ADDFD, &place) < 0 && errno == ENOENT;
}

// A filter stays, so a child tries.
static bool has_seccomp_addfd(void)
{
    pid_t child = fork();
    int status = 1;

    if (child == 0)
        _exit(!try_addfd());
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static bool has_landlock(void)
{
    return landlock_abi() > 0;
}

// ---- features of clients ----

static bool has_userfaultfd(void)
{
    SCOPED_FD int device = descriptor_own(open("/dev/userfaultfd", O_RDWR | O_CLOEXEC));
    SCOPED_FD int fd =
        descriptor_own((int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY));

    return device >= 0 || fd >= 0;
}

static bool has_populate(void)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool has = page != MAP_FAILED && memory_enter_pages(page, size, true);

    if (page != MAP_FAILED)
        munmap(page, size);
    return has;
}

// ---- all of them ----

const struct feature features[] = {
    {"pidfd", "5.3", FEATURE_OF_BOXES, true, "the ends of workers cannot be noticed", has_pidfd},
    {"sealed memory", "5.1", FEATURE_OF_BOXES, true,
     "workers could change the limits of their lease", has_sealed_memory},
    {"seccomp notification", "5.0", FEATURE_OF_BOXES, false,
     "system calls that are refused to workers are not named in the log, and GPUs with mps are not "
     "served",
     has_seccomp_notify},
    {"seccomp addfd", "5.9", FEATURE_OF_BOXES, false, "GPUs with mps are not served",
     has_seccomp_addfd},
    {"close_range", "5.11", FEATURE_OF_BOXES, false,
     "the start of a worker takes longer, by one system call for each open file", has_close_range},
    {"Landlock", "5.13", FEATURE_OF_BOXES, false,
     "workers open every file that their user may open", has_landlock},
    {"userfaultfd", "5.11", FEATURE_OF_CLIENTS, false, "managed memory is guarded with SIGSEGV",
     has_userfaultfd},
    {"populate", "5.14", FEATURE_OF_CLIENTS, false,
     "memory for copies is touched page by page when it is first used", has_populate},
};
const size_t feature_count = sizeof(features) / sizeof(features[0]);

int features_report(enum feature_user user)
{
    int err = 0;

    for (size_t i = 0; i < feature_count; i++) {
        const struct feature *feature = &features[i];
        if (feature->user != user || feature->present())
            continue;
        if (feature->required) {
            log_error("this kernel has no %s, which rgpud needs: Linux %s has it", feature->name,
                      feature->since);
            err = -ENOSYS;
        } else {
            log_warn("this kernel has no %s (Linux %s): %s", feature->name, feature->since,
                     feature->cost);
        }
    }
    return err;
}
