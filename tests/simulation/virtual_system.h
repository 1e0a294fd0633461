// SPDX-License-Identifier: BSD-3-Clause
#ifndef RGPU_TEST_VIRTUAL_SYSTEM_H
#define RGPU_TEST_VIRTUAL_SYSTEM_H

// The broker's one watched descriptor, the eventfd of durable commits, is readable.
void virtual_fd_ready(void);
// The broker's process has died.
void virtual_fd_forget(void);

#endif
