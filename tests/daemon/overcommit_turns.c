// SPDX-License-Identifier: BSD-3-Clause
// Tests whose memory stays on an overcommitted GPU: no session leaves without need, idle sessions
// leave first, none is passed over, and all that want to run take turns.
#include "daemon/rgpud/sharing/overcommit_turns.h"

#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

enum { TENANTS = 5, QUANTUM_MS = 10000 };

static struct turn_rules rules = {.gpus = 1, .room = {100}, .quantum_ms = QUANTUM_MS};

static struct turn_tenant in(uint64_t has, int64_t since)
{
    return (struct turn_tenant){.place = TURN_IN, .has = {has}, .here_since_ms = since};
}

static struct turn_tenant waiting(struct turn_tenant tenant, uint64_t wants, int64_t since)
{
    tenant.waits = true;
    tenant.wants[0] = wants;
    tenant.waits_since_ms = since;
    return tenant;
}

static struct turn_tenant out(uint64_t wants, int64_t since)
{
    return waiting((struct turn_tenant){.place = TURN_OUT}, wants, since);
}

// WANT has a letter for each: s(tays), e(nters), l(eaves).
static void gives(struct turn_tenant *list, int64_t now, const char *want, const char *text)
{
    char got[16] = "";

    rules.now_ms = now;
    turns_decide(&rules, list, strlen(want));
    for (size_t i = 0; i < strlen(want); i++)
        got[i] = "sel"[list[i].verdict];
    is_str(got, want, "%s", text);
}

static void one_by_one(void)
{
    struct turn_tenant list[] = {in(60, 0), out(40, 1), out(1, 2)};
    gives(list, 3, "ses", "who fits comes in, who does not waits");
    list[0] = in(60, 0), list[1] = out(50, 1), list[2] = out(1, 2);
    gives(list, 3, "sss", "nobody passes one who waits for the same GPU");
    gives(list, QUANTUM_MS, "lss", "a quantum that is over makes room");
    list[0].place = TURN_LEAVING;
    gives(list, QUANTUM_MS, "sss", "which is waited for");
    list[0] = in(60, 0), list[0].idle = true;
    gives(list, 3, "lss", "who is idle has no quantum");
    list[0].fixed = true;
    gives(list, 3 * QUANTUM_MS, "sss", "who cannot leave stays");
    list[0] = in(60, 0), list[1] = out(200, 1);
    gives(list, QUANTUM_MS, "lss", "one that wants more than there is can have all there is");
    list[0] = (struct turn_tenant){.place = TURN_OUT}, list[1].waits_since_ms = 0;
    gives(list, QUANTUM_MS, "ses", "and has it");
}

static void several(void)
{
    struct turn_tenant list[] = {in(50, 0), in(30, 5), in(20, 1), out(40, 9)};
    list[1].idle = true;
    gives(list, 10, "ssss", "an idle one does not leave where that is not enough");
    gives(list, QUANTUM_MS, "llss", "it leaves first, and then who has been there longest");
    list[3].wants[0] = 30;
    gives(list, QUANTUM_MS, "slss", "and no more than it takes");
    list[0] = waiting(in(60, 0), 30, 1), list[1] = waiting(in(40, 0), 20, 2);
    list[2] = list[3] = (struct turn_tenant){.place = TURN_OUT};
    gives(list, 3, "slss", "of two that both want more, the later one gives way at once");
    list[1].place = TURN_LEAVING;
    gives(list, 4, "ssss", "which takes its time");
    list[1] = out(60, 2);
    gives(list, 5, "esss", "and then the first goes on");
    list[0] = waiting(in(60, 0), 10, 3), list[1] = out(50, 2);
    gives(list, 5, "esss", "who has come in gets more before those who wait outside");
    list[0].wants[0] = 30, list[2] = in(20, 4);
    gives(list, 5, "ssss", "and does not leave for them");
    gives(list, QUANTUM_MS, "lsss", "before its quantum is over");
    list[0] = in(90, 0);
    gives(list, QUANTUM_MS, "lsss", "until its quantum is over");
}

// Suspended leases that still have something on the GPU.
static void rests(void)
{
    struct turn_tenant list[] = {in(50, 0), out(0, 0), out(0, 0), out(30, 1)};
    list[1].waits = list[2].waits = false;
    list[1].has[0] = list[2].has[0] = 10;
    gives(list, 3, "ssse", "what fits beside the rests of suspended leases comes in");
    list[3].wants[0] = 40;
    gives(list, 3, "slss", "a rest leaves if that is enough");
    list[1].fixed = true;
    gives(list, 3, "ssls", "another one if that cannot");
    list[2].fixed = true;
    gives(list, 3, "ssss", "and none that cannot");
    list[0].has[0] = 70, list[1].fixed = list[2].fixed = false;
    gives(list, 3, "ssss", "nor if it is not enough");
    gives(list, QUANTUM_MS, "lsss", "a quantum that is over goes first");
    list[0] = in(50, 0), list[3].has[0] = 10, list[3].wants[0] = 90;
    gives(list, QUANTUM_MS, "llls", "all leave for one that wants all that there is");
}

static void two_gpus(void)
{
    struct turn_tenant list[] = {in(60, 0), out(0, 1), out(0, 2)};
    rules.gpus = 2, rules.room[1] = 100;
    list[1].wants[0] = 50, list[1].wants[1] = 50, list[2].wants[1] = 60;
    gives(list, 3, "sss", "who waits for two GPUs keeps those behind off both");
    list[1].wants[1] = 0;
    gives(list, 3, "sse", "and off no other one");
    rules.gpus = 1;
}

// Tenants of random sizes that always want to run: over many quanta each has been in as often as
// the others, and there is never more on the GPU than fits.
static void all_have_turns(void)
{
    struct turn_tenant list[TENANTS];
    uint64_t size[TENANTS];
    int turns[TENANTS] = {0}, fewest, most;
    bool fitted = true;

    for (int i = 0; i < TENANTS; i++) {
        size[i] = 40 + (uint64_t)rand() % 60;
        list[i] = out(size[i], i);
    }
    for (int64_t now = 0; now < 1000 * QUANTUM_MS; now += QUANTUM_MS / 4) {
        uint64_t sum = 0;
        rules.now_ms = now;
        turns_decide(&rules, list, TENANTS);
        for (int i = 0; i < TENANTS; i++) {
            if (list[i].place == TURN_LEAVING)
                list[i] = out(size[i], now);
            else if (list[i].verdict == TURN_LEAVES)
                list[i].place = TURN_LEAVING;
            else if (list[i].verdict == TURN_ENTERS && ++turns[i])
                list[i] = in(size[i], now);
            sum += list[i].place == TURN_OUT ? 0 : list[i].has[0];
        }
        fitted = fitted && sum <= rules.room[0];
    }
    fewest = most = turns[0];
    for (int i = 1; i < TENANTS; i++) {
        fewest = turns[i] < fewest ? turns[i] : fewest;
        most = turns[i] > most ? turns[i] : most;
    }
    ok(fitted, "there is never more on the GPU than fits");
    ok(fewest > 50 && most - fewest <= 1, "all have as many turns (%d to %d)", fewest, most);
}

int main(void)
{
    one_by_one();
    several();
    rests();
    two_gpus();
    all_have_turns();
    return done();
}
