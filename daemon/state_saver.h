// SPDX-License-Identifier: BSD-3-Clause
// Writes files of the state directory in a thread beside the event loop, as a disk may take its time, or hang.
#ifndef RGPU_DAEMON_STATE_SAVER_H
#define RGPU_DAEMON_STATE_SAVER_H

#include <event2/event.h>
#include <stddef.h>
#include <stdint.h>

struct state_saver;

// In the event loop: what was given as NUMBER is on disk, or -errno, which has been logged.
typedef void state_saver_done(void *argument, uint64_t number, int err);

// NULL: no memory, or no thread.
struct state_saver *state_saver_open(struct event_base *base, const char *directory,
                                     state_saver_done *done, void *argument);
// Has TEXT, which it takes over, put into DIRECTORY/NAME (state_file.h). NAME and POINT are not copied. What still
// waits for its turn under the same NAME gives way to it, and is not told of. -errno.
int state_saver_write(struct state_saver *saver, const char *name, const char *point, char *text,
                      size_t size, uint64_t number) __attribute__((warn_unused_result));
// Waits until all is written.
void state_saver_close(struct state_saver **saver);

#endif
