// SPDX-License-Identifier: BSD-3-Clause
// Peer links: each leads to the worker of another session of our client and carries copies between
// the two GPUs. Their frames are records of a link of their own, or go through the client.
//
// The lock of peer_mover protects all of this. Its thread is also the only one that sends frames,
// writes to the other end's memory, and takes copies out of their lists.
#ifndef RGPU_WORKER_PEER_LINK_H
#define RGPU_WORKER_PEER_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/net/control_stream.h"
#include "proto/wire.h"
#include "daemon/worker/copy/parts/mover.h"
#include "daemon/worker/peer/peer_blocks.h"

enum { PEER_LINKS_MAX = 64, PEER_PUTS_MAX = 64 };

// A piece of a put that the other end has not stored yet.
struct peer_put {
    uint32_t window, block; // whose it is
    bool ends;              // it is the last one
};

// The way of blocks to the other end.
enum peer_carriage {
    PEER_BEHIND, // behind their frames
    PEER_SHARED, // both ends see them
    PEER_WRITTEN // into the other end's memory, one-sidedly
};

struct peer_job;
struct link;
struct link_registered;

enum peer_state {
    PEER_RENDEZVOUS, // the two ends are still to be connected
    PEER_DIRECT,
    PEER_RELAYED, // by the client
};

struct peer_link {
    uint32_t number; // the client's
    enum peer_state state;
    struct link *direct;        // of PEER_DIRECT
    struct control_stream base; // the connection by which the two ends met, where DIRECT is another
    enum peer_carriage carriage;
    bool privacy;        // it must be encrypted
    bool reaches;        // our GPU reaches memory of the other end's
    char means[200];     // of PEER_WRITTEN: whether the device reaches GPU memory, or why not
    uint32_t ways;       // that the two may try, enum wire_peer_way
    uint32_t expected;   // number of the call that is to come
    char name[128];      // of the other box
    char address[128];   // where it was called; empty: it called
    char reason[240];    // why it is what it is
    CUresult lost;       // what copies fail with from now on; CUDA_SUCCESS: the link is up
    unsigned users;      // threads that know it without the lock, such as its reader
    bool closed, ending; // the client will not name it any more; it is being freed
    unsigned credits;    // blocks that may be sent behind their frames
    unsigned uncredited; // blocks that became free here, and the other end does not know
    uint32_t freed;      // their bits
    uint32_t lent;       // bits of the other end's blocks that it has not given back
    struct peer_blocks blocks;
    // For PEER_WRITTEN: our blocks by the name that the other end got; its own, 0: not known yet;
    // and those that we send from.
    uint32_t key, far_key;
    bool reported;
    uint64_t far_blocks;
    struct link_registered *outgoing;
    // Puts of kernels, far_puts.c: to send, being written, received, and being stored; our own ones
    // in flight, as a ring; and the number of completed ones to report to the other end.
    struct peer_queue puts_out, puts_writing, puts_in, puts_stored;
    struct peer_put puts[PEER_PUTS_MAX];
    uint32_t put_first, put_count;
    uint64_t puts_over;
    struct peer_job *jobs; // oldest first
    unsigned job_count;
    unsigned half_known; // of these, those that only the other end has reported
    uint64_t newest;     // number of the last copy that the client has asked for
    struct peer_link *next;
};

extern struct mover peer_mover;
extern struct peer_link *peer_links;

struct peer_link *peer_link_find(uint32_t number); // NULL: there is none
// A link that is still to stand.
CUresult peer_link_add(uint32_t number, const void *name, size_t size);
// A user of it goes. Under lock.
void peer_link_leave(struct peer_link *link);
// Sends its frames through the client, for a REASON of SIZE bytes.
void peer_link_relay(struct peer_link *link, const void *reason, size_t size);
// MADE carries its blocks as it can. CALLED: the other end has called. -errno.
int peer_link_carry(struct peer_link *link, struct link *made, bool called);
// It stands now, as STATE says.
void peer_link_stands(struct peer_link *link, enum peer_state state);
// Tells the supervisor of all links.
void peer_links_tell(void);
// Sends a frame and what FRAME->bytes says of PAYLOAD (NULL: the other end has it). Without the
// lock: it may wait for the other end. False: the link is down.
bool peer_link_send(struct peer_link *link, struct wire_peer_frame frame, const void *payload);
// Starts to write BLOCK to REMOTE, with the other end's KEY to that; SOURCE is what its GPU memory
// is registered as. -errno: the link is down.
int peer_link_write(struct peer_link *link, struct peer_block *block, uint64_t remote, uint32_t key,
                    struct link_registered *source);
// Reports how its copies use registered memory of GPUs, after a trial.
void peer_link_tell_means(struct peer_link *link);
// Returns true if the link has no user any more.
bool peer_link_is_over(const struct peer_link *link);
// Has links freed that are over. Under lock.
void peer_links_reap(void);

#endif
