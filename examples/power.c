// SPDX-License-Identifier: BSD-3-Clause
// Computes a power iteration: it multiplies a vector by a matrix and scales it to length 1, again
// and again. usage: power [STEPS [ROWS]]. Each GPU has ROWS rows of the matrix. In each step it
// puts its part of the vector to all others, and computes the length of the whole vector.
#include "examples/apps.h"

static unsigned int rows, size;
static CUdeviceptr vectors[MOST]; // two per GPU; a step writes the vector that it does not read
static CUdeviceptr squares[MOST];
static size_t sizes[MOST], square_sizes[MOST];
static struct rgpu_window *window;

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
    unsigned int first = rows * (unsigned int)g;
    LAUNCH(g, "multiply", rows, 1, 128, &out, &in, &first, &size);
}

static void normalize(int g, unsigned int step)
{
    CUdeviceptr vector = vectors[g] + vector_at(!(step % 2), 0);
    LAUNCH(g, "squares", 1, 1, 128, &squares[g], &vector, &size);
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

// The others no longer read the vector that this step writes: each has put its part of the last
// step, after which it reads the other vector only.
static void put_parts(unsigned int step)
{
    for (int from = 0; from < gpus; from++)
        for (int to = 0; to < gpus; to++) {
            size_t block = vector_at(!(step % 2), rows * (unsigned int)from);
            if (from != to)
                RGPU(rgpu_put_signal_async(window, from, to, block, vectors[from] + block,
                                           rows * sizeof(float), 0, streams[from]));
        }
    for (int at = 0; at < gpus; at++)
        for (int from = 0; from < gpus; from++)
            if (from != at)
                RGPU(rgpu_signal_wait_async(window, at, from, 0, 1, streams[at]));
}

static void by_copies(unsigned int steps)
{
    for (unsigned int step = 0; step < steps; step++) {
        for (int g = 0; g < gpus; g++)
            multiply(g, step);
        wait_for_all();
        exchange(step);
        wait_for_all();
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
        put_parts(step);
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
    int wrong = compare_ways(
        &(struct two_ways){"power", start, by_copies, by_puts, first_result, difference}, steps);
    RGPU(rgpu_team_check(team));
    RGPU(rgpu_window_free(&window));
    release(vectors);
    release(squares);
    close_gpus();
    return wrong;
}
