// SPDX-License-Identifier: BSD-3-Clause
// Requests of users, of every kind that placement tells apart.
#include "tests/simulation/user_requests.h"

#include <stdio.h>

#include "tests/simulation/simulated_box.h"

static json_t *part(struct dice *dice, bool shared)
{
    json_t *part = json_pack("{s:I, s:s}", "count",
                             (json_int_t)(dice_chance(dice, 700) ? 1 : dice_between(dice, 1, 6)),
                             "mode", shared ? "shared" : "exclusive");

    if (shared)
        json_object_set_new(part, "memory", json_integer(dice_between(dice, 1, 40) << 30));
    return part;
}

static json_t *request(struct dice *dice)
{
    static const char *const policies[] = {"pack", "spread", "best-fit"};
    bool shared = dice_chance(dice, 400);
    json_t *gpus = json_array();
    json_t *request =
        json_pack("{s:o, s:s}", "gpus", gpus, "policy", policies[dice_below(dice, 3)]);
    char name[16];

    json_array_append_new(gpus, part(dice, shared));
    if (dice_chance(dice, 80))
        json_array_append_new(gpus, part(dice, !shared));
    if (dice_chance(dice, 150))
        json_object_set_new(request, dice_chance(dice, 700) ? "same_box" : "different_boxes",
                            json_true());
    if (dice_chance(dice, 100)) {
        snprintf(name, sizeof(name), "box%02u", (unsigned)dice_below(dice, box_count));
        json_object_set_new(request, "box", json_string(name));
    }
    if (dice_chance(dice, 50))
        json_object_set_new(request, "index", json_integer(dice_between(dice, 0, 3)));
    return request;
}

json_t *user_request(struct dice *dice, const char *key, int owner)
{
    // Without a key the answer to a lost request cannot be had again, so such a lease runs out.
    bool keyed = dice_chance(dice, 800);
    json_t *body = json_pack("{s:o, s:b, s:b}", "request", request(dice), "queue",
                             dice_chance(dice, 800), "ticket", dice_chance(dice, 500));

    if (keyed)
        json_object_set_new(body, "key", json_string(key));
    if (owner >= 0)
        json_object_set_new(body, "owner", json_integer(owner));
    if (!keyed || dice_chance(dice, 300))
        json_object_set_new(body, "lifetime", json_integer(dice_between(dice, 5, 300)));
    return body;
}
