// SPDX-License-Identifier: BSD-3-Clause
// Internals of the ticket code.
#ifndef RGPU_COMMON_TICKET_PRIVATE_H
#define RGPU_COMMON_TICKET_PRIVATE_H

#include "common/security/ticket.h"

// Returns the length of `header.payload`, or 0 if `token` does not have three non-empty parts.
size_t ticket_public_size(const char *token);

#endif
