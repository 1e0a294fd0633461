// SPDX-License-Identifier: BSD-3-Clause
// Converts requests to and from JSON, for the API and for the database.
#ifndef RGPU_BROKER_REQUEST_H
#define RGPU_BROKER_REQUEST_H

#include <jansson.h>

#include "broker/pool/pool.h"

//     {"gpus": [{"count": 2, "mode": "exclusive"}, {"count": 1, "mode": "shared", "memory": N}],
//      "policy": "pack", "model": GLOB, "box": GLOB, "locality": GLOB, "min_memory": BYTES,
//      "min_capability": 80, "compute": PERCENT, "near": ["rack1|rack2", "hall3"],
//      "same_box": false, "different_boxes": false, "index": 0, "drained": false,
//      "protection": "authenticate"|"privacy"}
//
// Only "gpus" is required. Returns 0, or -EINVAL with a sentence in *why.
int request_from_json(const json_t *object, struct request *request, const char **why)
    __attribute__((warn_unused_result));
json_t *request_to_json(const struct request *request);
int request_from_text(const char *text, struct request *request)
    __attribute__((warn_unused_result));
// Sets `tenant` of a request from its owner. The JSON forms do not contain it.
void request_set_tenant(struct request *request, uid_t owner);
// Returns the JSON text, which the caller frees; NULL if memory is exhausted.
char *request_to_text(const struct request *request);

#endif
