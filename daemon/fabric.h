// How workers are told to use the RDMA fabric.
#ifndef RGPU_DAEMON_FABRIC_H
#define RGPU_DAEMON_FABRIC_H

#include <stddef.h>

#include "daemon/settings.h"

// The rdma settings that the configuration's types do not check. -EINVAL after logging.
int fabric_check(const struct settings *settings);

enum { FABRIC_ARGUMENTS_MAX = 16 };
struct fabric_arguments {
    char devices[1024];
    char turn[16], gid_index[16], mtu[16], service_level[16], ports[16], class[16], dead_ms[24];
    const char *list[FABRIC_ARGUMENTS_MAX]; // options of rgpu-worker and their values
    size_t count;                           // 0 where sessions may not use rdma
};
// For one more worker: another number of turn each time.
void fabric_arguments(const struct settings *settings, struct fabric_arguments *out);

#endif
