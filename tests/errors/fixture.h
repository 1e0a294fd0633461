// SPDX-License-Identifier: BSD-3-Clause
// The arguments of tested calls: the library under test, one object of each type, a destroyed one,
// and one of another context. All belong to the process that opened the fixture.
#ifndef RGPU_TESTS_ERRORS_FIXTURE_H
#define RGPU_TESTS_ERRORS_FIXTURE_H

#include <stdbool.h>

#include "error_calls.h"
#include "tests/errors/call_table.h"

// Opens libcuda.so.1, or what RGPU_ERRORS_LIBRARY names.
void fixture_library(void);
// The library's function, or one that gives CUDA_ERROR_NOT_FOUND.
void *fixture_function(const char *name);
bool fixture_has(const char *name);

#define DRIVER(name, ...) (((fn_##name *)fixture_function(#name))(__VA_ARGS__))

// Initialises the driver, makes a context current and every object that there can be. False where
// there is no context.
bool fixture_make(void);
// True while the context and its stream are as fixture_make left them. *LATER: what their
// synchronization said.
bool fixture_intact(int *later);

enum which { GOOD, STALE, FOREIGN };
// A handle of TYPE for CALL, 0 where none can be had.
uint64_t fixture_handle(const char *type, const char *call, enum which which);
CUdeviceptr fixture_memory(enum which which);
void *fixture_pinned(void);
CUgraph fixture_child_graph(void);
// The text of a module.
const char *fixture_image(void);

#endif
