// SPDX-License-Identifier: BSD-3-Clause
// A machine that writes all over its window, while others of its processes work: random words
// everywhere, and in the rings and positions of sessions again and again. usage: window-vandal
// SOCKET ROUNDS
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "transport/vm/vm_window_probe.h"

static uint64_t state = 0x9e3779b97f4a7c15u;

static uint64_t next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

// Small numbers, powers of two and their neighbours do more harm than noise.
static uint64_t bad_word(void)
{
    uint64_t word = next();

    switch (word % 4) {
    case 0: return word >> 60;
    case 1: return (UINT64_C(1) << (word >> 58)) - (word >> 20) % 3;
    case 2: return UINT64_C(0) - (word >> 52);
    default: return word;
    }
}

int main(int argc, char **argv)
{
    char variable[200], ids[200];
    const struct vm_window *window;

    if (argc < 3)
        return 2;
    snprintf(variable, sizeof(variable), "unix:%s", argv[1]);
    setenv("RGPU_VM_WINDOW", variable, 1);
    vm_windows_ids(ids, sizeof(ids));
    window = vm_window_find(ids);
    if (!window) {
        fprintf(stderr, "no window: %s\n", vm_windows_problem());
        return 1;
    }
    volatile uint64_t *words =
        mmap(NULL, window->size, PROT_READ | PROT_WRITE, MAP_SHARED, window->memory, 0);
    if (words == MAP_FAILED)
        return 1;
    for (int round = atoi(argv[2]); round; round--) {
        // Spares the head, which identifies the window.
        for (size_t page = VM_WINDOW_HEAD; page < window->size; page += 4096)
            words[page / 8 + next() % 512] = bad_word();
        // Positions, where parts of sessions begin.
        for (size_t part = VM_WINDOW_HEAD; part < window->size; part += VM_WINDOW_ALIGN)
            words[part / 8 + 8 * (next() % 8)] = bad_word();
        for (int i = 0; i < VM_WINDOW_SLOTS * VM_WINDOW_DOORBELLS; i++) {
            uint64_t one = 1;
            if (write(window->events[i], &one, sizeof(one)) < 0)
                return 1;
        }
    }
    return 0;
}
