// SPDX-License-Identifier: BSD-3-Clause
// The supervisor's orders while a session is being opened do not end the session: a pause begins
// when it is open.
#include "tests/worker/peer.h"

static bool take_paused(struct peer *peer, struct control_paused *paused)
{
    struct control_frame frame = {0};
    bool found = false;
    int passed;

    while (!found && !control_receive_packet(peer->control, &frame, &passed)) {
        found = !control_decode(&frame, CONTROL_PAUSED, paused);
        control_frame_free(&frame);
    }
    return found;
}

static void tell(struct peer *peer, enum control_message_type type, const void *message)
{
    if (control_send_packet(peer->control, type, message, -1))
        bail("the worker does not hear");
}

int main(void)
{
    const struct control_pause pause = {.number = 5};
    const struct control_go_on go_on = {.number = 5};
    struct control_paused paused = {0};
    struct peer peer;

    peer_start(&peer, &(struct peer_options){.pause = 5});
    pass("a session that is to rest is opened all the same");
    ok(take_paused(&peer, &paused), "it says when it rests");
    is_int(paused.number, 5, "by that order");
    tell(&peer, CONTROL_GO_ON, &go_on);
    peer_retain(&peer, 0);
    CUdeviceptr memory = peer_alloc(&peer, 4096);
    ok(memory != 0, "and serves afterwards");
    tell(&peer, CONTROL_PAUSE, &pause);
    ok(take_paused(&peer, &paused), "it rests again when it is told to");
    peer_stop(&peer);
    return done();
}
