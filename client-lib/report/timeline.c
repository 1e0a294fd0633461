// SPDX-License-Identifier: BSD-3-Clause
// The timeline that RGPU_TRACE asks for, in the array form of the Trace Event Format that Chrome's
// about:tracing and Perfetto read. The array needs no end, so what a killed process has written can be
// read as well.
#include "client-lib/report/timeline.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "client-lib/report/tell.h"
#include "common/scope.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *file;

// PATTERN with each %p replaced by the process's number.
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

static void write_text(const char *text)
{
    putc('"', file);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c >= 0x7f)
            fprintf(file, "\\u%04x", c);
        else
            fprintf(file, c == '"' || c == '\\' ? "\\%c" : "%c", c);
    }
    putc('"', file);
}

// The file NAME for this process alone; where another one is writing it, NAME.PID.
static int open_own(const char *name)
{
    char *other = NULL;
    int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        if (asprintf(&other, "%s.%d", name, (int)getpid()) < 0)
            return -1;
        fd = open(other, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
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
    SCOPED_FD int fd = name ? open_own(name) : -1;
    file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file) {
        tell("RGPU_TRACE: cannot write %s: %s; there will be no timeline", name ? name : pattern,
             strerror(errno));
        return false;
    }
    fd = -1; // the file's
    fprintf(file, "[\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"name\":",
            (int)getpid());
    write_text(program_invocation_short_name);
    fprintf(file, "}}");
    fflush(file); // the child of a fork must have nothing to write
    return true;
}

static const char *category(const struct timeline_event *event)
{
    return !event->op ? "wait" : event->kernel[0] ? "kernel" : event->bytes ? "copy" : "call";
}

static void write_event(const struct timeline_event *event, int tid)
{
    const char *name = event->op ? cuda_op_name(event->op)
                                 : wait_name((enum watch_wait)event->wait);
    fprintf(file,
            ",\n{\"name\":\"%s\",\"cat\":\"%s\",\"ph\":\"X\",\"ts\":%.3f,\"dur\":%.3f,\"pid\":%d,"
            "\"tid\":%d,\"args\":{",
            name, category(event), (double)event->began / 1e3,
            (double)(event->ended - event->began) / 1e3, (int)getpid(), tid);
    if (event->op)
        fprintf(file, "\"result\":%d", event->result);
    if (event->bytes)
        fprintf(file, ",\"bytes\":%llu", (unsigned long long)event->bytes);
    if (event->kernel[0]) {
        fprintf(file, ",\"kernel\":");
        write_text(event->kernel);
        fprintf(file, ",\"grid\":[%u,%u,%u],\"block\":[%u,%u,%u]", event->grid[0], event->grid[1],
                event->grid[2], event->block[0], event->block[1], event->block[2]);
    }
    fprintf(file, "}}");
}

void timeline_write(struct thread_counts *thread)
{
    SCOPED_LOCK(&lock);
    for (uint32_t i = 0; file && i < thread->event_count; i++)
        write_event(&thread->events[i], thread->tid);
    thread->event_count = 0;
    // What is in the file then stays there when the process is killed.
    if (file && fflush(file) != 0) {
        tell("RGPU_TRACE: the timeline ends here: %s", strerror(errno));
        fclose(file);
        file = NULL;
    }
}

void timeline_close(void)
{
    SCOPED_LOCK(&lock);
    if (!file)
        return;
    fprintf(file, "\n]\n");
    if (fclose(file) != 0)
        tell("RGPU_TRACE: the end of the timeline is missing: %s", strerror(errno));
    file = NULL;
}
