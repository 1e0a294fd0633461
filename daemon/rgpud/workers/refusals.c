// SPDX-License-Identifier: BSD-3-Clause
// A hostile worker may make any number of refused calls. Therefore the answers in one turn of the
// event loop, the log lines, and the total number of calls are limited.
#include "daemon/rgpud/workers/refusals.h"

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

#include "common/net/fdpass.h"
#include "common/base/hash.h"
#include "common/service/helper.h"
#include "common/base/log.h"
#include "common/base/scope.h"

enum {
    TURN_MAX = 16,    // answers in one turn
    CALLS_MAX = 4096, // then the worker is ended; drivers make a few dozen such calls
    LEARNT_MAX = 1 << 20,
    LOGGED_MAX = 128, // different calls; each is logged once
    LEARNT_LOGGED_MAX = 1024,
};

struct refusals {
    struct event_base *base;
    struct event *readable;
    int socket; // until it has delivered the filter's descriptor
    int fd;     // of the filter
    pid_t pid;
    bool only_log;
    // the directory with the only socket for connections; owned by the caller
    const int *may_connect;
    bool serving; // a session has begun; before that, drivers probe
    uint64_t count;
    uint64_t logged[LEARNT_LOGGED_MAX];
    size_t logged_count;
    struct seccomp_notif *request;
    struct seccomp_notif_resp *answer;
    refusals_too_many *too_many;
    void *argument;
};

// ---- the log ----

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

// Reads the file name from a call that opens a file. Returns false if it cannot be read.
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

// Returns the argument that distinguishes uses of a call, or 0 if there is none.
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

static void refusals_tell(struct refusals *refusals, const struct seccomp_notif *request)
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

// ---- answers ----

static void refusals_stop(struct refusals *refusals)
{
    if (refusals->readable)
        event_free(refusals->readable);
    refusals->readable = NULL;
    if (refusals->fd >= 0)
        close(refusals->fd);
    if (refusals->socket >= 0)
        fdpass_close(refusals->socket);
    refusals->fd = refusals->socket = -1;
}

// Returns the error for a call. A call that our library knows gets EPERM. A newer call gets ENOSYS,
// so that the C library uses an older one. connect and unlink get ENOENT: NVIDIA's driver looks for
// an MPS daemon and removes an old socket, and it continues only after this error.
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

// Connects to the socket in the directory. The daemon and its clients can write there. They could
// have put a link to another socket in its place, one that only this process may use. The socket
// itself is therefore opened without following links and connected through its descriptor.
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
    // The supervisor must not wait. If the listener's queue is full, the worker gets an error and
    // retries.
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) ||
        setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) || fcntl(fd, F_SETFL, 0))
        return -errno;
    return scoped_take_fd(&fd);
}

// Connects the worker's socket to the MPS daemon. Each context of an MPS client needs such a
// connection. The supervisor makes it and installs it in place of the worker's socket. The worker
// gets this connection whatever address it named, so its memory need not be read.
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

static void refusals_answer(struct refusals *refusals, const struct seccomp_notif *request)
{
    struct seccomp_notif_resp *reply = refusals->answer;

    *reply = (struct seccomp_notif_resp){.id = request->id};
    if (refusals->only_log)
        reply->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    else if (refusals->may_connect && is_connect(&request->data))
        reply->error = give_connection(refusals, request);
    else
        reply->error = -error_for(&request->data);
    // A thread that has ended meanwhile needs no answer.
    if (seccomp_notify_respond(refusals->fd, reply) && errno != ENOENT && errno != ECANCELED)
        log_debug("worker pid=%d does not take an answer", (int)refusals->pid);
}

// Answers one call. Returns 1 if it did, 0 if none is pending, -1 if there will be no more.
static int refusals_answer_one(struct refusals *refusals)
{
    struct pollfd ready = {.fd = refusals->fd, .events = POLLIN};

    // Receiving blocks if no call is pending, so poll first.
    if (poll(&ready, 1, 0) <= 0)
        return 0;
    if (!(ready.revents & POLLIN))
        return -1;
    memset(refusals->request, 0, sizeof(*refusals->request));
    if (seccomp_notify_receive(refusals->fd, refusals->request))
        return 0;
    refusals->count++;
    if (refusals->only_log || !refusals->may_connect || !is_connect(&refusals->request->data))
        refusals_tell(refusals, refusals->request);
    refusals_answer(refusals, refusals->request);
    return 1;
}

static void call_refused(evutil_socket_t fd, short events, void *argument)
{
    struct refusals *refusals = argument;
    uint64_t limit = refusals->only_log ? LEARNT_MAX : CALLS_MAX;
    int more = 1;

    for (int i = 0; i < TURN_MAX && more == 1; i++)
        more = refusals_answer_one(refusals);
    if (more < 0) {
        refusals_stop(refusals);
    } else if (refusals->count > limit) {
        char reason[80];
        snprintf(reason, sizeof(reason), "made more than %llu system calls that are refused",
                 (unsigned long long)limit);
        refusals_stop(refusals);
        refusals->too_many(refusals->argument, reason);
    }
}

// ---- the filter's descriptor ----

static int refusals_watch(struct refusals *refusals, int fd, event_callback_fn callback)
{
    refusals->readable = event_new(refusals->base, fd, EV_READ | EV_PERSIST, callback, refusals);
    return refusals->readable && !event_add(refusals->readable, NULL) ? 0 : -ENOMEM;
}

// Other files may block the calls of this file. No path is without a slash, so none has this name.
static bool is_filter(int fd)
{
    static const char expected[] = "anon_inode:seccomp notify";
    char path[64], name[sizeof(expected)];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return readlink(path, name, sizeof(name)) == sizeof(expected) - 1 &&
           !memcmp(name, expected, sizeof(expected) - 1);
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
    refusals_stop(refusals);
    // This kernel has no such descriptor. The filter still refuses calls, but without log lines.
    if (n <= 0 || !count)
        return;
    if (!is_filter(filter)) {
        log_warn("worker pid=%d passes a descriptor that is no filter", (int)refusals->pid);
        close_stranger(filter);
        return;
    }
    refusals->fd = filter;
    if (refusals_watch(refusals, filter, call_refused))
        refusals_stop(refusals);
}

struct refusals *refusals_new(struct event_base *base, int socket, pid_t pid, bool only_log,
                              const int *may_connect, refusals_too_many *too_many, void *argument)
{
    struct refusals *refusals = calloc(1, sizeof(*refusals));

    if (!refusals) {
        fdpass_close(socket);
        return NULL;
    }
    bool filter = is_filter(socket);
    *refusals = (struct refusals){.base = base,
                                  .socket = filter ? -1 : socket,
                                  .fd = filter ? socket : -1,
                                  .pid = pid,
                                  .only_log = only_log,
                                  .may_connect = may_connect,
                                  .too_many = too_many,
                                  .argument = argument};
    if (seccomp_notify_alloc(&refusals->request, &refusals->answer) ||
        refusals_watch(refusals, socket, filter ? call_refused : filter_came))
        refusals_free(&refusals);
    return refusals;
}

int refusals_filter(const struct refusals *refusals)
{
    return refusals ? refusals->fd : -1;
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
    refusals_stop(*refusals);
    seccomp_notify_free((*refusals)->request, (*refusals)->answer);
    free(*refusals);
    *refusals = NULL;
}
