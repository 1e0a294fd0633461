/*
 * The database's write-ahead log: moved into the database beside the commits, which else would
 * wait for it. Part of the store, with which it shares sqlite3.h.
 */
#ifndef RGPU_BROKER_STORE_LOG_H
#define RGPU_BROKER_STORE_LOG_H

#include <sqlite3.h>

struct store_log;

/* Attaches to an open connection in WAL mode, which must outlive it. */
int store_log_open(const char *path, sqlite3 *database, struct store_log **log)
    __attribute__((warn_unused_result));
void store_log_close(struct store_log **log);

#endif
