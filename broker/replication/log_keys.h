// SPDX-License-Identifier: BSD-3-Clause
// Internals of the replication: its state, and its keys in etcd. Only for files of
// broker/replication.
#ifndef RGPU_BROKER_LOG_KEYS_H
#define RGPU_BROKER_LOG_KEYS_H

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "broker/replication/log_position.h"

#define KEY_LEADER "/rgpu/leader"
#define KEY_MEMBERS "/rgpu/broker/"
#define KEY_SNAPSHOT "/rgpu/snapshot"
#define KEY_PIECES "/rgpu/piece/"
#define KEY_LOG "/rgpu/log/"

enum { CALL_MS = 1000 }; // for each endpoint

struct etcd;

struct replication {
    struct etcd *keeper, *log, *copier; // a client for each thread
    char *name;
    pthread_t thread;
    bool had_majority; // this and what follows: of the thread
    unsigned turns;
    int64_t reported_lease;
    uint64_t reported_term;
    pthread_mutex_t lock; // of what follows
    pthread_cond_t wake;
    bool stop;
    int64_t lease;
    double answered; // when etcd last answered
    json_t *status;  // what all brokers report
    struct log_position position;
    uint64_t term;  // 0 unless this broker leads
    int64_t schema; // of the snapshot that was last read; of the thread that reads
};

// Ends the process, which led.
void lead_lost(const char *why) __attribute__((noreturn));
// Returns the answer to request NUMBER of a transaction, borrowed.
const json_t *log_response(const json_t *answer, size_t number);

#endif
