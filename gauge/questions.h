// SPDX-License-Identifier: BSD-3-Clause
// The questions that rgpu-gauge passes on to the management library for the clients of the box (proto/nvml_questions.h).
#ifndef RGPU_GAUGE_QUESTIONS_H
#define RGPU_GAUGE_QUESTIONS_H

#include <stddef.h>

// Finds the functions in a library that dlopen has loaded; those that it lacks are not asked.
void questions_find(void *library);

// What the library has said, an answer a line: "answer HEX". Zeroed: nothing yet.
struct questions_text {
    char *words;
    size_t size;
};

// A GPU, with its number in the library.
struct questions_other {
    void *device;
    unsigned number;
};

// Ask anew; OTHERS are those about which together with the device there are questions.
void questions_ask_system(struct questions_text *text);
void questions_ask_device(struct questions_text *text, void *device,
                          const struct questions_other *others, unsigned other_count);

#endif
