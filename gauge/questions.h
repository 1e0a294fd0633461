// SPDX-License-Identifier: BSD-3-Clause
// The questions that rgpu-gauge passes on to the management library for the clients of the box (proto/nvml_questions.h).
#ifndef RGPU_GAUGE_QUESTIONS_H
#define RGPU_GAUGE_QUESTIONS_H

// Finds the functions in a library that dlopen has loaded; those that it lacks are not asked.
void questions_find(void *library);
// Print what the library says now, an answer a line: "answer HEX".
void questions_tell_system(void);
void questions_tell_device(void *device, void *const *others, unsigned other_count);

#endif
