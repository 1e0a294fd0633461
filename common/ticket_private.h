/* What the two halves of the ticket code share. */
#ifndef RGPU_COMMON_TICKET_PRIVATE_H
#define RGPU_COMMON_TICKET_PRIVATE_H

#include "common/ticket.h"

/* Size of header.payload in `token`, or 0 when it does not have three non-empty parts. */
size_t ticket_public_size(const char *token);

void ticket_proof(const uint8_t signature[SHA256_SIZE], const char *public_part, size_t size,
                  const uint8_t box_nonce[TICKET_NONCE_SIZE],
                  const uint8_t client_nonce[TICKET_NONCE_SIZE], uint8_t proof[SHA256_SIZE]);

#endif
