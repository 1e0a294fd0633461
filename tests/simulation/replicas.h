// SPDX-License-Identifier: BSD-3-Clause
// Stands for several brokers by a model of their log in etcd (broker/replication), and by the
// database of a broker that follows. The log has an entry once a majority has it. If a leader dies,
// the entry on its way arrives or not. Each next leader begins with the database of the log.
//
// A leader that has lost the lead and goes on for a moment is not modelled: it can commit nothing.
#ifndef RGPU_TEST_REPLICAS_H
#define RGPU_TEST_REPLICAS_H

#include <stdbool.h>
#include <stdint.h>

#include "broker/replication/replicated_log.h"

// A part of the seeds has several brokers.
void replicas_set_up(uint64_t seed);
// Returns NULL if there is one broker.
struct replication *replicas(void);

// Puts the database of the next leader on its disk. Returns false without a majority.
bool replicas_lead(void);
// An entry is on its way to the majority; takes over its bytes.
void replicas_send(const struct log_entry *entry);
// The majority answers. Returns false if there is none: the entry stays on its way.
bool replicas_have(void);
// The leader has died.
void replicas_lose_leader(void);

void replicas_lose_majority(int64_t duration);
void replicas_heal(void);

#endif
