// SPDX-License-Identifier: BSD-3-Clause
// rgpuctl ping: measures latency of a box and bandwidth to and from its GPU, for each transport,
// with the client library in a child process for each transport.
#include "admin-cli/ping.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "admin-cli/findings.h"
#include "admin-cli/output/conversation.h"
#include "admin-cli/try_kernels.h"
#include "common/base/clock.h"
#include "common/base/program_path.h"
#include "common/base/scope.h"
#include "proto/cuda_abi.h"

enum { COPY_BYTES = 32 << 20, COPIES = 4, QUESTIONS = 200, REPORT_MAX = 16384 };

static const char *const transports[] = {"shm", "rdma", "tcp"};

struct driver_calls {
    CUresult (*init)(unsigned);
    CUresult (*retain)(CUcontext *, CUdevice);
    CUresult (*set_current)(CUcontext);
    CUresult (*alloc)(CUdeviceptr *, size_t);
    CUresult (*to)(CUdeviceptr, const void *, size_t);
    CUresult (*from)(void *, CUdeviceptr, size_t);
};

int ping_library(char *path, size_t size)
{
    static const char *const candidates[] = {"../lib/rgpu/libcuda.so.1", "../lib/libcuda.so.1",
                                             NULL};

    return program_path_find(candidates, path, size);
}

static int ping_load(struct driver_calls *out)
{
    char path[PATH_MAX];
    void *handle = ping_library(path, sizeof(path)) ? NULL : dlopen(path, RTLD_NOW);
    const struct {
        void *to;
        const char *name;
    } symbols[] = {
        {&out->init, "cuInit"},
        {&out->retain, "cuDevicePrimaryCtxRetain"},
        {&out->set_current, "cuCtxSetCurrent"},
        {&out->alloc, "cuMemAlloc_v2"},
        {&out->to, "cuMemcpyHtoD_v2"},
        {&out->from, "cuMemcpyDtoH_v2"},
    };

    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        void *symbol = handle ? dlsym(handle, symbols[i].name) : NULL;
        if (!symbol) {
            fprintf(stderr, "the client library is not installed (no %s): install rgpu-client\n",
                    path);
            return -ENOENT;
        }
        memcpy(symbols[i].to, &symbol, sizeof(symbol));
    }
    return 0;
}

static CUresult ping_measure(const struct driver_calls *library, char *bytes, double took[3])
{
    CUcontext context;
    CUdeviceptr memory = 0;
    CUresult result = library->init(0);

    if (!result)
        result = library->retain(&context, 0);
    if (!result)
        result = library->set_current(context);
    if (!result)
        result = library->alloc(&memory, COPY_BYTES);
    if (!result) // the first time is slower
        result = library->to(memory, bytes, COPY_BYTES);
    double begin = clock_seconds();
    for (int i = 0; !result && i < QUESTIONS; i++)
        result = library->from(bytes, memory, 4);
    double asked = clock_seconds();
    for (int i = 0; !result && i < COPIES; i++)
        result = library->to(memory, bytes, COPY_BYTES);
    double sent = clock_seconds();
    for (int i = 0; !result && i < COPIES; i++)
        result = library->from(bytes, memory, COPY_BYTES);
    took[0] = (asked - begin) / QUESTIONS;
    took[1] = (sent - asked) / COPIES;
    took[2] = (clock_seconds() - sent) / COPIES;
    return result;
}

// The child: its last line is the seconds of each question and copy, or why there are none.
static int measure_transport(const char *transport)
{
    struct driver_calls library;
    double took[3];
    char *bytes = calloc(1, COPY_BYTES);

    if (!bytes || setenv("RGPU_TRANSPORT", transport, 1) || ping_load(&library))
        return EXIT_ANSWER_NO;
    CUresult result = ping_measure(&library, bytes, took);
    free(bytes);
    if (result) {
        fflush(stdout);
        return EXIT_ANSWER_NO;
    }
    printf("%.9f %.9f %.9f\n", took[0], took[1], took[2]);
    fflush(stdout);
    return 0;
}

static void read_last_line(int fd, char *line, size_t size)
{
    static char text[REPORT_MAX];
    size_t used = 0;
    ssize_t n;

    while ((n = read(fd, text + used, sizeof(text) - 1 - used)) > 0 || (n < 0 && errno == EINTR)) {
        used += n > 0 ? (size_t)n : 0;
        if (used > sizeof(text) / 2) { // the last line is what matters
            memmove(text, text + used / 2, used - used / 2);
            used -= used / 2;
        }
    }
    while (used && text[used - 1] == '\n')
        used--;
    text[used] = '\0';
    const char *last = strrchr(text, '\n');
    snprintf(line, size, "%.*s", (int)size - 1, last ? last + 1 : text);
}

