// What a worker gives up before it listens to a client: the rights of root, core dumps, and the
// system calls with which one process reaches into another or into the kernel. The GPU's driver runs
// in here, so files, memory, threads and ioctl stay.
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "worker/worker.h"

static const int refused_calls[] = {
    SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv),
    SCMP_SYS(process_vm_writev), SCMP_SYS(pidfd_getfd), SCMP_SYS(kcmp), SCMP_SYS(mount),
    SCMP_SYS(umount2), SCMP_SYS(pivot_root), SCMP_SYS(chroot), SCMP_SYS(move_mount),
    SCMP_SYS(fsopen), SCMP_SYS(fsmount), SCMP_SYS(open_tree), SCMP_SYS(unshare), SCMP_SYS(setns),
    SCMP_SYS(kexec_load), SCMP_SYS(kexec_file_load), SCMP_SYS(init_module),
    SCMP_SYS(finit_module), SCMP_SYS(delete_module), SCMP_SYS(bpf), SCMP_SYS(perf_event_open),
    SCMP_SYS(keyctl), SCMP_SYS(add_key), SCMP_SYS(request_key), SCMP_SYS(userfaultfd),
    SCMP_SYS(io_uring_setup), SCMP_SYS(io_uring_enter), SCMP_SYS(io_uring_register),
    SCMP_SYS(open_by_handle_at), SCMP_SYS(iopl), SCMP_SYS(ioperm), SCMP_SYS(reboot),
    SCMP_SYS(swapon), SCMP_SYS(swapoff), SCMP_SYS(acct), SCMP_SYS(quotactl), SCMP_SYS(syslog),
    SCMP_SYS(settimeofday), SCMP_SYS(clock_settime), SCMP_SYS(adjtimex), SCMP_SYS(clock_adjtime),
    SCMP_SYS(sethostname), SCMP_SYS(setdomainname), SCMP_SYS(vhangup), SCMP_SYS(mknod),
    SCMP_SYS(mknodat),
};

static int filter_calls(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    int err = filter ? 0 : -ENOMEM;

    for (size_t i = 0; !err && i < sizeof(refused_calls) / sizeof(refused_calls[0]); i++) {
        err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), refused_calls[i], 0);
        if (err == -EDOM || err == -EINVAL)
            err = 0; // a call that this architecture does not have
    }
    if (!err)
        err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(kill), 1,
                               SCMP_A0(SCMP_CMP_NE, (scmp_datum_t)getpid()));
    if (!err)
        err = seccomp_load(filter);
    if (filter)
        seccomp_release(filter);
    return err;
}

static int drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}};

    return syscall(SYS_capset, &header, none) ? -errno : 0;
}

static int become(const struct worker_options *options)
{
    if (options->group >= 0 &&
        (setgroups(0, NULL) || setresgid((gid_t)options->group, (gid_t)options->group,
                                         (gid_t)options->group)))
        return -errno;
    if (options->user >= 0 && setresuid((uid_t)options->user, (uid_t)options->user,
                                        (uid_t)options->user))
        return -errno;
    return 0;
}

int sandbox_drop_rights(const struct worker_options *options, char *text, size_t room)
{
    const struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
    static bool dropped;
    const char *step = "change user";

    if (dropped)
        return 0;
    // Memory that devices reach is locked; where this is not allowed, registration says so.
    setrlimit(RLIMIT_MEMLOCK, &unlimited);
    int err = geteuid() == 0 ? become(options) : 0;
    if (!err) {
        step = "drop capabilities";
        err = drop_capabilities();
    }
    if (!err) {
        step = "follow the supervisor";
        // A change of user forgets the death signal.
        err = prctl(PR_SET_PDEATHSIG, SIGKILL) ? -errno : 0;
    }
    if (err)
        snprintf(text, room, "cannot %s: %s", step, strerror(-err));
    dropped = !err;
    return err;
}

int sandbox_enter(const struct worker_options *options, char *text, size_t room)
{
    const struct rlimit none = {0, 0};
    const char *step = "set limits";
    int err = sandbox_drop_rights(options, text, room);

    if (err)
        return err;
    err = setrlimit(RLIMIT_CORE, &none) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : 0;
    if (!err) {
        step = "filter system calls";
        err = filter_calls();
    }
    if (err)
        snprintf(text, room, "cannot %s: %s", step, strerror(-err));
    return err;
}
