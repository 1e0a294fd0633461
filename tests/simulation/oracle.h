// SPDX-License-Identifier: BSD-3-Clause
// Checks the promises after every event, from outside: by what boxes run and would accept, what
// the broker has answered, and what its pool and database say.
#ifndef RGPU_TEST_ORACLE_H
#define RGPU_TEST_ORACLE_H

#include "tests/simulation/simulated_box.h"

// A session of a simulated box: the agent sees its worker.
struct simulated_session {
    struct worker_process worker;
    struct ticket ticket;
    bool off; // it was suspended when its lease ended, so its memory is not on its GPUs
};

void oracle_session_begun(struct simulated_box *box, struct simulated_session *session);
void oracle_session_ended(struct simulated_box *box, struct simulated_session *session);
// Returns true if the tickets cannot both be in use.
bool oracle_tickets_exclude(const struct simulated_box *box, const struct ticket *a,
                            const struct ticket *b);
// Returns a lease that runs on a GPU of LEASE's sessions and excludes them, or NULL.
const char *oracle_lease_beside(const struct simulated_box *box, const char *lease);
// A box has refused a session because another lease runs on its GPU.
void oracle_conflict(const struct simulated_box *box, const struct ticket *ticket,
                     const char *other);

// Answers that users have received.
struct store_event;

enum acknowledged { ACKED_NOTHING, ACKED_QUEUED, ACKED_GRANTED, ACKED_RELEASED };
void oracle_acknowledged(const char *lease, enum acknowledged what);
// The broker does not know a lease that it once acknowledged.
void oracle_unknown(const char *lease);
// A user has received a ticket.
void oracle_ticket(const struct ticket_entry *entry);

// Called after every event.
void oracle_check(void);
// Returns true if leases are left whose time is not over.
bool oracle_leases_run_out(void);
// Called when all granted leases are released, and others may still wait.
void oracle_check_served(void);
// Called when all faults and all requests are over.
void oracle_check_idle(void);
// A fault has struck, after which memory and database must be the same.
void oracle_doubt(void);
// The broker writes an event.
void oracle_event(const struct store_event *event);

#endif
