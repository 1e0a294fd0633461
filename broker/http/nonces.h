// SPDX-License-Identifier: BSD-3-Clause
// Nonces of signed requests. A nonce is accepted once, so that a request cannot be replayed. For
// one thread only.
#ifndef RGPU_BROKER_NONCES_H
#define RGPU_BROKER_NONCES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

TAILQ_HEAD(nonce_list, used_nonce);

struct nonces {
    void *tree;
    struct nonce_list order; // oldest first
};

// NONCES must be zeroed before.
void nonces_init(struct nonces *nonces);
// Stores TEXT, a nonce of API_NONCE_TEXT bytes, for SECONDS. Returns false if it is stored already,
// or if memory is exhausted.
bool nonces_use(struct nonces *nonces, const char *text, int64_t seconds);
void nonces_free(struct nonces *nonces);

#endif
