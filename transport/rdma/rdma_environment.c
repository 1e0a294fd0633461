// SPDX-License-Identifier: BSD-3-Clause
#include "transport/rdma/rdma_environment.h"

#include <stdio.h>
#include <stdlib.h>

struct fabric_variable {
    const char *name;
    long max;
    long unset;
};
enum { GID_INDEX, MTU, SERVICE_LEVEL, TRAFFIC_CLASS, DEAD_TIME, VARIABLES };
static const struct fabric_variable variables[VARIABLES] = {
    [GID_INDEX] = {"RGPU_RDMA_GID_INDEX", 254, -1},  [MTU] = {"RGPU_RDMA_MTU", 4096, 0},
    [SERVICE_LEVEL] = {"RGPU_RDMA_SL", 15, -1},      [TRAFFIC_CLASS] = {"RGPU_RDMA_CLASS", 255, 0},
    [DEAD_TIME] = {"RGPU_RDMA_DEAD_MS", 3600000, 0},
};

static long rdma_environment_value_of(const struct fabric_variable *variable)
{
    const char *text = secure_getenv(variable->name);
    char *end;

    if (!text || !*text)
        return variable->unset;
    long value = strtol(text, &end, 10);
    if (*end == 0 && value >= 0 && value <= variable->max)
        return value;
    fprintf(stderr, "rgpu: %s is not a number up to %ld; it is ignored\n", variable->name,
            variable->max);
    return variable->unset;
}

static unsigned packet_size(void)
{
    long value = rdma_environment_value_of(&variables[MTU]);

    if (value && (value < 256 || value & (value - 1))) {
        fprintf(stderr, "rgpu: %s is not 256, 512, 1024, 2048 or 4096; it is ignored\n",
                variables[MTU].name);
        return 0;
    }
    return (unsigned)value;
}

void rdma_environment_read(struct rdma_environment *out, uint64_t session)
{
    const char *addresses = secure_getenv("RGPU_RDMA_ADDRESS"),
               *devices = secure_getenv("RGPU_RDMA_DEVICES");

    snprintf(out->devices, sizeof(out->devices), "%s%s%s", addresses ? addresses : "",
             addresses && devices ? "," : "", devices ? devices : "");
    out->options = (struct rdma_options){
        .devices = out->devices,
        .turn = (unsigned)session,
        .gid_index = (int)rdma_environment_value_of(&variables[GID_INDEX]),
        .mtu = packet_size(),
        .service_level = (int)rdma_environment_value_of(&variables[SERVICE_LEVEL]),
        .traffic_class = (uint8_t)rdma_environment_value_of(&variables[TRAFFIC_CLASS]),
        .dead_ms = (uint32_t)rdma_environment_value_of(&variables[DEAD_TIME]),
    };
}
