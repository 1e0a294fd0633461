// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/report/timeline_text.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "client-lib/report/tell.h"

enum {
    ROOM = 1 << 16,
    EVENT_MAX = 1024, // what one event takes at most; a kernel's name six bytes a letter
};

static struct {
    int fd; // -1: writing has failed
    int pid;
    size_t used;
    char text[ROOM];
} out = {.fd = -1};

static void write_out(void)
{
    for (size_t done = 0; out.fd >= 0 && done < out.used;) {
        ssize_t n = write(out.fd, out.text + done, out.used - done);
        if (n > 0) {
            done += (size_t)n;
        } else if (n == 0 || errno != EINTR) {
            tell("RGPU_TRACE: the timeline ends here: %s", strerror(n ? errno : EIO));
            close(out.fd);
            out.fd = -1;
        }
    }
    out.used = 0;
}

static void put(const char *text)
{
    size_t size = strlen(text);
    memcpy(out.text + out.used, text, size);
    out.used += size;
}

static void put_number(uint64_t number)
{
    char digits[20];
    size_t count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while (number /= 10);
    while (count)
        out.text[out.used++] = digits[--count];
}

// Microseconds, as the format has them, with the nanoseconds behind the point.
static void put_us(uint64_t ns)
{
    put_number(ns / 1000);
    out.text[out.used++] = '.';
    for (unsigned int unit = 100; unit; unit /= 10)
        out.text[out.used++] = (char)('0' + ns / unit % 10);
}

static void put_quoted(const char *text)
{
    static const char hex[] = "0123456789abcdef";

    out.text[out.used++] = '"';
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c >= 0x7f) {
            put("\\u00");
            out.text[out.used++] = hex[c >> 4];
            out.text[out.used++] = hex[c & 15];
            continue;
        }
        if (c == '"' || c == '\\')
            out.text[out.used++] = '\\';
        out.text[out.used++] = (char)c;
    }
    out.text[out.used++] = '"';
}

static void put_three(const char *name, const uint32_t numbers[3])
{
    put(name);
    for (int i = 0; i < 3; i++) {
        out.text[out.used++] = i ? ',' : '[';
        put_number(numbers[i]);
    }
    out.text[out.used++] = ']';
}

static const char *category(const struct timeline_event *event)
{
    return !event->op ? "wait" : event->kernel[0] ? "kernel" : event->bytes ? "copy" : "call";
}

static void put_event(const struct timeline_event *event, int tid)
{
    put(",\n{\"name\":\"");
    put(event->op ? cuda_op_name(event->op) : wait_name((enum watch_wait)event->wait));
    put("\",\"cat\":\"");
    put(category(event));
    put("\",\"ph\":\"X\",\"ts\":");
    put_us(event->began);
    put(",\"dur\":");
    put_us(event->ended - event->began);
    put(",\"pid\":");
    put_number((uint64_t)out.pid);
    put(",\"tid\":");
    put_number((uint64_t)tid);
    put(",\"args\":{");
    if (event->op) {
        put("\"result\":");
        put_number((uint64_t)event->result);
    }
    if (event->bytes) {
        put(",\"bytes\":");
        put_number(event->bytes);
    }
    if (event->kernel[0]) {
        put(",\"kernel\":");
        put_quoted(event->kernel);
        put_three(",\"grid\":", event->grid);
        put_three(",\"block\":", event->block);
    }
    put("}}");
}

void timeline_text_begin(int fd)
{
    out.fd = fd;
    out.pid = (int)getpid();
    put("[\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":");
    put_number((uint64_t)out.pid);
    put(",\"args\":{\"name\":");
    put_quoted(program_invocation_short_name);
    put("}}");
    write_out();
}

bool timeline_text_add(const struct timeline_buffer *buffer)
{
    for (uint32_t i = 0; out.fd >= 0 && i < buffer->count; i++) {
        put_event(&buffer->events[i], buffer->tid);
        if (out.used > ROOM - EVENT_MAX)
            write_out();
    }
    write_out();
    return out.fd >= 0;
}

void timeline_text_end(void)
{
    put("\n]\n");
    write_out();
    if (out.fd >= 0 && close(out.fd) != 0)
        tell("RGPU_TRACE: the end of the timeline is missing: %s", strerror(errno));
    out.fd = -1;
}
