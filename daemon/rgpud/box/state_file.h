// SPDX-License-Identifier: BSD-3-Clause
// Writes files of the state directory: small texts that are replaced as a whole and flushed to
// disk.
#ifndef RGPU_DAEMON_STATE_FILE_H
#define RGPU_DAEMON_STATE_FILE_H

#include <stddef.h>

// Replaces DIRECTORY/NAME with TEXT. After a crash the file has either the old or the new text.
// POINT is the name at which a test can inject a fault (common/base/fault.h). Returns 0 or -errno
// after logging.
int state_file_replace(const char *directory, const char *name, const char *text, size_t size,
                       const char *point) __attribute__((warn_unused_result));

#endif
