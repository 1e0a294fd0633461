// SPDX-License-Identifier: BSD-3-Clause
// Options that earlier releases had. A settings file or command line with such an option is valid,
// so that a daemon starts after an upgrade; the option has no effect, and a warning is logged.
//
//     static const struct config_retired retired[] = {
//         CONFIG_RETIRED("box", "old_name", "new_name in [box] has taken its place"),
//         CONFIG_RETIRED_END
//     };
//     ... the table of options ends with CONFIG_END_RETIRED(retired)
#ifndef RGPU_COMMON_CONFIG_RETIRED_H
#define RGPU_COMMON_CONFIG_RETIRED_H

#include <stdbool.h>

struct config_retired {
    const char *section;
    const char *name;
    const char *instead; // end of the warning's sentence
};

#define CONFIG_RETIRED(section_, name_, instead_) \
    { \
        .section = section_, .name = name_, .instead = instead_ \
    }
#define CONFIG_RETIRED_END \
    { \
        .section = NULL \
    }

// Returns true, after logging a warning, if NAME is a retired option of SECTION. ROWS may be NULL.
bool config_retired_reported(const struct config_retired *rows, const char *section,
                             const char *name, const char *where);
// As config_retired_reported(), for "--some-name[=value]". Sets *ALONE if the value is the next
// argument.
bool config_retired_argument(const struct config_retired *rows, const char *argument, bool *alone);

#endif
