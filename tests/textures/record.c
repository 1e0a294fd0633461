// SPDX-License-Identifier: BSD-3-Clause
// Prints a device's results for textures and surfaces. Every section runs in a process of its own,
// because a fault ends the context. `textures-record [SECTION...]`; the tests compare the text with
// that of a GPU.
#include "tests/textures/sampling.h"

#include <sys/wait.h>
#include <unistd.h>

static const struct section *const families[] = {filter_sections, shape_sections, surface_sections,
                                                 descriptor_sections, stretch_sections};

static int run_section(const struct section *section)
{
    CUdevice device;
    CUcontext context;
    CUresult result = cuInit(0);

    if (!result)
        result = cuDeviceGet(&device, 0);
    if (!result)
        result = cuDevicePrimaryCtxRetain(&context, device);
    if (!result)
        result = cuCtxSetCurrent(context);
    if (result) {
        result_line(section->name, result);
        return 1;
    }
    section->run();
    return 0;
}

static const struct section *find_section(const char *name)
{
    for (size_t f = 0; f < COUNT(families); f++)
        for (const struct section *s = families[f]; s->name; s++)
            if (!strcmp(s->name, name))
                return s;
    return NULL;
}

// The same program again: nothing of a context survives a fork.
static void run_apart(const char *program, const char *name)
{
    int status = 0;
    pid_t pid = fork();

    if (!pid) {
        alarm(60);
        execl(program, program, name, (char *)NULL);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        status = -1;
    if (status) {
        printf("%s: ended with status %x\n", name, (unsigned)status);
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    if (argc == 2) {
        const struct section *section = find_section(argv[1]);
        int status = section ? run_section(section) : 2;

        fflush(stdout);
        return status;
    }
    for (size_t f = 0; f < COUNT(families); f++)
        for (const struct section *s = families[f]; s->name; s++)
            run_apart("/proc/self/exe", s->name);
    return 0;
}
