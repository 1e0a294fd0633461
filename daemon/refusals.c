// SPDX-License-Identifier: BSD-3-Clause
// See refusals.h. A worker that is hostile may make as many refused calls as it likes; so there is a bound
// on what is answered in one turn of the event loop, on what is logged, and on how many there may be.
#include "daemon/refusals.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/fdpass.h"
#include "common/hash.h"
#include "common/log.h"
#include "common/scope.h"

enum {
    TURN_MAX = 16,    // answers in one turn
    CALLS_MAX = 4096, // then the worker is ended; drivers probe a few dozen times
    LEARNT_MAX = 1 << 20,
    LOGGED_MAX = 128, // different calls, each of which is logged once
    LEARNT_LOGGED_MAX = 1024,
};

struct refusals {
    struct event_base *base;
    struct event *readable;
    int socket; // until the filter's descriptor came over it
    int fd;     // of the filter
    pid_t pid;
    bool only_log;
    const int *may_connect; // the directory of the one socket; stays the caller's
    bool serving;           // before that drivers try this and that
    uint64_t count;
    uint64_t logged[LEARNT_LOGGED_MAX];
    size_t logged_count;
    struct seccomp_notif *request;
    struct seccomp_notif_resp *answer;
    refusals_too_many *too_many;
    void *argument;
};

// ---- what is logged ----

static bool is_new(struct refusals *refusals, uint64_t what)
{
    size_t room = refusals->only_log ? LEARNT_LOGGED_MAX : LOGGED_MAX;

    for (size_t i = 0; i < refusals->logged_count; i++)
        if (refusals->logged[i] == what)
            return false;
    if (refusals->logged_count == room)
        return false;
    refusals->logged[refusals->logged_count++] = what;
    return true;
}

// The name of the file in a call that opens one; false where it cannot be read.
static bool read_file_name(const struct seccomp_notif *request, const char *call, char *out,
                           size_t room)
{
    uint64_t address = !strcmp(call, "open") ? request->data.args[0] : request->data.args[1];
    char memory[64];

    snprintf(memory, sizeof(memory), "/proc/%u/mem", request->pid);
    SCOPED_FILE FILE *file = fopen(memory, "re");
    if (!file)
        return false;
    size_t n = 0;
    if (!fseeko(file, (off_t)address, SEEK_SET))
        for (int c; n < room - 1 && (c = fgetc(file)) > 0;)
            out[n++] = (char)c;
    out[n] = '\0';
    return n > 0;
}

// The argument that tells one use of a call from another, where one does.
static uint64_t variety(const struct seccomp_data *data, const char *call)
{
    static const char *const by_second[] = {"ioctl", "fcntl", "setsockopt"};
    static const char *const by_first[] = {"prctl", "socket", "clone"};

    for (size_t i = 0; i < sizeof(by_second) / sizeof(by_second[0]); i++)
        if (!strcmp(call, by_second[i]))
            return data->args[1];
    for (size_t i = 0; i < sizeof(by_first) / sizeof(by_first[0]); i++)
        if (!strcmp(call, by_first[i]))
            return data->args[0];
    return 0;
}

static void tell(struct refusals *refusals, const struct seccomp_notif *request)
{
    const struct seccomp_data *data = &request->data;
    SCOPED_FREE char *found = seccomp_syscall_resolve_num_arch(data->arch, data->nr);
    const char *name = found ? found : "unknown";
    char file[256];

    if (refusals->only_log && !strncmp(name, "open", 4)) {
        if (!read_file_name(request, name, file, sizeof(file)))
            snprintf(file, sizeof(file), "?");
        if (is_new(refusals, hash_bytes(1, file, strlen(file))))
            log_info("worker pid=%d opens file=%s", (int)refusals->pid, file);
    } else if (is_new(refusals, (uint64_t)data->nr << 32 ^ (variety(data, name) & 0xffffffff))) {
        log_at(refusals->serving ? LOG_LEVEL_WARN : LOG_LEVEL_INFO,
               "worker pid=%d system call %s %s number=%d arguments=%llx,%llx,%llx,%llx",
               (int)refusals->pid, name, refusals->only_log ? "would be refused" : "refused",
               data->nr, (unsigned long long)data->args[0], (unsigned long long)data->args[1],
               (unsigned long long)data->args[2], (unsigned long long)data->args[3]);
    }
}

// ---- answering ----

static void stop(struct refusals *refusals)
{
    if (refusals->readable)
        event_free(refusals->readable);
    refusals->readable = NULL;
    if (refusals->fd >= 0)
        close(refusals->fd);
    if (refusals->socket >= 0)
        close(refusals->socket);
    refusals->fd = refusals->socket = -1;
}

// A call that our library knows is forbidden (EPERM). One that is newer does not exist (ENOSYS), so that the C library
// goes its older way. connect and unlink find nothing (ENOENT): NVIDIA's driver looks for an MPS daemon and removes a
// socket that may be left, and goes on after no other error.
static int error_for(const struct seccomp_data *data)
{
    static const char *const nothing_there[] = {"connect", "unlink"};
    SCOPED_FREE char *name = seccomp_syscall_resolve_num_arch(data->arch, data->nr);
    int error = name ? EPERM : ENOSYS;

    for (size_t i = 0; name && i < sizeof(nothing_there) / sizeof(nothing_there[0]); i++)
        if (!strcmp(name, nothing_there[i]))
            error = ENOENT;
    return error;
}

// ---- the one connection that a worker may make ----

static bool is_connect(const struct seccomp_data *data)
{
    SCOPED_FREE char *name = seccomp_syscall_resolve_num_arch(data->arch, data->nr);

    return name && !strcmp(name, "connect");
}

