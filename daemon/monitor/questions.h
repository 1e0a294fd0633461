// SPDX-License-Identifier: BSD-3-Clause
// Queries the management library for answers to clients (proto/nvml_questions.h).
#ifndef RGPU_MONITOR_QUESTIONS_H
#define RGPU_MONITOR_QUESTIONS_H

#include <stddef.h>

// Finds the functions in a library opened with dlopen. Missing ones are not called.
void questions_find(void *library);

// Answers as lines "answer HEX". Zero it before the first use.
struct questions_text {
    char *words;
    size_t size;
};

// Another GPU, and its number in the library.
struct questions_other {
    void *device;
    unsigned number;
};

// Replace TEXT by new answers. OTHERS: GPUs for queries about pairs of devices.
void questions_ask_system(struct questions_text *text);
void questions_ask_device(struct questions_text *text, void *device,
                          const struct questions_other *others, unsigned other_count);

#endif
