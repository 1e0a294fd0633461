// SPDX-License-Identifier: BSD-3-Clause
// The math functions that nvcc compiles into kernels, against those of the host.
#include "tests/ptx/nvcc.h"

enum { N = 1500 };
static double values[N];
static struct ptx_module *module;

// Errors of the device's functions are a few units in the last place; twice that is allowed.
static void check(const char *name, double (*want)(double, int), double ulps, bool single)
{
    double *x = gpu_alloc(sizeof(values)), *y = gpu_alloc(sizeof(values));
    struct {
        int n;
        double *x, *y;
    } params = {N, x, y};
    int wrong = 0, result;

    memcpy(x, values, sizeof(values));
    result = engine_launch(module, name, (struct launch_shape){(N + 127) / 128, 128, 0}, &params);
    for (int i = 0; !result && i < N; i++) {
        double w = want(single ? (double)(float)values[i] : values[i], i);
        double unit = single ? 0x1p-23 : 0x1p-52, smallest = single ? 0x1p-149 : 0x1p-1074;
        bool good;

        if (single && fabs(w) > 0x1.fffffep127)
            w = w > 0 ? INFINITY : -INFINITY;
        if (w != w)
            good = y[i] != y[i];
        else if (isinf(w) || isinf(y[i]))
            good = w == y[i] || fabs(w) > (single ? 3.3e38 : 1.7e308);
        else
            good = fabs(y[i] - w) <= ulps * fmax(fabs(w) * unit, smallest);
        if (!good && wrong++ < 3)
            diag("%s(%a) gives %a, want %a", name, values[i], y[i], w);
    }
    ok(!result && !wrong, "%s", name);
}

// clang-format off
#define SIMPLE(f) static double host_##f(double x, int i) { return f(x); }
#define FUNCTIONS(X) \
    X(sin, 4) X(cos, 4) X(tan, 8) X(exp, 4) X(exp2, 4) X(exp10, 4) X(expm1, 4) X(log, 4) \
    X(log2, 4) X(log10, 4) X(log1p, 4) X(sqrt, 0) X(cbrt, 4) X(asin, 8) X(acos, 8) X(atan, 4) \
    X(sinh, 8) X(cosh, 4) X(tanh, 8) X(asinh, 8) X(atanh, 8) X(erf, 8) X(erfc, 16) \
    X(tgamma, 30) X(floor, 0) X(ceil, 0) X(trunc, 0) X(round, 0) X(rint, 0) X(fabs, 0)
// clang-format on
#define HOST(f, ulps) SIMPLE(f)
FUNCTIONS(HOST)

static double host_pow(double x, int i)
{
    return pow(fabs(x), values[i * 7 % N]);
}

static double host_powf(double x, int i)
{
    return pow(fabs(x), (double)(float)values[i * 7 % N]);
}

static double host_fmod(double x, int i)
{
    return fmod(x, values[i * 7 % N]) + atan2(x, values[i * 3 % N]) + hypot(x, 1);
}

static double host_integers(double x, int i)
{
    long long a = (long long)(x * 1e12), b = i % 17 - 8;
    unsigned c = (unsigned)a, d = (unsigned)i + 1;
    int e = (int)a, f = b ? (int)b : 3;
    unsigned reversed = 0;

    b = b ? b : 5;
    for (int k = 0; k < 32; k++)
        reversed |= (c >> k & 1) << (31 - k);
    return (double)(a / b) + (double)(a % b) + c / d + c % d + e / f + e % f +
           (double)(unsigned long long)(a ^ b) / 3.0 + __builtin_popcountll((uint64_t)a) +
           (e ? __builtin_clz((unsigned)e) : 32) + __builtin_ffs(e) +
           (double)(int)((long long)e * f >> 32) + (float)c + (double)(a >> 7) + reversed +
           (e < f ? e : f) + (c > d ? c : d);
}

int main(void)
{
    static const double edges[] = {0,          -0.0,      1,      -1,        0.5,      2,
                                   10,         100,       709,    -745,      1e-300,   1e300,
                                   INFINITY,   -INFINITY, NAN,    1e-40,     1e22,     105615,
                                   3.14159265, 88.7,      -103.9, 0x1p-1074, 0x1p-149, 1e10,
                                   -1e10,      33.5,      0.75};
    char *text;

    if (!nvcc_path())
        skip_all("no nvcc");
    for (int i = 0; i < N; i++)
        values[i] = i < (int)(sizeof(edges) / sizeof(edges[0]))
                        ? edges[i]
                        : sin(i * 1.7) * pow(10, (i % 12) - 6);
    text = nvcc_compile("tests/ptx/kernels/math.cu", "-arch=sm_90");
    module = engine_load(text);
#define CHECK_BOTH(f, ulps) \
    check(#f "_double", host_##f, ulps, false); \
    check(#f "_float", host_##f, ulps ? ulps : 1, true);
    FUNCTIONS(CHECK_BOTH)
    check("pow_double", host_pow, 8, false);
    check("pow_float", host_powf, 16, true);
    check("fmod_double", host_fmod, 1 << 20, false); // a sum that cancels
    for (int i = 0; i < N; i++)
        values[i] = sin(i * 1.7) * 1e5;
    check("integers", host_integers, 16, false);
    ptx_module_free(&module);
    gpu_free_all();
    free(text);
    return done();
}
