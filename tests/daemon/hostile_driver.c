// SPDX-License-Identifier: BSD-3-Clause
// Attacks the box from inside a worker, as a driver library: it is the software GPU, except for the
// calls that it replaces. In cuInit, before a client connects, and in the first cuMemAlloc, with a
// client, it tries what code in a worker must not be able to do, and prints the result of each
// attempt on standard error:
//
//  hostile: start: kill-supervisor: refused (Operation not permitted)
//
// The environment names its targets: HOSTILE_KEY, HOSTILE_STATE, HOSTILE_ADMIN, HOSTILE_NODE. It
// opens the nodes of HOSTILE_NODES and prints which ones opened. With HOSTILE_FLOOD it makes
// refused calls without end once a client is connected. With HOSTILE_STAY the process ignores
// requests to end. With HOSTILE_MILD it makes only attempts that do not harm the worker, to show
// that they work without confinement.
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/cuda_abi.h"

#define PUBLIC __attribute__((visibility("default")))

static const char *phase;
static unsigned attempts, successes;

static const char *target(const char *name)
{
    const char *value = getenv(name);

    return value ? value : "/nonexistent";
}

// RESULT as of a system call. An attempt that fails for another reason than a refusal proves
// nothing.
static void tried(const char *what, long result)
{
    bool refused = result < 0 &&
                   (errno == EPERM || errno == EACCES || errno == ENOSYS || errno == EAFNOSUPPORT);

    attempts++;
    successes += !refused;
    fprintf(stderr, "hostile: %s: %s: %s (%s)\n", phase, what,
            refused      ? "refused"
            : result < 0 ? "FAILED OTHERWISE"
                         : "SUCCEEDED",
            result < 0 ? strerror(errno) : "no error");
}

// ---- files ----

static void open_one(const char *what, const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK, 0600);

    tried(what, fd);
    if (fd >= 0)
        close(fd);
}

static void open_of(const char *what, pid_t pid, const char *entry)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, entry);
    open_one(what, path, O_RDONLY);
}

// A refusal is answered as if the file were not there.
static void remove_file(const char *path)
{
    struct stat there;
    int result = unlink(path);

    if (result && errno == ENOENT && !stat(path, &there))
        errno = EPERM;
    tried("unlink-state", result);
}

static void list_one(const char *what, const char *path)
{
    DIR *directory = opendir(path);

    tried(what, directory ? 0 : -1);
    if (directory)
        closedir(directory);
}

static void attack_files(void)
{
    const char *state = target("HOSTILE_STATE");
    char beside[512];

    open_one("read-key", target("HOSTILE_KEY"), O_RDONLY);
    open_one("read-state", state, O_RDONLY);
    open_one("write-state", state, O_WRONLY);
    open_one("truncate-open-state", state, O_WRONLY | O_TRUNC);
    tried("truncate-state", truncate(state, 0));
    snprintf(beside, sizeof(beside), "%s.new", state);
    open_one("create-beside-state", beside, O_WRONLY | O_CREAT);
    tried("link-state", link(state, beside));
    tried("symlink", symlink(state, beside));
    tried("rename-state", rename(state, beside));
    tried("chmod-state", chmod(state, 0666));
    remove_file(state);
    open_one("create-in-tmp", "/tmp/hostile", O_WRONLY | O_CREAT);
    open_one("create-in-dev-shm", "/dev/shm/hostile", O_WRONLY | O_CREAT);
    tried("mkdir", mkdir("/tmp/hostile.d", 0700));
    open_one("read-passwd", "/etc/passwd", O_RDONLY);
    open_one("write-null-s-neighbour", target("HOSTILE_NODE"), O_RDWR);
    tried("cut-log", ftruncate(STDERR_FILENO, 0) && errno == EINVAL ? (errno = EPERM, -1) : 0);
    list_one("list-root", "/");
    list_one("list-processes", "/proc");
    list_one("list-devices", "/dev");
    list_one("list-tmp", "/tmp");
}

