// SPDX-License-Identifier: BSD-3-Clause
// Simulates particles in a plane of square cells that repel each other within a cell's width.
// usage: particles [STEPS [WIDTH HEIGHT]]. Each GPU has WIDTH columns of HEIGHT cells. In each step
// every particle moves by less than a cell; then each cell collects its particles from itself and
// the eight cells around it. For this and for the next step, a GPU needs the nearest two columns of
// its neighbours after the move.
#include "examples/apps.h"

enum { SLOTS = 16, HALO = 2 }; // most particles per cell; columns of a neighbour
enum { BEFORE, BEHIND, TAGS }; // the receiver's neighbour that has sent
struct particle {
    float x, y, vx, vy; // x < 0: no particle
};

static unsigned int width, height;
static size_t column_size, moved_size;
static CUdeviceptr cells[MOST]; // of each GPU, with one more column at either end
static CUdeviceptr moved
    // two per GPU, with HALO more columns: neighbours may still read one while the other is written
    [MOST];
static size_t cells_sizes[MOST], moved_sizes[MOST];
static struct rgpu_window *window;

static size_t moved_at(unsigned int step, unsigned int column)
{
    return step % 2 * moved_size + column * column_size;
}

// ---- initial state ----

static float fraction(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / (float)(1 << 24);
}

// The thesis has 410,600 particles in 416 x 416 cells: two or three in each cell.
static void fill_cell(struct particle *cell, uint32_t column, uint32_t row)
{
    uint32_t state = column * 7919u + row * 104729u + 1, count = 2 + (fraction(&state) < 0.373f);
    for (uint32_t i = 0; i < SLOTS; i++) {
        cell[i] = (struct particle){.x = -1};
        if (i >= count)
            continue;
        cell[i].x = (float)column + fraction(&state) * 0.99f;
        cell[i].y = (float)row + fraction(&state) * 0.99f;
        cell[i].vx = fraction(&state) - 0.5f;
        cell[i].vy = fraction(&state) - 0.5f;
    }
}

static void fill(struct particle *host, int g)
{
    int64_t all = (int64_t)width * gpus;
    for (unsigned int c = 0; c < width + 2; c++)
        for (unsigned int row = 0; row < height; row++) {
            struct particle *cell = host + ((size_t)c * height + row) * SLOTS;
            int64_t column = (int64_t)width * g + c - 1;
            if (column >= 0 && column < all)
                fill_cell(cell, (uint32_t)column, row);
            else
                for (int i = 0; i < SLOTS; i++)
                    cell[i] = (struct particle){.x = -1};
        }
}

static void start(void)
{
    struct particle *host = malloc(cells_sizes[0]);
    check(!host, "malloc", "");
    for (int g = 0; g < gpus; g++) {
        fill(host, g);
        CU(cuCtxSetCurrent(contexts[g]));
        CU(cuMemcpyHtoD(cells[g], host, cells_sizes[g]));
        CU(cuMemsetD32(moved[g], 0xbf800000, moved_sizes[g] / 4)); // -1
        CU(cuCtxSynchronize());
    }
    free(host);
}

// ---- steps ----

static void move(int g, unsigned int step)
{
    CUdeviceptr to = moved[g] + moved_at(step, 0);
    unsigned int columns = width * (unsigned int)gpus;
    LAUNCH(g, "particles_move", width, (height + 63) / 64, 64, &to, &cells[g], &height, &columns);
}

static void sort(int g, unsigned int step)
{
    CUdeviceptr from = moved[g] + moved_at(step, 0);
    unsigned int first = width * (unsigned int)g, columns = width * (unsigned int)gpus;
    LAUNCH(g, "particles_sort", width + 2, (height + 63) / 64, 64, &cells[g], &from, &height,
           &first, &columns);
}

