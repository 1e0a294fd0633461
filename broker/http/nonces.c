// SPDX-License-Identifier: BSD-3-Clause
#include "broker/http/nonces.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/security/api_auth.h"

struct used_nonce {
    TAILQ_ENTRY(used_nonce) order;
    char nonce[API_NONCE_TEXT];
    int64_t until; // seconds of the host's uptime, which is never set
};

static int compare_nonces(const void *a, const void *b)
{
    return strcmp(((const struct used_nonce *)a)->nonce, ((const struct used_nonce *)b)->nonce);
}

static void drop_first(struct nonces *nonces)
{
    struct used_nonce *oldest = TAILQ_FIRST(&nonces->order);

    TAILQ_REMOVE(&nonces->order, oldest, order);
    tdelete(oldest, &nonces->tree, compare_nonces);
    free(oldest);
}

void nonces_init(struct nonces *nonces)
{
    TAILQ_INIT(&nonces->order);
}

bool nonces_use(struct nonces *nonces, const char *text, int64_t seconds)
{
    int64_t now = (int64_t)clock_boot_seconds();
    struct used_nonce *nonce, **known;

    while (!TAILQ_EMPTY(&nonces->order) && TAILQ_FIRST(&nonces->order)->until < now)
        drop_first(nonces);
    nonce = calloc(1, sizeof(*nonce));
    if (!nonce)
        return false;
    strcpy(nonce->nonce, text);
    nonce->until = now + seconds;
    known = tsearch(nonce, &nonces->tree, compare_nonces);
    if (!known || *known != nonce) {
        free(nonce);
        return false;
    }
    TAILQ_INSERT_TAIL(&nonces->order, nonce, order);
    return true;
}

void nonces_free(struct nonces *nonces)
{
    while (!TAILQ_EMPTY(&nonces->order))
        drop_first(nonces);
}
