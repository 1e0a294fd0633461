// SPDX-License-Identifier: BSD-3-Clause
// Runs a program as on an older kernel: younger system calls, flags and requests fail as they do
// there. Files of /proc and /sys, and the version of Landlock's rules, stay as they are.
//   older_kernel 4.18 PROGRAM [ARGUMENT...]              without all that is younger than 4.18
//   older_kernel pidfd,landlock PROGRAM [ARGUMENT...]    without these features
//   older_kernel --list                                  names of features, and their kernels
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef CLONE_PIDFD
#define CLONE_PIDFD 0x1000
#endif

#define ANY \
    { \
        0, 0, 0 \
    }
enum {
    FUTURE_WRITE = 0x10,
    POPULATE_READ = 22,
    POPULATE_WRITE = 23,
    MODE_ONLY = 1,
    NOTIF_SIZES = 3,
    NEW_LISTENER = 8,
    PEERPIDFD = 77
};

// A condition is an argument, bits of it and their value. Without bits any value meets it.
static const struct younger {
    const char *name;
    int major, minor; // the first kernel that has it
    const char *call;
    int error;
    struct condition {
        unsigned argument;
        unsigned mask, value;
    } first, second;
} younger[] = {
    {"seccomp-notify",
     5,
     0,
     "seccomp",
     EINVAL,
     {0, ~0u, SECCOMP_SET_MODE_FILTER},
     {1, NEW_LISTENER, NEW_LISTENER}},
    {"seccomp-notify", 5, 0, "seccomp", EINVAL, {0, ~0u, NOTIF_SIZES}, ANY},
    {"seal-future-write",
     5,
     1,
     "fcntl",
     EINVAL,
     {1, ~0u, F_ADD_SEALS},
     {2, FUTURE_WRITE, FUTURE_WRITE}},
    {"io-uring", 5, 1, "io_uring_setup", ENOSYS, ANY, ANY},
    {"pidfd", 5, 3, "clone", EINVAL, {0, CLONE_PIDFD, CLONE_PIDFD}, ANY},
    {"pidfd", 5, 3, "pidfd_open", ENOSYS, ANY, ANY},
    {"pidfd", 5, 3, "pidfd_send_signal", ENOSYS, ANY, ANY},
    {"pidfd", 5, 6, "pidfd_getfd", ENOSYS, ANY, ANY},
    {"clone3", 5, 3, "clone3", ENOSYS, ANY, ANY},
    {"openat2", 5, 6, "openat2", ENOSYS, ANY, ANY},
    {"faccessat2", 5, 8, "faccessat2", ENOSYS, ANY, ANY},
    {"close-range", 5, 11, "close_range", ENOSYS, ANY, ANY},
    {"seccomp-addfd", 5, 9, "ioctl", EINVAL, {1, ~0u, (unsigned)SECCOMP_IOCTL_NOTIF_ADDFD}, ANY},
    {"userfaultfd-user", 5, 11, "userfaultfd", EINVAL, {0, MODE_ONLY, MODE_ONLY}, ANY},
    {"landlock", 5, 13, "landlock_create_ruleset", ENOSYS, ANY, ANY},
    {"landlock", 5, 13, "landlock_add_rule", ENOSYS, ANY, ANY},
    {"landlock", 5, 13, "landlock_restrict_self", ENOSYS, ANY, ANY},
    {"populate", 5, 14, "madvise", EINVAL, {2, ~0u, POPULATE_READ}, ANY},
    {"populate", 5, 14, "madvise", EINVAL, {2, ~0u, POPULATE_WRITE}, ANY},
    {"futex-waitv", 5, 16, "futex_waitv", ENOSYS, ANY, ANY},
    {"peer-pidfd", 6, 5, "getsockopt", ENOPROTOOPT, {1, ~0u, SOL_SOCKET}, {2, ~0u, PEERPIDFD}},
    {"mseal", 6, 10, "mseal", ENOSYS, ANY, ANY},
};
enum { ROWS = sizeof(younger) / sizeof(younger[0]) };

static bool is_named(const char *list, const char *name)
{
    size_t length = strlen(name);
    const char *at = list;

    while ((at = strstr(at, name))) {
        if ((at == list || at[-1] == ',') && (at[length] == '\0' || at[length] == ','))
            return true;
        at += length;
    }
    return false;
}

static bool is_off(const struct younger *row, const char *choice)
{
    int major, minor;

    if (sscanf(choice, "%d.%d", &major, &minor) != 2)
        return is_named(choice, row->name);
    return row->major > major || (row->major == major && row->minor > minor);
}

static int add_row(scmp_filter_ctx filter, const struct younger *row)
{
    const struct condition *conditions[] = {&row->first, &row->second};
    int call = seccomp_syscall_resolve_name(row->call);
    struct scmp_arg_cmp comparisons[2];
    unsigned count = 0;

    for (unsigned i = 0; i < 2; i++)
        if (conditions[i]->mask)
            comparisons[count++] = SCMP_CMP64(conditions[i]->argument, SCMP_CMP_MASKED_EQ,
                                              conditions[i]->mask, conditions[i]->value);
    if (call == __NR_SCMP_ERROR)
        return 0; // unknown to this libseccomp
    return seccomp_rule_add_array(filter, SCMP_ACT_ERRNO((unsigned)row->error), call, count,
                                  comparisons);
}

static int refuse_younger(const char *choice)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    int err = filter ? 0 : -ENOMEM;

    // Programs that change their user do so as before.
    if (!err && !geteuid())
        err = seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, 0);
    for (size_t i = 0; i < ROWS && !err; i++)
        if (is_off(&younger[i], choice))
            err = add_row(filter, &younger[i]);
    if (!err)
        err = seccomp_load(filter);
    seccomp_release(filter);
    return err;
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "--list")) {
        for (size_t i = 0; i < ROWS; i++)
            if (!i || strcmp(younger[i].name, younger[i - 1].name))
                printf("%s %d.%d\n", younger[i].name, younger[i].major, younger[i].minor);
        return 0;
    }
    if (argc < 3 || refuse_younger(argv[1]) < 0) {
        fprintf(stderr, "older_kernel: no filter for %s\n", argc > 1 ? argv[1] : "nothing");
        return 77;
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 127;
}
