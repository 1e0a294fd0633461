// SPDX-License-Identifier: BSD-3-Clause
// Memory of JSON values. Without memory jansson returns NULL, and a list or an object then silently
// lacks a member: an order that a box does not get, or a lease that it takes for ended.
#ifndef RGPU_COMMON_JSON_MEMORY_H
#define RGPU_COMMON_JSON_MEMORY_H

// Ends the process by abort() when jansson gets no memory. For daemons that continue from their
// files after a restart. Must be called before any use of jansson.
void json_memory_set_up(void);

#endif
