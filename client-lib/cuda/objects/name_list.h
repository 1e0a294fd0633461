// SPDX-License-Identifier: BSD-3-Clause
// Lists of objects that a box has and the client finds by name. Each reply carries as many names as
// fit.
#ifndef RGPU_CLIENT_NAME_LIST_H
#define RGPU_CLIENT_NAME_LIST_H

#include <stddef.h>

#include "proto/cuda_abi.h"

// Fills NAMES, a buffer of ROOM bytes, with complete names from number FIRST on, each with its NUL.
// *USED is in bytes; 0 if the list has no more names.
typedef CUresult name_list_ask(void *owner, unsigned int first, char *names, size_t room,
                               size_t *used);
// Finds the object that is called NAME, and stores its handle in *OUT.
typedef CUresult name_list_find(void *owner, const char *name, void **out);

// Stores the handles of the first COUNT objects of OWNER, or of all if there are fewer, in OUT.
// OWNER is passed to ASK and FIND.
CUresult name_list_take(void *owner, name_list_ask *ask, name_list_find *find, unsigned int count,
                        void **out);

#endif
