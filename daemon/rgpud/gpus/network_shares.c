// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/gpus/network_shares.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "daemon/rgpud/gpus/accounts.h"

// The timer becomes slower while no lease moves anything.
enum { TURN_MS = 20, IDLE_TURN_MS = 1000, BYTES_OF_MBIT = 125000 };

// Returns the speed of the interface whose folder has the entry DEVICE, in Mbit/s; 0 if the kernel
// does not know it.
static uint64_t speed_of_card(const char *device)
{
    char path[4096];
    long long speed = 0;

    snprintf(path, sizeof(path), "%.*sspeed", (int)(strlen(device) - strlen("device")), device);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    if (fscanf(file, "%lld", &speed) != 1 || speed < 0)
        speed = 0;
    fclose(file);
    return (uint64_t)speed;
}

// Returns the bytes per second of all network cards; 0 if the kernel reports none. Interfaces
// without hardware, such as bridges, have no entry `device`.
static uint64_t speed_of_cards(void)
{
    glob_t found = {0};
    uint64_t sum = 0;

    if (!glob("/sys/class/net/*/device", 0, NULL, &found))
        for (size_t i = 0; i < found.gl_pathc; i++)
            sum += speed_of_card(found.gl_pathv[i]);
    globfree(&found);
    return sum * BYTES_OF_MBIT;
}

static void network_shares_turn(evutil_socket_t fd, short events, void *argument)
{
    struct box *box = argument;
    uint64_t now = clock_ns();
    unsigned moving = accounts_share_network(box, box->network_bandwidth, now - box->network_ns);
    unsigned pause = moving ? TURN_MS : 2 * box->network_pause_ms;

    box->network_ns = now;
    box->network_pause_ms = pause < IDLE_TURN_MS ? pause : IDLE_TURN_MS;
    const struct timeval turn = {.tv_sec = box->network_pause_ms / 1000,
                                 .tv_usec = box->network_pause_ms % 1000 * 1000};
    if (accounts_count(box) > 1)
        evtimer_add(box->network_turn, &turn);
}

int network_shares_open(struct box *box)
{
    uint64_t set = box->settings.network_bandwidth;

    box->network_bandwidth = set ? set : speed_of_cards();
    box->network_turn = evtimer_new(box->base, network_shares_turn, box);
    log_info("network bandwidth=%llu of=%s", (unsigned long long)box->network_bandwidth,
             set ? "settings" : "cards");
    return box->network_turn ? 0 : -ENOMEM;
}

void network_shares_review(struct box *box)
{
    if (!box->network_bandwidth || evtimer_pending(box->network_turn, NULL) ||
        accounts_count(box) < 2)
        return;
    box->network_ns = clock_ns();
    box->network_pause_ms = TURN_MS;
    network_shares_turn(-1, 0, box);
}

void network_shares_close(struct box *box)
{
    if (box->network_turn)
        event_free(box->network_turn);
    box->network_turn = NULL;
}
