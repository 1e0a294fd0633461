// SPDX-License-Identifier: BSD-3-Clause
// Asks the management library the questions of the box's clients for rgpu-monitor
// (proto/nvml_questions.h).
#ifndef RGPU_MONITOR_QUESTIONS_H
#define RGPU_MONITOR_QUESTIONS_H

#include <stddef.h>

// Finds the functions in a library that dlopen has loaded. Missing functions are not called.
void questions_find(void *library);

// The library's answers, one in each line: "answer HEX". Zeroed: none yet.
struct questions_text {
    char *words;
    size_t size;
};

// A GPU with its number in the library.
struct questions_other {
    void *device;
    unsigned number;
};

// Ask all questions again. OTHERS are the GPUs for questions about a pair of devices.
void questions_ask_system(struct questions_text *text);
void questions_ask_device(struct questions_text *text, void *device,
                          const struct questions_other *others, unsigned other_count);

#endif
