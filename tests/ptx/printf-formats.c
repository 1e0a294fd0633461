// SPDX-License-Identifier: BSD-3-Clause
// The device's printf: every conversion, widths from arguments, many threads.
#include "tests/ptx/engine.h"

static char bytes[2048];

// A kernel that prints with this format; `stores` puts the arguments at %rd1.
static void check(const char *format, const char *stores, const char *want)
{
    char text[8192];
    struct ptx_module *m;
    size_t used = 0;
    int result;

    for (const char *p = format;; p++) {
        used += (size_t)snprintf(bytes + used, sizeof(bytes) - used, "%d%s", (unsigned char)*p,
                                 *p ? ", " : "");
        if (!*p)
            break;
    }
    snprintf(text, sizeof(text),
             PTX_HEAD
             ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
             ".global .b8 format[] = {%s};\n.global .b8 word[6] = {104, 101, 108, 108, 111};\n"
             ".visible .entry k() { .local .align 8 .b8 room[64]; .reg .b64 %%rd<9>;\n"
             ".reg .b32 %%r<9>; mov.u64 %%rd1, room; cvta.local.u64 %%rd1, %%rd1;\n"
             "mov.u64 %%rd2, word; cvta.global.u64 %%rd2, %%rd2; mov.u32 %%r1, %%tid.x;\n%s\n"
             "mov.u64 %%rd3, format; cvta.global.u64 %%rd3, %%rd3;\n"
             "{ .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %%rd3;\n"
             "st.param.b64 [a], %%rd1; call.uni (r), vprintf, (f, a); ld.param.b32 %%r2, [r]; }\n"
             "ret; }\n",
             bytes, stores);
    m = engine_load(text);
    result = engine_launch(m, "k", (struct launch_shape){1, 1, 0}, NULL);
    if (result)
        diag("%d %s", result, engine_fault.text);
    is_str(engine_output, want, "%s", format);
    ptx_module_free(&m);
    gpu_free_all();
}

int main(void)
{
    check("plain 100%%", "", "plain 100%");
    check("%d %i %u", "st.u32 [%rd1], -5; st.u32 [%rd1+4], 7; st.u32 [%rd1+8], -1;",
          "-5 7 4294967295");
    check("%5d|%-5d|%05d|%+d|% d",
          "st.u32 [%rd1], 42; st.u32 [%rd1+4], 42; st.u32 [%rd1+8], 42;"
          "st.u32 [%rd1+12], 42; st.u32 [%rd1+16], 42;",
          "   42|42   |00042|+42| 42");
    check("%ld %lld %lu %llx",
          "st.u64 [%rd1], -5; st.u64 [%rd1+8], 1099511627776;"
          "st.u64 [%rd1+16], -1; st.u64 [%rd1+24], 0xabcdef0123;",
          "-5 1099511627776 18446744073709551615 abcdef0123");
    check("%x %X %#x %o %08x",
          "st.u32 [%rd1], 255; st.u32 [%rd1+4], 255; st.u32 [%rd1+8], 255;"
          "st.u32 [%rd1+12], 8; st.u32 [%rd1+16], 0xbeef;",
          "ff FF 0xff 10 0000beef");
    check("%d %lld", "st.u32 [%rd1], 1; st.u64 [%rd1+8], 2;", "1 2");
    check("%f %.2f %e %g %10.3f|",
          "st.f64 [%rd1], 0d3FF8000000000000;"
          "st.f64 [%rd1+8], 0d400921FB54442D18; st.f64 [%rd1+16], 0d40F86A0000000000;"
          "st.f64 [%rd1+24], 0d3F50624DD2F1A9FC; st.f64 [%rd1+32], 0d400921FB54442D18;",
          "1.500000 3.14 1.000000e+05 0.001      3.142|");
    check("%f %f", "st.f64 [%rd1], 0d7FF0000000000000; st.f64 [%rd1+8], 0d7FF8000000000000;",
          "inf nan");
    check("%c%c", "st.u32 [%rd1], 65; st.u32 [%rd1+4], 98;", "Ab");
    check("%s|%7s|%-7s|%.2s",
          "st.u64 [%rd1], %rd2; st.u64 [%rd1+8], %rd2; st.u64 [%rd1+16], %rd2;"
          "st.u64 [%rd1+24], %rd2;",
          "hello|  hello|hello  |he");
    check("%*d|%-*d",
          "st.u32 [%rd1], 6; st.u32 [%rd1+4], 1; st.u32 [%rd1+8], 4;"
          "st.u32 [%rd1+12], 2;",
          "     1|2   ");
    check("%.*f", "st.u32 [%rd1], 1; st.f64 [%rd1+8], 0d400921FB54442D18;", "3.1");
    check("%p", "st.u64 [%rd1], 0x1234;", "0x1234");
    check("%zu %hd", "st.u64 [%rd1], 77; st.u32 [%rd1+8], 5;", "77 5");
    check("100%", "", "100%");
    return done();
}
