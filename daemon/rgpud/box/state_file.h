// SPDX-License-Identifier: BSD-3-Clause
// Files of the state directory.
#ifndef RGPU_DAEMON_STATE_FILE_H
#define RGPU_DAEMON_STATE_FILE_H

#include <stddef.h>

// Replaces the file DIRECTORY/NAME by TEXT and syncs it to disk. After a crash it has the old or
// the new text. POINT is a fault point (common/base/fault.h). Returns 0, or -errno after logging.
int state_file_replace(const char *directory, const char *name, const char *text, size_t size,
                       const char *point) __attribute__((warn_unused_result));

#endif
