// SPDX-License-Identifier: BSD-3-Clause
#ifndef RGPU_TEST_PROBE_H
#define RGPU_TEST_PROBE_H

#include <stdbool.h>

// Asks for every GPU of every box, in a pool in which all are free, and gives them back.
void probe_begin(void);
// Every GPU must have been granted by now.
void probe_check(void);

#endif