static void attack_processes_files(pid_t supervisor)
{
    open_of("supervisor-memory", supervisor, "mem");
    open_of("supervisor-maps", supervisor, "maps");
    open_of("supervisor-environment", supervisor, "environ");
    open_of("supervisor-descriptor", supervisor, "fd/3");
    open_of("supervisor-status", supervisor, "status");
    for (pid_t pid = getpid() - 20; pid < getpid() + 20; pid++)
        if (pid > 1 && pid != getpid() && !access("/proc/self/status", F_OK)) {
            char path[64];
            snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
            if (!access(path, F_OK))
                open_of("neighbour-memory", pid, "mem");
        }
}

// ---- signals and other processes ----

static void attack_processes(pid_t supervisor)
{
    char byte;
    struct iovec here = {&byte, 1}, there = {&byte, 1};
    siginfo_t information = {.si_signo = SIGURG, .si_code = SI_QUEUE};

    tried("kill-supervisor", kill(supervisor, SIGURG));
    tried("kill-all", kill(-1, 0));
    tried("tgkill-supervisor", syscall(SYS_tgkill, supervisor, supervisor, SIGURG));
    tried("tkill-supervisor", syscall(SYS_tkill, supervisor, SIGURG));
    tried("queue-to-supervisor", syscall(SYS_rt_sigqueueinfo, supervisor, SIGURG, &information));
    tried("tgqueue-to-supervisor",
          syscall(SYS_rt_tgsigqueueinfo, supervisor, supervisor, SIGURG, &information));
    tried("kill-neighbour", kill(getpid() - 1, 0));
    tried("pidfd-supervisor", syscall(SYS_pidfd_open, supervisor, 0));
    tried("own-descriptor-s-signals", fcntl(STDERR_FILENO, F_SETOWN, supervisor));
    tried("choose-descriptor-s-signal", fcntl(STDERR_FILENO, F_SETSIG, SIGKILL));
    tried("own-descriptor-by-ioctl", ioctl(STDERR_FILENO, FIOSETOWN, &supervisor));
    tried("type-into-terminal", ioctl(STDERR_FILENO, TIOCSTI, "\n"));
    tried("read-supervisor", syscall(SYS_process_vm_readv, supervisor, &here, 1, &there, 1, 0));
    tried("write-supervisor", syscall(SYS_process_vm_writev, supervisor, &here, 1, &there, 1, 0));
    tried("compare-supervisor", syscall(SYS_kcmp, supervisor, getpid(), 0, 0, 0));
    tried("limit-supervisor", prlimit(supervisor, RLIMIT_NOFILE, NULL, &(struct rlimit){0}));
}

// ---- network ----

static void make_socket(const char *what, int family, int type, int protocol)
{
    int fd = socket(family, type, protocol);

    tried(what, fd);
    if (fd >= 0)
        close(fd);
}

// A refused connection means that no socket accepts it; the socket exists, so access was refused.
static void connect_to(const char *what, int fd, const void *address, socklen_t size)
{
    int result = fd < 0 ? fd : connect(fd, address, size);

    if (result && errno == ENOENT)
        errno = EPERM;
    tried(what, result);
}

static void connect_admin(const char *what, int type)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat there;
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", target("HOSTILE_ADMIN"));
    if (stat(address.sun_path, &there))
        fprintf(stderr, "hostile: %s: %s: FAILED OTHERWISE, no socket\n", phase, what);
    connect_to(what, fd, &address, sizeof(address));
    if (fd >= 0)
        close(fd);
}

static void listen_on_file(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "/tmp/hostile.%d", (int)getpid());
    tried("bind-to-file", bind(fd, (void *)&address, sizeof(address)));
    close(fd);
}

