// SPDX-License-Identifier: BSD-3-Clause
// The sending side of a tcp link.
#ifndef RGPU_TRANSPORT_TCP_SENDER_H
#define RGPU_TRANSPORT_TCP_SENDER_H

#include "transport/tcp/tcp_private.h"

// For struct link_ops.
void *tcp_sender_reserve(struct link *link, uint32_t size);
int tcp_sender_commit(struct link *link, enum link_leaving leaving);
void tcp_sender_cancel(struct link *link);
int tcp_sender_flush(struct link *link);
int tcp_sender_bulk(struct link *link, const void *record, uint32_t size, const void *payload,
                    size_t length);
int tcp_sender_bulk_ahead(struct link *link, const void *record, uint32_t size, const void *payload,
                          size_t length, struct link_ahead *ahead);
void tcp_sender_settle(struct link *link, const struct link_ahead *ahead);

// Has the thread that sends by itself send everything. Thread-safe.
void tcp_sender_soon(struct tcp_link *tcp);
// Acknowledges what STREAM has received, without waiting. Thread-safe.
void tcp_sender_acknowledge(struct tcp_link *tcp, struct tcp_stream *stream);
// Says that this side leaves for good, if that can be said without waiting.
void tcp_sender_goodbye(struct tcp_link *tcp);
void tcp_sender_stop(struct tcp_link *tcp); // ends the thread

#endif
