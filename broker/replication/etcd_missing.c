// SPDX-License-Identifier: BSD-3-Clause
// The client of etcd in a program that is built without libcurl: opening it fails.
#include <errno.h>

#include "broker/replication/etcd.h"

int etcd_open(const struct etcd_access *access, struct etcd **etcd)
{
    (void)access;
    (void)etcd;
    return -ENOTSUP;
}

void etcd_close(struct etcd **etcd)
{
    (void)etcd;
}

json_t *etcd_call(struct etcd *etcd, const char *path, json_t *body, long timeout_ms)
{
    (void)etcd;
    (void)path;
    (void)timeout_ms;
    json_decref(body);
    return NULL;
}

const char *etcd_error(const struct etcd *etcd)
{
    (void)etcd;
    return "built without libcurl";
}
