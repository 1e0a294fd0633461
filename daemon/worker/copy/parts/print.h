// SPDX-License-Identifier: BSD-3-Clause
// Output of kernels' printf.
#ifndef RGPU_WORKER_PRINT_H
#define RGPU_WORKER_PRINT_H

int print_capture(void); // makes standard output a pipe; must be called before the driver is loaded
void print_expect(void); // an image may print: output is passed on from now on
void print_deliver(void);

#endif
