// SPDX-License-Identifier: BSD-3-Clause
// Writes files of the state directory in a separate thread, since a disk can be slow or hang.
#ifndef RGPU_DAEMON_STATE_SAVER_H
#define RGPU_DAEMON_STATE_SAVER_H

#include <event2/event.h>
#include <stddef.h>
#include <stdint.h>

struct state_saver;

// Reports in the event loop that the text with this NUMBER is on disk, or an error (-errno) that
// has been logged.
typedef void state_saver_done(void *argument, uint64_t number, int err);

// Returns NULL if memory is out or the thread cannot start.
struct state_saver *state_saver_open(struct event_base *base, const char *directory,
                                     state_saver_done *done, void *argument);
// Writes TEXT to DIRECTORY/NAME in the thread (state_file.h), and takes ownership of TEXT. NAME and
// POINT are not copied. This write replaces an earlier one with the same NAME that has not started;
// DONE is not called for the earlier one. Returns 0 or -errno.
int state_saver_write(struct state_saver *saver, const char *name, const char *point, char *text,
                      size_t size, uint64_t number) __attribute__((warn_unused_result));
// Waits until everything is written, and frees the saver.
void state_saver_close(struct state_saver **saver);

#endif
