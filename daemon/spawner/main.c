// SPDX-License-Identifier: BSD-3-Clause
// rgpu-spawner starts and ends workers, MPS supervisors and suspenders for rgpud. Only this process
// may change users and signal processes of other users. It communicates only with rgpud, in packets
// of fixed size (spawner_orders.h), and not with the network.
//
// Under systemd it runs in its own unit and survives a restart of rgpud: it keeps rgpud's ends of
// the workers' sockets, and descriptors that rgpud stores, and passes them to the new rgpud. If no
// rgpud connects within ALONE_MS, it closes them, which makes workers end, and kills the remaining
// ones. Otherwise rgpud starts it, and it ends with rgpud and kills all processes.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/service/program.h"
#include "common/base/scope.h"
#include "daemon/spawner/cgroup.h"
#include "daemon/spawner/order_socket.h"

enum {
    ALONE_MS = 30000, // without an rgpud, before workers are left to themselves
    LINGER_MS = 5000, // for workers to end by themselves after that
};

static const struct program_about about = {
    .name = "rgpu-spawner",
    .usage =
        "usage: rgpu-spawner --config FILE --orders SOCKET --for USER [settings of rgpud.conf]\n\n"
        "Starts and ends the workers of rgpud, which has no right to. See rgpu-spawner(8).\n\n"
        "  --config FILE   read the settings from this file, which is rgpud's\n"
        "  --orders SOCKET listen on this unix socket for rgpud\n"
        "  --for USER      name or number of the user that may connect, rgpud's\n"
        "  --help, --version\n",
};

static struct spawner spawner = {
    .driver_file = -1, .cgroups = -1, .listener = -1, .connection = -1, .gave_up = true};

static struct {
    int argc; // arguments for the settings table
    char **argv;
    const char *config;
    bool standalone, child;
} options;

// ---- set up ----

static int read_settings(void)
{
    struct box_settings fresh;
    struct device_choice choice;
    struct worker_users users;

    // rgpud has logged the messages about the settings.
    log_set_level(options.child ? LOG_LEVEL_ERROR : LOG_LEVEL_INFO);
    int err = settings_read(options.argc, options.argv, options.config, options.standalone, &fresh);
    if (!err)
        err = device_choice_parse(fresh.devices ? fresh.devices : "", &choice);
    if (!err)
        err = programs_users(&fresh, &users);
    if (err) {
        config_clear(settings_table, &fresh);
    } else {
        config_clear(settings_table, &spawner.settings);
        spawner.settings = fresh;
        spawner.choice = choice;
        spawner.users = users;
    }
    log_set_level((enum log_level)spawner.settings.log_level);
    log_level_from_environment();
    return err;
}

static int spawner_choose(void)
{
    const struct box_settings *settings = &spawner.settings;
    bool software = spawner.choice.software;
    char name[128];

    spawner.changes_users = programs_may_change_users();
    if (!spawner.changes_users)
        spawner.users = (struct worker_users){0};
    programs_worker(settings, spawner.worker, sizeof(spawner.worker));
    programs_driver(settings, software, spawner.driver, sizeof(spawner.driver));
    if (spawner.driver_file >= 0)
        close(spawner.driver_file);
    spawner.driver_file = -1;
    if (strchr(spawner.driver, '/'))
        spawner.driver_file = open(spawner.driver, O_RDONLY | O_CLOEXEC);
    programs_mps_control(settings, software, spawner.mps_control, sizeof(spawner.mps_control));
    programs_own("rgpu-mps", spawner.mps_supervisor, sizeof(spawner.mps_supervisor));
    programs_own("rgpu-suspender", spawner.suspender, sizeof(spawner.suspender));
    programs_box_name(settings, name, sizeof(name));
    return programs_environment(name, software, spawner.choice.count);
}

