// How workers are told to use the RDMA fabric: from the settings to the worker's command line. What
// devices there are is not looked at here, since the supervisor links no verbs.
#include "daemon/fabric.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"

static bool parse_ports(const char *text, unsigned *first, unsigned *last)
{
    char rest;

    if (sscanf(text, "%5u-%5u%c", first, last, &rest) != 2) {
        if (sscanf(text, "%5u%c", first, &rest) != 1)
            return false;
        *last = *first;
    }
    return *first > 0 && *first <= *last && *last <= 65535;
}

static bool append_list(char *out, size_t room, char *const *list)
{
    size_t used = strlen(out);

    for (; list && *list; list++) {
        int n = snprintf(out + used, room - used, "%s%s", used ? "," : "", *list);
        if (n < 0 || (size_t)n >= room - used)
            return false;
        used += (size_t)n;
    }
    return true;
}

static bool join_devices(const struct settings *settings, char *out, size_t room)
{
    *out = '\0';
    return append_list(out, room, settings->rdma_addresses) &&
           append_list(out, room, settings->rdma_devices);
}

int fabric_check(const struct settings *settings)
{
    struct fabric_arguments room;
    unsigned first, last;

    if (settings->rdma_ports && !parse_ports(settings->rdma_ports, &first, &last)) {
        log_error("rdma_ports: %s is not a port or a range such as 7400-7499",
                  settings->rdma_ports);
        return -EINVAL;
    }
    if (!join_devices(settings, room.devices, sizeof(room.devices))) {
        log_error("rdma_addresses and rdma_devices together are too long");
        return -EINVAL;
    }
    return 0;
}

static void add(struct fabric_arguments *arguments, const char *name, const char *value)
{
    arguments->list[arguments->count++] = name;
    arguments->list[arguments->count++] = value;
}

static bool rdma_is_allowed(const struct settings *settings)
{
    for (char **name = settings->transports; *name; name++)
        if (!strcmp(*name, "rdma"))
            return true;
    return false;
}

void fabric_arguments(const struct settings *settings, struct fabric_arguments *out)
{
    static unsigned turn;
    unsigned first, last;

    *out = (struct fabric_arguments){.count = 0};
    if (!rdma_is_allowed(settings))
        return;
    join_devices(settings, out->devices, sizeof(out->devices));
    add(out, "--rdma", *out->devices ? out->devices : "any");
    snprintf(out->turn, sizeof(out->turn), "%u", turn++ % 1000000);
    add(out, "--rdma-turn", out->turn);
    if (settings->rdma_gid_index >= 0) {
        snprintf(out->gid_index, sizeof(out->gid_index), "%d", (int)settings->rdma_gid_index);
        add(out, "--rdma-gid", out->gid_index);
    }
    if (settings->rdma_mtu) {
        snprintf(out->mtu, sizeof(out->mtu), "%d", 128 << settings->rdma_mtu);
        add(out, "--rdma-mtu", out->mtu);
    }
    if (settings->rdma_service_level >= 0) {
        snprintf(out->service_level, sizeof(out->service_level), "%d",
                 (int)settings->rdma_service_level);
        add(out, "--rdma-sl", out->service_level);
    }
    if (settings->rdma_ports && parse_ports(settings->rdma_ports, &first, &last)) {
        snprintf(out->ports, sizeof(out->ports), "%u-%u", first & 0xffff, last & 0xffff);
        add(out, "--rdma-ports", out->ports);
    }
    snprintf(out->class, sizeof(out->class), "%d", (int)settings->rdma_traffic_class);
    add(out, "--rdma-class", out->class);
    snprintf(out->dead_ms, sizeof(out->dead_ms), "%llu",
             (unsigned long long)settings->rdma_dead_time / 1000);
    add(out, "--rdma-dead-ms", out->dead_ms);
}
