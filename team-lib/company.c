// SPDX-License-Identifier: BSD-3-Clause
#include "team-lib/company.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/descriptor.h"
#include "common/endpoint.h"
#include "common/scope.h"
#include "team-lib/company_bytes.h"
#include "team-lib/meeting_name.h"
#include "team-lib/newcomers.h"

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

struct company {
    int size, first, count;
    bool leads;
    struct process others[RGPU_MEMBERS_MAX]; // of the one that leads: all; of others: that one
    int other_count;
};

// ---- frames ----

static int send_frame(int fd, enum frame_kind kind, const void *data, size_t size)
{
    struct frame_head head = {kind, (uint32_t)size};
    int err = bytes_send(fd, &head, sizeof(head), UINT64_MAX);
    return err ? err : bytes_send(fd, data, size, UINT64_MAX);
}

static enum rgpu_result gone(const struct process *process)
{
    return failure(RGPU_ERROR_LOST, "the process of member %d is gone", process->first);
}

static enum rgpu_result take_lost(const struct process *process, size_t size)
{
    char text[TEXT_MAX] = "";
    if (size >= sizeof(text) || bytes_take(process->fd, text, size, UINT64_MAX))
        return gone(process);
    return failure(RGPU_ERROR_LOST, "%s", text);
}

static enum rgpu_result take_frame(const struct process *process, void *data, size_t size)
{
    struct frame_head head;
    if (bytes_take(process->fd, &head, sizeof(head), UINT64_MAX))
        return gone(process);
    if (head.kind == FRAME_LOST)
        return take_lost(process, head.size);
    if (head.kind != FRAME_ALL || head.size != size)
        return failure(RGPU_ERROR_LOST,
                       "the process of member %d does not make the same calls as this one",
                       process->first);
    return bytes_take(process->fd, data, size, UINT64_MAX) ? gone(process) : RGPU_SUCCESS;
}

// ---- meeting ----

static bool overlap(int a, int a_count, int b, int b_count)
{
    return a < b + b_count && b < a + a_count;
}

// Why a process is not of this team; NULL: it is.
static const char *objection(const struct company *company, const struct introduction *hello)
{
    if (hello->size != company->size)
        return "the team of that name has another number of members";
    if (hello->first < 0 || hello->count < 1 || hello->first > company->size - hello->count)
        return "there are no such members";
    bool taken = overlap(hello->first, hello->count, company->first, company->count);
    for (int i = 0; i < company->other_count; i++)
        taken |=
            overlap(hello->first, hello->count, company->others[i].first, company->others[i].count);
    return taken ? "another process has one of these members" : NULL;
}

// FD is taken.
static void admit(struct company *company, const struct introduction *hello, int fd)
{
    const char *why = objection(company, hello);
    if (!why && !send_frame(fd, FRAME_ALL, &(int32_t){company->first}, sizeof(int32_t))) {
        company->others[company->other_count++] = (struct process){hello->first, hello->count, fd};
        return;
    }
    if (why)
        send_frame(fd, FRAME_LOST, why, strlen(why));
    close(fd);
}

static int members_here(const struct company *company)
{
    int here = company->count;
    for (int i = 0; i < company->other_count; i++)
        here += company->others[i].count;
    return here;
}

// Somebody comes to the listener or says something (1), one who had come has gone (-ECONNRESET, *WHO), or it is too late.
static int await_anybody(const struct company *company, const struct newcomers *newcomers,
                         int listener, uint64_t deadline, int *who)
{
    struct pollfd pollers[1 + RGPU_MEMBERS_MAX + NEWCOMERS_MAX] = {
        {.fd = listener, .events = POLLIN}};
    int others = company->other_count;
    for (int i = 0; i < others; i++)
        pollers[i + 1] = (struct pollfd){.fd = company->others[i].fd, .events = POLLRDHUP};
    newcomers_watch(newcomers, pollers + 1 + others);
    int ready = poll(pollers, (nfds_t)(1 + others + newcomers->count), deadline_left(deadline));
    for (*who = 0; ready > 0 && *who < others; ++*who)
        if (pollers[*who + 1].revents)
            return -ECONNRESET;
    return ready > 0 ? 1 : ready ? -errno : -ETIMEDOUT;
}

