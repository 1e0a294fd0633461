// SPDX-License-Identifier: BSD-3-Clause
// The math library as nvcc inlines it, in single and double precision.
#define FUNCTIONS(X) \
    X(sin) X(cos) X(tan) X(exp) X(exp2) X(exp10) X(expm1) X(log) X(log2) X(log10) X(log1p) \
    X(sqrt) X(cbrt) X(asin) X(acos) X(atan) X(sinh) X(cosh) X(tanh) X(asinh) X(atanh) \
    X(erf) X(erfc) X(tgamma) X(lgamma) X(floor) X(ceil) X(trunc) X(round) X(rint) X(fabs) \
    X(j0) X(y1)

#define KERNEL(f) \
    extern "C" __global__ void f##_double(int n, const double *x, double *y) \
    { \
        int i = blockIdx.x * blockDim.x + threadIdx.x; \
        if (i < n) \
            y[i] = f(x[i]); \
    } \
    extern "C" __global__ void f##_float(int n, const double *x, double *y) \
    { \
        int i = blockIdx.x * blockDim.x + threadIdx.x; \
        if (i < n) \
            y[i] = f((float)x[i]); \
    }
FUNCTIONS(KERNEL)

extern "C" __global__ void pow_double(int n, const double *x, double *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        y[i] = pow(fabs(x[i]), x[(i * 7) % n]);
}

extern "C" __global__ void pow_float(int n, const double *x, double *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        y[i] = powf(fabsf((float)x[i]), (float)x[(i * 7) % n]);
}

extern "C" __global__ void fmod_double(int n, const double *x, double *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        y[i] = fmod(x[i], x[(i * 7) % n]) + atan2(x[i], x[(i * 3) % n]) + hypot(x[i], 1.0);
}

// Integer division and modulo by variables, 64-bit too; conversions there and back.
extern "C" __global__ void integers(int n, const double *x, double *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n) {
        long long a = (long long)(x[i] * 1e12), b = (i % 17) - 8;
        unsigned c = (unsigned)a, d = i + 1;
        int e = (int)a, f = b ? (int)b : 3;

        b = b ? b : 5;
        y[i] = (double)(a / b) + (double)(a % b) + c / d + c % d + e / f + e % f +
               (double)(unsigned long long)(a ^ b) / 3.0 + __popcll(a) + __clz(e) + __ffs(e) +
               (double)__mulhi(e, f) + (float)c + (a >> 7) + __brev(c) + min(e, f) + max(c, d);
    }
}
