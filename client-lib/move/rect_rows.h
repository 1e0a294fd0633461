// SPDX-License-Identifier: BSD-3-Clause
// Rectangles whose rows travel packed (rect_rows.c), and those of arrays (array_rows.c). One side is the program's
// own memory. STREAM is one that copy_begin has resolved.
#ifndef RGPU_CLIENT_RECT_ROWS_H
#define RGPU_CLIENT_RECT_ROWS_H

#include "client-lib/move/rect_sides.h"
#include "client-lib/session/box_session.h"

// Between memory of this process and of the device.
CUresult rect_copy_rows(struct box_session *session, const struct rect_copy *copy, CUstream stream,
                        bool wait);
// The same through staging blocks, of which each has room for a row at least; also of arrays.
CUresult rect_through_blocks(struct box_session *session, const struct rect_copy *copy,
                             CUstream stream, bool wait);
// Waits until page-locked memory that is to be packed now is what the stream has made of it.
CUresult rect_await_source(struct box_session *session, const struct rect_copy *copy,
                           CUstream stream);

// Between memory of this process and an array.
CUresult array_copy_rows(struct box_session *session, const struct rect_copy *copy, CUstream stream,
                         bool wait);

#endif
