// SPDX-License-Identifier: BSD-3-Clause
// The list has the system calls that drivers, C library and worker were seen to need, by name, and
// with their arguments if these matter. The kernel reports all others to the supervisor, which
// refuses and logs them; without that ability of the kernel they fail without a log.
//
// Among the refused calls are new processes, connections, users, mounts, keys, tracing, and access
// to memory and signals of other processes. ioctl is allowed, because the driver needs it; Landlock
// limits the files for it.
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/net/fdpass.h"
#include "common/base/log.h"
#include "daemon/worker/confine/calls.h"
#include "daemon/worker/core/setup.h"

static const char *const free_calls[] = {
    // memory
    "brk",
    "madvise",
    "mbind",
    "membarrier",
    "memfd_create",
    "mincore",
    "mlock",
    "mlock2",
    "mlockall",
    "mmap",
    "mprotect",
    "mremap",
    "msync",
    "munlock",
    "munlockall",
    "munmap",
    "get_mempolicy",
    "set_mempolicy",
    "pkey_alloc",
    "pkey_free",
    "pkey_mprotect",
    "map_shadow_stack",
    // files, which Landlock restricts
    "access",
    "close",
    "close_range",
    "dup",
    "dup2",
    "dup3",
    "faccessat",
    "faccessat2",
    "fadvise64",
    "fallocate",
    "fchdir",
    "fdatasync",
    "flock",
    "fstat",
    "fstatfs",
    "fsync",
    "ftruncate",
    "getcwd",
    "getdents",
    "getdents64",
    "lseek",
    "lstat",
    "newfstatat",
    "open",
    "openat",
    "openat2",
    "pread64",
    "preadv",
    "preadv2",
    "pwrite64",
    "pwritev",
    "pwritev2",
    "read",
    "readahead",
    "readlink",
    "readlinkat",
    "readv",
    "stat",
    "statfs",
    "statx",
    "umask",
    "write",
    "writev",
    // waiting and waking
    "epoll_create",
    "epoll_create1",
    "epoll_ctl",
    "epoll_pwait",
    "epoll_pwait2",
    "epoll_wait",
    "eventfd",
    "eventfd2",
    "futex",
    "futex_waitv",
    "get_robust_list",
    "pause",
    "pipe",
    "pipe2",
    "poll",
    "ppoll",
    "pselect6",
    "select",
    "set_robust_list",
    // time
    "clock_getres",
    "clock_gettime",
    "clock_nanosleep",
    "getitimer",
    "gettimeofday",
    "nanosleep",
    "setitimer",
    "time",
    "timer_create",
    "timer_delete",
    "timer_getoverrun",
    "timer_gettime",
    "timer_settime",
    "timerfd_create",
    "timerfd_gettime",
    "timerfd_settime",
    "times",
    // this process and its threads
    "arch_prctl",
    "capget",
    "exit",
    "exit_group",
    "getcpu",
    "getegid",
    "geteuid",
    "getgid",
    "getgroups",
    "getpgid",
    "getpgrp",
    "getpid",
    "getppid",
    "getpriority",
    "getrandom",
    "getresgid",
    "getresuid",
    "getrlimit",
    "getrusage",
    "getsid",
    "gettid",
    "getuid",
    "restart_syscall",
    "rseq",
    "rt_sigaction",
    "rt_sigpending",
    "rt_sigprocmask",
    "rt_sigreturn",
    "rt_sigsuspend",
    "rt_sigtimedwait",
    "sched_get_priority_max",
    "sched_get_priority_min",
    "sched_getaffinity",
    "sched_getattr",
    "sched_getparam",
    "sched_getscheduler",
    "sched_setaffinity",
    "sched_yield",
    "set_tid_address",
    "sigaltstack",
    "signalfd4",
    "sysinfo",
    "uname",
    "wait4",
    "waitid",
    // sockets that are there already, and connections that come to one of them
    "accept",
    "accept4",
    "getpeername",
    "getsockname",
    "getsockopt",
    "recvfrom",
    "recvmmsg",
    "recvmsg",
    "shutdown",
};