static enum rgpu_result meet_newcomers(struct company *company, const struct meeting_place *place,
                                       struct newcomers *newcomers, int listener, uint64_t deadline)
{
    while (members_here(company) < company->size) {
        struct introduction hello;
        int who, fd, ready = await_anybody(company, newcomers, listener, deadline, &who);
        if (ready == -ECONNRESET)
            return gone(&company->others[who]);
        if (ready == -ETIMEDOUT)
            return failure(RGPU_ERROR_LOST, "%d of %d members have come in time",
                           members_here(company), company->size);
        // What has been said is taken first, so that nobody is closed because we are late.
        while ((fd = newcomers_hear(newcomers, place, &hello)) >= 0)
            admit(company, &hello, fd);
        newcomers_accept(newcomers, listener);
    }
    return RGPU_SUCCESS;
}

static enum rgpu_result wait_for_others(struct company *company, const struct meeting_place *place,
                                        int listener, uint64_t deadline)
{
    struct newcomers newcomers;
    newcomers.count = 0;
    enum rgpu_result result = meet_newcomers(company, place, &newcomers, listener, deadline);
    newcomers_close(&newcomers);
    return result;
}

static enum rgpu_result lead(struct company *company, const char *name, uint64_t deadline)
{
    struct rgpu_meeting meeting;
    struct meeting_place place = {0};
    struct meeting_said *said = NULL;
    SCOPED_FD int listener = -1;
    enum rgpu_result result = meeting_id_make(&meeting, &listener);
    if (!result)
        result = meeting_name_say(name, &meeting, &said);
    if (!result)
        result = meeting_id_read(&meeting, &place);
    if (!result)
        result = wait_for_others(company, &place, listener, deadline);
    meeting_name_forget(&said);
    explicit_bzero(&place, sizeof(place));
    explicit_bzero(&meeting, sizeof(meeting));
    return result;
}

