// SPDX-License-Identifier: BSD-3-Clause
// What a box has many of, and a client knows by name: the names come in pieces, as many as a reply holds.
#ifndef RGPU_CLIENT_NAME_LIST_H
#define RGPU_CLIENT_NAME_LIST_H

#include <stddef.h>

#include "proto/cuda_abi.h"

// ASK fills NAMES with whole names from the number FIRST on, each with its NUL; none are the end.
typedef CUresult name_list_ask(void *owner, unsigned int first, char *names, size_t room,
                               size_t *used);
// What bears NAME.
typedef CUresult name_list_find(void *owner, const char *name, void **out);

// The first COUNT of OWNER's, or as many as there are.
CUresult name_list_take(void *owner, name_list_ask *ask, name_list_find *find, unsigned int count,
                        void **out);

#endif