// An argument has this value under this mask. Several rows of one call are alternatives.
struct condition {
    unsigned argument;
    uint64_t mask, value;
};
static const struct conditional_call {
    const char *name;
    struct condition conditions[2];
} conditional_calls[] = {
#define ONE(name, argument, mask, value) \
    { \
        name, \
        { \
            { \
                argument, mask, value \
            } \
        } \
    }
#define INT(name, argument, value) ONE(name, argument, 0xffffffff, (uint32_t)(value))
    // A thread, not a process. clone3 hides its flags in memory; the C library falls back to clone.
    ONE("clone", 0, CLONE_VM | CLONE_THREAD | CLONE_SIGHAND | CLONE_NEWNS | CLONE_NEWUSER,
        CLONE_VM | CLONE_THREAD | CLONE_SIGHAND),
    // Descriptors and their locks, not their owner or signal: these send signals to others.
    INT("fcntl", 1, F_DUPFD),
    INT("fcntl", 1, F_DUPFD_CLOEXEC),
    INT("fcntl", 1, F_GETFD),
    INT("fcntl", 1, F_SETFD),
    INT("fcntl", 1, F_GETFL),
    INT("fcntl", 1, F_SETFL),
    INT("fcntl", 1, F_GETLK),
    INT("fcntl", 1, F_SETLK),
    INT("fcntl", 1, F_SETLKW),
    INT("fcntl", 1, F_OFD_GETLK),
    INT("fcntl", 1, F_OFD_SETLK),
    INT("fcntl", 1, F_OFD_SETLKW),
    INT("fcntl", 1, F_GETPIPE_SZ),
    INT("fcntl", 1, F_SETPIPE_SZ),
    INT("fcntl", 1, F_ADD_SEALS),
    INT("fcntl", 1, F_GET_SEALS),
    // The driver's: its letter, the plain numbers of its memory manager, two words of the same.
    ONE("ioctl", 1, 0xff00, 'F' << 8),
    ONE("ioctl", 1, 0xfffff000, 0),
    INT("ioctl", 1, 0x30000001),
    INT("ioctl", 1, 0x30000002),
    // Verbs, shared buffers, and what any descriptor may be asked.
    ONE("ioctl", 1, 0xff00, 0x1b << 8),
    ONE("ioctl", 1, 0xff00, 'b' << 8),
    INT("ioctl", 1, TCGETS),
    INT("ioctl", 1, FIONREAD),
    INT("ioctl", 1, FIONBIO),
    INT("ioctl", 1, TIOCOUTQ),
    INT("ioctl", 1, FIOCLEX),
    INT("ioctl", 1, FIONCLEX),
    INT("prctl", 0, PR_SET_NAME),
    INT("prctl", 0, PR_GET_NAME),
    INT("prctl", 0, PR_GET_DUMPABLE),
    INT("prctl", 0, PR_SET_VMA),
    INT("prctl", 0, PR_GET_SECCOMP),
    INT("prctl", 0, PR_CAPBSET_READ),
    INT("prctl", 0, PR_GET_NO_NEW_PRIVS),
    INT("prctl", 0, PR_SET_TIMERSLACK),
    INT("personality", 0, 0xffffffff),
    // Nowhere but to the other end: an address, or the flag that connects while sending, leads
    // elsewhere.
    {"sendto", {{4, UINT64_MAX, 0}, {3, MSG_FASTOPEN, 0}}},
    ONE("sendmsg", 2, MSG_FASTOPEN, 0),
    ONE("sendmmsg", 3, MSG_FASTOPEN, 0),
    INT("setsockopt", 1, IPPROTO_TCP),
    INT("setsockopt", 1, 282 /* SOL_TLS */),
    // NVIDIA's driver listens at a socket of its own for other processes of its program; connecting
    // is not allowed.
    {"socket", {{0, 0xffffffff, AF_UNIX}, {1, 0xf, SOCK_SEQPACKET}}},
    {"bind", {{0}}},
    {"listen", {{0}}},
    {"socketpair", {{0, 0xffffffff, AF_UNIX}, {1, 0xf, SOCK_STREAM}}},
    {"socketpair", {{0, 0xffffffff, AF_UNIX}, {1, 0xf, SOCK_SEQPACKET}}},
};

// The kernel lists devices of the fabric and addresses of the host over netlink, and only there;
// what is sent to an address of another family is longer.
static const struct conditional_call fabric_calls[] = {
    INT("socket", 0, AF_NETLINK),
    INT("setsockopt", 1, SOL_NETLINK),
    INT("sendto", 5, sizeof(struct sockaddr_nl)),
};

// The site's NCCL meets other workers over the network, hands memory of GPUs to those of its host
// over sockets without connections, and removes the files that they share.
static const struct conditional_call nccl_calls[] = {
    INT("socket", 0, AF_INET),
    INT("socket", 0, AF_INET6),
    {"socket", {{0, 0xffffffff, AF_UNIX}, {1, 0xf, SOCK_DGRAM}}},
    {"socket", {{0, 0xffffffff, AF_UNIX}, {1, 0xf, SOCK_STREAM}}},
    INT("setsockopt", 1, IPPROTO_IPV6),
    {"connect", {{0}}},
    {"unlink", {{0}}},
};

// Signals and limits go to the process itself only.
static const struct {
    const char *name;
    unsigned argument;
    bool zero_too; // means the caller
} own_calls[] = {
    {"kill", 0, false},
    {"tgkill", 0, false},
    {"rt_tgsigqueueinfo", 0, false},
    {"prlimit64", 0, true},
};

static int calls_add(scmp_filter_ctx filter, const char *name, unsigned count,
                     const struct scmp_arg_cmp *comparisons)
{
    int number = seccomp_syscall_resolve_name(name);

    // One that this architecture, or our library, does not have.
    if (number == __NR_SCMP_ERROR || number < 0)
        return 0;
    return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, number, count, comparisons);
}

