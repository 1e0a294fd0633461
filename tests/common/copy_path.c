// SPDX-License-Identifier: BSD-3-Clause
// Tests the names of copy paths, and the choice among usable, usual and forced ones.
#include "common/base/copy_path.h"

#include <errno.h>

#include "tests/tap.h"

enum {
    INLINE = PATH_BIT(PATH_INLINE),
    STAGED = PATH_BIT(PATH_STAGED),
    ONE_SIDED = PATH_BIT(PATH_ONE_SIDED),
    DIRECT = PATH_BIT(PATH_DIRECT),
};

static void names(void)
{
    is_int(copy_path_parse("auto"), 0, "auto forces nothing");
    is_int(copy_path_parse("staged"), STAGED, "one path");
    is_int(copy_path_parse(PATH_WORDS), PATH_BIT(PATHS) - 1, "the list for help has all of them");
    is_int(copy_path_parse("staged, inline,direct"), STAGED | INLINE | DIRECT, "several");
    static const char *const wrong[] = {"", "pigeon", "staged,", ",staged", "auto,staged", "stage"};
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        is_int(copy_path_parse(wrong[i]), -EINVAL, "\"%s\" is refused", wrong[i]);
}

static void choices(void)
{
    is_int(copy_path_choose(INLINE | STAGED, PATH_STAGED, 0), PATH_STAGED, "the usual path");
    is_int(copy_path_choose(INLINE, PATH_STAGED, 0), PATH_INLINE, "if it can be used");
    is_int(copy_path_choose(INLINE | STAGED, PATH_STAGED, INLINE), PATH_INLINE, "a forced path");
    is_int(copy_path_choose(STAGED, PATH_STAGED, INLINE | DIRECT), PATH_STAGED,
           "if it can be used");
    is_int(copy_path_choose(INLINE | STAGED, PATH_STAGED, INLINE | STAGED), PATH_STAGED,
           "the usual one of several forced ones");
    is_int(copy_path_choose(ONE_SIDED | DIRECT, PATH_STAGED, DIRECT), PATH_DIRECT, "by device");
}

int main(void)
{
    names();
    choices();
    return done();
}
