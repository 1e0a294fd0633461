// SPDX-License-Identifier: BSD-3-Clause
// Changes that two sides make to their copies all reach the other side, in any number of pieces,
// and no other byte changes. Impossible changes are refused as a whole.
#include <stdlib.h>
#include <string.h>

#include "common/base/byte_changes.h"
#include "tests/tap.h"

enum { SIZE = 5000 };

static uint64_t seed = 7;

static uint32_t below(uint32_t limit)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed % limit);
}

struct side {
    uint8_t memory[SIZE], known[SIZE];
};

// Transfers all changes of FROM to TO, ROOM bytes at a time. Returns false if they were wrong.
static bool carry(struct side *from, struct side *to, size_t room)
{
    uint8_t changes[SIZE * 2];
    for (size_t at = 0; at < SIZE;) {
        size_t before = at,
               used = byte_changes_pack(from->memory, from->known, SIZE, &at, changes, room);
        if (used > room || at < before ||
            !byte_changes_apply(changes, used, to->memory, to->known, SIZE))
            return false;
        if (at == before && !used)
            return false;
    }
    return true;
}

static void both_sides_keep_what_they_wrote(void)
{
    static struct side here, there;
    uint8_t model[SIZE] = {0};
    bool right = true;
    for (int round = 0; round < 300 && right; round++) {
        unsigned count = below(below(2) ? 10 : SIZE);
        for (unsigned i = 0; i < count; i++) {
            uint32_t at = below(SIZE);
            struct side *writer = at % 3 ? &here : &there; // each its own bytes
            writer->memory[at] = model[at] = (uint8_t)below(4);
        }
        right = carry(&here, &there, 9 + below(300)) && carry(&there, &here, SIZE) &&
                !memcmp(here.memory, model, SIZE) && !memcmp(there.memory, model, SIZE) &&
                !memcmp(here.known, model, SIZE) && !memcmp(there.known, model, SIZE);
    }
    ok(right, "both sides have what either of them wrote, after each round");
}

static void refused(void)
{
    uint8_t memory[64] = {0}, known[64] = {0}, zeros[64] = {0};
    struct {
        uint32_t at, size;
        uint8_t bytes[8];
    } runs[] = {{0, 8, {1, 2, 3}}, {60, 8, {1}}};
    ok(!byte_changes_apply(runs, sizeof(runs), memory, known, sizeof(memory)),
       "a run that goes beyond the end is refused");
    runs[1].at = UINT32_MAX;
    ok(!byte_changes_apply(runs, sizeof(runs), memory, known, sizeof(memory)),
       "so is one that begins there");
    runs[1].at = 0, runs[1].size = 9;
    ok(!byte_changes_apply(runs, sizeof(runs), memory, known, sizeof(memory)),
       "one that is longer than its bytes");
    ok(!byte_changes_apply(runs, 7, memory, known, sizeof(memory)), "and half a head");
    is_mem(memory, zeros, sizeof(memory), "nothing of them was done");
    ok(byte_changes_apply(runs, 16, memory, known, sizeof(memory)) && memory[2] == 3,
       "what is right is done");
}

// Each answer of a settling exchange is gathered, and what was touched counts, not what differs.
static void gathered(void)
{
    struct {
        uint32_t at, size;
        uint8_t bytes[8];
    } runs[] = {{0, 8, {1, 2, 3}}, {8, 8, {4}}};
    uint8_t bytes[64] = {0}, touched[64] = {0}, zeros[64] = {0};
    ok(!byte_changes_gather(runs, 17, bytes, touched, sizeof(bytes)) && !touched[0],
       "half a change is not gathered");
    runs[1].at = 4;
    ok(byte_changes_gather(runs, sizeof(runs), bytes, touched, sizeof(bytes)) && bytes[0] == 1 &&
           bytes[3] == 0 && bytes[4] == 4,
       "later bytes replace earlier ones");
    ok(touched[0] && touched[3] && touched[11] && !touched[12],
       "bytes that were touched are known, zeros among them");
    ok(!byte_changes_any(zeros, zeros, sizeof(zeros)) &&
           byte_changes_any(zeros, touched, sizeof(zeros)),
       "a difference is seen");
}

static void words_apart(void)
{
    struct {
        uint32_t at, size;
        uint8_t bytes[8];
    } word = {0, 8, {1}};
    uint8_t memory[64] = {0}, known[64] = {0};
    byte_changes_apply_some(&word, sizeof(word), memory, known, false);
    is_int(memory[0], 0, "a word is none of the longer changes");
    byte_changes_apply_some(&word, sizeof(word), memory, known, true);
    ok(memory[0] == 1 && known[0] == 1, "and is applied with the words");
}

int main(void)
{
    both_sides_keep_what_they_wrote();
    gathered();
    words_apart();
    refused();
    return done();
}
