// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/cuda/report/timeline.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "client-lib/cuda/report/tell.h"
#include "client-lib/cuda/report/timeline_text.h"
#include "common/base/clock.h"
#include "common/base/descriptor.h"
#include "common/base/quiet_thread.h"
#include "common/base/scope.h"

// Limit of buffers handed over and not yet written: threads that are faster than the disk wait
// then.
enum { WAITING_MAX = 64, COLLECT_MS = 250 };

static uint64_t (*_Atomic collect)(void);

static struct {
    pthread_mutex_t lock;
    pthread_cond_t handed_over, written;
    struct timeline_buffer *first, **end; // to be written, oldest first
    struct timeline_buffer *empty;
    size_t waiting;
    bool running, stopping;
    pthread_t writer;
} timeline = {.lock = PTHREAD_MUTEX_INITIALIZER,
              .handed_over = PTHREAD_COND_INITIALIZER,
              .written = PTHREAD_COND_INITIALIZER,
              .end = &timeline.first};

// Returns PATTERN with each %p replaced by the process's number.
static char *name_from(const char *pattern)
{
    char *name = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&name, &size);
    if (!out)
        return NULL;
    for (const char *at = pattern; *at; at++) {
        if (at[0] == '%' && at[1] == 'p')
            fprintf(out, "%d", (int)getpid());
        else
            putc(*at, out);
        at += at[0] == '%' && at[1] == 'p';
    }
    return fclose(out) == 0 ? name : NULL;
}

// Opens the file without waiting: a pipe without a reader is an error (ENXIO).
static int open_now(const char *name)
{
    int fd =
        descriptor_own(open(name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666));
    if (fd >= 0)
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    return fd;
}

// Opens the file NAME for this process alone, or NAME.PID if another process writes NAME.
static int open_own(const char *name)
{
    char *other = NULL;
    int fd = open_now(name);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        if (asprintf(&other, "%s.%d", name, (int)getpid()) < 0)
            return -1;
        fd = open_now(other);
        free(other);
    }
    if (fd >= 0 && ftruncate(fd, 0) != 0 && errno != EINVAL) { // EINVAL: a pipe
        close(fd);
        return -1;
    }
    return fd;
}

bool timeline_open(const char *pattern)
{
    SCOPED_FREE char *name = name_from(pattern);
    int fd = name ? open_own(name) : -1;
    if (fd < 0) {
        tell("RGPU_TRACE: cannot write %s: %s; there will be no timeline", name ? name : pattern,
             strerror(errno));
        return false;
    }
    timeline_text_begin(fd);
    return true;
}

static uint64_t collect_work(void)
{
    uint64_t (*function)(void) = atomic_load(&collect);
    return function ? function() : 0;
}

void timeline_collects(uint64_t (*function)(void))
{
    atomic_store(&collect, function);
}

void timeline_worked(void *unused, const struct wire_activity *work, const char *name)
{
    (void)unused;
    timeline_text_work(work, name);
}

// Collects the GPUs' work from time to time, and when the program ends. A box flushes its GPU's
// records for that while the program's calls wait.
static void collect_if_due(void)
{
    static int64_t collected_ms; // used by the writer only
    int64_t now = clock_ms();
    if (now - collected_ms < COLLECT_MS)
        return;
    collect_work();
    collected_ms = clock_ms();
}

// Writes the oldest buffer. The caller holds the lock, which is released meanwhile.
static void write_oldest(void)
{
    struct timeline_buffer *buffer = timeline.first;
    timeline.first = buffer->next;
    if (!timeline.first)
        timeline.end = &timeline.first;
    pthread_mutex_unlock(&timeline.lock);
    timeline_text_add(buffer);
    collect_if_due();
    pthread_mutex_lock(&timeline.lock);
    buffer->next = timeline.empty;
    timeline.empty = buffer;
    timeline.waiting--;
    pthread_cond_broadcast(&timeline.written);
}

static void *timeline_write_all(void *unused)
{
    (void)unused;
    SCOPED_LOCK(&timeline.lock);
    while (timeline.first || !timeline.stopping)
        if (timeline.first)
            write_oldest();
        else
            pthread_cond_wait(&timeline.handed_over, &timeline.lock);
    return NULL;
}

// The thread starts with the first full buffer: many programs end before that.
static void start_writer(void)
{
    timeline.running = quiet_thread_start(&timeline.writer, timeline_write_all, NULL) == 0;
}

struct timeline_buffer *timeline_take(void)
{
    struct timeline_buffer *buffer;
    {
        SCOPED_LOCK(&timeline.lock);
        while (timeline.running && timeline.waiting >= WAITING_MAX &&
               !pthread_equal(pthread_self(), timeline.writer))
            pthread_cond_wait(&timeline.written, &timeline.lock);
        buffer = timeline.empty;
        if (buffer)
            timeline.empty = buffer->next;
    }
    if (!buffer)
        buffer = malloc(sizeof(*buffer));
    if (buffer) {
        buffer->next = NULL;
        buffer->tid = gettid();
        buffer->count = 0;
    }
    return buffer;
}

void timeline_hand_over(struct timeline_buffer **pointer)
{
    struct timeline_buffer *buffer = *pointer;
    *pointer = NULL;
    SCOPED_LOCK(&timeline.lock);
    if (timeline.stopping)
        return; // too late: the thread that ends the process may be reading the buffer
    *timeline.end = buffer;
    timeline.end = &buffer->next;
    timeline.waiting++;
    if (!timeline.running)
        start_writer();
    pthread_cond_signal(&timeline.handed_over);
}

void timeline_close(const struct thread_counts *threads)
{
    pthread_mutex_lock(&timeline.lock);
    timeline.stopping = true;
    pthread_cond_signal(&timeline.handed_over);
    bool running = timeline.running;
    pthread_mutex_unlock(&timeline.lock);
    if (running)
        pthread_join(timeline.writer, NULL);
    else
        timeline_write_all(NULL);
    for (const struct thread_counts *at = threads; at; at = at->next)
        if (at->buffer)
            timeline_text_add(at->buffer);
    uint64_t lost = collect_work();
    if (lost)
        tell(
            "RGPU_TRACE: %llu records of what GPUs did were lost, as there were too many at a time",
            (unsigned long long)lost);
    timeline_text_end();
}
