// SPDX-License-Identifier: BSD-3-Clause
// Functions built into every device: printf, assert, malloc and free.
#include "common/base/scope.h"
#include "sim/ptx/run/exec.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_STRING 4096
#define MAX_OUTPUT 65536

static uint64_t device_functions_argument(struct warp *w, const struct insn *in, unsigned lane,
                                          unsigned index)
{
    const struct call_op *call = in->call;
    uint64_t value = 0;

    if (index < call->arg_count)
        memcpy(&value, lane_local(w, lane) + w->frame->local_base + call->args[index],
               call->arg_sizes[index] < 8 ? call->arg_sizes[index] : 8);
    return value;
}

static void device_functions_give_result(struct warp *w, const struct insn *in, unsigned lane,
                                         uint64_t value)
{
    const struct call_op *call = in->call;

    if (call->ret_count)
        memcpy(lane_local(w, lane) + w->frame->local_base + call->rets[0], &value,
               call->ret_sizes[0] < 8 ? call->ret_sizes[0] : 8);
}

// Reads a string in device memory. Returns NULL if it is not readable.
static const char *device_string(struct warp *w, unsigned lane, uint64_t address, char *buf,
                                 size_t size)
{
    size_t room, n;
    const char *text = memory_at(w, lane, address, &room);

    if (!text)
        return NULL;
    n = strnlen(text, room < size - 1 ? room : size - 1);
    memcpy(buf, text, n);
    buf[n] = 0;
    return buf;
}

struct printer {
    struct warp *w;
    unsigned lane;
    uint64_t args; // address of the next argument
    bool bad;
    char *out;
    size_t used;
    int conversions;
};

// Reads the next argument. Arguments lie as in a C structure: 4 or 8 bytes, aligned to their size.
static uint64_t next_argument(struct printer *p, unsigned size)
{
    uint64_t value = 0, at = (p->args + size - 1) & ~(uint64_t)(size - 1);
    size_t room;
    const char *from = memory_at(p->w, p->lane, at, &room);

    if (!from || room < size) {
        p->bad = true;
        return 0;
    }
    memcpy(&value, from, size);
    p->args = at + size;
    return value;
}

static void device_functions_put(struct printer *p, const char *text, size_t n)
{
    if (n > MAX_OUTPUT - p->used)
        n = MAX_OUTPUT - p->used;
    memcpy(p->out + p->used, text, n);
    p->used += n;
}

struct format_spec {
    char spec[32]; // conversion for the host's printf, without length and letter
    size_t length;
    unsigned size; // of integer arguments
    char letter;
};

// Reads a conversion after its '%'; widths may be arguments.
static const char *parse_conversion(struct printer *p, const char *f, struct format_spec *c)
{
    size_t n = 0;

    memset(c, 0, sizeof(*c));
    c->spec[n++] = '%';
    c->size = 4;
    while (*f && strchr("-+ #0123456789.*", *f)) {
        if (*f == '*') {
            int32_t width = (int32_t)next_argument(p, 4);

            if (width > 1000)
                width = 1000;
            if (width < -1000)
                width = -1000;
            if (n < 20)
                n += (size_t)snprintf(c->spec + n, sizeof(c->spec) - n, "%d", width);
        } else if (n < 20) {
            c->spec[n++] = *f;
        }
        f++;
    }
    for (; *f && strchr("hlLqjzt", *f); f++)
        if (*f != 'h' && *f != 'L')
            c->size = 8;
    c->length = n;
    c->letter = *f;
    return *f ? f + 1 : f;
}

// Drops a width that exceeds the output's size.
static void limit_width(struct format_spec *c)
{
    char limited[32];
    size_t n = 0, digits = 0;

    for (size_t i = 0; i < c->length; i++) {
        digits = isdigit((unsigned char)c->spec[i]) ? digits + 1 : 0;
        if (digits <= 3)
            limited[n++] = c->spec[i];
    }
    memcpy(c->spec, limited, n);
    c->length = n;
}

