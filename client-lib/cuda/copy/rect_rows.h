// SPDX-License-Identifier: BSD-3-Clause
// Copies of rectangles whose rows are sent packed, without the gaps between them (rect_rows.c), and
// of rectangles in arrays (array_rows.c). One side is memory of this process. STREAM was resolved
// by copy_begin. With WAIT, the functions return when the copy is done.
#ifndef RGPU_CLIENT_RECT_ROWS_H
#define RGPU_CLIENT_RECT_ROWS_H

#include "client-lib/cuda/copy/rect_sides.h"
#include "client-lib/cuda/session/box_session.h"

// Copies between memory of this process and linear device memory.
CUresult rect_copy_rows(struct box_session *session, const struct rect_copy *copy, CUstream stream,
                        bool wait);
// The same through staging blocks, also for arrays. A row must fit into a block.
CUresult rect_through_blocks(struct box_session *session, const struct rect_copy *copy,
                             CUstream stream, bool wait);
// Waits for earlier work of STREAM if it may write to the page-locked source of COPY, because this
// process reads that memory next.
CUresult rect_await_source(struct box_session *session, const struct rect_copy *copy,
                           CUstream stream);

// Copies between memory of this process and an array.
CUresult array_copy_rows(struct box_session *session, const struct rect_copy *copy, CUstream stream,
                         bool wait);

#endif