// Returns 0 with the seconds in TOOK, or -EIO with the reason in LINE.
static int ping_by(const char *transport, double took[3], char *line, size_t size)
{
    int ends[2], status = -1;

    if (pipe2(ends, O_CLOEXEC))
        return -errno;
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        if (dup2(ends[1], STDOUT_FILENO) < 0 || dup2(ends[1], STDERR_FILENO) < 0)
            _exit(EXIT_ANSWER_NO);
        exit(measure_transport(transport));
    }
    close(ends[1]);
    read_last_line(ends[0], line, size);
    close(ends[0]);
    if (child < 0 || waitpid(child, &status, 0) < 0 || status ||
        sscanf(line, "%lf %lf %lf", &took[0], &took[1], &took[2]) != 3) {
        if (!*line)
            snprintf(line, size, "the session ended without a word");
        return -EIO;
    }
    return 0;
}

// LINE is the reason for which the transport is not there, or NULL.
static void ping_report(const char *transport, const double took[3], const char *line)
{
    if (!findings_are_json() && line)
        printf("%-5s not here: %s\n", transport, line);
    else if (!findings_are_json())
        printf("%-5s round trip %.0f us, to the GPU %.2f GB/s, from it %.2f GB/s\n", transport,
               took[0] * 1e6, COPY_BYTES / took[1] / 1e9, COPY_BYTES / took[2] / 1e9);
    else if (line)
        finding_print_row(json_pack("{s:s, s:s}", "transport", transport, "text", line),
                          "transport", "absent");
    else
        finding_print_row(json_pack("{s:s, s:f, s:f, s:f}", "transport", transport,
                                    "round_trip_seconds", took[0], "to_gpu_bytes_per_second",
                                    COPY_BYTES / took[1], "from_gpu_bytes_per_second",
                                    COPY_BYTES / took[2]),
                          "transport", "ok");
}

// In a process of its own, by the transport that a program would get.
static int kernels_here(void)
{
    char path[PATH_MAX];
    int status = -1;

    if (ping_library(path, sizeof(path)))
        return EXIT_ANSWER_NO;
    fflush(stdout);
    pid_t child = fork();
    if (!child)
        exit(try_kernels(path));
    return child > 0 && waitpid(child, &status, 0) >= 0 && !status ? 0 : EXIT_ANSWER_NO;
}

// The boxes of the environment: RGPU_BOXES, or a ticket.
static int ping_here(void)
{
    char line[700];
    double took[3];
    int ways = 0;

    for (size_t i = 0; i < sizeof(transports) / sizeof(transports[0]); i++) {
        int err = ping_by(transports[i], took, line, sizeof(line));
        ways += !err;
        ping_report(transports[i], took, err ? line : NULL);
    }
    return ways ? kernels_here() : EXIT_UNREACHABLE;
}

// A box of a pool is reached with a lease of one of its GPUs, as any program reaches it.
static int ping_with_lease(const struct command *command, const struct command_line *line)
{
    const char *broker = command_value(command, line, "broker"),
               *key = command_value(command, line, "key"),
               *gpus = command_value(command, line, "gpus");
    char self[PATH_MAX], constraint[300];
    char *words[20] = {"run", "--constraint", constraint, "--no-wait"};
    int n = 4;
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

    if (length < 0)
        return EXIT_UNREACHABLE;
    self[length] = '\0';
    snprintf(constraint, sizeof(constraint), "box=%.250s", line->argv[0]);
    if (broker) {
        words[n++] = "--broker";
        words[n++] = (char *)broker;
    }
    if (key) {
        words[n++] = "--key";
        words[n++] = (char *)key;
    }
    if (gpus) {
        words[n++] = "--gpus";
        words[n++] = (char *)gpus;
    }
    words[n++] = "--";
    words[n++] = self;
    words[n++] = "ping";
    if (findings_are_json())
        words[n++] = "--json";
    return run_commands[0].run(&run_commands[0], n, words);
}

bool ping_is_address(const char *box)
{
    return strchr(box, ':') != NULL;
}

static int run_ping(const struct command *command, int argc, char **argv)
{
    struct command_line line;
    int status = command_parse(command, argc, argv, &line);

    if (status >= 0)
        return status;
    if (line.argc > 1) {
        fprintf(stderr, "rgpuctl ping: too many arguments; see rgpuctl ping --help\n");
        return EXIT_USAGE;
    }
    findings_as_json(command_value(command, &line, "json") != NULL);
    if (line.argc && !ping_is_address(line.argv[0]))
        return ping_with_lease(command, &line);
    if (line.argc && setenv("RGPU_BOXES", line.argv[0], 1))
        return EXIT_USAGE;
    return ping_here();
}

static const struct command_option ping_options[] = {
    POOL_OPTIONS,
    {"gpus", "N", "how many GPUs of a box of the pool to lease meanwhile [1]", 'n'},
    {"json", NULL, "one JSON object per line", 0},
    {0},
};

const struct command ping_commands[] = {
    {"ping", "[BOX|HOST:PORT]",
     "Measures how a box answers, by each transport, and runs a kernel on its GPUs.", ping_options,
     run_ping},
    {0},
};
