// SPDX-License-Identifier: BSD-3-Clause
// The memory of a simulated device is one budget for all processes, and that of a process which
// was killed comes back.
#include <signal.h>

#include "tests/sim/sim_test.h"

enum { MIB = 1 << 20 };

struct child {
    pid_t pid;
    int to;
    int from;
};

// Forks a process that waits for a word, then holds `size` bytes of the device until it is
// released. It is forked before this process calls cuInit, because a child cannot use CUDA after
// that.
static struct child make_child(size_t size)
{
    int to[2], from[2];
    char byte = 0;
    if (pipe(to) || pipe(from))
        bail("no pipes");
    struct child child = {.pid = fork(), .to = to[1], .from = from[0]};
    if (child.pid < 0)
        bail("no process");
    if (!child.pid) {
        CUcontext context;
        CUdeviceptr address;
        close(to[1]);
        if (read(to[0], &byte, 1) != 1)
            _exit(0);
        byte = cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
               cuMemAlloc(&address, size);
        if (write(from[1], &byte, 1) != 1)
            _exit(2);
        byte = (char)read(to[0], &byte, 1);
        exit(0);
    }
    close(to[0]);
    close(from[1]);
    return child;
}

static void start_child(struct child *child)
{
    char byte = 1;
    if (write(child->to, &byte, 1) != 1 || read(child->from, &byte, 1) != 1 || byte)
        bail("a process could not allocate");
}

static void end_child(struct child *child, bool kill_it)
{
    int status;
    if (kill_it)
        kill(child->pid, SIGKILL);
    close(child->to);
    close(child->from);
    waitpid(child->pid, &status, 0);
}

static size_t free_memory(void)
{
    size_t left, total;
    CHECK(cuMemGetInfo(&left, &total));
    return left;
}

int main(void)
{
    sim_isolate("1", "512M");
    struct child second = make_child(300 * MIB), first = make_child(100 * MIB);
    start_child(&first);
    sim_context(0);
    size_t total, left;
    CHECK(cuMemGetInfo(&left, &total));
    is_int(total, 512 * (size_t)MIB, "the device has the size that was set");
    is_int(left, (512 - 100 - 2 * 16) * (size_t)MIB,
           "less another process's allocation and two contexts");

    CUdeviceptr address;
    gives(cuMemAlloc(&address, 400 * (size_t)MIB), CUDA_ERROR_OUT_OF_MEMORY,
          "more than is left is not to be had");
    is_int(free_memory(), left, "and asking for it takes nothing");
    CHECK(cuMemAlloc(&address, 200 * (size_t)MIB));
    is_int(free_memory(), left - 200 * (size_t)MIB, "what is taken is missing");
    CHECK(cuMemFree(address));
    is_int(free_memory(), left, "and comes back");

    end_child(&first, true);
    is_int(free_memory(), (512 - 16) * (size_t)MIB, "the memory of a killed process comes back");
    start_child(&second);
    is_int(free_memory(), (512 - 300 - 2 * 16) * (size_t)MIB, "another process takes its place");
    end_child(&second, false);
    is_int(free_memory(), (512 - 16) * (size_t)MIB, "the memory of one that ended comes back too");
    return done();
}
