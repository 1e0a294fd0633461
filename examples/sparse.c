// SPDX-License-Identifier: BSD-3-Clause
// Multiplies a vector by a sparse matrix again and again. usage: sparse [STEPS [ROWS [EACH]]]. Each
// GPU has ROWS rows with EACH entries. In each step the first GPU puts the vector to the others,
// which put their parts of the product to it.
#include "examples/apps.h"

static unsigned int rows, each, size;
static CUdeviceptr vectors[MOST]; // two per GPU; a step writes the vector that it does not read
static CUdeviceptr columns[MOST], values[MOST];
static size_t sizes[MOST], unused[MOST];
static struct rgpu_window *window;

static size_t vector_at(unsigned int which, unsigned int row)
{
    return ((size_t)which * size + row) * sizeof(float);
}

// Fills in entries that keep the vector from growing, at positions given by a formula.
static void fill_matrix(void)
{
    size_t entries = (size_t)rows * each;
    uint32_t *where = malloc(entries * sizeof(*where)), state = 1;
    float *what = malloc(entries * sizeof(*what));
    check(!where || !what, "malloc", "");
    for (int g = 0; g < gpus; g++) {
        for (size_t i = 0; i < entries; i++) {
            state = state * 1664525 + 1013904223;
            where[i] = (state >> 8) % size;
            what[i] = ((float)(state >> 16 & 255) / 128 - 1) * 2 / sqrtf((float)each);
        }
        CU(cuCtxSetCurrent(contexts[g]));
        CU(cuMemcpyHtoD(columns[g], where, entries * sizeof(*where)));
        CU(cuMemcpyHtoD(values[g], what, entries * sizeof(*what)));
        CU(cuCtxSynchronize());
    }
    free(where);
    free(what);
}

static void start(void)
{
    float *host = malloc(size * sizeof(float));
    check(!host, "malloc", "");
    for (unsigned int i = 0; i < size; i++)
        host[i] = (float)(i % 19) - 9;
    CU(cuCtxSetCurrent(contexts[0]));
    CU(cuMemcpyHtoD(vectors[0], host, size * sizeof(float)));
    CU(cuCtxSynchronize());
    free(host);
}

static void multiply(int g, unsigned int step)
{
    CUdeviceptr in = vectors[g] + vector_at(step % 2, 0);
    CUdeviceptr out = vectors[g] + vector_at(!(step % 2), 0);
    unsigned int first = rows * (unsigned int)g;
    LAUNCH(g, "sparse", (rows + 127) / 128, 1, 128, &out, &in, &columns[g], &values[g], &first,
           &rows, &each);
}

static void copy(int to, int from, size_t offset, size_t bytes)
{
    CU(cuMemcpyPeerAsync(vectors[to] + offset, contexts[to], vectors[from] + offset, contexts[from],
                         bytes, streams[from]));
}

static void by_copies(unsigned int steps)
{
    for (unsigned int step = 0; step < steps; step++) {
        for (int g = 1; g < gpus; g++)
            copy(g, 0, vector_at(step % 2, 0), size * sizeof(float));
        wait_for_all();
        for (int g = 0; g < gpus; g++)
            multiply(g, step);
        wait_for_all();
        for (int g = 1; g < gpus; g++)
            copy(0, g, vector_at(!(step % 2), rows * (unsigned int)g), rows * sizeof(float));
        wait_for_all();
    }
}

// The others write the first GPU's vector only after they have received the next vector. The first
// GPU sends that only when it has finished with its vector.
static void by_puts(unsigned int steps)
{
    for (unsigned int step = 0; step < steps; step++) {
        for (int g = 1; g < gpus; g++)
            RGPU(rgpu_put_signal_async(window, 0, g, vector_at(step % 2, 0),
                                       vectors[0] + vector_at(step % 2, 0), size * sizeof(float), 0,
                                       streams[0]));
        for (int g = 1; g < gpus; g++)
            RGPU(rgpu_signal_wait_async(window, g, 0, 0, 1, streams[g]));
        for (int g = 0; g < gpus; g++) {
            size_t part = vector_at(!(step % 2), rows * (unsigned int)g);
            multiply(g, step);
            if (g)
                RGPU(rgpu_put_signal_async(window, g, 0, part, vectors[g] + part,
                                           rows * sizeof(float), 0, streams[g]));
        }
        for (int g = 1; g < gpus; g++)
            RGPU(rgpu_signal_wait_async(window, 0, g, 0, 1, streams[0]));
    }
}

static float *result(unsigned int steps)
{
    float *vector = malloc(size * sizeof(float));
    check(!vector, "malloc", "");
    CU(cuCtxSetCurrent(contexts[0]));
    CU(cuMemcpyDtoH(vector, vectors[0] + vector_at(steps % 2, 0), size * sizeof(float)));
    return vector;
}

static double difference(const float *want, unsigned int steps)
{
    float *got = result(steps);
    double most = 0;
    for (unsigned int i = 0; i < size; i++)
        most = larger(most, got[i], want[i]);
    free(got);
    return most;
}

int main(int argc, char **argv)
{
    unsigned int steps = number_of(argv, argc, 1, 100);
    rows = number_of(argv, argc, 2, 10816);
    each = number_of(argv, argc, 3, 32);
    open_gpus();
    size = rows * (unsigned int)gpus;
    allocate(vectors, sizes, 2 * size * sizeof(float));
    allocate(columns, unused, (size_t)rows * each * sizeof(uint32_t));
    allocate(values, unused, (size_t)rows * each * sizeof(float));
    fill_matrix();
    RGPU(rgpu_window_register(team, vectors, sizes, 1, &window));
    int wrong =
        compare_ways(&(struct two_ways){"sparse", start, by_copies, by_puts, result, difference},
                     steps);
    RGPU(rgpu_team_check(team));
    RGPU(rgpu_window_free(&window));
    release(vectors);
    release(columns);
    release(values);
    close_gpus();
    return wrong;
}
