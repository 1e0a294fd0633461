// SPDX-License-Identifier: BSD-3-Clause
// The driver does not report which limit was reached, so all figures are logged with their limits.
#include "daemon/worker/intake/shortage.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "common/base/log.h"
#include "daemon/worker/core/driver_load.h"
#include "worker_driver.h"
#include "worker_serve.h"

struct figures {
    unsigned long long data, locked, threads; // bytes, bytes
};

static struct figures read_figures(void)
{
    struct figures out = {0};
    unsigned long long value;
    char line[128];
    FILE *file = fopen("/proc/self/status", "re");

    while (file && fgets(line, sizeof(line), file)) {
        if (sscanf(line, "VmData: %llu kB", &value) == 1)
            out.data = value << 10;
        else if (sscanf(line, "VmLck: %llu kB", &value) == 1 ||
                 sscanf(line, "VmPin: %llu kB", &value) == 1)
            out.locked += value << 10;
        else if (sscanf(line, "Threads: %llu", &value) == 1)
            out.threads = value;
    }
    if (file)
        fclose(file);
    return out;
}

static unsigned long long limit_of(int resource)
{
    struct rlimit limit;

    return getrlimit((__rlimit_resource_t)resource, &limit) ? RLIM_INFINITY : limit.rlim_cur;
}

static void shortage_put(char *text, size_t room, const char *name, unsigned long long used,
                         unsigned long long limit)
{
    size_t at = strlen(text);

    if (limit == RLIM_INFINITY)
        snprintf(text + at, room - at, " %s=%llu", name, used);
    else
        snprintf(text + at, room - at, " %s=%llu/%llu", name, used, limit);
}

static void shortage_tell(const struct serve *serve, unsigned count)
{
    const struct figures figures = read_figures();
    size_t free_bytes = 0, total = 0;
    char text[256] = "";

    if (driver.cuMemGetInfo_v2 && driver.cuMemGetInfo_v2(&free_bytes, &total) == CUDA_SUCCESS)
        shortage_put(text, sizeof(text), "gpu", total - free_bytes, total);
    shortage_put(text, sizeof(text), "worker_memory", figures.data, limit_of(RLIMIT_DATA));
    shortage_put(text, sizeof(text), "locked", figures.locked, limit_of(RLIMIT_MEMLOCK));
    shortage_put(text, sizeof(text), "threads", figures.threads, limit_of(RLIMIT_NPROC));
    log_warn("op=%s result=%s used of what there is:%s times=%u", cuda_op_name(serve->request->op),
             driver_error_name(serve->result), text, count);
}

void shortage_note(const struct serve *serve)
{
    static _Atomic unsigned count;

    if (serve->result != CUDA_ERROR_OUT_OF_MEMORY && serve->result != CUDA_ERROR_OPERATING_SYSTEM)
        return;
    unsigned now = atomic_fetch_add(&count, 1) + 1;
    if (!(now & (now - 1))) // a program may look for the end of memory by trying
        shortage_tell(serve, now);
}
