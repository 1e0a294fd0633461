// SPDX-License-Identifier: BSD-3-Clause
// Lists of objects that a box has and the client finds by name. The names arrive in pieces, as many
// as a reply holds.
#ifndef RGPU_CLIENT_NAME_LIST_H
#define RGPU_CLIENT_NAME_LIST_H

#include <stddef.h>

#include "proto/cuda_abi.h"

// Fills NAMES with whole names from number FIRST on, each with its NUL. No names: the list has
// ended.
typedef CUresult name_list_ask(void *owner, unsigned int first, char *names, size_t room,
                               size_t *used);
// Finds the object that is called NAME.
typedef CUresult name_list_find(void *owner, const char *name, void **out);

// Finds the first COUNT objects of OWNER, or all if there are fewer.
CUresult name_list_take(void *owner, name_list_ask *ask, name_list_find *find, unsigned int count,
                        void **out);

#endif
