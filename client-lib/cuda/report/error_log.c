// SPDX-License-Identifier: BSD-3-Clause
// See error_log.h.
#include "client-lib/cuda/report/error_log.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/descriptor.h"
#include "common/base/uncancelled.h"
#include "common/driver/error.h"
#include "common/base/scope.h"
#include "cuda_ops.h"

enum { MESSAGES = 100, TEXT_MAX = 128, LINE_MAX_BYTES = TEXT_MAX + 64, LISTENERS = 64 };

struct logged_error {
    struct timespec when;
    pthread_t thread; // the driver's names of the levels
    char text[TEXT_MAX];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // protects the messages and their number
static struct logged_error messages[MESSAGES];
static unsigned int count; // of all messages so far

// A callback may fail in calls of its own, or unregister; it gets no messages about its own
// failures.
struct error_listener {
    CUlogsCallback callback; // NULL: the entry is free
    void *data;
};
static pthread_mutex_t listening = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static struct error_listener listeners[LISTENERS];
static _Atomic unsigned int listener_count;
static __thread bool telling;

static void tell_listeners(const char *text)
{
    char copy[TEXT_MAX];

    if (telling || !atomic_load(&listener_count))
        return;
    telling = true;
    SCOPED_LOCK(&listening);
    for (int i = 0; i < LISTENERS; i++) {
        if (!listeners[i].callback)
            continue;
        memcpy(copy, text, sizeof(copy));
        listeners[i].callback(listeners[i].data, CU_LOG_LEVEL_ERROR, copy, strlen(copy));
    }
    telling = false;
}

static size_t write_line(const struct logged_error *message, char *line)
{
    struct tm at;

    localtime_r(&message->when.tv_sec, &at);
    return (size_t)snprintf(line, LINE_MAX_BYTES, "[%02d:%02d:%02d.%03ld][%lu][CUDA][E] %s\n",
                            at.tm_hour, at.tm_min, at.tm_sec, message->when.tv_nsec / 1000000,
                            (unsigned long)message->thread, message->text);
}

// Writes each message at once to the file that CUDA_LOG_FILE names, to stdout or to stderr. The
// caller holds the lock.
static void write_at_once(const struct logged_error *message)
{
    static bool asked;
    static FILE *file;
    char line[LINE_MAX_BYTES];

    if (!asked) {
        const char *name = secure_getenv("CUDA_LOG_FILE");
        asked = true;
        file = !name || !*name               ? NULL
               : strcmp(name, "stdout") == 0 ? stdout
               : strcmp(name, "stderr") == 0 ? stderr
                                             : descriptor_open_file(name, "w");
    }
    if (!file)
        return;
    write_line(message, line);
    fputs(line, file);
    fflush(file);
}

CUresult error_log_failed(unsigned int op, CUresult result)
{
    SCOPED_UNCANCELLED;
    const char *name = cuda_error_name(result);
    struct logged_error message = {.thread = pthread_self()};

    clock_gettime(CLOCK_REALTIME, &message.when);
    snprintf(message.text, sizeof(message.text), "Returning %d (%s) from %s", (int)result,
             name ? name : "unknown", cuda_op_name((enum cuda_op)op));
    pthread_mutex_lock(&lock);
    messages[count++ % MESSAGES] = message;
    write_at_once(&message);
    pthread_mutex_unlock(&lock);
    tell_listeners(message.text);
    return result;
}

CUlogIterator error_log_next(void)
{
    SCOPED_LOCK(&lock);
    return count;
}

// ---- reading ----

// Returns the first message from *FROM on that is still kept. LOST: some are not. The caller holds
// the lock.
static unsigned int error_log_first_of(const CUlogIterator *from, bool *lost)
{
    unsigned int kept = count < MESSAGES ? 0 : count - MESSAGES;
    unsigned int first = from ? *from : 0;

    *lost = first < kept;
    first = *lost ? kept : first;
    return first < count ? first : count;
}

static const char LOST[] =
    "The provided buffer is not large enough to hold all messages. Some messages will be missing\n";

CUresult error_log_read(CUlogIterator *from, char *buffer, size_t *size)
{
    char line[LINE_MAX_BYTES];
    bool lost;

    SCOPED_LOCK(&lock);
    if (from && *from > count) {
        *size = 0;
        return CUDA_ERROR_INVALID_VALUE;
    }
    unsigned int first = error_log_first_of(from, &lost), start = count;
    size_t head = sizeof(LOST) - 1, used = 0, need = 0;
    // Writes the latest messages that fit. If some do not, a line that says so comes first.
    while (start > first) {
        need += write_line(&messages[(start - 1) % MESSAGES], line);
        if (need + (start - 1 > first || lost ? head : 0) >= *size)
            break;
        start--;
    }
    if (first < count && start == count) {
        *size = 0;
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (start > first || (lost && start < count)) {
        memcpy(buffer, LOST, head);
        used = head;
    }
    for (; start < count; start++) {
        size_t length = write_line(&messages[start % MESSAGES], line);
        memcpy(buffer + used, line, length);
        used += length;
    }
    if (*size)
        buffer[used] = 0;
    *size = used;
    if (from)
        *from = count;
    return CUDA_SUCCESS;
}

CUresult error_log_print(CUlogIterator *from, FILE *out)
{
    char line[LINE_MAX_BYTES];
    bool lost;

    SCOPED_LOCK(&lock);
    if (from && *from > count)
        return CUDA_ERROR_INVALID_VALUE;
    unsigned int at = error_log_first_of(from, &lost);
    if (lost)
        fputs(LOST, out);
    for (; at < count; at++) {
        write_line(&messages[at % MESSAGES], line);
        fputs(line, out);
    }
    if (from)
        *from = count;
    return ferror(out) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

// ---- listening ----

CUlogsCallbackHandle error_log_listen(CUlogsCallback callback, void *data)
{
    SCOPED_LOCK(&listening);
    for (int i = 0; i < LISTENERS; i++) {
        if (listeners[i].callback)
            continue;
        listeners[i] = (struct error_listener){callback, data};
        atomic_fetch_add(&listener_count, 1);
        return (CUlogsCallbackHandle)(void *)&listeners[i];
    }
    return NULL;
}

CUresult error_log_unlisten(CUlogsCallbackHandle handle)
{
    SCOPED_LOCK(&listening);
    for (int i = 0; i < LISTENERS; i++) {
        if ((void *)handle != &listeners[i] || !listeners[i].callback)
            continue;
        listeners[i].callback = NULL;
        atomic_fetch_sub(&listener_count, 1);
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}
