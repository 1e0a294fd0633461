// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/putnotify/process_group.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/net/endpoint.h"
#include "common/base/scope.h"
#include "client-lib/putnotify/process_group_bytes.h"
#include "client-lib/putnotify/rendezvous_name.h"
#include "client-lib/putnotify/newcomers.h"

enum {
    RETRY_MS = 20,
    TEXT_MAX = 240,
};

enum frame_kind { FRAME_ALL = 1, FRAME_LOST = 2 };
struct frame_head {
    uint32_t kind, size; // bytes that follow
};

struct process {
    int first, count; // members
    int fd;
};

struct process_group {
    int size, first, count;
    bool leads;
    struct process others[RGPU_MEMBERS_MAX]; // of the leader: all other processes; of others: the
                                             // leader
    int other_count;
};

// ---- frames ----

static int process_group_send_frame(int fd, enum frame_kind kind, const void *data, size_t size)
{
    struct frame_head head = {kind, (uint32_t)size};
    int err = bytes_send(fd, &head, sizeof(head), UINT64_MAX);
    return err ? err : bytes_send(fd, data, size, UINT64_MAX);
}

static enum rgpu_result process_group_gone(const struct process *process)
{
    return failure(RGPU_ERROR_LOST, "the process of member %d is gone", process->first);
}

static enum rgpu_result take_lost(const struct process *process, size_t size)
{
    char text[TEXT_MAX] = "";
    if (size >= sizeof(text) || bytes_take(process->fd, text, size, UINT64_MAX))
        return process_group_gone(process);
    return failure(RGPU_ERROR_LOST, "%s", text);
}

static enum rgpu_result take_frame(const struct process *process, void *data, size_t size)
{
    struct frame_head head;
    if (bytes_take(process->fd, &head, sizeof(head), UINT64_MAX))
        return process_group_gone(process);
    if (head.kind == FRAME_LOST)
        return take_lost(process, head.size);
    if (head.kind != FRAME_ALL || head.size != size)
        return failure(RGPU_ERROR_LOST,
                       "the process of member %d does not make the same calls as this one",
                       process->first);
    return bytes_take(process->fd, data, size, UINT64_MAX) ? process_group_gone(process)
                                                           : RGPU_SUCCESS;
}

// ---- rendezvous ----

static bool process_group_overlap(int a, int a_count, int b, int b_count)
{
    return a < b + b_count && b < a + a_count;
}

// Returns the reason why a process does not belong to this team; NULL: it does.
static const char *process_group_objection(const struct process_group *process_group,
                                           const struct introduction *hello)
{
    if (hello->size != process_group->size)
        return "the team of that name has another number of members";
    if (hello->first < 0 || hello->count < 1 || hello->first > process_group->size - hello->count)
        return "there are no such members";
    bool taken = process_group_overlap(hello->first, hello->count, process_group->first,
                                       process_group->count);
    for (int i = 0; i < process_group->other_count; i++)
        taken |= process_group_overlap(hello->first, hello->count, process_group->others[i].first,
                                       process_group->others[i].count);
    return taken ? "another process has one of these members" : NULL;
}

// Takes ownership of FD.
static void process_group_admit(struct process_group *process_group,
                                const struct introduction *hello, int fd)
{
    const char *why = process_group_objection(process_group, hello);
    if (!why && !process_group_send_frame(fd, FRAME_ALL, &(int32_t){process_group->first},
                                          sizeof(int32_t))) {
        process_group->others[process_group->other_count++] =
            (struct process){hello->first, hello->count, fd};
        return;
    }
    if (why)
        process_group_send_frame(fd, FRAME_LOST, why, strlen(why));
    close(fd);
}

static int members_here(const struct process_group *process_group)
{
    int here = process_group->count;
    for (int i = 0; i < process_group->other_count; i++)
        here += process_group->others[i].count;
    return here;
}

