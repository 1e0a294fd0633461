// SPDX-License-Identifier: BSD-3-Clause
// Text that kernels print (print.c).
#ifndef RGPU_WORKER_PRINT_H
#define RGPU_WORKER_PRINT_H

int print_capture(void); // before the driver is loaded: standard output becomes a pipe of ours
void print_expect(void); // an image may print: from now on text is passed on as it comes
void print_deliver(void);

#endif
