// SPDX-License-Identifier: BSD-3-Clause
// Tests the flag that replaces the answer to a wait: it is set when the stream has reached the
// point and not earlier. If an answer would say more, the flag says that the client must query the
// box.
#include <stdatomic.h>
#include <unistd.h>

#include "tests/worker/peer.h"

enum { FLAG = LINK_FLAGS - 1 };

static const char printing[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
    ".global .align 1 .b8 text[4] = {104, 105, 10, 0};\n"
    ".visible .entry greet()\n"
    "{\n"
    " .reg .u64 f;\n mov.u64 f, text;\n cvta.global.u64 f, f;\n"
    " { .param .b64 p0; st.param.b64 [p0], f; .param .b64 p1; st.param.b64 [p1], 0;\n"
    "   .param .b32 r; call.uni (r), vprintf, (p0, p1); }\n"
    " ret;\n"
    "}\n";

static uint32_t flag_now(struct peer *peer)
{
    return atomic_load((_Atomic uint32_t *)&link_staging(peer->link)->flags[FLAG]);
}

// Returns the flag's next value, whatever it is.
static uint32_t flag_after(struct peer *peer, uint32_t before)
{
    while (flag_now(peer) == before)
        usleep(100);
    return flag_now(peer);
}

static void sync_signal(struct peer *peer, uint32_t value, uint64_t stream)
{
    POST(peer, sync_signal, .index = FLAG, .value = value, .stream = stream);
}

static CUresult deferred_by(struct peer *peer)
{
    peer->deferred = CUDA_SUCCESS;
    ASK(peer, cuStreamSynchronize);
    return peer->deferred;
}

static void comes_in_order(struct peer *peer)
{
    struct brake brake;
    uint64_t stream = peer_stream(peer), other = peer_stream(peer);

    sync_signal(peer, 1, stream);
    is_int(flag_after(peer, 0), 1, "a flag comes without an answer");
    brake_make(peer, &brake);
    brake_hold(peer, &brake, stream);
    sync_signal(peer, 2, stream);
    is_int(ASK(peer, cuStreamSynchronize, .hStream = other), CUDA_SUCCESS,
           "another stream is waited for meanwhile");
    is_int(flag_now(peer), 1, "not before its stream has come so far");
    brake_release(peer, &brake);
    is_int(flag_after(peer, 1), 2, "and then");
}

static void asks_when_there_is_more_to_say(struct peer *peer)
{
    uint64_t stream = peer_stream(peer);

    POST(peer, cuEventRecord, .hEvent = 12345);
    sync_signal(peer, 3, stream);
    is_int(flag_after(peer, 2), WIRE_FLAG_ASK(3), "a failure is to be asked for");
    is_int(deferred_by(peer), CUDA_ERROR_INVALID_HANDLE, "which the answer has");
    sync_signal(peer, 4, 98765);
    is_int(flag_after(peer, WIRE_FLAG_ASK(3)), WIRE_FLAG_ASK(4), "so is a wrong handle");
    is_int(deferred_by(peer), CUDA_SUCCESS, "which is no failure before that");
    sync_signal(peer, 5, stream);
    is_int(flag_after(peer, WIRE_FLAG_ASK(4)), 5, "afterwards flags come again");
    POST(peer, sync_signal, .index = LINK_FLAGS, .value = 1, .stream = stream);
    is_int(deferred_by(peer), CUDA_ERROR_INVALID_VALUE, "there is no flag behind the last");
    uint64_t context = peer->context;
    peer->context = 55555;
    sync_signal(peer, 6, 0);
    is_int(flag_after(peer, 5), WIRE_FLAG_ASK(6), "a context that is none is to be asked for");
    peer->context = context;
    is_int(deferred_by(peer), CUDA_SUCCESS, "and nothing else fails of it");
}

static void asks_for_text(struct peer *peer)
{
    uint64_t stream = peer_stream(peer);

    peer_function(peer, peer_module(peer, printing), "greet");
    sync_signal(peer, 7, stream);
    is_int(flag_after(peer, WIRE_FLAG_ASK(6)), WIRE_FLAG_ASK(7),
           "where kernels may print the answer brings the text");
}

// As the client's library takes it: later uses of the flag do not take "ask" for their own end.
static void values(void)
{
    for (uint32_t value = UINT32_MAX - 2; value != 3; value++)
        for (uint32_t later = 0; later < 1000; later += 37)
            if ((int32_t)(WIRE_FLAG_ASK(value) - (value + later)) >= 0) {
                fail("what says ask for %u is beyond %u", value, value + later);
                return;
            }
    pass("what says ask is behind the value and those that follow");
}

int main(void)
{
    struct peer peer;

    peer_start(&peer, &(struct peer_options){.transport = "shm"});
    peer_retain(&peer, 0);
    comes_in_order(&peer);
    asks_when_there_is_more_to_say(&peer);
    asks_for_text(&peer);
    peer_stop(&peer);
    values();
    return done();
}
