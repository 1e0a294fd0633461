// SPDX-License-Identifier: BSD-3-Clause
// Runs a small kernel on each GPU that a program would see here.
#include "admin-cli/try_kernels.h"

#include <stdio.h>

#include "admin-cli/cuda_calls.h"
#include "admin-cli/findings.h"
#include "admin-cli/output/command.h"

enum { THREADS = 256, PATTERN = 0x5a5a };

// Each thread stores its number, with some bits changed.
static const char kernel_text[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry number(.param .u64 to)\n{\n"
    "    .reg .b32 %r<3>;\n    .reg .b64 %d<4>;\n"
    "    ld.param.u64 %d1, [to];\n    cvta.to.global.u64 %d1, %d1;\n"
    "    mov.u32 %r1, %tid.x;\n    mul.wide.u32 %d2, %r1, 4;\n    add.s64 %d3, %d1, %d2;\n"
    "    xor.b32 %r2, %r1, 0x5a5a;\n    st.global.u32 [%d3], %r2;\n    ret;\n}\n";

static CUresult run_kernel(const struct cuda_calls *calls, CUdevice device,
                           unsigned numbers[THREADS])
{
    CUcontext context;
    CUmodule module;
    CUfunction function;
    CUdeviceptr memory = 0;
    void *arguments[] = {&memory};
    CUresult result = calls->retain(&context, device);

    if (!result)
        result = calls->set_current(context);
    if (!result)
        result = calls->alloc(&memory, THREADS * sizeof(*numbers));
    if (!result)
        result = calls->load(&module, kernel_text);
    if (!result)
        result = calls->find(&function, module, "number");
    if (!result)
        result = calls->launch(function, 1, 1, 1, THREADS, 1, 1, 0, NULL, arguments, NULL);
    return result ? result : calls->from(numbers, memory, THREADS * sizeof(*numbers));
}

static bool try_kernel(const struct cuda_calls *calls, int device)
{
    unsigned numbers[THREADS] = {0};
    char name[128] = "", text[200];
    const char *error = "an unknown error";
    int wrong = 0;

    calls->name(name, sizeof(name), device);
    CUresult result = run_kernel(calls, device, numbers);
    for (unsigned i = 0; !result && i < THREADS; i++)
        wrong += numbers[i] != (i ^ PATTERN);
    if (result) {
        calls->explain(result, &error);
        snprintf(text, sizeof(text), "a kernel failed: %s", error);
    } else if (wrong) {
        snprintf(text, sizeof(text), "%d of %d numbers of a kernel are wrong", wrong, THREADS);
    } else {
        snprintf(text, sizeof(text), "a kernel computed right");
    }
    if (findings_are_json())
        finding_print_row(json_pack("{s:i, s:s, s:s}", "gpu", device, "model", name, "text", text),
                          "gpu", result || wrong ? "problem" : "ok");
    else
        printf("gpu   %d %s: %s\n", device, name, text);
    return !result && !wrong;
}

int try_kernels(const char *path)
{
    struct cuda_calls calls;
    int count = 0, right = 0;

    if (cuda_calls_load(path, &calls) || calls.init(0) || calls.count(&count))
        return EXIT_ANSWER_NO;
    for (int i = 0; i < count; i++)
        right += try_kernel(&calls, i);
    fflush(stdout);
    return count && right == count ? 0 : EXIT_ANSWER_NO;
}
