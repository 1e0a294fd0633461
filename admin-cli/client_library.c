// SPDX-License-Identifier: BSD-3-Clause
#include "admin-cli/client_library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin-cli/output/command.h"
#include "common/driver/nccl_preload.h"
#include "common/driver/profiler_preload.h"
#include "common/base/program_path.h"
#include "common/net/endpoint.h"

static char directory[4096];

// The directory of our libcuda.so.1, which the program's own search would not find.
static int client_library_find_directory(void)
{
    static const char *const candidates[] = {"../lib/rgpu/libcuda.so.1", "../lib/libcuda.so.1",
                                             NULL};

    if (program_path_find(candidates, directory, sizeof(directory))) {
        fprintf(stderr,
                "rgpuctl run: the client library is not installed (no %s): install rgpu-client\n",
                directory);
        return EXIT_UNREACHABLE;
    }
    *strrchr(directory, '/') = '\0';
    return 0;
}

int client_library_use(void)
{
    char value[8192];
    const char *old = getenv("LD_LIBRARY_PATH"), *nccl = getenv("RGPU_NCCL");
    int status = client_library_find_directory();

    if (status)
        return status;
    if (!nccl_choice_is_known(nccl)) {
        fprintf(stderr, "rgpuctl run: RGPU_NCCL=%s is not one of auto, own, site\n", nccl);
        return EXIT_USAGE;
    }
    if ((size_t)snprintf(value, sizeof(value), "%s%s%s", directory, old && *old ? ":" : "",
                         old ? old : "") >= sizeof(value) ||
        setenv("LD_LIBRARY_PATH", value, 1)) {
        fprintf(stderr, "rgpuctl run: LD_LIBRARY_PATH is too long\n");
        return EXIT_USAGE;
    }
    if (profiler_preload(directory, getenv("LD_PRELOAD"), getenv("RGPU_PROFILER"), value,
                         sizeof(value)))
        setenv("LD_PRELOAD", value, 1);
    return 0;
}

void client_library_use_nccl(size_t boxes, const char *addresses)
{
    char value[8192];
    bool apart = !endpoint_boxes_share_memory(boxes, addresses, getenv("RGPU_TRANSPORT"));

    if (nccl_preload(directory, getenv("LD_PRELOAD"), getenv("RGPU_NCCL"), apart, value,
                     sizeof(value)))
        setenv("LD_PRELOAD", value, 1);
}