static int add_conditional(scmp_filter_ctx filter, const struct conditional_call *call)
{
    struct scmp_arg_cmp comparisons[2];
    unsigned count = 0;

    for (unsigned i = 0; i < 2; i++) {
        const struct condition *c = &call->conditions[i];
        if (c->mask)
            comparisons[count++] = SCMP_CMP64(c->argument, SCMP_CMP_MASKED_EQ, c->mask, c->value);
    }
    return calls_add(filter, call->name, count, comparisons);
}

static int calls_add_own(scmp_filter_ctx filter)
{
    uint32_t self = (uint32_t)getpid();
    int err = 0;

    for (size_t i = 0; i < sizeof(own_calls) / sizeof(own_calls[0]) && !err; i++) {
        unsigned argument = own_calls[i].argument;
        struct scmp_arg_cmp own = SCMP_CMP64(argument, SCMP_CMP_MASKED_EQ, 0xffffffff, self);
        struct scmp_arg_cmp zero = SCMP_CMP64(argument, SCMP_CMP_MASKED_EQ, 0xffffffff, 0);
        err = calls_add(filter, own_calls[i].name, 1, &own);
        if (!err && own_calls[i].zero_too)
            err = calls_add(filter, own_calls[i].name, 1, &zero);
    }
    return err;
}

// Allows all options of a socket but the one that makes its close wait: if a worker passed such a
// socket on, or left it in a queue, the process that closes it would wait. Filters can only test
// bits, and a number that differs from SO_LINGER differs in one of its bits.
static int add_socket_options(scmp_filter_ctx filter)
{
    int err = 0;

    for (unsigned bit = 0; bit < 32 && !err; bit++) {
        const uint64_t mask = UINT64_C(1) << bit;
        const struct scmp_arg_cmp option[2] = {
            SCMP_CMP64(1, SCMP_CMP_MASKED_EQ, 0xffffffff, SOL_SOCKET),
            SCMP_CMP64(2, SCMP_CMP_MASKED_EQ, mask, ~(uint64_t)SO_LINGER & mask)};
        err = calls_add(filter, "setsockopt", 2, option);
    }
    return err;
}

static bool is_opened(const char *name)
{
    return !strcmp(name, "open") || !strcmp(name, "openat") || !strcmp(name, "openat2");
}

static int calls_fill(scmp_filter_ctx filter)
{
    int err = 0;

    // The mode that learns what a driver needs sees the files, too.
    for (size_t i = 0; i < sizeof(free_calls) / sizeof(free_calls[0]) && !err; i++)
        if (!command.filter_only_logs || !is_opened(free_calls[i]))
            err = calls_add(filter, free_calls[i], 0, NULL);
    for (size_t i = 0; i < sizeof(conditional_calls) / sizeof(conditional_calls[0]) && !err; i++)
        err = add_conditional(filter, &conditional_calls[i]);
    for (size_t i = 0; i < sizeof(fabric_calls) / sizeof(fabric_calls[0]) && !err; i++)
        if (setup_wants_transport("rdma") || setup_has_nccl())
            err = add_conditional(filter, &fabric_calls[i]);
    for (size_t i = 0; i < sizeof(nccl_calls) / sizeof(nccl_calls[0]) && !err; i++)
        if (setup_has_nccl())
            err = add_conditional(filter, &nccl_calls[i]);
    if (!err)
        err = calls_add_own(filter);
    if (!err)
        err = add_socket_options(filter);
    if (!err)
        err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    return err;
}

// Answers itself what the supervisor would answer otherwise (daemon/rgpud/workers/refusals.c).
static int answer_alone(scmp_filter_ctx filter)
{
    int err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOENT), SCMP_SYS(connect), 0);

    return err ? err : seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOENT), SCMP_SYS(unlink), 0);
}

static int calls_load(uint32_t otherwise, int *asks)
{
    scmp_filter_ctx filter = seccomp_init(otherwise);
    int err = filter ? 0 : -ENOMEM;

    *asks = -1;
    if (!err)
        err = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2); // a tree, not a list
    if (!err)
        err = calls_fill(filter);
    if (!err && otherwise != SCMP_ACT_NOTIFY && !setup_has_nccl())
        err = answer_alone(filter);
    if (!err)
        err = seccomp_load(filter);
    if (!err && otherwise == SCMP_ACT_NOTIFY)
        *asks = seccomp_notify_fd(filter);
    if (filter)
        seccomp_release(filter);
    return err;
}

int confine_calls(void)
{
    int asks = -1, err = -EOPNOTSUPP;

    if (setup.refusals)
        err = calls_load(SCMP_ACT_NOTIFY, &asks);
    if (!err) {
        // The holder of the descriptor decides, so it must not stay here; the library does not
        // close it.
        err = fdpass_send(CONTROL_WORKER_REFUSALS_FD, "", 1, &asks, 1);
        close(asks);
        close(CONTROL_WORKER_REFUSALS_FD);
        return err;
    }
    if (command.filter_only_logs)
        return err;
    if (setup.refusals)
        log_warn(
            "refused system calls are not named: this kernel does not tell of them error=\"%s\"",
            strerror(-err));
    return calls_load(SCMP_ACT_ERRNO(EPERM), &asks);
}
