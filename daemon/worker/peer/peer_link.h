// SPDX-License-Identifier: BSD-3-Clause
// Peer links: a peer link connects two workers of one client, and carries copies between their
// GPUs. Its frames travel over a link between the workers, or through the client.
//
// The lock of peer_mover guards everything here. Only its thread sends frames, writes to the peer's
// memory, and removes copies from lists.
#ifndef RGPU_WORKER_PEER_LINK_H
#define RGPU_WORKER_PEER_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/net/control_stream.h"
#include "proto/wire.h"
#include "daemon/worker/copy/parts/mover.h"
#include "daemon/worker/peer/peer_blocks.h"

enum { PEER_LINKS_MAX = 64, PEER_PUTS_MAX = 64 };

// A chunk of a put that the other end has not stored yet.
struct peer_put {
    uint32_t window, block; // number of the window, and thread block that has sent the put
    bool ends;              // last chunk of its put
};

// Path of blocks to the other end.
enum peer_carriage {
    PEER_BEHIND, // over the connection, after their frames
    PEER_SHARED, // through memory that both ends map
    PEER_WRITTEN // by RDMA writes to the other end's blocks
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
    uint32_t number; // number that the client has chosen
    enum peer_state state;
    struct link *direct;        // link between the workers, in state PEER_DIRECT
    struct control_stream base; // first connection of the two ends, unless `direct` uses it
    enum peer_carriage carriage;
    bool privacy;        // data must be encrypted
    bool reaches;        // the GPU here can access memory of the GPU there
    char means[200];     // PEER_WRITTEN: how the RDMA device accesses GPU memory, or why it cannot
    uint32_t ways;       // allowed transports, bits of enum wire_peer_way
    uint32_t expected;   // number under which this end expects the connection
    char name[128];      // name of the other box
    char address[128];   // address to which this end has connected; "": the other end has connected
    char reason[240];    // why it uses this transport
    CUresult lost;       // result of all copies once the link is lost; CUDA_SUCCESS before
    unsigned users;      // threads that use it without the lock, such as its reader
    bool closed, ending; // the client has closed the link; the link is being freed
    unsigned credits;    // blocks that this end may send
    unsigned uncredited; // blocks freed here and not reported to the other end
    uint32_t freed;      // bit mask of these blocks
    uint32_t lent;       // bit mask of the other end's blocks that this end uses
    struct peer_blocks blocks;
    // PEER_WRITTEN: key of the blocks here; key of the blocks there (0: unknown); `key` was sent;
    // address of the blocks there; registration of the outgoing blocks.
    uint32_t key, far_key;
    bool reported;
    uint64_t far_blocks;
    struct link_registered *outgoing;
    // Puts of kernels (far_puts.c): to send, being written, received, being stored; a ring of those
    // sent and not completed; number of stored ones to report.
    struct peer_queue puts_out, puts_writing, puts_in, puts_stored;
    struct peer_put puts[PEER_PUTS_MAX];
    uint32_t put_first, put_count;
    uint64_t puts_over;
    struct peer_job *jobs; // oldest first
    unsigned job_count;
    unsigned half_known; // number of jobs in state HERE_ANNOUNCED
    uint64_t newest;     // number of the last copy that the client has requested
    struct peer_link *next;
};

extern struct mover peer_mover;
// Starts its thread, unless it runs. Returns 0 or -errno. The caller holds the lock.
int peer_mover_start(void);
extern struct peer_link *peer_links;

// Returns NULL if there is none, or if it is being freed.
struct peer_link *peer_link_find(uint32_t number);
// Adds a link in state PEER_RENDEZVOUS to the box NAME, a string of SIZE bytes.
CUresult peer_link_add(uint32_t number, const void *name, size_t size);
// Drops a use of LINK. The caller holds the lock.
void peer_link_leave(struct peer_link *link);
// Sends the frames of LINK through the client from now on. REASON has SIZE bytes.
void peer_link_relay(struct peer_link *link, const void *reason, size_t size);
// Chooses enum peer_carriage for the connected link MADE. CALLED: the other end has connected.
// Returns 0 or -errno.
int peer_link_carry(struct peer_link *link, struct link *made, bool called);
// Records that the link is connected, in STATE.
void peer_link_stands(struct peer_link *link, enum peer_state state);
// Reports all links to the supervisor.
void peer_links_tell(void);
// Sends a frame, and FRAME->bytes bytes of PAYLOAD unless that is NULL. The caller must not hold
// the lock, because this may wait for the other end. Returns false if the link is down.
bool peer_link_send(struct peer_link *link, struct wire_peer_frame frame, const void *payload);
// Begins to write BLOCK to address REMOTE of the other end, with KEY. SOURCE: registration of GPU
// memory to send instead of the block, or NULL. Returns 0, or -errno if the link is down.
int peer_link_write(struct peer_link *link, struct peer_block *block, uint64_t remote, uint32_t key,
                    struct link_registered *source);
// Reports `means` of LINK to the supervisor.
void peer_link_tell_means(struct peer_link *link);
// Returns true if the link is closed and unused.
bool peer_link_is_over(const struct peer_link *link);
// Takes LINK off the list. The caller holds the lock.
void peer_link_take_off(const struct peer_link *link);

#endif