// Waits until a process connects or sends data (1), an admitted process has gone (-ECONNRESET,
// *WHO), or the deadline has passed.
static int await_anybody(const struct process_group *process_group,
                         const struct newcomers *newcomers, int listener, uint64_t deadline,
                         int *who)
{
    struct pollfd pollers[1 + RGPU_MEMBERS_MAX + NEWCOMERS_MAX] = {
        {.fd = listener, .events = POLLIN}};
    int others = process_group->other_count;
    for (int i = 0; i < others; i++)
        pollers[i + 1] = (struct pollfd){.fd = process_group->others[i].fd, .events = POLLRDHUP};
    newcomers_watch(newcomers, pollers + 1 + others);
    int ready = poll(pollers, (nfds_t)(1 + others + newcomers->count), deadline_left(deadline));
    for (*who = 0; ready > 0 && *who < others; ++*who)
        if (pollers[*who + 1].revents)
            return -ECONNRESET;
    return ready > 0 ? 1 : ready ? -errno : -ETIMEDOUT;
}

static enum rgpu_result meet_newcomers(struct process_group *process_group,
                                       const struct rendezvous_place *place,
                                       struct newcomers *newcomers, int listener, uint64_t deadline)
{
    while (members_here(process_group) < process_group->size) {
        struct introduction hello;
        int who, fd, ready = await_anybody(process_group, newcomers, listener, deadline, &who);
        if (ready == -ECONNRESET)
            return process_group_gone(&process_group->others[who]);
        if (ready == -ETIMEDOUT)
            return failure(RGPU_ERROR_LOST, "%d of %d members have come in time",
                           members_here(process_group), process_group->size);
        // Messages that have arrived are read first, so that a late start of this process closes no
        // connection.
        while ((fd = newcomers_hear(newcomers, place, &hello)) >= 0)
            process_group_admit(process_group, &hello, fd);
        newcomers_accept(newcomers, listener);
    }
    return RGPU_SUCCESS;
}

static enum rgpu_result wait_for_others(struct process_group *process_group,
                                        const struct rendezvous_place *place, int listener,
                                        uint64_t deadline)
{
    struct newcomers newcomers;
    newcomers.count = 0;
    enum rgpu_result result = meet_newcomers(process_group, place, &newcomers, listener, deadline);
    newcomers_close(&newcomers);
    return result;
}

static enum rgpu_result lead(struct process_group *process_group, const char *name,
                             uint64_t deadline)
{
    struct rgpu_rendezvous rendezvous;
    struct rendezvous_place place = {0};
    struct rendezvous_said *said = NULL;
    SCOPED_FD int listener = -1;
    enum rgpu_result result = rendezvous_id_make(&rendezvous, &listener);
    if (!result)
        result = rendezvous_name_publish(name, &rendezvous, &said);
    if (!result)
        result = rendezvous_id_read(&rendezvous, &place);
    if (!result)
        result = wait_for_others(process_group, &place, listener, deadline);
    rendezvous_name_forget(&said);
    explicit_bzero(&place, sizeof(place));
    explicit_bzero(&rendezvous, sizeof(rendezvous));
    return result;
}

static int reach_host(const struct rendezvous_place *place, const char *host,
                      struct introduction *hello, uint64_t deadline)
{
    struct endpoint there = {.port = place->port};
    snprintf(there.host, sizeof(there.host), "%s", host);
    int left = deadline_left(deadline);
    int fd = endpoint_connect(&there, left < 0 || left > PROOF_MS ? PROOF_MS : left);
    if (fd < 0)
        return fd;
    int err = introduction_make(fd, place, hello);
    if (!err)
        return fd;
    close(fd);
    return err;
}

// Tries all names of the host. On the same kernel it tries the loopback address first, but a
// container there may have its own network. Returns -ECONNREFUSED only if all names refuse.
static int reach_place(const struct rendezvous_place *place, struct introduction *hello,
                       uint64_t deadline)
{
    uint8_t boot_id[CONTROL_BOOT_ID_BYTES];
    char hosts[sizeof(place->host) + 16], *rest = hosts;
    int fd = -EHOSTUNREACH, other = 0;
    bool near = !control_boot_id(boot_id) && !memcmp(boot_id, place->boot_id, sizeof(boot_id));
    snprintf(hosts, sizeof(hosts), "%s%s", near ? "127.0.0.1," : "", place->host);
    for (char *host; fd < 0 && (host = strsep(&rest, ","));) {
        fd = reach_host(place, host, hello, deadline);
        if (fd < 0 && fd != -ECONNREFUSED)
            other = fd;
    }
    return fd < 0 && other ? other : fd;
}