static void attack_network(void)
{
    struct sockaddr_in elsewhere = {.sin_family = AF_INET,
                                    .sin_port = htons(9),
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct msghdr message = {.msg_name = &elsewhere, .msg_namelen = sizeof(elsewhere)};
    int pair[2];

    connect_admin("admin-socket", SOCK_STREAM);
    connect_admin("admin-socket-by-packets", SOCK_SEQPACKET);
    listen_on_file();
    make_socket("tcp-socket", AF_INET, SOCK_STREAM, 0);
    make_socket("udp-socket", AF_INET, SOCK_DGRAM, 0);
    make_socket("tcp6-socket", AF_INET6, SOCK_STREAM, 0);
    make_socket("packet-socket", AF_PACKET, SOCK_RAW, 0);
    make_socket("netlink-socket", AF_NETLINK, SOCK_RAW, 0);
    make_socket("unix-socket", AF_UNIX, SOCK_DGRAM, 0);
    make_socket("alg-socket", AF_ALG, SOCK_SEQPACKET, 0);
    make_socket("vsock-socket", AF_VSOCK, SOCK_STREAM, 0);
    tried("datagram-pair", socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
    connect_to("connect", STDIN_FILENO, &elsewhere, sizeof(elsewhere));
    // The descriptors that a worker passes on are closed by others, who must not wait for it.
    struct linger slow = {.l_onoff = 1, .l_linger = 30};
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0) {
        tried("linger", setsockopt(pair[0], SOL_SOCKET, SO_LINGER, &slow, sizeof(slow)));
        tried("linger-by-another-number", syscall(SYS_setsockopt, pair[0], SOL_SOCKET,
                                                  SO_LINGER | (1L << 32), &slow, sizeof(slow)));
        close(pair[0]);
        close(pair[1]);
    }
    tried("send-elsewhere", sendto(STDIN_FILENO, "x", 1, 0, (void *)&elsewhere, sizeof(elsewhere)));
    tried("send-and-connect", sendmsg(STDIN_FILENO, &message, MSG_FASTOPEN));
}

// ---- what only a worker that is not confined should survive trying ----

// A process that has the filter's descriptor may allow calls.
static void find_filter(void)
{
    char path[64], name[64] = "";
    bool found = false;

    for (int fd = 0; fd < 256; fd++) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        ssize_t n = readlink(path, name, sizeof(name) - 1);
        found |= n > 0 && memmem(name, (size_t)n, "seccomp", 7);
    }
    errno = EPERM;
    tried("filter-s-descriptor", found ? 0 : -1);
}

static void attack_rights(pid_t supervisor)
{
    find_filter();
    tried("become-root", syscall(SYS_setresuid, 0, 0, 0));
    tried("become-root-s-group", syscall(SYS_setresgid, 0, 0, 0));
    tried("groups", syscall(SYS_setgroups, 0, NULL));
    tried("capabilities", syscall(SYS_capset, NULL, NULL));
    tried("dumpable", prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
    tried("outlive-spawner", prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0));
    tried("trace-supervisor", ptrace(PTRACE_ATTACH, supervisor, NULL, NULL));
    tried("be-traced", ptrace(PTRACE_TRACEME, 0, NULL, NULL));
    tried("core-dump", setrlimit(RLIMIT_CORE, &(struct rlimit){1 << 20, 1 << 20}));
    tried("user-namespace", unshare(CLONE_NEWUSER));
    tried("mount-namespace", unshare(CLONE_NEWNS));
    tried("enter-namespace", setns(0, 0));
    tried("mount", mount("none", "/tmp", "tmpfs", 0, NULL));
    tried("umount", umount2("/proc", MNT_DETACH));
    tried("chroot", chroot("/tmp"));
    tried("pivot-root", syscall(SYS_pivot_root, ".", "."));
    tried("device-node", mknod("/tmp/hostile.node", S_IFCHR | 0600, 0x103));
    tried("personality", syscall(SYS_personality, 0x0040000));
    tried("priority", setpriority(PRIO_PROCESS, supervisor, 19));
}

