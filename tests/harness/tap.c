// SPDX-License-Identifier: BSD-3-Clause
// The TAP writer itself: counts, skips and comparisons as prove expects them.
#include "tests/tap.h"

int main(void)
{
    ok(1, "a true condition passes");
    is_int(-1, -1, "integers compare");
    is_str("a", "a", "strings compare");
    is_mem("abc", "abd", 2, "memory compares up to its size");
    skip(1, "shown as skipped");
    is_int(tap_count, 5, "every check is counted");
    return done();
}
