// SPDX-License-Identifier: BSD-3-Clause
// Descriptions of multiprocessors, which drivers take as they are: a client only has those used
// that it was given.
#include <string.h>

#include "tests/worker/peer.h"

static CUresult split(struct peer *peer, const CUdevResource *input, CUdevResource *group)
{
    struct args_resource_split args = {.dev = 0, .room = 1, .minimum = 8, .input = *input};
    struct reply_resource_split reply = {0};
    return peer_ask(peer, OP_resource_split, &args, sizeof(args), NULL, 0, &reply, sizeof(reply),
                    group, sizeof(*group), NULL);
}

static CUresult check(struct peer *peer, const void *resources, uint32_t bytes)
{
    struct args_resource_check args = {.dev = 0, .bytes = bytes};
    return peer_ask(peer, OP_resource_check, &args, sizeof(args), resources, bytes, NULL, 0, NULL,
                    0, NULL);
}

static void green(struct peer *peer, const void *resources, uint32_t bytes)
{
    struct args_green_create args = {.context = peer_mint(peer, HANDLE_CONTEXT),
                                     .dev = 0,
                                     .flags = CU_GREEN_CTX_DEFAULT_STREAM,
                                     .bytes = bytes};
    CUresult result = peer_ask(peer, OP_green_create, &args, sizeof(args), resources, bytes, NULL,
                               0, NULL, 0, NULL);
    is_int(result, CUDA_ERROR_INVALID_RESOURCE_TYPE, "nor is a green context made of it");
}

static void refused(struct peer *peer, const char *what, const CUdevResource *forged)
{
    CUdevResource group;
    is_int(split(peer, forged, &group), CUDA_ERROR_INVALID_RESOURCE_TYPE, "%s is not split", what);
    is_int(check(peer, forged, sizeof(*forged)), CUDA_ERROR_INVALID_RESOURCE_TYPE, "nor described");
    green(peer, forged, sizeof(*forged));
}

int main(void)
{
    struct peer peer;
    peer_start(&peer, &(struct peer_options){0});
    peer_retain(&peer, 0);

    CUdevResource none = {.type = CU_DEV_RESOURCE_TYPE_SM}, group, changed;
    none.sm.smCount = 8;
    refused(&peer, "a resource that was never given", &none);
    memset(&changed, 0xff, sizeof(changed));
    refused(&peer, "noise", &changed);

    struct reply_device_resource whole;
    is_int(ASK_REPLY(&peer, device_resource, &whole, .dev = 0, .type = CU_DEV_RESOURCE_TYPE_SM),
           CUDA_SUCCESS, "a device has its multiprocessors");
    unsigned taken = 0;
    for (size_t at = 0; at < sizeof(changed); at++) {
        changed = whole.resource;
        ((uint8_t *)&changed)[at] ^= 0x10;
        taken += check(&peer, &changed, sizeof(changed)) != CUDA_ERROR_INVALID_RESOURCE_TYPE;
    }
    is_int(taken, 0, "no byte of what was given can be changed");
    refused(&peer, "what was changed at its end", &changed);
    is_int(split(&peer, &whole.resource, &group), CUDA_SUCCESS, "as it was given it is split");
    CUdevResource both[2] = {group, changed};
    is_int(check(&peer, &group, sizeof(group)), CUDA_SUCCESS, "and the group is described");
    is_int(check(&peer, both, sizeof(both)), CUDA_ERROR_INVALID_RESOURCE_TYPE,
           "but not beside a changed one");
    peer_stop(&peer);
    return done();
}