static void attack_kernel(void)
{
    static const struct {
        const char *what;
        long number;
    } calls[] = {
        {"bpf", SYS_bpf},
        {"perf", SYS_perf_event_open},
        {"keyctl", SYS_keyctl},
        {"add-key", SYS_add_key},
        {"request-key", SYS_request_key},
        {"userfaultfd", SYS_userfaultfd},
        {"io-uring", SYS_io_uring_setup},
        {"io-uring-enter", SYS_io_uring_enter},
        {"init-module", SYS_init_module},
        {"load-module", SYS_finit_module},
        {"delete-module", SYS_delete_module},
        {"kexec", SYS_kexec_load},
        {"handle", SYS_name_to_handle_at},
        {"open-handle", SYS_open_by_handle_at},
        {"message-queue", SYS_mq_open},
        {"shared-memory", SYS_shmget},
        {"semaphores", SYS_semget},
        {"messages", SYS_msgget},
        {"io-ports", SYS_ioperm},
        {"io-level", SYS_iopl},
        {"ldt", SYS_modify_ldt},
        {"accounting", SYS_acct},
        {"quota", SYS_quotactl},
        {"swap", SYS_swapon},
        {"reboot", SYS_reboot},
        {"set-clock", SYS_clock_settime},
        {"adjust-clock", SYS_adjtimex},
        {"host-name", SYS_sethostname},
        {"kernel-log", SYS_syslog},
        {"hang-up", SYS_vhangup},
        {"fanotify", SYS_fanotify_init},
        {"inotify", SYS_inotify_init1},
        {"chown", SYS_chown},
        {"attributes", SYS_setxattr},
        {"splice", SYS_splice},
        {"vmsplice", SYS_vmsplice},
        {"move-pages", SYS_move_pages},
        {"migrate-pages", SYS_migrate_pages},
        {"io-priority", SYS_ioprio_set},
        {"scheduler", SYS_sched_setscheduler},
        {"scheduler-attributes", SYS_sched_setattr},
        {"new-filter", SYS_seccomp},
        {"new-session", SYS_setsid},
        {"new-mount", SYS_fsopen},
        {"open-tree", SYS_open_tree},
        {"move-mount", SYS_move_mount},
        {"take-descriptor", SYS_pidfd_getfd},
        {"signal-by-descriptor", SYS_pidfd_send_signal},
        {"advise-other", SYS_process_madvise},
    };

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        tried(calls[i].what, syscall(calls[i].number, 0, 0, 0, 0, 0, 0));
}

static void attack_programs(void)
{
    char *const arguments[] = {"true", NULL};
    struct {
        uint64_t fields[11];
    } clone_arguments = {{0}};

    pid_t child = fork();
    if (!child)
        _exit(0);
    tried("fork", child);
    if (child > 0)
        waitpid(child, NULL, 0);
    tried("vfork", syscall(SYS_clone, SIGCHLD | CLONE_VM | CLONE_VFORK, NULL, NULL, NULL, NULL));
    tried("clone3", syscall(SYS_clone3, &clone_arguments, sizeof(clone_arguments)));
    tried("exec", execve("/bin/true", arguments, NULL));
    tried("exec-file", syscall(SYS_execveat, AT_FDCWD, "/bin/true", arguments, NULL, 0));
}

static void attack_memory(void)
{
    size_t size = (size_t)64 << 30;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    attempts++;
    successes += memory != MAP_FAILED;
    fprintf(stderr, "hostile: %s: more-memory: %s\n", phase,
            memory == MAP_FAILED ? "refused" : "SUCCEEDED");
    if (memory != MAP_FAILED)
        munmap(memory, size);
}

