// SPDX-License-Identifier: BSD-3-Clause
// Computes a power iteration: it multiplies a vector by a matrix and scales it to length 1, again
// and again. usage: power [STEPS [ROWS]]. Each GPU has ROWS rows of the matrix. In each step every
// GPU needs the whole vector and its length.
#include "examples/apps.h"

static unsigned int rows, size;
static CUdeviceptr vectors[MOST]; // two per GPU; a step writes the vector that it does not read
static CUdeviceptr squares[MOST];
static size_t sizes[MOST], square_sizes[MOST];
static struct rgpu_window *window, *square;

static size_t vector_at(unsigned int which, unsigned int row)
{
    return ((size_t)which * size + row) * sizeof(float);
}

static void start(void)
{
    float *host = malloc(size * sizeof(float));
    check(!host, "malloc", "");
    for (unsigned int i = 0; i < size; i++)
        host[i] = 1.0f / (float)(i + 1);
    for (int g = 0; g < gpus; g++) {
        CU(cuCtxSetCurrent(contexts[g]));
        CU(cuMemcpyHtoD(vectors[g], host, size * sizeof(float)));
        CU(cuCtxSynchronize());
    }
    free(host);
}

static void multiply(int g, unsigned int step)
{
    CUdeviceptr in = vectors[g] + vector_at(step % 2, 0),
                out = vectors[g] + vector_at(!(step % 2), 0);
    CUdeviceptr own = out + vector_at(0, rows * (unsigned int)g);
    unsigned int first = rows * (unsigned int)g;
    LAUNCH(g, "multiply", rows, 1, 128, &out, &in, &first, &size);
    LAUNCH(g, "squares", 1, 1, 128, &squares[g], &own, &rows);
}

static void normalize(int g, unsigned int step)
{
    CUdeviceptr vector = vectors[g] + vector_at(!(step % 2), 0);
    LAUNCH(g, "normalize", (size + 127) / 128, 1, 128, &vector, &squares[g], &size);
}

static void exchange(unsigned int step)
{
    for (int from = 0; from < gpus; from++)
        for (int to = 0; to < gpus; to++) {
            size_t block = vector_at(!(step % 2), rows * (unsigned int)from);
            if (from != to)
                CU(cuMemcpyPeerAsync(vectors[to] + block, contexts[to], vectors[from] + block,
                                     contexts[from], rows * sizeof(float), streams[from]));
        }
}

static void add_squares(void)
{
    float all = 0, one;
    for (int g = 0; g < gpus; g++, all += one) {
        CU(cuCtxSetCurrent(contexts[g]));
        CU(cuMemcpyDtoH(&one, squares[g], sizeof(one)));
    }
    for (int g = 0; g < gpus; g++) {
        CU(cuCtxSetCurrent(contexts[g]));
        CU(cuMemcpyHtoD(squares[g], &all, sizeof(all)));
        CU(cuCtxSynchronize());
    }
}

static void by_copies(unsigned int steps)
{
    for (unsigned int step = 0; step < steps; step++) {
        for (int g = 0; g < gpus; g++)
            multiply(g, step);
        wait_for_all();
        exchange(step);
        wait_for_all();
        add_squares();
        for (int g = 0; g < gpus; g++)
            normalize(g, step);
        wait_for_all();
    }
}

static void by_puts(unsigned int steps)
{
    for (unsigned int step = 0; step < steps; step++) {
        for (int g = 0; g < gpus; g++)
            multiply(g, step);
        RGPU(rgpu_all_gather_async(window, vector_at(!(step % 2), 0), rows * sizeof(float),
                                   streams));
        RGPU(rgpu_all_reduce_async(square, 0, 1, RGPU_FLOAT32, RGPU_SUM, streams));
        for (int g = 0; g < gpus; g++)
            normalize(g, step);
    }
}

static float *result(int g, unsigned int steps)
{
    float *vector = malloc(size * sizeof(float));
    check(!vector, "malloc", "");
    CU(cuCtxSetCurrent(contexts[g]));
    CU(cuMemcpyDtoH(vector, vectors[g] + vector_at(steps % 2, 0), size * sizeof(float)));
    return vector;
}

static float *first_result(unsigned int steps)
{
    return result(0, steps);
}

// Returns the largest difference; every GPU has the whole vector.
static double difference(const float *want, unsigned int steps)
{
    double most = 0;
    for (int g = 0; g < gpus; g++) {
        float *got = result(g, steps);
        for (unsigned int i = 0; i < size; i++)
            most = larger(most, got[i], want[i]);
        free(got);
    }
    return most;
}

int main(int argc, char **argv)
{
    unsigned int steps = number_of(argv, argc, 1, 100);
    rows = number_of(argv, argc, 2, 10816);
    open_gpus();
    size = rows * (unsigned int)gpus;
    allocate(vectors, sizes, 2 * size * sizeof(float));
    allocate(squares, square_sizes, sizeof(float));
    RGPU(rgpu_window_register(team, vectors, sizes, 1, &window));
    RGPU(rgpu_window_register(team, squares, square_sizes, 1, &square));
    int wrong = compare_ways(
        &(struct two_ways){"power", start, by_copies, by_puts, first_result, difference}, steps);
    RGPU(rgpu_team_check(team));
    RGPU(rgpu_window_free(&window));
    RGPU(rgpu_window_free(&square));
    release(vectors);
    release(squares);
    close_gpus();
    return wrong;
}