// Raises the limits that spawned processes inherit: open files, and locked memory, since memory
// that devices access is locked. Root may exceed these limits, but the change of user ends that.
static void raise_limits(void)
{
    struct rlimit memory = {RLIM_INFINITY, RLIM_INFINITY}, files;

    if (!getrlimit(RLIMIT_NOFILE, &files)) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    if (!setrlimit(RLIMIT_MEMLOCK, &memory) || getrlimit(RLIMIT_MEMLOCK, &memory))
        return;
    memory.rlim_cur = memory.rlim_max;
    setrlimit(RLIMIT_MEMLOCK, &memory);
    if (memory.rlim_max != RLIM_INFINITY && !spawner.choice.software)
        log_warn("memory that each worker may lock for devices is limited to %llu bytes "
                 "(RLIMIT_MEMLOCK), which rgpu-spawner has no right to raise: set LimitMEMLOCK in "
                 "its unit, or ulimit -l",
                 (unsigned long long)memory.rlim_max);
}

static int find_user(const char *text, uid_t *out)
{
    const struct passwd *entry = getpwnam(text);
    char *end;

    *out = entry ? entry->pw_uid : (uid_t)strtoul(text, &end, 10);
    if (entry || (*text && !*end))
        return 0;
    log_error("--for=%s is no user", text);
    return -EINVAL;
}

static int open_listener(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0 || (size_t)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path) >=
                      sizeof(address.sun_path))
        return -ENAMETOOLONG;
    unlink(path);
    mode_t before = umask(0117);
    int bound = bind(fd, (struct sockaddr *)&address, sizeof(address));
    umask(before);
    if (bound || listen(fd, 8)) {
        log_error("cannot listen orders=%s error=\"%s\"", path, strerror(errno));
        return -EINVAL;
    }
    spawner.listener = fd;
    return 0;
}

static void notify(const char *text)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    SCOPED_FD int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (!path || fd < 0 || strlen(path) >= sizeof(address.sun_path))
        return;
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    memcpy(address.sun_path, path, strlen(path));
    if (*path == '@')
        address.sun_path[0] = '\0';
    if (sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&address, size) < 0)
        log_warn("the service manager takes no message error=\"%s\"", strerror(errno));
    // It is not for the processes that are started.
    unsetenv("NOTIFY_SOCKET");
}

// ---- the loop ----

static void reap(void)
{
    struct spawned *process;
    int status;

    while ((process = spawned_reap(&spawner, &status))) {
        log_debug("process ended number=%llu pid=%d", (unsigned long long)process->number,
                  (int)process->pid);
        order_socket_report(&spawner, process, status);
        spawned_free(&spawner, process);
    }
}

static void spawner_take_connection(void)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    SCOPED_FD int fd = accept4(spawner.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
        return;
    // The last orders of an rgpud that has ended, and then its end.
    while (spawner.connection >= 0 && order_socket_take(&spawner))
        ;
    if (peer.uid != spawner.peer || spawner.connection >= 0) {
        log_warn("connection refused pid=%d uid=%u reason=\"%s\"", (int)peer.pid,
                 (unsigned)peer.uid,
                 spawner.connection < 0 ? "it is another user than rgpud's" : "rgpud is connected");
        return;
    }
    log_info("rgpud is connected pid=%d", (int)peer.pid);
    // A restarted rgpud may have other settings.
    if (read_settings() || spawner_choose())
        log_warn("the settings of before stay config=%s", options.config ? options.config : "none");
    spawner.connection = scoped_take_fd(&fd);
    spawner.gave_up = false;
    order_socket_greet(&spawner);
}

// Returns the time until the next action in milliseconds; -1 if there is none.
static int be_alone(void)
{
    int64_t alone_ms = clock_ms() - spawner.alone_since_ms;
    struct spawned *process;

    if (spawner.connection >= 0 || (!spawner.process_count && spawner.gave_up))
        return -1;
    if (alone_ms < ALONE_MS)
        return (int)(ALONE_MS - alone_ms);
    if (!spawner.gave_up) {
        if (spawner.process_count)
            log_warn("no rgpud has come for %d s: %u processes are to end", ALONE_MS / 1000,
                     spawner.process_count);
        TAILQ_FOREACH(process, &spawner.processes, link)
            spawned_give_up(process);
        spawner_store_forget_own(&spawner);
        spawner.gave_up = true;
    }
    if (!spawner.process_count)
        return -1;
    if (alone_ms < ALONE_MS + LINGER_MS)
        return (int)(ALONE_MS + LINGER_MS - alone_ms);
    log_warn("processes are killed that do not end count=%u", spawner.process_count);
    spawned_kill_all(&spawner);
    return LINGER_MS;
}

