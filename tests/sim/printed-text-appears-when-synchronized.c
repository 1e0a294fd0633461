// SPDX-License-Identifier: BSD-3-Clause
// Text that kernels print is held back until the program synchronizes, then appears completely and
// in order on the process's standard output.
#include <fcntl.h>

#include "tests/programs/printing.h"
#include "tests/sim/sim_test.h"

static int file;

static off_t printed(void)
{
    return lseek(file, 0, SEEK_END);
}

// Runs with standard output going to a file, which `body` must not write to itself.
static void capture(void (*body)(void))
{
    char path[] = "/tmp/sim-print-XXXXXX";
    file = mkstemp(path);
    unlink(path);
    fflush(stdout);
    int keep = dup(1);
    dup2(file, 1);
    body();
    fflush(stdout);
    dup2(keep, 1);
    close(keep);
}

static CUfunction hello;
static off_t before, after;

static void print_and_synchronize(void)
{
    uint32_t *gate = sim_word();
    uint32_t number = 42;
    CUstream stream = sim_stream(CU_STREAM_NON_BLOCKING);
    launch(hello, 2, 3, stream, &number);
    sim_close_gate(stream, gate);
    struct timespec pause = {.tv_nsec = 50000000};
    nanosleep(&pause, NULL);
    before = printed();
    sim_open_gate(gate);
    CHECK(cuStreamSynchronize(stream));
    after = printed();
}

int main(void)
{
    sim_isolate("1", "256M");
    sim_context(0);
    CUmodule module;
    CHECK(cuModuleLoadData(&module, printing_ptx));
    CHECK(cuModuleGetFunction(&hello, module, "hello"));
    capture(print_and_synchronize);
    is_int(before, 0, "nothing is printed before the program synchronizes");
    ok(after > 0, "everything has been when the call returns");
    char text[4096] = "";
    if (pread(file, text, sizeof(text) - 1, 0) < 0)
        bail("cannot read the output back");
    int lines = 0, whole = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        int block, thread;
        lines++;
        whole += sscanf(line, "hello 42 from block %d thread %d: text 21.00", &block, &thread) == 2;
    }
    is_int(lines, 6, "one line from each thread");
    is_int(whole, 6, "each of them whole");
    return done();
}
