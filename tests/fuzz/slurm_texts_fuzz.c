// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: texts from a user's submission, Slurm and the broker: the gres, the options kept as
// variables (one a line), licences, and names of leases.
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "slurm-plugin/base/job_lease.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LINES_MAX = 16 };

static void try_request(char **lines, size_t count)
{
    struct gpu_request request;
    const char *why = NULL;
    char text[256];

    if (gpu_request_parse(count ? lines[0] : NULL, lines, count, &request, &why)) {
        if (!why)
            abort();
        return;
    }
    if (memchr(request.constraint, 0, sizeof(request.constraint)) == NULL)
        abort();
    if (gpu_request_licenses(&request, 3, text, sizeof(text)) == 0 && request.per_node &&
        !licenses_name_ours(text))
        abort();
}

static void try_licenses(const char *text)
{
    char *without = licenses_replace(text, ""), *ours = licenses_select_ours(text);

    if (!without || !ours)
        abort();
    if (licenses_name_ours(without))
        abort();
    free(without);
    free(ours);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char cluster[] = "c";
    const struct slurm_settings settings = {.cluster = cluster};
    char *text = malloc(size + 1), *lines[LINES_MAX], key[LEASE_KEY_MAX], *at;
    size_t count = 0;
    uint32_t job;
    time_t start;

    if (!text)
        return 0;
    log_set_level(LOG_LEVEL_OFF);
    memcpy(text, data, size);
    text[size] = '\0';
    if (lease_key_parse(&settings, text, &job, &start)) {
        uint32_t again;
        time_t begun;
        lease_key(&settings, job, start, key);
        if (!lease_key_parse(&settings, key, &again, &begun) || again != job || begun != start)
            abort();
    }
    try_licenses(text);
    for (at = text; at && count < LINES_MAX;) {
        char *line = strsep(&at, "\n");
        lines[count++] = line;
    }
    try_request(lines, count);
    free(text);
    return 0;
}
