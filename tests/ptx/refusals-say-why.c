// SPDX-License-Identifier: BSD-3-Clause
// Invalid PTX, PTX that is too new, and instructions that the engine lacks are refused with a
// message that names the line and the cause.
#include "tests/ptx/engine.h"

static void refused_text(const char *text, int code, const char *says)
{
    struct ptx_module *m = NULL;
    int result = engine_compile(text, &m);

    if (!ok(result == code && !m && strstr(engine_log, says), "refused: %s", says))
        diag("got %d: %s", result, engine_log);
    ptx_module_free(&m);
}

// The statement is on line 7 of the text.
static void refused(const char *statement, int code, const char *says)
{
    char text[4096];

    snprintf(text, sizeof(text),
             PTX_HEAD ".visible .entry k(.param .u64 out) {\n"
                      ".reg .b32 %%r<9>; .reg .b64 %%rd<9>; .reg .f32 %%f<9>; .reg .pred %%p<9>;\n"
                      ".reg .b16 %%h<9>; .reg .f64 %%d<9>; .shared .b32 s;\n%s\nret; }\n",
             statement);
    refused_text(text, code, says);
    ok(strstr(engine_log, "line 7"), "at its line");
}

int main(void)
{
    refused_text("", -EINVAL, ".version");
    refused_text("not PTX at all", -EINVAL, "expected .version");
    refused_text(".version 9.1\n.target sm_90\n", -ENOEXEC, "PTX ISA 9.1 is newer");
    refused_text(".version 8.7\n.target sm_100\n", -ENOEXEC, "sm_100 is above sm_90");
    refused_text(PTX_HEAD ".entry k() { ret;", -EINVAL, "text ends");
    refused_text(PTX_HEAD ".entry k() { ret; } }", -EINVAL, "syntax error at '}'");
    refused_text(PTX_HEAD ".entry k() { ret; } .entry k() { ret; }", -EINVAL, "defined twice");
    refused_text(PTX_HEAD "/* no end", -EINVAL, "comment without an end");
    refused_text(PTX_HEAD ".global .b32 x[2] = {1, 2, 3};", -EINVAL, "too many initial values");
    refused_text(PTX_HEAD ".global .b32 x[];", -EINVAL, "size of x is missing");
    refused_text(PTX_HEAD
                 ".extern .global .b32 x; .entry k() { .reg .b64 %r; mov.u64 %r, x; ret; }",
                 -EINVAL, "unresolved external variable 'x'");
    refused_text(PTX_HEAD ".extern .func f(); .entry k() { call f; ret; }", -EINVAL,
                 "unresolved external function 'f'");
    refused_text(PTX_HEAD ".entry k() { .shared .b8 x[300000]; ret; }", -EINVAL,
                 "bytes of shared memory");
    refused_text(PTX_HEAD ".entry k() { .local .b8 x[30000000]; ret; }", -EINVAL,
                 "bytes of local memory");
    refused_text(PTX_HEAD ".global .texref t;", -ENOTSUP, "type .texref is not supported");
    refused_text(".version 6.0\n.target sm_50\n.address_size 32\n", -ENOTSUP, "64-bit addresses");

    refused("frobnicate.u32 %r1, %r2;", -ENOTSUP, "instruction 'frobnicate.u32' is not supported");
    refused("add.u32 %r1, %r2;", -EINVAL, "add: operand missing");
    refused("add.u32 %r1, %r2, %r3, %r4;", -EINVAL, "too many operands");
    refused("add.u32 %r1, %r2, %rd3, 1;", -EINVAL, "too many operands");
    refused("add.u64 %rd1, %r2, 1;", -EINVAL, "another size");
    refused("add.u32 %rd10, %r2, 1;", -EINVAL, "register '%rd10' is not declared");
    refused("add.u32 %p1, %r2, 1;", -EINVAL, "another kind");
    refused("add.u32 5, %r2, 1;", -EINVAL, "destination is not a register");
    refused("mov.u32 %tid.x, 5;", -EINVAL, "destination is not a register");
    refused("add.wide.u32 %r1, %r2, 1;", -ENOTSUP, "modifier .wide");
    refused("add.rz.u32 %r1, %r2, 1;", -ENOTSUP, "modifier .rz");
    refused("setp.foo.u32 %p1, %r2, 1;", -ENOTSUP, "no comparison");
    refused("setp.ltu.u32 %p1, %r2, 1;", -ENOTSUP, "unordered comparison of integers");
    refused("@%r1 bra L;", -EINVAL, "predicate expected");
    refused("bra nowhere;", -EINVAL, "label 'nowhere' is not defined");
    refused("L: ret; L: ret;", -EINVAL, "declared twice");
    refused("ld.global.u32 %r1, %rd1;", -EINVAL, "address in [] expected");
    refused("ld.global.u32 %r1, [s];", -EINVAL, "another state space");
    refused("st.const.u32 [%rd1], %r1;", -ENOTSUP, "read-only");
    refused("ld.global.v4.u32 {%r1, %r2}, [%rd1];", -EINVAL, "another length");
    refused("ld.global.v4.f64 {%d1, %d2, %d3, %d4}, [%rd1]; ld.v8.b64 {%rd1}, [%rd1];", -ENOTSUP,
            "type");
    refused("atom.global.min.f32 %f1, [%rd1], %f2;", -ENOTSUP, "operation on this type");
    refused("call f, (%r1);", -EINVAL, "function 'f' is not declared");
    refused("mov.u32 %r1, unknown;", -EINVAL, "'unknown' is not declared");
    refused("mov.u32 %r1, 1/0;", -EINVAL, "division by zero");
    refused("mov.u32 %r1, 089;", -EINVAL, "octal");
    refused("{ .reg .b128 %q; }", -ENOTSUP, ".b128");
    refused("wgmma.fence.sync.aligned;", -ENOTSUP, "'wgmma.fence.sync.aligned'");
    refused("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1}, {%f2}, {%f3}, {%f4};",
            -ENOTSUP, "'mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32'");
    refused("tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [t, {%f1, %f2}];", -EINVAL,
            "'t' is not an address"); // of textures by name
    refused("cp.async.bulk.shared::cluster.global.mbarrier [s], [%rd1], 16, [s];", -ENOTSUP, "cp");
    return done();
}
