// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/cuda/report/timeline_text.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "client-lib/cuda/report/tell.h"
#include "common/base/scope.h"
#include "proto/cupti_abi.h"

enum {
    ROOM = 1 << 16,
    EVENT_MAX = 4096, // maximum for one event; each letter of a kernel's name may take six bytes
    NAME_SHOWN = 500, // maximum for a kernel's name that is the event's name
    ROWS_MAX = 1024,  // of GPUs and their streams that are named
    // Processes have smaller numbers, so a GPU's is its process's plus a multiple.
    GPU_PROCESS = 1 << 22,
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct {
    int fd; // -1: writing has failed
    int pid;
    size_t used;
    char text[ROOM];
} out = {.fd = -1};

static struct {
    uint32_t device, stream;
} rows[ROWS_MAX];
static size_t row_count;

static void timeline_text_write_out(void)
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

static void timeline_text_put(const char *text)
{
    size_t size = strlen(text);
    memcpy(out.text + out.used, text, size);
    out.used += size;
}

static void timeline_text_put_number(uint64_t number)
{
    char digits[20];
    size_t count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while (number /= 10);
    while (count)
        out.text[out.used++] = digits[--count];
}

// Writes a time in microseconds, as the format requires, with the nanoseconds after the point.
static void put_us(uint64_t ns)
{
    timeline_text_put_number(ns / 1000);
    out.text[out.used++] = '.';
    for (unsigned int unit = 100; unit; unit /= 10)
        out.text[out.used++] = (char)('0' + ns / unit % 10);
}

static void put_quoted(const char *text, size_t most)
{
    static const char hex[] = "0123456789abcdef";

    out.text[out.used++] = '"';
    for (; *text && most; text++, most--) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c >= 0x7f) {
            timeline_text_put("\\u00");
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
    timeline_text_put(name);
    for (int i = 0; i < 3; i++) {
        out.text[out.used++] = i ? ',' : '[';
        timeline_text_put_number(numbers[i]);
    }
    out.text[out.used++] = ']';
}

static const char *category(const struct timeline_event *event)
{
    return !event->op ? "wait" : event->kernel[0] ? "kernel" : event->bytes ? "copy" : "call";
}

// Writes one end of an arrow: `s` at the program's call NUMBER, `f` at its work on the GPU.
static void put_arrow(char end, uint64_t number, uint64_t process, uint64_t thread, uint64_t at)
{
    timeline_text_put(",\n{\"name\":\"to the GPU\",\"cat\":\"gpu\",\"ph\":\"");
    out.text[out.used++] = end;
    timeline_text_put(end == 'f' ? "\",\"bp\":\"e\",\"id\":\"" : "\",\"id\":\"");
    timeline_text_put_number((uint64_t)out.pid);
    timeline_text_put(".");
    timeline_text_put_number(number);
    timeline_text_put("\",\"ts\":");
    put_us(at);
    timeline_text_put(",\"pid\":");
    timeline_text_put_number(process);
    timeline_text_put(",\"tid\":");
    timeline_text_put_number(thread);
    timeline_text_put("}");
}

static void timeline_text_put_event(const struct timeline_event *event, int tid)
{
    timeline_text_put(",\n{\"name\":\"");
    timeline_text_put(event->op ? cuda_op_name(event->op)
                                : wait_name((enum watch_wait)event->wait));
    timeline_text_put("\",\"cat\":\"");
    timeline_text_put(category(event));
    timeline_text_put("\",\"ph\":\"X\",\"ts\":");
    put_us(event->began);
    timeline_text_put(",\"dur\":");
    put_us(event->ended - event->began);
    timeline_text_put(",\"pid\":");
    timeline_text_put_number((uint64_t)out.pid);
    timeline_text_put(",\"tid\":");
    timeline_text_put_number((uint64_t)tid);
    timeline_text_put(",\"args\":{");
    if (event->op) {
        timeline_text_put("\"result\":");
        timeline_text_put_number((uint64_t)event->result);
    }
    if (event->bytes) {
        timeline_text_put(",\"bytes\":");
        timeline_text_put_number(event->bytes);
    }
    if (event->kernel[0]) {
        timeline_text_put(",\"kernel\":");
        put_quoted(event->kernel, SIZE_MAX);
        put_three(",\"grid\":", event->grid);
        put_three(",\"block\":", event->block);
    }
    timeline_text_put("}}");
    if (event->number)
        put_arrow('s', event->number, (uint64_t)out.pid, (uint64_t)tid, event->began);
}

// ---- work of GPUs ----

static uint64_t gpu_process(uint32_t device)
{
    return (uint64_t)GPU_PROCESS * (device + 1) + (uint64_t)out.pid;
}

static void put_label(const char *kind, uint64_t process, uint64_t thread, const char *text,
                      uint32_t number)
{
    timeline_text_put(",\n{\"name\":\"");
    timeline_text_put(kind);
    timeline_text_put("\",\"ph\":\"M\",\"pid\":");
    timeline_text_put_number(process);
    timeline_text_put(",\"tid\":");
    timeline_text_put_number(thread);
    timeline_text_put(",\"args\":{\"name\":\"");
    timeline_text_put(text);
    timeline_text_put_number(number);
    timeline_text_put("\"}}");
}

// Writes the names of a GPU and a stream before their first event.
static void name_row(uint32_t device, uint32_t stream)
{
    bool known = false;
    for (size_t i = 0; i < row_count; i++) {
        known |= rows[i].device == device;
        if (rows[i].device == device && rows[i].stream == stream)
            return;
    }
    if (row_count == ROWS_MAX)
        return;
    rows[row_count].device = device;
    rows[row_count++].stream = stream;
    if (!known)
        put_label("process_name", gpu_process(device), 0, "GPU ", device);
    put_label("thread_name", gpu_process(device), stream, "stream ", stream);
}

static const char *copy_name(unsigned int copy)
{
    switch ((enum cupti_copy)copy) {
    case CUPTI_COPY_HTOD: return "copy to GPU";
    case CUPTI_COPY_DTOH: return "copy from GPU";
    case CUPTI_COPY_DTOD: return "copy on GPU";
    case CUPTI_COPY_HTOH: return "copy in host memory";
    case CUPTI_COPY_PTOP: return "copy between GPUs";
    }
    return "copy";
}

static void put_work(const struct wire_activity *work, const char *name)
{
    timeline_text_put(",\n{\"name\":");
    if (work->kind == WIRE_ACTIVITY_KERNEL)
        put_quoted(*name ? name : "(kernel without a name)", NAME_SHOWN);
    else
        put_quoted(work->kind == WIRE_ACTIVITY_SET ? "set" : copy_name(work->copy), SIZE_MAX);
    timeline_text_put(",\"cat\":\"gpu\",\"ph\":\"X\",\"ts\":");
    put_us(work->start);
    timeline_text_put(",\"dur\":");
    put_us(work->end > work->start ? work->end - work->start : 0);
    timeline_text_put(",\"pid\":");
    timeline_text_put_number(gpu_process(work->device));
    timeline_text_put(",\"tid\":");
    timeline_text_put_number(work->stream);
    timeline_text_put(",\"args\":{\"call\":");
    timeline_text_put_number(work->correlation);
    if (work->kind == WIRE_ACTIVITY_KERNEL) {
        put_three(",\"grid\":", work->kernel.grid);
        put_three(",\"block\":", work->kernel.block);
        timeline_text_put(",\"registers\":");
        timeline_text_put_number(work->kernel.registers);
        timeline_text_put(",\"shared\":");
        timeline_text_put_number((uint64_t)work->kernel.static_shared +
                                 work->kernel.dynamic_shared);
    } else {
        timeline_text_put(",\"bytes\":");
        timeline_text_put_number(work->move.bytes);
    }
    if (work->graph) {
        timeline_text_put(",\"graph\":");
        timeline_text_put_number(work->graph);
    }
    timeline_text_put("}}");
}

void timeline_text_work(const struct wire_activity *work, const char *name)
{
    SCOPED_LOCK(&lock);
    if (out.fd < 0)
        return;
    name_row(work->device, work->stream);
    put_work(work, name);
    if (work->correlation)
        put_arrow('f', work->correlation, gpu_process(work->device), work->stream, work->start);
    if (out.used > ROOM - EVENT_MAX)
        timeline_text_write_out();
}

void timeline_text_begin(int fd)
{
    out.fd = fd;
    out.pid = (int)getpid();
    timeline_text_put("[\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":");
    timeline_text_put_number((uint64_t)out.pid);
    timeline_text_put(",\"args\":{\"name\":");
    put_quoted(program_invocation_short_name, NAME_SHOWN);
    timeline_text_put("}}");
    timeline_text_write_out();
}

bool timeline_text_add(const struct timeline_buffer *buffer)
{
    SCOPED_LOCK(&lock);
    for (uint32_t i = 0; out.fd >= 0 && i < buffer->count; i++) {
        timeline_text_put_event(&buffer->events[i], buffer->tid);
        if (out.used > ROOM - EVENT_MAX)
            timeline_text_write_out();
    }
    timeline_text_write_out();
    return out.fd >= 0;
}

void timeline_text_end(void)
{
    SCOPED_LOCK(&lock);
    timeline_text_put("\n]\n");
    timeline_text_write_out();
    if (out.fd >= 0 && close(out.fd) != 0)
        tell("RGPU_TRACE: the end of the timeline is missing: %s", strerror(errno));
    out.fd = -1;
}