// Who may write in the directory, the daemon and its clients, may have put a link there, to a socket that is ours to use
// and not theirs; so the socket itself is opened, and then connected to by its descriptor.
static int connect_there(int directory)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int on = 1;
    struct stat status;
    SCOPED_FD int place = openat(directory, "control", O_PATH | O_NOFOLLOW | O_CLOEXEC);
    SCOPED_FD int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (place < 0 || fd < 0 || fstat(place, &status))
        return -errno;
    if (!S_ISSOCK(status.st_mode))
        return -ENOTSOCK;
    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", place);
    // We wait for nobody: where the queue of the listener is full, the worker is told to come again.
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) ||
        setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) || fcntl(fd, F_SETFL, 0))
        return -errno;
    return scoped_take_fd(&fd);
}

// Each context of a client of MPS is a connection to the daemon. We make it, and put it in the place of the socket that
// was to be connected: so the worker gets this one and no other, whatever address it has named, and nobody need read its
// memory.
static int give_connection(const struct refusals *refusals, const struct seccomp_notif *request)
{
    SCOPED_FD int fd = connect_there(*refusals->may_connect);
    struct seccomp_notif_addfd place = {.id = request->id,
                                        .flags = SECCOMP_ADDFD_FLAG_SETFD,
                                        .srcfd = (uint32_t)fd,
                                        .newfd = (uint32_t)request->data.args[0],
                                        .newfd_flags = O_CLOEXEC};

    if (fd < 0)
        return fd;
    return ioctl(refusals->fd, SECCOMP_IOCTL_NOTIF_ADDFD, &place) < 0 ? -errno : 0;
}

static void answer(struct refusals *refusals, const struct seccomp_notif *request)
{
    struct seccomp_notif_resp *reply = refusals->answer;

    *reply = (struct seccomp_notif_resp){.id = request->id};
    if (refusals->only_log)
        reply->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    else if (refusals->may_connect && is_connect(&request->data))
        reply->error = give_connection(refusals, request);
    else
        reply->error = -error_for(&request->data);
    // A thread that ended meanwhile needs no answer.
    if (seccomp_notify_respond(refusals->fd, reply) && errno != ENOENT && errno != ECANCELED)
        log_debug("worker pid=%d does not take an answer", (int)refusals->pid);
}

// 1: one was answered, 0: none waits, -1: there will be none any more.
static int answer_one(struct refusals *refusals)
{
    struct pollfd ready = {.fd = refusals->fd, .events = POLLIN};

    // Receiving blocks where no question waits, so we look first.
    if (poll(&ready, 1, 0) <= 0)
        return 0;
    if (!(ready.revents & POLLIN))
        return -1;
    memset(refusals->request, 0, sizeof(*refusals->request));
    if (seccomp_notify_receive(refusals->fd, refusals->request))
        return 0;
    refusals->count++;
    if (refusals->only_log || !refusals->may_connect || !is_connect(&refusals->request->data))
        tell(refusals, refusals->request);
    answer(refusals, refusals->request);
    return 1;
}

static void call_refused(evutil_socket_t fd, short events, void *argument)
{
    struct refusals *refusals = argument;
    uint64_t limit = refusals->only_log ? LEARNT_MAX : CALLS_MAX;
    int more = 1;

    for (int i = 0; i < TURN_MAX && more == 1; i++)
        more = answer_one(refusals);
    if (more < 0) {
        stop(refusals);
    } else if (refusals->count > limit) {
        char reason[80];
        snprintf(reason, sizeof(reason), "made more than %llu system calls that are refused",
                 (unsigned long long)limit);
        stop(refusals);
        refusals->too_many(refusals->argument, reason);
    }
}

// ---- the filter's descriptor ----

static int watch(struct refusals *refusals, int fd, event_callback_fn callback)
{
    refusals->readable = event_new(refusals->base, fd, EV_READ | EV_PERSIST, callback, refusals);
    return refusals->readable && !event_add(refusals->readable, NULL) ? 0 : -ENOMEM;
}

static void filter_came(evutil_socket_t fd, short events, void *argument)
{
    struct refusals *refusals = argument;
    size_t count = 1;
    char byte;
    int filter = -1;
    ssize_t n = fdpass_receive(refusals->socket, &byte, 1, &filter, &count);

    if (n == -EAGAIN)
        return;
    stop(refusals);
    // This kernel offers no descriptor. The filter refuses calls all the same, and nobody tells which.
    if (n <= 0 || !count)
        return;
    refusals->fd = filter;
    if (watch(refusals, filter, call_refused))
        stop(refusals);
}

struct refusals *refusals_new(struct event_base *base, int socket, pid_t pid, bool only_log,
                              const int *may_connect, refusals_too_many *too_many, void *argument)
{
    struct refusals *refusals = calloc(1, sizeof(*refusals));

    if (!refusals) {
        close(socket);
        return NULL;
    }
    *refusals = (struct refusals){.base = base,
                                  .socket = socket,
                                  .fd = -1,
                                  .pid = pid,
                                  .only_log = only_log,
                                  .may_connect = may_connect,
                                  .too_many = too_many,
                                  .argument = argument};
    if (seccomp_notify_alloc(&refusals->request, &refusals->answer) ||
        watch(refusals, socket, filter_came))
        refusals_free(&refusals);
    return refusals;
}

void refusals_serving(struct refusals *refusals)
{
    refusals->serving = true;
    refusals->logged_count = 0;
}

void refusals_free(struct refusals **refusals)
{
    if (!*refusals)
        return;
    stop(*refusals);
    seccomp_notify_free((*refusals)->request, (*refusals)->answer);
    free(*refusals);
    *refusals = NULL;
}
