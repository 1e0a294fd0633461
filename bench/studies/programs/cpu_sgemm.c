// SPDX-License-Identifier: BSD-3-Clause
// Computes single precision matrix products on the processors, with OpenBLAS on all cores that it
// may use. Prints one figure per product in seconds, or for short products the mean over some
// milliseconds. Without a number of products it runs until it is killed.
//
//   cpu_sgemm N [PRODUCTS]
//
// STUDY_IDLE=1: prints that it is idle and does nothing until it is killed, for comparison.
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static const double LINE_SECONDS = 0.005;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 0, products = argc > 2 ? atoi(argv[2]) : -1;
    if (n < 1)
        return 2;
    if (getenv("STUDY_IDLE")) {
        puts("idle");
        fflush(stdout);
        return pause();
    }
    size_t count = (size_t)n * (size_t)n;
    float *a = malloc(count * sizeof(*a)), *b = malloc(count * sizeof(*b)),
          *c = malloc(count * sizeof(*c));
    if (!a || !b || !c) {
        fprintf(stderr, "no memory for matrices of %d rows\n", n);
        return 1;
    }
    for (size_t i = 0; i < count; i++) {
        a[i] = (float)(i % 7);
        b[i] = (float)(i % 5);
        c[i] = 0;
    }
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a, n, b, n, 0, c, n);
    // Small products share one line, because printing a line takes longer than the product.
    double start = now();
    int told = 0;
    for (int i = 1; i - 1 != products; i++) {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a, n, b, n, 0, c, n);
        double end = now();
        if (end - start < LINE_SECONDS && i != products)
            continue;
        printf("{\"figure\": \"CPU product\", \"value\": %.6g, \"unit\": \"s\"}\n",
               (end - start) / (i - told));
        fflush(stdout);
        told = i;
        start = now();
    }
    return 0;
}
