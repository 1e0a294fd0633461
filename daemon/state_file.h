// SPDX-License-Identifier: BSD-3-Clause
// Files of the state directory: small texts that are replaced as a whole and are on disk afterwards.
#ifndef RGPU_DAEMON_STATE_FILE_H
#define RGPU_DAEMON_STATE_FILE_H

#include <stddef.h>

// Puts TEXT into DIRECTORY/NAME; whatever happens, that holds either the old text or the new. POINT is
// where a test can break it (common/fault.h). -errno after logging.
int state_file_replace(const char *directory, const char *name, const char *text, size_t size,
                       const char *point) __attribute__((warn_unused_result));

#endif
