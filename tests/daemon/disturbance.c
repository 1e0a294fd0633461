// SPDX-License-Identifier: BSD-3-Clause
// Tests that workers for future clients start only when this takes nothing from the clients being
// served.
#include "daemon/rgpud/disturbance.h"

#include <string.h>

#include "tests/tap.h"

static const struct disturbance calm = {
    .sessions = 1,
    .utilization = {true, 10},
    .running = 1,
    .processors = 16,
    .busy_gpu = 50,
    .busy_processors = 100,
    .timeout_us = 10000000,
};

static void gives(struct disturbance now, enum pace want, const char *reason, const char *text)
{
    const char *why;
    enum pace pace = disturbance_pace(&now, &why);

    ok(pace == want && (reason ? why && !strcmp(why, reason) : !why), "%s", text);
}

int main(void)
{
    struct disturbance now = {.processors = 2, .running = 50, .busy_processors = 100};

    gives(now, PACE_MANY, NULL, "nobody is served: as many at once as may be, whatever else runs");
    gives(calm, PACE_ONE, NULL, "beside sessions that leave room: one after the other");

    now = calm;
    now.waiting = 3;
    gives(now, PACE_NONE, "clients wait for workers of their own", "none while clients wait");
    now.short_us = now.timeout_us + 1;
    gives(now, PACE_NONE, "clients wait for workers of their own",
          "however long they have been missing");
    now = calm;
    now.waiting = 1;
    gives(now, PACE_ONE, NULL, "one beside the worker of a single client that waits");
    now.sessions = 0;
    gives(now, PACE_ONE, NULL, "not as many as may be");

    now = calm;
    now.utilization.value = 50;
    gives(now, PACE_NONE, "the GPU is busy", "none while the GPU is busy");
    now.busy_gpu = 101;
    gives(now, PACE_ONE, NULL, "unless it is said that it never is");

    now = calm;
    now.running = 16;
    gives(now, PACE_NONE, "the processors are busy", "none while the processors are busy");
    now.running = 15;
    gives(now, PACE_ONE, NULL, "one where a processor is free");

    now = calm;
    now.crowded = true;
    gives(now, PACE_NONE, "many clients came at once",
          "none after a crowd of which the GPU's figures do not know yet");
    now.short_us = now.timeout_us;
    gives(now, PACE_ONE, NULL, "one after the other where they have been missing for too long");

    now = calm;
    now.utilization = (struct figure){false, 100};
    gives(now, PACE_ONE, NULL, "a GPU of which nothing is told is not busy");
    return done();
}
