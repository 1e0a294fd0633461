// SPDX-License-Identifier: BSD-3-Clause
// Rectangles whose rows are sent packed (rect_rows.c), and those of arrays (array_rows.c). One side
// is the program's own memory. STREAM was resolved by copy_begin.
#ifndef RGPU_CLIENT_RECT_ROWS_H
#define RGPU_CLIENT_RECT_ROWS_H

#include "client-lib/cuda/copy/rect_sides.h"
#include "client-lib/cuda/session/box_session.h"

// Copies between memory of this process and of the device.
CUresult rect_copy_rows(struct box_session *session, const struct rect_copy *copy, CUstream stream,
                        bool wait);
// The same through staging blocks, of which each has room for at least one row; also for arrays.
CUresult rect_through_blocks(struct box_session *session, const struct rect_copy *copy,
                             CUstream stream, bool wait);
// Waits until earlier work of the stream has written the page-locked memory that is packed next.
CUresult rect_await_source(struct box_session *session, const struct rect_copy *copy,
                           CUstream stream);

// Copies between memory of this process and an array.
CUresult array_copy_rows(struct box_session *session, const struct rect_copy *copy, CUstream stream,
                         bool wait);

#endif
