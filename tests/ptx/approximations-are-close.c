// SPDX-License-Identifier: BSD-3-Clause
// The approximate functions: close to what C computes, and right at the special values.
#include "tests/ptx/cases.h"

static bool close_enough(float got, double want)
{
    if (want != want)
        return got != got;
    if (isinf((float)want) || want == 0)
        return got == (float)want;
    return fabs(got - want) <= fabs(want) * 0x1p-20 || fabs(got - want) < 0x1p-126;
}

static void check(const char *text, double (*want)(double), bool ftz)
{
    uint64_t *out = gpu_alloc(CASE_COUNT * 8), (*in)[3] = gpu_alloc(sizeof(case_in));
    int wrong = 0, result = run_case(text, F32, out, in);

    for (int i = 0; !result && i < CASE_COUNT; i++) {
        float x = as_float(in[i][0]), got = as_float(out[i]);
        double y;

        if (ftz && fabsf(x) < 0x1p-126f)
            x = copysignf(0, x);
        y = want(x);
        if (ftz && fabs(y) < 0x1p-126)
            y = copysign(0, y);
        if (!close_enough(got, y) && wrong++ < 3)
            diag("%s: %a gives %a, want %a", text, (double)x, (double)got, y);
    }
    ok(!result && !wrong, "%s", text);
    gpu_free_all();
}

static double reciprocal(double x)
{
    return 1 / x;
}
static double reciprocal_root(double x)
{
    return 1 / sqrt(x);
}

int main(void)
{
    if (on_gpu())
        skip_all("a GPU is further off, by as much as its manual says");
    use_floats();
    check("rcp.approx.ftz.f32 %f0, %f1;", reciprocal, true);
    check("rcp.approx.f32 %f0, %f1;", reciprocal, false);
    check("sqrt.approx.ftz.f32 %f0, %f1;", sqrt, true);
    check("sqrt.approx.f32 %f0, %f1;", sqrt, false);
    check("rsqrt.approx.f32 %f0, %f1;", reciprocal_root, false);
    check("lg2.approx.f32 %f0, %f1;", log2, false);
    check("lg2.approx.ftz.f32 %f0, %f1;", log2, true);
    check("ex2.approx.f32 %f0, %f1;", exp2, false);
    check("ex2.approx.ftz.f32 %f0, %f1;", exp2, true);
    check("sin.approx.f32 %f0, %f1;", sin, false);
    check("cos.approx.ftz.f32 %f0, %f1;", cos, true);
    check("tanh.approx.f32 %f0, %f1;", tanh, false);
    return done();
}
