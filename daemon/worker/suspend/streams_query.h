// SPDX-License-Identifier: BSD-3-Clause
// State of the program's streams.
#ifndef RGPU_WORKER_STREAMS_QUERY_H
#define RGPU_WORKER_STREAMS_QUERY_H

enum {
    STREAMS_BUSY = 1,     // a stream has work
    STREAMS_CAPTURED = 2, // a stream is captured, and was therefore not queried
    STREAMS_FAILED = 4,   // the driver reports an error
};

// Queries the session's streams and the default stream of the current context. Returns STREAMS_
// bits; 0: all are idle. A query would end a capture, so captured streams are not queried.
unsigned streams_query(void);
// Waits until the streams that are not captured are idle.
void streams_await(void);

#endif
