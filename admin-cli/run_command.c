// SPDX-License-Identifier: BSD-3-Clause
// rgpuctl run: runs a program with rgpu's libcuda.so.1 instead of the driver's, on the GPUs of a
// lease or of given boxes.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "admin-cli/client_library.h"
#include "admin-cli/leased_run.h"
#include "admin-cli/output/conversation.h"
#include "common/net/control.h"
#include "common/net/endpoint.h"

enum { BOXES_MAX = 64 };

static int check_boxes(const char *boxes, int *count)
{
    struct endpoint endpoints[BOXES_MAX];

    *count = endpoint_parse_list(boxes, ENDPOINT_DEFAULT_PORT, endpoints, BOXES_MAX);
    if (*count > 0)
        return 0;
    char problem[256];
    endpoint_list_problem(boxes, ENDPOINT_DEFAULT_PORT, BOXES_MAX, problem, sizeof(problem));
    fprintf(stderr, "rgpuctl run: --box is not a list of boxes: %s\n", problem);
    return EXIT_USAGE;
}

static int set_variable(const char *name, const char *value)
{
    return value && setenv(name, value, 1) ? EXIT_USAGE : 0;
}

static int run_command_execute(char **argv)
{
    execvp(argv[0], argv);
    int error = errno;
    fprintf(stderr, "rgpuctl run: cannot run %s: %s\n", argv[0], strerror(error));
    return error == ENOENT ? 127 : 126;
}

static bool asks_for_lease(const struct command *command, const struct command_line *line)
{
    static const char *const names[] = {"gpus",       "mem",     "mode",    "compute",
                                        "constraint", "no-wait", "timeout", "broker"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (command_value(command, line, names[i]))
            return true;
    return false;
}

static int run_command_run(const struct command *command, int argc, char **argv)
{
    struct command_line line;
    int count = 0, status = command_parse(command, argc, argv, &line);

    if (status >= 0)
        return status;
    const char *boxes = command_value(command, &line, "box");
    bool lease = !boxes && asks_for_lease(command, &line);
    if (!boxes && !lease)
        boxes = getenv("RGPU_BOXES");
    if (!line.argc) {
        fprintf(stderr, "rgpuctl run: name a program after --; see rgpuctl run --help\n");
        return EXIT_USAGE;
    }
    status = boxes ? check_boxes(boxes, &count) : 0;
    if (!status)
        status = set_variable("RGPU_NCCL", command_value(command, &line, "nccl"));
    if (!status)
        status = client_library_use();
    if (!status)
        status =
            set_variable("RGPU_BOXES", boxes) ||
                    set_variable("RGPU_TRANSPORT", command_value(command, &line, "transport")) ||
                    set_variable("RGPU_PROTECTION", command_value(command, &line, "protection")) ||
                    set_variable("RGPU_MAPPED_HOST",
                                 command_value(command, &line, "mapped-host")) ||
                    set_variable("RGPU_LOG", command_value(command, &line, "log"))
                ? EXIT_USAGE
                : 0;
    if (status)
        return status;
    if (!boxes)
        return lease_run(command, &line);
    client_library_use_nccl((size_t)count, boxes);
    return run_command_execute(line.argv);
}

static const struct command_option run_options[] = {
    {"gpus", "N", "how many GPUs of the pool to take a lease of [1]", 'n', "1..1000"},
    {"mem", "SIZE",
     "a share of each with this memory budget; with --mode exclusive the least it has", 0},
    {"mode", "MODE", "exclusive or shared [shared with --mem, else exclusive]", 0,
     "exclusive|shared"},
    {"compute", "PERCENT",
     "part of each GPU: of its multiprocessors under MPS, else of its time [100%]", 0},
    {"constraint", "LIST", "such as model=*H200*,same-box,policy=spread", 0},
    {"no-wait", NULL, "end at once where no GPUs are free", 0},
    TIMEOUT_OPTION("waiting for GPUs after"),
    POOL_OPTIONS,
    {"box", "HOST:PORT[,...]", "boxes without a broker instead of a lease [RGPU_BOXES]", 0},
    {"transport", "NAME", CONTROL_TRANSPORT_WORDS " instead of the automatic choice", 0,
     CONTROL_TRANSPORT_CHOICES},
    {"protection", "WORD", "authenticate or privacy: the least that sessions have on their way", 0,
     "authenticate|privacy"},
    {"mapped-host", "WORD", "when page-locked memory that is not shared is mirrored for kernels", 0,
     "auto|no|mirror"},
    {"nccl", "WORD", "libnccl.so.2: ours (own), NVIDIA's (site), or ours where a lease spans boxes",
     0, "auto|own|site"},
    {"log", "LEVEL", "what the client library says: error, warn, info, debug or trace", 0,
     "error|warn|info|debug|trace"},
    {0},
};

const struct command run_commands[] = {
    {"run", "-- PROGRAM [ARGUMENT...]", "Runs an unmodified CUDA program on remote GPUs.",
     run_options, run_command_run, .wraps = true},
    {0},
};
