// SPDX-License-Identifier: BSD-3-Clause
// Fills each resource of the table to its limit: for a session, then its lease, then the box.
// Another lease gets some of it until the box has none left, and a freed resource can be taken
// again.
#include <stdlib.h>

#include "daemon/rgpud/box/box_settings.h"
#include "daemon/rgpud/box/limits.h"
#include "tests/tap.h"

static const struct box_settings settings = {.max_queued = 2048};
static struct limits *limits;
static struct limit_holder **holders;
static uint64_t taken;

// Takes as many as the session gets, and says why there are no more.
static enum limit_level fill(enum limited_resource resource, uint64_t session, const char *lease)
{
    enum limit_level level = LIMIT_OF_NONE;

    while (!(level = limits_take(limits, resource, session, lease, &holders[taken])))
        taken++;
    return level;
}

static void give_all(enum limited_resource resource)
{
    while (taken)
        limits_give(limits, resource, &holders[--taken]);
}

static void test_resource(enum limited_resource resource)
{
    uint64_t of_session = limits_most(limits, resource, LIMIT_OF_SESSION);
    uint64_t of_lease = limits_most(limits, resource, LIMIT_OF_LEASE);
    uint64_t of_box = limits_most(limits, resource, LIMIT_OF_BOX);

    diag("resource %d: session %" PRIu64 " lease %" PRIu64 " box %" PRIu64, resource, of_session,
         of_lease, of_box);
    holders = calloc(of_box, sizeof(*holders));
    if (!holders || !of_session)
        bail("no room");
    ok(of_session < of_lease && of_lease < of_box, "no session has all of its lease, no lease all");
    is_int(fill(resource, 1, "one"), LIMIT_OF_SESSION, "a session is refused more");
    is_int(taken, of_session, "than its part");
    is_int(fill(resource, 2, "one"), LIMIT_OF_SESSION, "a second one has as much");
    is_int(fill(resource, 3, "one"), LIMIT_OF_LEASE,
           "and a third one finds that the lease has all");
    is_int(taken, of_lease, "of its part");
    is_int(fill(resource, 4, ""), LIMIT_OF_SESSION, "one without a lease has its own");
    is_int(fill(resource, 5, "two"), LIMIT_OF_SESSION, "and so has another lease");
    is_int(fill(resource, 6, "three"), LIMIT_OF_BOX, "until the box has no more");
    is_int(taken, of_box, "than it may");
    limits_give(limits, resource, &holders[--taken]);
    is_int(fill(resource, 6, "three"), LIMIT_OF_BOX, "what is given back is taken again");
    is_int(taken, of_box, "and no more");
    give_all(resource);
    is_int(fill(resource, 1, "one"), LIMIT_OF_SESSION, "all is back");
    is_int(taken, of_session, "for whoever comes next");
    give_all(resource);
    free(holders);
}

int main(void)
{
    limits = limits_new(&settings);
    if (!limits)
        bail("no memory");
    for (int i = 0; i < LIMITED_RESOURCES; i++)
        test_resource((enum limited_resource)i);
    limits_free(&limits);
    return done();
}