static void pause_rendezvous(void)
{
    struct timespec step = {.tv_nsec = RETRY_MS * 1000000L};
    nanosleep(&step, NULL);
}

// The leader sends the number of its first member.
static enum rgpu_result be_admitted(struct process_group *process_group, int fd)
{
    int32_t first = 0;
    process_group->others[process_group->other_count++] = (struct process){0, 1, fd};
    enum rgpu_result result = take_frame(&process_group->others[0], &first, sizeof(first));
    process_group->others[0].first = first;
    return result;
}

// Looks up the address of the process with member 0 and connects to it, if there is one. *FD: the
// connection, or -errno.
static enum rgpu_result process_group_follow(const char *name, unsigned tries,
                                             struct introduction *hello, uint64_t deadline, int *fd)
{
    struct rgpu_rendezvous rendezvous;
    struct rendezvous_place place;
    bool heard;
    *fd = -ENOENT;
    enum rgpu_result result = rendezvous_name_find(name, tries, deadline, &rendezvous, &heard);
    if (result || !heard || rendezvous_id_read(&rendezvous, &place))
        return result;
    *fd = reach_place(&place, hello, deadline);
    explicit_bzero(&place, sizeof(place));
    explicit_bzero(&rendezvous, sizeof(rendezvous));
    return RGPU_SUCCESS;
}

// The address found may belong to a process that is gone, so this tries again until the deadline.
static enum rgpu_result process_group_join(struct process_group *process_group, const char *name,
                                           uint64_t deadline)
{
    struct introduction hello = {.size = process_group->size,
                                 .first = process_group->first,
                                 .count = process_group->count};
    int fd;
    enum rgpu_result result = process_group_follow(name, 0, &hello, deadline, &fd);
    for (unsigned tries = 1; !result && fd < 0 && clock_ns() < deadline; tries++) {
        pause_rendezvous();
        result = process_group_follow(name, tries, &hello, deadline, &fd);
    }
    if (result)
        return result;
    if (fd < 0)
        return failure(RGPU_ERROR_LOST, "member 0 of team %s did not come in time (%s)", name,
                       strerror(-fd));
    return be_admitted(process_group, fd);
}

// Joins at an address that ends with its process: if it refuses, the process is gone.
static enum rgpu_result join_at(struct process_group *process_group,
                                const struct rendezvous_place *place, uint64_t deadline)
{
    struct introduction hello = {.size = process_group->size,
                                 .first = process_group->first,
                                 .count = process_group->count};
    int fd = reach_place(place, &hello, deadline);
    while (fd < 0 && fd != -ECONNREFUSED && clock_ns() < deadline) {
        pause_rendezvous();
        fd = reach_place(place, &hello, deadline);
    }
    if (fd == -ECONNREFUSED)
        return failure(RGPU_ERROR_LOST, "the process that the others are to meet is gone (%s:%u)",
                       place->host, place->port);
    if (fd < 0)
        return failure(RGPU_ERROR_LOST, "no rendezvous at %s:%u in time (%s)", place->host,
                       place->port, strerror(-fd));
    return be_admitted(process_group, fd);
}

static struct process_group *new_process_group(int size, int first, int count)
{
    struct process_group *made = calloc(1, sizeof(*made));
    if (!made)
        return NULL;
    made->size = size;
    made->first = first;
    made->count = count;
    return made;
}

// Processes have met when each has received data of all others.
static enum rgpu_result come_together(struct process_group *made, enum rgpu_result result,
                                      struct process_group **process_group)
{
    uint8_t nothing[RGPU_MEMBERS_MAX] = {0}, all[RGPU_MEMBERS_MAX];
    if (!result)
        result = process_group_exchange(made, nothing, all, 1);
    if (result)
        process_group_leave(&made);
    else
        *process_group = made;
    return result;
}

enum rgpu_result process_group_rendezvous(const char *name, int size, int first, int count,
                                          uint64_t deadline, struct process_group **process_group)
{
    struct process_group *made = new_process_group(size, first, count);
    if (!made)
        return failure(RGPU_ERROR_MEMORY, "no memory for a team");
    made->leads = !first;
    enum rgpu_result result = made->leads ? lead(made, name, deadline)
                                          : process_group_join(made, name, deadline);
    return come_together(made, result, process_group);
}