static void by_copies(unsigned int steps)
{
    size_t size = HALO * column_size;
    for (unsigned int step = 0; step < steps; step++) {
        for (int g = 0; g < gpus; g++)
            move(g, step);
        wait_for_all();
        for (int g = 0; g + 1 < gpus; g++) {
            CU(cuMemcpyPeerAsync(moved[g + 1] + moved_at(step, 0), contexts[g + 1],
                                 moved[g] + moved_at(step, width), contexts[g], size, streams[g]));
            CU(cuMemcpyPeerAsync(moved[g] + moved_at(step, width + HALO), contexts[g],
                                 moved[g + 1] + moved_at(step, HALO), contexts[g + 1], size,
                                 streams[g + 1]));
        }
        wait_for_all();
        for (int g = 0; g < gpus; g++)
            sort(g, step);
    }
}

static void put(int from, int to, size_t offset, size_t source, int tag)
{
    RGPU(rgpu_put_signal_async(window, from, to, offset, moved[from] + source, HALO * column_size,
                               tag, streams[from]));
}

static void by_puts(unsigned int steps)
{
    for (unsigned int step = 0; step < steps; step++) {
        for (int g = 0; g < gpus; g++) {
            move(g, step);
            if (g + 1 < gpus)
                put(g, g + 1, moved_at(step, 0), moved_at(step, width), BEFORE);
            if (g)
                put(g, g - 1, moved_at(step, width + HALO), moved_at(step, HALO), BEHIND);
        }
        for (int g = 0; g < gpus; g++) {
            if (g)
                RGPU(rgpu_signal_wait_async(window, g, g - 1, BEFORE, 1, streams[g]));
            if (g + 1 < gpus)
                RGPU(rgpu_signal_wait_async(window, g, g + 1, BEHIND, 1, streams[g]));
            sort(g, step);
        }
    }
}

// ---- results ----

static float *result(unsigned int steps)
{
    size_t own = width * column_size;
    char *all = malloc(own * (size_t)gpus);
    check(!all, "malloc", "");
    for (int g = 0; g < gpus; g++) {
        CU(cuCtxSetCurrent(contexts[g]));
        CU(cuMemcpyDtoH(all + own * (size_t)g, cells[g] + column_size, own));
    }
    return (float *)all;
}

static size_t count_particles(const float *all)
{
    const struct particle *particles = (const void *)all;
    size_t count = 0;
    for (size_t i = 0; i < (size_t)gpus * width * height * SLOTS; i++)
        count += particles[i].x >= 0;
    return count;
}

static size_t at_first(void)
{
    start();
    float *all = result(0);
    size_t count = count_particles(all);
    free(all);
    return count;
}

static double difference(const float *want, unsigned int steps)
{
    float *got = result(steps);
    double most = count_particles(got) == count_particles(want) ? 0 : NAN;
    for (size_t i = 0; i < (size_t)gpus * width * height * SLOTS * 4; i++)
        most = larger(most, got[i], want[i]);
    free(got);
    return most;
}

int main(int argc, char **argv)
{
    unsigned int steps = number_of(argv, argc, 1, 100);
    width = number_of(argv, argc, 2, 416);
    height = number_of(argv, argc, 3, 416);
    check(width < HALO, "WIDTH", "is at least 2");
    column_size = height * SLOTS * sizeof(struct particle);
    moved_size = (width + 2 * HALO) * column_size;
    open_gpus();
    allocate(cells, cells_sizes, (width + 2) * column_size);
    allocate(moved, moved_sizes, 2 * moved_size);
    RGPU(rgpu_window_register(team, moved, moved_sizes, TAGS, &window));
    size_t particles = at_first();
    int wrong =
        compare_ways(&(struct two_ways){"particles", start, by_copies, by_puts, result, difference},
                     steps);
    float *all = result(steps);
    if (count_particles(all) != particles)
        wrong = fprintf(stderr, "of %zu particles %zu are left\n", particles, count_particles(all));
    free(all);
    RGPU(rgpu_team_check(team));
    RGPU(rgpu_window_free(&window));
    release(cells);
    release(moved);
    close_gpus();
    return wrong != 0;
}
