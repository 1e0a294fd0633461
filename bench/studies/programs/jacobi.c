// SPDX-License-Identifier: BSD-3-Clause
// Runs Jacobi's method on a field split in strips over several GPUs, whose edges go to their
// neighbours after each step; prints one JSON line per figure.
//
//   jacobi GPUS BYTES ROWS STEPS
//
// An edge is BYTES long, a strip ROWS high. It measures three ways: copies of edges from GPU to
// GPU, copies through the host like an MPI without GPU support, and no exchange at all. x of the
// figures is BYTES.
#include "bench/studies/programs/study.h"

enum { MOST = 8, CHECKED_ROWS = 4, CHECKED_STEPS = 5 };
enum edge_way { NONE, PEER, HOST };

// The text of stencil.ptx with a zero byte at its end.
__asm__(".pushsection .rodata\n"
        "stencil_ptx: .incbin \"bench/studies/programs/stencil.ptx\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char stencil_ptx[] __attribute__((visibility("hidden")));

struct strip {
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction step;
    CUstream stream;
    CUevent sent;
    CUdeviceptr field[2];
    float *edge[2]; // in host memory, for edges that leave upwards and downwards
};

static struct strip strips[MOST];
static unsigned gpus, width, rows;

static void figure(const char *name, double seconds)
{
    study_figure_at(name, width * 4ull, seconds * 1e6, "us");
}

static size_t row_size(void)
{
    return width * 4ull;
}

static void on(const struct strip *strip)
{
    CHECK(cuCtxSetCurrent(strip->context));
}

static void open_strip(struct strip *strip, int ordinal)
{
    CHECK(cuDeviceGet(&strip->device, ordinal));
    CHECK(cuDevicePrimaryCtxRetain(&strip->context, strip->device));
    on(strip);
    CHECK(cuModuleLoadData(&strip->module, stencil_ptx));
    CHECK(cuModuleGetFunction(&strip->step, strip->module, "jacobi"));
    CHECK(cuStreamCreate(&strip->stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&strip->sent, CU_EVENT_DISABLE_TIMING));
    for (int i = 0; i < 2; i++)
        CHECK(cuMemAllocHost((void **)&strip->edge[i], row_size()));
}

// Enables peer access if possible, as programs do; copies work without it.
static void open_neighbours(void)
{
    for (unsigned a = 0; a < gpus; a++)
        for (unsigned b = 0; b < gpus; b++) {
            int can = 0;
            on(&strips[a]);
            if (a != b &&
                cuDeviceCanAccessPeer(&can, strips[a].device, strips[b].device) == CUDA_SUCCESS &&
                can)
                (void)cuCtxEnablePeerAccess(strips[b].context, 0);
        }
}

// Returns the initial value at a position; it does not depend on the split.
static float at_first(size_t row, size_t column)
{
    return (float)((row * 31 + column * 17) % 101);
}

static void fill(void)
{
    float *all = must_alloc((rows + 2) * row_size());
    for (unsigned g = 0; g < gpus; g++) {
        for (size_t row = 0; row < rows + 2; row++)
            for (size_t column = 0; column < width; column++) {
                size_t global = g * (size_t)rows + row;
                bool outside = global == 0 || global == (size_t)gpus * rows + 1;
                all[row * width + column] = outside ? 0 : at_first(global, column);
            }
        on(&strips[g]);
        for (int i = 0; i < 2; i++) {
            strips[g].field[i] = device_alloc((rows + 2) * row_size());
            CHECK(cuMemcpyHtoD(strips[g].field[i], all, (rows + 2) * row_size()));
        }
        CHECK(
            // a small copy may return early, and the streams do not wait for it
            cuCtxSynchronize());
    }
    free(all);
}

static void empty(void)
{
    for (unsigned g = 0; g < gpus; g++) {
        on(&strips[g]);
        CHECK(cuCtxSynchronize());
        for (int i = 0; i < 2; i++)
            CHECK(cuMemFree(strips[g].field[i]));
    }
}

static void wait_all(void)
{
    for (unsigned g = 0; g < gpus; g++) {
        on(&strips[g]);
        CHECK(cuStreamSynchronize(strips[g].stream));
    }
}

static void compute(struct strip *strip, int from)
{
    on(strip);
    CHECK(cuLaunchKernel(strip->step, (width + 255) / 256, rows, 1, 256, 1, 1, 0, strip->stream,
                         (void *[]){&strip->field[!from], &strip->field[from], &width, &rows},
                         NULL));
}

// Returns the address of a strip's outermost row, or of the row that receives the neighbour's.
static CUdeviceptr edge_row(const struct strip *strip, int field, bool lower)
{
    return strip->field[field] + (lower ? rows : 1) * row_size();
}

static CUdeviceptr halo_row(const struct strip *strip, int field, bool lower)
{
    return strip->field[field] + (lower ? rows + 1 : 0) * row_size();
}

static void send_to_peers(unsigned g, int field)
{
    struct strip *strip = &strips[g];
    for (int lower = 0; lower < 2; lower++) {
        if (lower ? g + 1 == gpus : g == 0)
            continue;
        struct strip *to = lower ? strip + 1 : strip - 1;
        CHECK(cuMemcpyPeerAsync(halo_row(to, field, !lower), to->context,
                                edge_row(strip, field, lower), strip->context, row_size(),
                                strip->stream));
    }
    CHECK(cuEventRecord(strip->sent, strip->stream));
}

static void await_neighbours(unsigned g)
{
    on(&strips[g]);
    if (g)
        CHECK(cuStreamWaitEvent(strips[g].stream, strips[g - 1].sent, 0));
    if (g + 1 < gpus)
        CHECK(cuStreamWaitEvent(strips[g].stream, strips[g + 1].sent, 0));
}

static void exchange_by_host(int field)
{
    for (unsigned g = 0; g < gpus; g++) {
        on(&strips[g]);
        for (int lower = 0; lower < 2; lower++)
            if (lower ? g + 1 < gpus : g > 0)
                CHECK(cuMemcpyDtoHAsync(strips[g].edge[lower], edge_row(&strips[g], field, lower),
                                        row_size(), strips[g].stream));
    }
    wait_all();
    for (unsigned g = 0; g < gpus; g++) {
        on(&strips[g]);
        if (g)
            CHECK(cuMemcpyHtoDAsync(halo_row(&strips[g], field, false), strips[g - 1].edge[1],
                                    row_size(), strips[g].stream));
        if (g + 1 < gpus)
            CHECK(cuMemcpyHtoDAsync(halo_row(&strips[g], field, true), strips[g + 1].edge[0],
                                    row_size(), strips[g].stream));
    }
    wait_all();
}

// Returns the seconds per step. The last result is in the field of the returned parity.
static double run(enum edge_way how, unsigned steps)
{
    for (unsigned g = 0; g < gpus; g++) {
        on(&strips[g]);
        CHECK(cuEventRecord(strips[g].sent, strips[g].stream));
    }
    wait_all();
    double begin = study_now();
    for (unsigned step = 0; step < steps; step++) {
        int from = step % 2;
        if (how == PEER)
            for (unsigned g = 0; g < gpus; g++)
                await_neighbours(g);
        for (unsigned g = 0; g < gpus; g++) {
            compute(&strips[g], from);
            if (how == PEER)
                send_to_peers(g, !from);
        }
        if (how == HOST)
            exchange_by_host(!from);
    }
    wait_all();
    return (study_now() - begin) / steps;
}

static void host_step(float *out, const float *in, size_t height)
{
    for (size_t row = 1; row <= height; row++)
        for (size_t i = 0; i < width; i++) {
            const float *here = in + row * width + i;
            float left = i ? here[-1] : 0, right = i + 1 < width ? here[1] : 0;
            out[row * width + i] = 0.25f * (left + right + *(here - width) + here[width]);
        }
}

// Checks the result against the host's computation on one field.
static void check(enum edge_way how)
{
    unsigned high = rows;
    rows = CHECKED_ROWS;
    size_t height = (size_t)gpus * rows, size = (height + 2) * row_size();
    float *field[2] = {must_alloc(size), must_alloc(size)}, *got = must_alloc(rows * row_size());
    memset(field[0], 0, size);
    memset(field[1], 0, size);
    for (size_t row = 1; row <= height; row++)
        for (size_t i = 0; i < width; i++)
            field[0][row * width + i] = at_first(row, i);
    fill();
    run(how, CHECKED_STEPS);
    for (int step = 0; step < CHECKED_STEPS; step++)
        host_step(field[!(step % 2)], field[step % 2], height);
    for (unsigned g = 0; g < gpus; g++) {
        on(&strips[g]);
        CHECK(cuMemcpyDtoH(got, edge_row(&strips[g], CHECKED_STEPS % 2, false), rows * row_size()));
        const float *want = field[CHECKED_STEPS % 2] + (1 + (size_t)g * rows) * width;
        for (size_t i = 0; i < rows * (size_t)width; i++)
            if (got[i] - want[i] > 1e-3f || want[i] - got[i] > 1e-3f)
                bail("GPU %u, place %zu: %g instead of %g", g, i, (double)got[i], (double)want[i]);
    }
    empty();
    free(field[0]);
    free(field[1]);
    free(got);
    rows = high;
}

static double measure(enum edge_way how, unsigned steps)
{
    fill();
    run(how, steps / 10 + 1);
    double best = run(how, steps);
    for (int i = 0; i < 2; i++) {
        double again = run(how, steps);
        best = again < best ? again : best;
    }
    empty();
    return best;
}

int main(int count, char **arguments)
{
    unsigned steps = count == 5 ? (unsigned)atoi(arguments[4]) : 0;
    gpus = count == 5 ? (unsigned)atoi(arguments[1]) : 0;
    width = count == 5 ? (unsigned)atoi(arguments[2]) / 4 : 0;
    rows = count == 5 ? (unsigned)atoi(arguments[3]) : 0;
    if (!gpus || gpus > MOST || !width || !rows || !steps)
        bail("usage: jacobi GPUS BYTES ROWS STEPS");
    CHECK(cuInit(0));
    for (unsigned g = 0; g < gpus; g++)
        open_strip(&strips[g], (int)g);
    open_neighbours();
    check(PEER);
    check(HOST);
    double alone = measure(NONE, steps), peer = measure(PEER, steps), host = measure(HOST, steps);
    figure("Jacobi, no exchange", alone);
    figure("Jacobi, copies between GPUs", peer);
    figure("Jacobi, by way of the host", host);
    return 0;
}