enum rgpu_result process_group_rendezvous_at(const struct rendezvous_place *place, int listener,
                                             int size, int first, int count, uint64_t deadline,
                                             struct process_group **process_group)
{
    struct process_group *made = new_process_group(size, first, count);
    if (!made)
        return failure(RGPU_ERROR_MEMORY, "no memory for a team");
    made->leads = listener >= 0;
    enum rgpu_result result = made->leads ? wait_for_others(made, place, listener, deadline)
                                          : join_at(made, place, deadline);
    return come_together(made, result, process_group);
}

// ---- exchanging data ----

static enum rgpu_result process_group_collect(struct process_group *process_group, char *all,
                                              size_t each)
{
    enum rgpu_result result = RGPU_SUCCESS;
    bool has_come[RGPU_MEMBERS_MAX] = {false};
    for (int missing = process_group->other_count; missing && !result;) {
        struct pollfd pollers[RGPU_MEMBERS_MAX];
        for (int i = 0; i < process_group->other_count; i++)
            pollers[i] = (struct pollfd){.fd = has_come[i] ? -1 : process_group->others[i].fd,
                                         .events = POLLIN};
        poll(pollers, (nfds_t)process_group->other_count, -1);
        for (int i = 0; i < process_group->other_count && !result; i++) {
            const struct process *other = &process_group->others[i];
            if (has_come[i] || !pollers[i].revents)
                continue;
            result =
                take_frame(other, all + (size_t)other->first * each, (size_t)other->count * each);
            has_come[i] = true;
            missing--;
        }
    }
    return result;
}

static enum rgpu_result process_group_give(struct process_group *process_group, const void *all,
                                           size_t size)
{
    for (int i = 0; i < process_group->other_count; i++)
        if (process_group_send_frame(process_group->others[i].fd, FRAME_ALL, all, size))
            return process_group_gone(&process_group->others[i]);
    return RGPU_SUCCESS;
}

enum rgpu_result process_group_exchange(struct process_group *process_group, const void *own,
                                        void *all, size_t each)
{
    size_t mine = (size_t)process_group->count * each, whole = (size_t)process_group->size * each;
    enum rgpu_result result;
    memcpy((char *)all + (size_t)process_group->first * each, own, mine);
    if (process_group->leads) {
        result = process_group_collect(process_group, all, each);
        return result ? result : process_group_give(process_group, all, whole);
    }
    if (process_group_send_frame(process_group->others[0].fd, FRAME_ALL, own, mine))
        return process_group_gone(&process_group->others[0]);
    return take_frame(&process_group->others[0], all, whole);
}

static enum rgpu_result process_group_look_at(const struct process *process)
{
    struct frame_head head;
    ssize_t got = recv(process->fd, &head, sizeof(head), MSG_PEEK | MSG_DONTWAIT);
    if (!got || (got < 0 && errno != EAGAIN && errno != EINTR))
        return process_group_gone(process);
    if (got < (ssize_t)sizeof(head) || head.kind != FRAME_LOST)
        return RGPU_SUCCESS;
    return bytes_take(process->fd, &head, sizeof(head), UINT64_MAX) ? process_group_gone(process)
                                                                    : take_lost(process, head.size);
}

enum rgpu_result process_group_stands(struct process_group *process_group)
{
    enum rgpu_result result = RGPU_SUCCESS;
    for (int i = 0; i < process_group->other_count && !result; i++)
        result = process_group_look_at(&process_group->others[i]);
    return result;
}

void process_group_lose(struct process_group *process_group, const char *why)
{
    for (int i = 0; i < process_group->other_count; i++)
        process_group_send_frame(process_group->others[i].fd, FRAME_LOST, why,
                                 strnlen(why, TEXT_MAX - 1));
}

void process_group_leave(struct process_group **process_group)
{
    for (int i = 0; i < (*process_group)->other_count; i++)
        close((*process_group)->others[i].fd);
    free(*process_group);
    *process_group = NULL;
}