// Returns when this process is to end.
static void spawner_serve(int signals)
{
    struct signalfd_siginfo info;

    while (spawner.connection >= 0 || spawner.listener >= 0) {
        struct pollfd ready[] = {{.fd = signals, .events = POLLIN},
                                 {.fd = spawner.connection, .events = POLLIN},
                                 {.fd = spawner.listener, .events = POLLIN}};
        if (poll(ready, 3, be_alone()) < 0 && errno != EINTR)
            return;
        if (read(signals, &info, sizeof(info)) > 0 && info.ssi_signo != SIGCHLD)
            return;
        reap();
        if (ready[1].revents)
            order_socket_take(&spawner);
        if (ready[2].revents)
            spawner_take_connection();
    }
}

static int spawner_block_signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void spawner_end_all(int signals)
{
    struct pollfd ended = {.fd = signals, .events = POLLIN};
    struct signalfd_siginfo info;

    spawned_kill_all(&spawner);
    for (reap(); spawner.process_count; reap()) {
        poll(&ended, 1, LINGER_MS);
        while (read(signals, &info, sizeof(info)) > 0)
            ;
        spawned_kill_all(&spawner);
    }
    order_socket_close(&spawner);
}

// Memory of a software GPU is memory of its workers, and has no other limit either.
static uint64_t total_memory(void)
{
    uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t wanted = spawner.settings.total_worker_memory;

    if (spawner.choice.software)
        return 0;
    return wanted ? wanted : machine / 8 * 7;
}

static int spawner_set_up(const char *orders, const char *user)
{
    int err = spawner_choose();

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    // Processes may run as our user.
    if (!err && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
        err = -errno;
#endif
    // Processes that an MPS supervisor or a suspender leaves become our children.
    if (!err && prctl(PR_SET_CHILD_SUBREAPER, 1))
        err = -errno;
    if (err)
        return err;
    raise_limits();
    if (!orders) {
        spawner.connection = SPAWNER_ORDERS_FD;
        return 0;
    }
    spawner.cgroups = cgroup_open(total_memory());
    if (spawner.cgroups < 0)
        log_warn("workers have no cgroups of their own error=\"%s\"", strerror(-spawner.cgroups));
    err = find_user(user ? user : "", &spawner.peer);
    return err ? err : open_listener(orders);
}

int main(int argc, char **argv)
{
    log_init("rgpu-spawner", LOG_LEVEL_INFO);
    if (program_answer(&about, argc, argv))
        return 0;
    options.config = program_take_value(&argc, argv, "--config");
    const char *orders = program_take_value(&argc, argv, "--orders");
    const char *user = program_take_value(&argc, argv, "--for");
    options.standalone = program_take_flag(&argc, argv, "--standalone");
    options.child = program_take_flag(&argc, argv, "--child");
    options.argc = argc;
    options.argv = argv;
    if (options.child == (orders != NULL)) {
        fputs(about.usage, stderr);
        return 2;
    }
    TAILQ_INIT(&spawner.processes);
    int signals = spawner_block_signals();
    if (signals < 0 || read_settings() || spawner_set_up(orders, user))
        return 2;
    if (spawner.connection >= 0)
        order_socket_greet(&spawner);
    else
        log_info("is ready orders=%s users=%u-%u cgroups=%s", orders, (unsigned)spawner.users.first,
                 (unsigned)spawner.users.last, spawner.cgroups < 0 ? "no" : "yes");
    notify("READY=1");
    spawner_serve(signals);
    spawner_end_all(signals);
    config_clear(settings_table, &spawner.settings);
    return 0;
}