static int reach_host(const struct meeting_place *place, const char *host,
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

// Tries all names that the host goes by, and on the same kernel first itself: a container there may have a network of its own.
// That nobody listens (-ECONNREFUSED) is what all of them say.
static int reach_place(const struct meeting_place *place, struct introduction *hello,
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

static void pause_meeting(void)
{
    struct timespec step = {.tv_nsec = RETRY_MS * 1000000L};
    nanosleep(&step, NULL);
}

// The one that leads says which member it has.
static enum rgpu_result be_admitted(struct company *company, int fd)
{
    int32_t first = 0;
    company->others[company->other_count++] = (struct process){0, 1, fd};
    enum rgpu_result result = take_frame(&company->others[0], &first, sizeof(first));
    company->others[0].first = first;
    return result;
}

// Hears where the process with member 0 is and goes there, if there is one. *FD: the connection, or -errno.
static enum rgpu_result follow(const char *name, unsigned tries, struct introduction *hello,
                               uint64_t deadline, int *fd)
{
    struct rgpu_meeting meeting;
    struct meeting_place place;
    bool heard;
    *fd = -ENOENT;
    enum rgpu_result result = meeting_name_hear(name, tries, deadline, &meeting, &heard);
    if (result || !heard || meeting_id_read(&meeting, &place))
        return result;
    *fd = reach_place(&place, hello, deadline);
    explicit_bzero(&place, sizeof(place));
    explicit_bzero(&meeting, sizeof(meeting));
    return RGPU_SUCCESS;
}

// What is heard may be left of a process that is gone; the right one may still come.
static enum rgpu_result join(struct company *company, const char *name, uint64_t deadline)
{
    struct introduction hello = {.size = company->size,
                                 .first = company->first,
                                 .count = company->count};
    int fd;
    enum rgpu_result result = follow(name, 0, &hello, deadline, &fd);
    for (unsigned tries = 1; !result && fd < 0 && clock_ns() < deadline; tries++) {
        pause_meeting();
        result = follow(name, tries, &hello, deadline, &fd);
    }
    if (result)
        return result;
    if (fd < 0)
        return failure(RGPU_ERROR_LOST, "member 0 of team %s did not come in time (%s)", name,
                       strerror(-fd));
    return be_admitted(company, fd);
}

// At a place that is not left behind: nobody listens there only if the process is gone.
static enum rgpu_result join_at(struct company *company, const struct meeting_place *place,
                                uint64_t deadline)
{
    struct introduction hello = {.size = company->size,
                                 .first = company->first,
                                 .count = company->count};
    int fd = reach_place(place, &hello, deadline);
    while (fd < 0 && fd != -ECONNREFUSED && clock_ns() < deadline) {
        pause_meeting();
        fd = reach_place(place, &hello, deadline);
    }
    if (fd == -ECONNREFUSED)
        return failure(RGPU_ERROR_LOST, "the process that the others are to meet is gone (%s:%u)",
                       place->host, place->port);
    if (fd < 0)
        return failure(RGPU_ERROR_LOST, "no meeting at %s:%u in time (%s)", place->host,
                       place->port, strerror(-fd));
    return be_admitted(company, fd);
}

static struct company *new_company(int size, int first, int count)
{
    struct company *made = calloc(1, sizeof(*made));
    if (!made)
        return NULL;
    made->size = size;
    made->first = first;
    made->count = count;
    return made;
}

// All have come when all hear from each other.
static enum rgpu_result come_together(struct company *made, enum rgpu_result result,
                                      struct company **company)
{
    uint8_t nothing[RGPU_MEMBERS_MAX] = {0}, all[RGPU_MEMBERS_MAX];
    if (!result)
        result = company_exchange(made, nothing, all, 1);
    if (result)
        company_leave(&made);
    else
        *company = made;
    return result;
}

enum rgpu_result company_meet(const char *name, int size, int first, int count, uint64_t deadline,
                              struct company **company)
{
    struct company *made = new_company(size, first, count);
    if (!made)
        return failure(RGPU_ERROR_MEMORY, "no memory for a team");
    made->leads = !first;
    enum rgpu_result result = made->leads ? lead(made, name, deadline) : join(made, name, deadline);
    return come_together(made, result, company);
}

enum rgpu_result company_meet_at(const struct meeting_place *place, int listener, int size,
                                 int first, int count, uint64_t deadline, struct company **company)
{
    struct company *made = new_company(size, first, count);
    if (!made)
        return failure(RGPU_ERROR_MEMORY, "no memory for a team");
    made->leads = listener >= 0;
    enum rgpu_result result = made->leads ? wait_for_others(made, place, listener, deadline)
                                          : join_at(made, place, deadline);
    return come_together(made, result, company);
}

// ---- telling each other ----

static enum rgpu_result collect(struct company *company, char *all, size_t each)
{
    enum rgpu_result result = RGPU_SUCCESS;
    bool has_come[RGPU_MEMBERS_MAX] = {false};
    for (int missing = company->other_count; missing && !result;) {
        struct pollfd pollers[RGPU_MEMBERS_MAX];
        for (int i = 0; i < company->other_count; i++)
            pollers[i] =
                (struct pollfd){.fd = has_come[i] ? -1 : company->others[i].fd, .events = POLLIN};
        poll(pollers, (nfds_t)company->other_count, -1);
        for (int i = 0; i < company->other_count && !result; i++) {
            const struct process *other = &company->others[i];
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

static enum rgpu_result give(struct company *company, const void *all, size_t size)
{
    for (int i = 0; i < company->other_count; i++)
        if (send_frame(company->others[i].fd, FRAME_ALL, all, size))
            return gone(&company->others[i]);
    return RGPU_SUCCESS;
}

enum rgpu_result company_exchange(struct company *company, const void *own, void *all, size_t each)
{
    size_t mine = (size_t)company->count * each, whole = (size_t)company->size * each;
    enum rgpu_result result;
    memcpy((char *)all + (size_t)company->first * each, own, mine);
    if (company->leads) {
        result = collect(company, all, each);
        return result ? result : give(company, all, whole);
    }
    if (send_frame(company->others[0].fd, FRAME_ALL, own, mine))
        return gone(&company->others[0]);
    return take_frame(&company->others[0], all, whole);
}

static enum rgpu_result look_at(const struct process *process)
{
    struct frame_head head;
    ssize_t got = recv(process->fd, &head, sizeof(head), MSG_PEEK | MSG_DONTWAIT);
    if (!got || (got < 0 && errno != EAGAIN && errno != EINTR))
        return gone(process);
    if (got < (ssize_t)sizeof(head) || head.kind != FRAME_LOST)
        return RGPU_SUCCESS;
    return bytes_take(process->fd, &head, sizeof(head), UINT64_MAX) ? gone(process)
                                                                    : take_lost(process, head.size);
}

enum rgpu_result company_stands(struct company *company)
{
    enum rgpu_result result = RGPU_SUCCESS;
    for (int i = 0; i < company->other_count && !result; i++)
        result = look_at(&company->others[i]);
    return result;
}

void company_lose(struct company *company, const char *why)
{
    for (int i = 0; i < company->other_count; i++)
        send_frame(company->others[i].fd, FRAME_LOST, why, strnlen(why, TEXT_MAX - 1));
}

void company_leave(struct company **company)
{
    for (int i = 0; i < (*company)->other_count; i++)
        close((*company)->others[i].fd);
    free(*company);
    *company = NULL;
}
