// SPDX-License-Identifier: BSD-3-Clause
#include <stdio.h>
#include <unistd.h>

#include "daemon/rgpud/disturbance.h"
#include "daemon/rgpud/clients/waiting_clients.h"
#include "daemon/rgpud/workers/worker_process.h"

// Reads the number of runnable threads from the fourth field, "running/all". Returns 0 if the host
// does not report it; processors then never count as busy.
static unsigned count_running(void)
{
    FILE *file = fopen("/proc/loadavg", "re");
    unsigned running = 0;

    if (!file)
        return 0;
    if (fscanf(file, "%*s %*s %*s %u/", &running) != 1)
        running = 0;
    fclose(file);
    return running;
}

static unsigned count_waiting(struct box *box, const struct box_device *device)
{
    struct client *client;
    unsigned count = 0;

    for (client = waiting_next(box, NULL); client; client = waiting_next(box, client))
        count += waiting_first_device(client) == device;
    return count;
}

// Returns true if several sessions that had to wait began after the library's last reading. A
// single one is a program that follows another one: the next may come as soon.
static bool is_crowded(const struct box *box, const struct box_device *device)
{
    const struct worker_process *worker;
    unsigned waited = 0;

    TAILQ_FOREACH(worker, &box->workers, link)
        waited += worker->device == device && worker->session.waited &&
                  worker->session.since_ms >= device->figures_ms;
    return waited > 1;
}

void disturbance_measure(struct box *box, const struct box_device *device, struct disturbance *out)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);

    *out = (struct disturbance){
        .waiting = count_waiting(box, device),
        .sessions = device->sessions,
        .crowded = is_crowded(box, device),
        .utilization = device->utilization,
        .running = device->sessions ? count_running() : 0,
        .processors = processors > 0 ? (unsigned)processors : 1,
        .busy_gpu = box->settings.busy_gpu,
        .busy_processors = box->settings.busy_processors,
        .timeout_us = box->settings.refill_timeout,
    };
}