static void finish_spec(struct format_spec *c, const char *modifier)
{
    snprintf(c->spec + c->length, sizeof(c->spec) - c->length, "%s%c", modifier, c->letter);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void device_functions_put_string(struct printer *p, struct format_spec *c)
{
    char string[MAX_STRING], *wide;
    const char *s = device_string(p->w, p->lane, next_argument(p, 8), string, sizeof(string));

    if (!s) {
        p->bad = true;
        return;
    }
    finish_spec(c, "");
    int n = asprintf(&wide, c->spec, s);
    if (n >= 0) {
        device_functions_put(p, wide, (size_t)n);
        free(wide);
    }
}

static void device_functions_convert(struct printer *p, struct format_spec *c)
{
    char text[2048];
    int n = 0;

    limit_width(c);
    switch (c->letter) {
    case 'd':
    case 'i':
        finish_spec(c, "ll");
        n = snprintf(text, sizeof(text), c->spec,
                     c->size == 8 ? (long long)next_argument(p, 8)
                                  : (long long)(int32_t)next_argument(p, 4));
        break;
    case 'u':
    case 'x':
    case 'X':
    case 'o':
        finish_spec(c, "ll");
        n = snprintf(text, sizeof(text), c->spec, (unsigned long long)next_argument(p, c->size));
        break;
    case 'c':
        finish_spec(c, "");
        n = snprintf(text, sizeof(text), c->spec, (int)(unsigned char)next_argument(p, 4));
        break;
    case 'f':
    case 'F':
    case 'e':
    case 'E':
    case 'g':
    case 'G':
    case 'a':
    case 'A': {
        uint64_t bits = next_argument(p, 8);
        double value;

        memcpy(&value, &bits, 8);
        finish_spec(c, "");
        n = snprintf(text, sizeof(text), c->spec, value);
        break;
    }
    case 'p':
        finish_spec(c, "");
        n = snprintf(text, sizeof(text), c->spec, (void *)(uintptr_t)next_argument(p, 8));
        break;
    case 's': device_functions_put_string(p, c); return;
    default:
        device_functions_put(p, "%", 1);
        device_functions_put(p, &c->letter, c->letter ? 1 : 0);
        return;
    }
    if (n > 0)
        device_functions_put(p, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}
#pragma GCC diagnostic pop

static void format(struct printer *p, const char *f)
{
    while (*f && !p->bad) {
        size_t plain = strcspn(f, "%");
        struct format_spec c;

        device_functions_put(p, f, plain);
        f += plain;
        if (!*f)
            return;
        f++;
        if (*f == '%') {
            device_functions_put(p, "%", 1);
            f++;
            continue;
        }
        f = parse_conversion(p, f, &c);
        p->conversions++;
        device_functions_convert(p, &c);
    }
}

static bool device_functions_print(struct warp *w, const struct insn *in, unsigned lane)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    const struct ptx_launch *launch = w->block->grid->launch;
    struct printer p = {.w = w, .lane = lane, .args = device_functions_argument(w, in, lane, 1)};
    char text[MAX_STRING];
    uint64_t at = device_functions_argument(w, in, lane, 0);
    const char *f = device_string(w, lane, at, text, sizeof(text));

    if (!f)
        return fault_raise(w, in, PTX_FAULT_ILLEGAL_ADDRESS, lane, at,
                           "illegal address 0x%llx of a format", (unsigned long long)at);
    p.out = malloc(MAX_OUTPUT);
    if (!p.out) {
        device_functions_give_result(w, in, lane, UINT64_MAX);
        return true;
    }
    format(&p, f);
    if (!p.bad && launch->print) {
        SCOPED_LOCK(&lock);
        launch->print(launch->print_argument, p.out, p.used);
    }
    free(p.out);
    if (p.bad)
        return fault_raise(w, in, PTX_FAULT_ILLEGAL_ADDRESS, lane, p.args,
                           "illegal address 0x%llx of a printf argument",
                           (unsigned long long)p.args);
    device_functions_give_result(w, in, lane, (uint64_t)p.conversions);
    return true;
}

static bool assert_failed(struct warp *w, const struct insn *in, unsigned lane)
{
    const struct ptx_launch *launch = w->block->grid->launch;
    char message[160], file[160], function[160], text[700];
    const char *m =
        device_string(w, lane, device_functions_argument(w, in, lane, 0), message, sizeof(message));
    const char *n =
        device_string(w, lane, device_functions_argument(w, in, lane, 1), file, sizeof(file));
    const char *f = device_string(w, lane, device_functions_argument(w, in, lane, 3), function,
                                  sizeof(function));
    unsigned line = (unsigned)device_functions_argument(w, in, lane, 2);
    const uint32_t *tid = (const uint32_t *)(w->special + WARP_TID);
    int len;

    len = snprintf(text, sizeof(text),
                   "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n",
                   n ? n : "?", line, f ? f : "?", w->block->id[0], w->block->id[1],
                   w->block->id[2], tid[lane], tid[LANES + lane], tid[2 * LANES + lane],
                   m ? m : "?");
    if (launch->print && len > 0)
        fwrite(text, 1, (size_t)len, stderr);
    return fault_raise(w, in, PTX_FAULT_ASSERT, lane, 0, "assertion `%s` failed at %s:%u",
                       m ? m : "?", n ? n : "?", line);
}

// The result of cudaGraphLaunch in a kernel, because a running kernel cannot queue work in streams.
#define ERROR_NOT_SUPPORTED 801

bool exec_builtin(struct warp *w, const struct insn *in, enum builtin builtin, uint32_t mask)
{
    const struct ptx_launch *launch = w->block->grid->launch;

    for (uint32_t left = mask; left; left &= left - 1) {
        unsigned lane = first_lane(left);
        uint64_t value = device_functions_argument(w, in, lane, 0);

        switch (builtin) {
        case BUILTIN_NONE: break;
        case BUILTIN_VPRINTF:
            if (!device_functions_print(w, in, lane))
                return false;
            break;
        case BUILTIN_ASSERTFAIL: return assert_failed(w, in, lane);
        case BUILTIN_MALLOC:
            device_functions_give_result(
                w, in, lane, launch->allocate ? launch->allocate(launch->heap_argument, value) : 0);
            break;
        case BUILTIN_FREE:
            if (value && launch->release)
                launch->release(launch->heap_argument, value);
            break;
        case BUILTIN_SET_CONDITION:
            if (launch->set_condition)
                launch->set_condition(launch->condition_opaque, value,
                                      (unsigned)device_functions_argument(w, in, lane, 1));
            break;
        case BUILTIN_LAUNCH_GRAPH:
            device_functions_give_result(w, in, lane, ERROR_NOT_SUPPORTED);
            break;
        }
    }
    return true;
}
