// SPDX-License-Identifier: BSD-3-Clause
// Peer links: each connects two workers of one client, and carries copies between their GPUs. The
// frames travel over a link between the workers, or through the client.
//
// The lock of peer_mover protects all of this. Only its thread sends frames, writes to the other
// end's memory, and removes copies from lists.
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
    uint32_t window, block; // number of the window, and of the sending block of threads
    bool ends;              // it is the last piece of its put
};

// The way of blocks to the other end.
enum peer_carriage {
    PEER_BEHIND, // after their frames, over the connection
    PEER_SHARED, // in memory that both ends map
    PEER_WRITTEN // by one-sided writes into the other end's blocks
};

struct peer_job;
struct link;
struct link_registered;

enum peer_state {
    PEER_RENDEZVOUS, // the two ends are not connected yet
    PEER_DIRECT,     // over a link between the workers
    PEER_RELAYED,    // through the client
};

struct peer_link {
    uint32_t number; // the client's
    enum peer_state state;
    struct link *direct;        // in state PEER_DIRECT
    struct control_stream base; // the first connection of the two ends, unless DIRECT took it
    enum peer_carriage carriage;
    bool privacy;        // it must be encrypted
    bool reaches;        // the GPU here accesses memory of the GPU there
    char means[200];     // for PEER_WRITTEN: how the device accesses GPU memory, or why it cannot
    uint32_t ways;       // that the two may try, enum wire_peer_way
    uint32_t expected;   // number under which the other end will connect
    char name[128];      // of the other box
    char address[128];   // to which this end connected; empty: the other end connected
    char reason[240];    // why it has this transport
    CUresult lost;       // the result of all copies after a loss; CUDA_SUCCESS: the link is up
    unsigned users;      // threads that use it without the lock, such as its reader
    bool closed, ending; // the client has closed it; it is being freed
    unsigned credits;    // blocks that this end may send
    unsigned uncredited; // blocks that became free here, not reported yet
    uint32_t freed;      // bits of these blocks
    uint32_t lent;       // bits of the other end's blocks in use by this end
    struct peer_blocks blocks;
    // For PEER_WRITTEN: the key of the blocks here, and of those there (0: unknown); if KEY was
    // sent; the address of the blocks there; and the registration of the blocks to send from.
    uint32_t key, far_key;
    bool reported;
    uint64_t far_blocks;
    struct link_registered *outgoing;
    // Puts of kernels (far_puts.c): to send, being written, received, and being stored; a ring of
    // those sent and not completed; and the number of stored ones to report to the other end.
    struct peer_queue puts_out, puts_writing, puts_in, puts_stored;
    struct peer_put puts[PEER_PUTS_MAX];
    uint32_t put_first, put_count;
    uint64_t puts_over;
    struct peer_job *jobs; // oldest first
    unsigned job_count;
    unsigned half_known; // of these, those in state HERE_ANNOUNCED
    uint64_t newest;     // number of the last copy that the client requested
    struct peer_link *next;
};

extern struct mover peer_mover;
extern struct peer_link *peer_links;

struct peer_link *peer_link_find(uint32_t number); // NULL: there is none
// Adds a link in state PEER_RENDEZVOUS to the box NAME of SIZE bytes.
CUresult peer_link_add(uint32_t number, const void *name, size_t size);
// Releases a use of LINK. Under lock.
void peer_link_leave(struct peer_link *link);
// Sends the frames of LINK through the client, because of REASON (SIZE bytes).
void peer_link_relay(struct peer_link *link, const void *reason, size_t size);
// Chooses how the link MADE carries blocks. CALLED: the other end connected. Returns 0 or -errno.
int peer_link_carry(struct peer_link *link, struct link *made, bool called);
// Records that the link is connected, in STATE.
void peer_link_stands(struct peer_link *link, enum peer_state state);
// Reports all links to the supervisor.
void peer_links_tell(void);
// Sends a frame and FRAME->bytes bytes of PAYLOAD (NULL: the other end has them already). Called
// without the lock, because it may wait for the other end. Returns false if the link is down.
bool peer_link_send(struct peer_link *link, struct wire_peer_frame frame, const void *payload);
// Starts to write BLOCK to the address REMOTE of the other end, which has KEY. SOURCE: the
// registration of the GPU memory to read instead of the block. Returns 0, or -errno if the link is
// down.
int peer_link_write(struct peer_link *link, struct peer_block *block, uint64_t remote, uint32_t key,
                    struct link_registered *source);
// Reports to the supervisor how copies of LINK access GPU memory (`means`).
void peer_link_tell_means(struct peer_link *link);
// Returns true if the link is closed and has no user.
bool peer_link_is_over(const struct peer_link *link);
// Frees the links that are over. Under lock.
void peer_links_reap(void);

#endif
