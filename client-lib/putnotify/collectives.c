// SPDX-License-Identifier: BSD-3-Clause
// Barrier, broadcast and all-gather.
#include "client-lib/putnotify/collective.h"

RGPU_PUBLIC enum rgpu_result rgpu_barrier_async(struct rgpu_team *team, const CUstream *streams)
{
    struct collective c = {.team = team, .streams = streams};
    enum rgpu_result result = collective_begin(&c, "rgpu_barrier_async");
    return result ? result : collective_end(&c, collective_barrier(&c));
}

static enum rgpu_result check_root(const struct rgpu_window *window, int root)
{
    if (root < 0 || root >= window->team->size)
        return failure(RGPU_ERROR_RANGE, "there is no member %d, but %d of them", root,
                       window->team->size);
    return RGPU_SUCCESS;
}

// ---- broadcast ----

// A tree. With members numbered from the root, the parent of a member is its number without the
// highest bit.
static enum rgpu_result take_from_parent(const struct collective *c, int i, int root)
{
    int number = collective_behind(c, collective_rank(c, i), root), highest = 1;
    if (!number)
        return RGPU_SUCCESS;
    while (highest * 2 <= number)
        highest *= 2;
    int parent = (root + number - highest) % c->team->size;
    enum rgpu_result result = collective_put(c, i, NULL, parent, 0, 0, 0, TAG_READY);
    return result ? result : collective_wait(c, i, parent, TAG_SENT);
}

static enum rgpu_result give_to_children(const struct collective *c, int i, int root, size_t offset,
                                         size_t bytes)
{
    int rank = collective_rank(c, i), number = collective_behind(c, rank, root), bit = 1;
    enum rgpu_result result = RGPU_SUCCESS;
    while (bit <= number)
        bit *= 2;
    for (; number + bit < c->team->size && !result; bit *= 2) {
        int child = (root + number + bit) % c->team->size;
        result = collective_wait(c, i, child, TAG_READY);
        if (!result)
            result = collective_put(c, i, c->window, child, offset,
                                    c->window->sides[rank].base + offset, bytes, TAG_SENT);
    }
    return result;
}

RGPU_PUBLIC enum rgpu_result rgpu_broadcast_async(struct rgpu_window *window, int root,
                                                  size_t offset, size_t bytes,
                                                  const CUstream *streams)
{
    struct collective c = {window ? window->team : NULL, window, streams};
    enum rgpu_result result = window ? check_root(window, root) : RGPU_SUCCESS;
    if (!result && window)
        result = collective_check_places(window, offset, bytes);
    if (!result)
        result = collective_begin(&c, "rgpu_broadcast_async");
    if (result)
        return result;
    for (int i = 0; i < c.team->local && !result; i++)
        result = take_from_parent(&c, i, root);
    for (int i = 0; i < c.team->local && !result; i++)
        result = give_to_children(&c, i, root, offset, bytes);
    return collective_end(&c, result);
}

// ---- all-gather ----

static enum rgpu_result give_block(const struct collective *c, int i, size_t offset, size_t bytes)
{
    int rank = collective_rank(c, i);
    size_t own = offset + (size_t)rank * bytes;
    enum rgpu_result result = RGPU_SUCCESS;
    for (int step = 1; step < c->team->size && !result; step++)
        result = collective_put(c, i, c->window, collective_behind(c, rank, -step), own,
                                c->window->sides[rank].base + own, bytes, TAG_BLOCK);
    return result;
}

static enum rgpu_result take_blocks(const struct collective *c, int i)
{
    enum rgpu_result result = RGPU_SUCCESS;
    for (int step = 1; step < c->team->size && !result; step++)
        result =
            collective_wait(c, i, collective_behind(c, collective_rank(c, i), step), TAG_BLOCK);
    return result;
}

RGPU_PUBLIC enum rgpu_result rgpu_all_gather_async(struct rgpu_window *window, size_t offset,
                                                   size_t bytes, const CUstream *streams)
{
    struct collective c = {window ? window->team : NULL, window, streams};
    enum rgpu_result result = RGPU_SUCCESS;
    if (window && bytes > (size_t)-1 / (size_t)window->team->size)
        return failure(RGPU_ERROR_RANGE, "%zu bytes of each member are too many", bytes);
    if (window)
        result = collective_check_places(window, offset, bytes * (size_t)window->team->size);
    if (!result)
        result = collective_begin(&c, "rgpu_all_gather_async");
    if (result)
        return result;
    result = collective_barrier(&c);
    for (int i = 0; i < c.team->local && !result; i++)
        result = give_block(&c, i, offset, bytes);
    for (int i = 0; i < c.team->local && !result; i++)
        result = take_blocks(&c, i);
    return collective_end(&c, result);
}
