// SPDX-License-Identifier: BSD-3-Clause
// Updates a field over all GPUs, each with PLANES planes. usage: stencil [STEPS [WIDTH PLANES]]. In
// each step a GPU needs the nearest planes of its neighbours. Kernels read one of two fields and
// write the other. A put into a field starts only after its owner has signalled that the kernel
// that read the field has finished.
#include "examples/apps.h"

enum { BEFORE, BEHIND, TAGS }; // the receiver's neighbour that has sent

static unsigned int width, planes;
static size_t plane_size, field_size;
static CUdeviceptr fields[MOST]; // two per GPU, each with one more plane at either end
static size_t sizes[MOST];
static struct rgpu_window *window;

static size_t plane_at(unsigned int field, unsigned int plane)
{
    return field * field_size + plane * plane_size;
}

static void start(void)
{
    float *host = malloc(field_size);
    check(!host, "malloc", "");
    for (int g = 0; g < gpus; g++) {
        memset(host, 0, field_size);
        for (size_t i = width; i < (planes + 1) * (size_t)width; i++)
            host[i] = (float)((i * 31 + (size_t)g * 7) % 101);
        CU(cuCtxSetCurrent(contexts[g]));
        CU(cuMemsetD8(fields[g], 0, 2 * field_size));
        CU(cuMemcpyHtoD(fields[g], host, field_size));
        CU(cuCtxSynchronize());
    }
    free(host);
    // Copies the planes of the neighbours for the first step.
    for (int g = 0; g < gpus; g++) {
        if (g)
            CU(cuMemcpyPeer(fields[g], contexts[g], fields[g - 1] + plane_at(0, planes),
                            contexts[g - 1], plane_size));
        if (g + 1 < gpus)
            CU(cuMemcpyPeer(fields[g] + plane_at(0, planes + 1), contexts[g],
                            fields[g + 1] + plane_at(0, 1), contexts[g + 1], plane_size));
    }
}

static void compute(int g, unsigned int step)
{
    CUdeviceptr in = fields[g] + plane_at(step % 2, 0), out = fields[g] + plane_at(!(step % 2), 0);
    LAUNCH(g, "stencil", (width + 127) / 128, planes, 128, &out, &in, &width, &planes);
}

static void by_copies(unsigned int steps)
{
    for (unsigned int step = 0; step < steps; step++) {
        unsigned int to = !(step % 2);
        for (int g = 0; g < gpus; g++)
            compute(g, step);
        wait_for_all();
        for (int g = 0; g + 1 < gpus; g++) {
            CU(cuMemcpyPeerAsync(fields[g + 1] + plane_at(to, 0), contexts[g + 1],
                                 fields[g] + plane_at(to, planes), contexts[g], plane_size,
                                 streams[g]));
            CU(cuMemcpyPeerAsync(fields[g] + plane_at(to, planes + 1), contexts[g],
                                 fields[g + 1] + plane_at(to, 1), contexts[g + 1], plane_size,
                                 streams[g + 1]));
        }
        wait_for_all();
    }
}

static void put(int from, int to, size_t offset, size_t source, int tag)
{
    RGPU(rgpu_put_signal_async(window, from, to, offset, fields[from] + source, plane_size, tag,
                               streams[from]));
}

static void by_puts(unsigned int steps)
{
    for (unsigned int step = 0; step < steps; step++) {
        unsigned int to = !(step % 2);
        for (int g = 0; g < gpus; g++) {
            compute(g, step);
            if (g + 1 < gpus)
                put(g, g + 1, plane_at(to, 0), plane_at(to, planes), BEFORE);
            if (g)
                put(g, g - 1, plane_at(to, planes + 1), plane_at(to, 1), BEHIND);
        }
        for (int g = 0; g < gpus; g++) {
            if (g)
                RGPU(rgpu_signal_wait_async(window, g, g - 1, BEFORE, 1, streams[g]));
            if (g + 1 < gpus)
                RGPU(rgpu_signal_wait_async(window, g, g + 1, BEHIND, 1, streams[g]));
        }
    }
}

static float *result(unsigned int steps)
{
    size_t own = planes * plane_size;
    char *all = malloc(own * (size_t)gpus);
    check(!all, "malloc", "");
    for (int g = 0; g < gpus; g++) {
        CU(cuCtxSetCurrent(contexts[g]));
        CU(cuMemcpyDtoH(all + own * (size_t)g, fields[g] + plane_at(steps % 2, 1), own));
    }
    return (float *)all;
}

static double difference(const float *want, unsigned int steps)
{
    float *got = result(steps);
    double most = 0;
    for (size_t i = 0; i < (size_t)gpus * planes * width; i++)
        most = larger(most, got[i], want[i]);
    free(got);
    return most;
}

int main(int argc, char **argv)
{
    unsigned int steps = number_of(argv, argc, 1, 200);
    width = number_of(argv, argc, 2, 128 * 26);
    planes = number_of(argv, argc, 3, 320);
    plane_size = width * sizeof(float);
    field_size = (planes + 2) * plane_size;
    open_gpus();
    allocate(fields, sizes, 2 * field_size);
    RGPU(rgpu_window_register(team, fields, sizes, TAGS, &window));
    int wrong =
        compare_ways(&(struct two_ways){"stencil", start, by_copies, by_puts, result, difference},
                     steps);
    RGPU(rgpu_team_check(team));
    RGPU(rgpu_window_free(&window));
    release(fields);
    close_gpus();
    return wrong;
}
