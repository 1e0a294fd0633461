// SPDX-License-Identifier: BSD-3-Clause
// Writes files of the state directory in a thread, because a disk may be slow or hang.
#ifndef RGPU_DAEMON_STATE_SAVER_H
#define RGPU_DAEMON_STATE_SAVER_H

#include <event2/event.h>
#include <stddef.h>
#include <stdint.h>

struct state_saver;

// Called in the event loop when text number NUMBER is on disk, or with ERR -errno, which has been
// logged.
typedef void state_saver_done(void *argument, uint64_t number, int err);

// Returns NULL if memory is exhausted or no thread can start.
struct state_saver *state_saver_open(struct event_base *base, const char *directory,
                                     state_saver_done *done, void *argument);
// Starts to write TEXT to the file NAME (state_file.h); takes ownership of TEXT. NAME and POINT
// must stay valid. Replaces an earlier write of NAME that has not begun, for which DONE is not
// called. Returns 0 or -errno.
int state_saver_write(struct state_saver *saver, const char *name, const char *point, char *text,
                      size_t size, uint64_t number) __attribute__((warn_unused_result));
// Waits for all writes and frees.
void state_saver_close(struct state_saver **saver);

#endif
