// SPDX-License-Identifier: BSD-3-Clause
// What the two halves of the ticket code share.
#ifndef RGPU_COMMON_TICKET_PRIVATE_H
#define RGPU_COMMON_TICKET_PRIVATE_H

#include "common/ticket.h"

// Size of header.payload in `token`, or 0 when it does not have three non-empty parts.
size_t ticket_public_size(const char *token);

#endif
