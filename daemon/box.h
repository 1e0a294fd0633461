// The supervisor's state and what its parts ask of each other. Everything runs in one thread on one
// event loop; nothing here blocks.
#ifndef RGPU_DAEMON_BOX_H
#define RGPU_DAEMON_BOX_H

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "common/control.h"
#include "common/ticket.h"
#include "daemon/settings.h"

struct box;
struct client;
struct worker;

// ---- devices ----

enum { BOX_DEVICES_MAX = CONTROL_DEVICES_MAX };

// Which devices the administrator chose, before the driver has said which there are.
struct device_choice {
    bool software; // sim:COUNT, else cuda:...
    bool all;
    uint32_t count;                      // of ordinals, or of software devices
    uint32_t ordinals[BOX_DEVICES_MAX];
};

// The workers that wait, warm, for clients of one device.
struct pool {
    unsigned starting, warm; // counted by worker_move
    unsigned dying;          // ended by themselves before they served, and not reaped yet
    unsigned failures;       // starts in a row that failed
    struct event *retry;     // pending while a failing worker is not started again
    char last_error[512];    // why the last start failed
};

struct device {
    struct box *box;
    struct control_device info; // from the driver; ordinal is the place in the driver's list
    uint32_t ordinal;
    char uuid[48]; // "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
    bool keep_warm;
    bool measured; // what a context takes is known
    unsigned sessions; // that use it
    uint64_t driver_bytes; // taken by everybody, as the management library says; 0: not known
    uint64_t taken_before; // that, before our first worker
    uint64_t idle_bytes;   // the most that it says of a worker without a client
    unsigned foreign_rounds, differing_rounds; // in a row in which it differs (comparison.c)
    struct pool pool;
};

// "sim:2", "cuda:all", "cuda:0,2"; -EINVAL after logging.
int device_choice_parse(const char *text, struct device_choice *out)
    __attribute__((warn_unused_result));
// Makes box->devices from a first worker's list. -ENODEV after logging: a chosen one is not there.
int device_adopt_inventory(struct box *box, const struct control_ready *ready)
    __attribute__((warn_unused_result));
void device_uuid_text(const uint8_t uuid[16], char text[48]);

// Devices that one worker can reach, by their ordinals; 0: whatever the driver has, which is for the first
// worker alone. A worker reaches the devices of its client and no others.
typedef uint64_t device_set;
_Static_assert(BOX_DEVICES_MAX <= 64, "a set has a bit for each");
struct session_grant;
device_set device_set_of(const struct session_grant *grant);
device_set device_set_all(const struct box *box);
// What clients whose first device this is are expected to be granted, for workers that are started beforehand.
device_set device_set_usual(const struct box *box, const struct device *device);

// ---- what a session is allowed ----

struct session_grant {
    char lease[128];
    int64_t epoch; // of the ticket
    uint32_t device_count;
    struct device *devices[BOX_DEVICES_MAX]; // in the client's order
    uint64_t budgets[BOX_DEVICES_MAX];       // bytes over all sessions of the lease; 0: no limit
    bool exclusive[BOX_DEVICES_MAX];         // no session of another lease beside it
};

// The secret of what a client shows, by this box's keys, and what it says: ticket_recompute().
int auth_recompute(const struct box *box, const void *public_part, size_t size,
                   uint8_t secret[SHA256_SIZE], struct ticket *ticket)
    __attribute__((warn_unused_result));
// Whether a ticket whose secret the client has proved is good now: ticket_check_use().
int auth_check_use(const struct box *box, const struct ticket *ticket)
    __attribute__((warn_unused_result));
// What the client may use of the devices, which must be known. 0 or -ENODEV with the text.
int auth_resolve(struct box *box, const struct ticket *ticket, struct session_grant *out,
                 char *text, size_t size) __attribute__((warn_unused_result));
// Reads the keys anew where tickets are asked for. -errno after logging.
int auth_load_keys(struct box *box, const struct settings *settings)
    __attribute__((warn_unused_result));

// ---- the box ----

enum box_state {
    BOX_STARTING, // no worker has shown the devices yet
    BOX_SERVING,
    BOX_DRAINING, // no new sessions, until undrained
    BOX_LEAVING,  // no new sessions; exits with the last one
    BOX_STOPPING, // workers are being ended
};

TAILQ_HEAD(worker_list, worker);
TAILQ_HEAD(client_list, client);
TAILQ_HEAD(account_list, account);

struct box {
    struct event_base *base;
    struct settings settings;
    bool standalone;
    enum box_state state;
    char name[128];
    uint8_t boot_id[CONTROL_BOOT_ID_BYTES];
    char worker_path[4096], driver_path[4096];
    char **worker_environment;
    int driver_fd; // what the workers' software GPUs share
    uid_t first_user, last_user, next_user; // of workers; 0: they stay what we are

    struct device_choice choice;
    struct device *devices;
    uint32_t device_count;
    struct pool probe; // the first worker's, before there are devices
    bool devices_known;
    bool awaits_gauge; // no worker is started until it is known what was taken before
    unsigned description; // changes with what the broker is told of this box

    struct worker_list workers;
    struct client_list clients;
    struct account_list accounts; // of leases with a budget that have sessions
    unsigned handshakes; // clients that are not yet authenticated, or refused and not yet closed
    uint64_t next_session;
    unsigned session_count;
    uint64_t sessions_total;

    struct ticket_keyring keys; // none where tickets are not asked for
    struct listeners *listeners;
    struct admin *admin;
    struct gauge *gauge; // NULL: accounts are not compared
    struct broker_agent *agent; // NULL where no broker is set
    int exit_status;
};

const char *box_state_name(enum box_state state);
// The one place where the box changes state; tells the service manager.
void box_move(struct box *box, enum box_state state);
// Called when a worker has ended, the devices became known, or the state changed: starts what
// lacks, serves who waits, and ends the loop when nothing is left to wait for.
void box_review(struct box *box);
bool box_accepts_sessions(const struct box *box);

// ---- pools (pool.c) ----

struct pool *pool_of(struct box *box, struct device *device);
void pool_refill(struct box *box);
void pool_start_failed(struct box *box, struct device *device, const char *reason);
// True where workers of the device have failed so often that a client should not wait for one.
bool pool_is_broken(const struct pool *pool);
void pool_stop_warm(struct box *box);
void pool_free(struct pool *pool);

// ---- listeners (listener.c) ----

// Opens every address of the settings. -errno after logging.
int listeners_open(struct box *box) __attribute__((warn_unused_result));
void listeners_close(struct box *box);
// "host:port[,host:port]" as bound.
void listeners_text(const struct box *box, char *text, size_t size);

// ---- administration (admin.c) ----

int admin_open(struct box *box) __attribute__((warn_unused_result));
void admin_close(struct box *box);

// ---- service manager (notify.c) ----

void notify_state(const struct box *box);
void notify_reloading(void);
void notify_start_watchdog(struct box *box);
void notify_stop_watchdog(void);

#endif
