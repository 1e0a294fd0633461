// SPDX-License-Identifier: BSD-3-Clause
// Functions shared by the files of the ticket code.
#ifndef RGPU_COMMON_TICKET_PRIVATE_H
#define RGPU_COMMON_TICKET_PRIVATE_H

#include "common/security/ticket.h"

// Size of header.payload in `token`, or 0 when it does not have three non-empty parts.
size_t ticket_public_size(const char *token);

#endif
