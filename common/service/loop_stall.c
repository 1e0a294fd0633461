// SPDX-License-Identifier: BSD-3-Clause
#include "common/service/loop_stall.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/descriptor.h"
#include "common/base/log_limit.h"
#include "common/service/metrics.h"

static struct {
    bool on;
    pthread_t thread; // everything else is written by it alone
    int schedule;     // its /proc/thread-self/schedstat; -1: the kernel does not say
    uint64_t woke_ns, woke_delay_ns;
    uint64_t longest_ns, count;
} stall = {.schedule = -1};

// For how long the thread was ready to run and had no processor, since it began: the second number
// of the file.
static uint64_t delay_ns(void)
{
    char text[96], *end;
    ssize_t size = stall.schedule >= 0 ? pread(stall.schedule, text, sizeof(text) - 1, 0) : 0;

    if (size <= 0)
        return 0;
    text[size] = 0;
    strtoull(text, &end, 10);
    return strtoull(end, NULL, 10);
}

static void note_wake(void)
{
    stall.woke_ns = clock_ns();
    stall.woke_delay_ns = delay_ns();
}

static void note_wait(void)
{
    static struct log_limit limit = LOG_LIMIT(5, 60);
    const uint64_t logged_ns = LOOP_STALL_LOGGED_MS * UINT64_C(1000000);
    uint64_t away = stall.woke_ns ? clock_ns() - stall.woke_ns : 0;

    // The file is read again only if the figure may matter.
    if (away <= stall.longest_ns && away <= logged_ns)
        return;
    uint64_t delay = delay_ns() - stall.woke_delay_ns;
    away = delay < away ? away - delay : 0;
    if (away > stall.longest_ns)
        stall.longest_ns = away;
    if (away <= logged_ns)
        return;
    stall.count++;
    log_limited(
        &limit, LOG_LEVEL_WARN,
        "the event loop served nobody for some time stall_ms=%llu without_processor_ms=%llu",
        (unsigned long long)away / 1000000, (unsigned long long)delay / 1000000);
}

// libevent's, too.
__attribute__((visibility("default"))) int epoll_wait(int epfd, struct epoll_event *events,
                                                      int maxevents, int timeout)
{
    bool ours = stall.on && pthread_equal(stall.thread, pthread_self());

    if (ours)
        note_wait();
    int count = (int)syscall(SYS_epoll_pwait, epfd, events, maxevents, timeout, NULL, 0);
    int err = errno;
    if (ours)
        note_wake();
    errno = err;
    return count;
}

void loop_stall_start(void)
{
    stall.thread = pthread_self();
    stall.schedule = descriptor_own(open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC));
    stall.on = true;
}

uint64_t loop_stall_longest_ns(void)
{
    return stall.longest_ns;
}

uint64_t loop_stall_count(void)
{
    return stall.count;
}

void loop_stall_put(FILE *out, const char *before)
{
    char name[64];

    snprintf(name, sizeof(name), "%sloop_longest_stall_seconds", before);
    metrics_put(out, name, "gauge",
                "Longest time in which the event loop served nobody, since the start.",
                (double)stall.longest_ns * 1e-9);
    snprintf(name, sizeof(name), "%sloop_stalls_total", before);
    metrics_put(out, name, "counter", "Times of more than 100 ms in which it served nobody.",
                (double)stall.count);
}