// HOSTILE_NODES: device nodes of which some are this worker's own.
static void try_nodes(void)
{
    char list[256], *rest = NULL;

    snprintf(list, sizeof(list), "%s", getenv("HOSTILE_NODES") ? getenv("HOSTILE_NODES") : "");
    for (char *path = strtok_r(list, " ", &rest); path; path = strtok_r(NULL, " ", &rest)) {
        int fd = open(path, O_RDWR | O_CLOEXEC);
        fprintf(stderr, "hostile: %s: node %s: %s\n", phase, path,
                fd >= 0 ? "opened" : strerror(errno));
        if (fd >= 0)
            close(fd);
    }
}

// Opens the files that NVIDIA's driver opens, and must be able to open as long as it runs.
static void open_needed(void)
{
    static const char *const files[] = {
        "/proc/self/maps", "/proc/self/status",          "/proc/cpuinfo",
        "/proc/devices",   "/proc/sys/vm/mmap_min_addr", "/sys/devices/system/cpu/online",
        "/etc/ld.so.cache"};
    char name[64];

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        int fd = open(files[i], O_RDONLY | O_CLOEXEC);
        fprintf(stderr, "hostile: %s: needed %s: %s\n", phase, files[i],
                fd >= 0 ? "opened" : strerror(errno));
        if (fd >= 0)
            close(fd);
    }
    fprintf(stderr, "hostile: %s: needed ENOENT of unlink: %s\n", phase,
            unlink("") && errno == ENOENT ? "opened" : strerror(errno));
    snprintf(name, sizeof(name), "/proc/self/task/%d/comm", (int)syscall(SYS_gettid));
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    fprintf(stderr, "hostile: %s: needed comm: %s\n", phase,
            fd >= 0 && write(fd, "driver", 6) == 6 ? "opened" : strerror(errno));
    if (fd >= 0)
        close(fd);
}

static void attack(const char *when)
{
    pid_t supervisor = getppid();

    phase = when;
    attempts = successes = 0;
    try_nodes();
    open_needed();
    attack_files();
    attack_processes_files(supervisor);
    attack_processes(supervisor);
    attack_network();
    if (!getenv("HOSTILE_MILD")) {
        attack_rights(supervisor);
        attack_kernel();
        attack_programs();
        attack_memory();
    }
    fprintf(stderr, "hostile: %s: attempts=%u successes=%u uid=%u\n", when, attempts, successes,
            (unsigned)getuid());
}

// The worker's own code ends the process by _exit(), which then loops.
static void stay(void)
{
#if defined(__x86_64__)
    static const unsigned char loop[] = {0xeb, 0xfe};
#else
    static const unsigned char loop[] = {0x00, 0x00, 0x00, 0x14};
#endif
    char *end = dlsym(RTLD_DEFAULT, "_exit");
    uintptr_t page = (uintptr_t)end & ~(uintptr_t)4095;

    if (end && !mprotect((void *)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC))
        memcpy(end, loop, sizeof(loop));
    __builtin___clear_cache(end, end + sizeof(loop));
}

// ---- the driver ----

PUBLIC CUresult cuInit(unsigned flags);
PUBLIC CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size);

CUresult cuInit(unsigned flags)
{
    // cuInit of the software GPU, which this library is linked with.
    CUresult (*next)(unsigned) = (CUresult(*)(unsigned))dlsym(RTLD_NEXT, "cuInit");

    attack("start");
    if (getenv("HOSTILE_STAY"))
        stay();
    return next ? next(flags) : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size)
{
    CUresult (*next)(CUdeviceptr *, size_t) =
        (CUresult(*)(CUdeviceptr *, size_t))dlsym(RTLD_NEXT, "cuMemAlloc_v2");
    static bool done;

    while (getenv("HOSTILE_FLOOD"))
        syscall(SYS_ptrace, 0, 0, 0, 0);
    if (!done)
        attack("serving");
    done = true;
    return next ? next(address, size) : CUDA_ERROR_NOT_INITIALIZED;
}
