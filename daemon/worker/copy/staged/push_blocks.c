// SPDX-License-Identifier: BSD-3-Clause
// With several connections, parts of a block may still arrive while the next block begins. Blocks
// go to the GPU in their order, each when it is complete.
#include "daemon/worker/copy/staged/push_blocks.h"

#include <string.h>

#include "transport/link/link.h"
#include "daemon/worker/copy/staged/push.h"
#include "daemon/worker/core/session.h"
#include "worker_serve.h"

enum { COMING_MAX = 4 }; // as many as wait for a connection

struct coming_block {
    struct block *block;
    struct args_push_block args;
    struct link_ahead ahead;
};

// The incoming blocks of the thread that reads the link, oldest first.
static struct coming_block coming[COMING_MAX];
static unsigned coming_first, coming_count;

static void finish_oldest(struct serve *serve)
{
    struct coming_block *oldest = &coming[coming_first];

    coming_first = (coming_first + 1) % COMING_MAX;
    coming_count--;
    if (link_settle(session.link, &oldest->ahead))
        staging_give(oldest->block); // the reading thread ends the session
    else
        push_take_block(serve, oldest->block, &oldest->args);
}

void serve_push_block(struct serve *serve, const struct args_push_block *args)
{
    struct block *block = staging_take(STAGING_PUSH, false);

    if (!block) { // more has come than was asked for
        if (!serve->payload)
            push_blocks_finish(serve);
        block = staging_take(STAGING_PUSH, true);
    }
    if (serve->payload) {
        memcpy(block->data, serve->payload, args->size);
        push_take_block(serve, block, args);
        return;
    }
    if (coming_count == COMING_MAX)
        finish_oldest(serve);
    struct coming_block *last = &coming[(coming_first + coming_count++) % COMING_MAX];
    *last = (struct coming_block){.block = block, .args = *args};
    link_receive_bulk_ahead(session.link, block->data, args->size, &last->ahead);
    if (!last->ahead.used)
        push_blocks_finish(serve);
}

void push_blocks_finish(struct serve *serve)
{
    while (coming_count)
        finish_oldest(serve);
}

bool push_blocks_coming(void)
{
    return coming_count;
}
