// SPDX-License-Identifier: BSD-3-Clause
// Writes one frame of every control message into a directory: the corpus of fuzz-control. To be run
// again when proto/control.spec changes.
// usage: control-corpus DIRECTORY
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/net/control.h"

static const char *directory;

static void write_frame(enum control_message_type type, const void *message)
{
    static uint8_t frame[64 * 1024];
    char path[512];
    int size = control_encode(type, message, frame, sizeof(frame));

    snprintf(path, sizeof(path), "%s/%s", directory, control_message_name(type));
    FILE *file = fopen(path, "wb");
    if (size < 0 || !file || fwrite(frame, 1, (size_t)size, file) != (size_t)size || fclose(file)) {
        fprintf(stderr, "cannot write %s\n", path);
        exit(1);
    }
}

static void handshake(void)
{
    struct control_hello hello = {.magic = CONTROL_MAGIC,
                                  .version_oldest = 2,
                                  .version_newest = 2,
                                  .protection = CONTROL_PROTECTION_PRIVACY,
                                  .pid = 812,
                                  .library = "0.1.0",
                                  .host = "node7",
                                  .program = "saxpy"};
    struct control_hello_reply reply = {.magic = CONTROL_MAGIC, .version = 2, .box = "box1"};
    struct control_queued queued = {.position = 3, .interval_ms = 1000};
    struct control_granted granted = {.session = 17,
                                      .devices = 2,
                                      .protection = CONTROL_PROTECTION_PRIVACY};
    struct control_refused refused = {.code = CONTROL_REFUSAL_BUSY, .result = 802, .text = "busy"};

    memset(hello.boot_id, 0x5a, sizeof(hello.boot_id));
    memset(reply.boot_id, 0xa5, sizeof(reply.boot_id));
    write_frame(CONTROL_HELLO, &hello);
    write_frame(CONTROL_HELLO_REPLY, &reply);
    write_frame(CONTROL_QUEUED, &queued);
    write_frame(CONTROL_GRANTED, &granted);
    write_frame(CONTROL_REFUSED, &refused);
}

static void welcome(void)
{
    struct control_welcome message = {
        .version = 1,
        .session = 17,
        .offers_count = 3,
        .offers = {{.transport = "shm", .address = "rgpu-812-17"},
                   {.transport = "rdma", .address = "10.0.0.7", .port = 4791},
                   {.transport = "tcp"}},
        .snapshot = (const uint8_t *)"devices",
        .snapshot_size = 7};
    struct control_transport_proposal proposal = {.transport = "tcp", .reason = "another kernel"};
    struct control_transport_reply reply = {.accepted = 1, .text = ""};

    write_frame(CONTROL_WELCOME, &message);
    write_frame(CONTROL_TRANSPORT_PROPOSAL, &proposal);
    write_frame(CONTROL_TRANSPORT_REPLY, &reply);
}

static void supervision(void)
{
    static struct control_ready ready = {.pid = 4711, .driver_version = 13000, .devices_count = 2};
    static struct control_setup setup = {
        .list = CONTROL_DIGEST,
        .device = 1,
        .user = 2000000007,
        .refusals = 1,
        .worker = {.worker_filter = CONTROL_WORKER_FILTER_LOG,
                   .block_size = 512 << 10,
                   .block_count = 32,
                   .pipeline = true,
                   .gpudirect = CONTROL_GPUDIRECT_NO,
                   .spin_us = -1},
        .transports_count = 2,
        .transports = {{"shm"}, {"rdma"}},
        .rdma_devices = "10.0.0.7,mlx5_0:1",
        .fabric = {.rdma_gid_index = -1, .rdma_mtu = 5},
        .gpus_count = 1,
        .gpus = {{.ordinal = 1, .uuid = {0xa1}}},
        .nodes_count = 2,
        .nodes = {{"/dev/nvidiactl"}, {"/dev/nvidia1"}},
    };
    struct control_failed failed = {.result = 100, .text = "no driver"};
    static struct control_grant grant = {.session = 17,
                                         .version = 1,
                                         .transports_count = 1,
                                         .transports = {{"tcp"}},
                                         .protection = CONTROL_PROTECTION_AUTHENTICATE,
                                         .lease = "l-42",
                                         .client = "saxpy 812@node7",
                                         .devices_count = 2};
    struct control_stats stats = {
        .transport = "shm", .reason = "same kernel", .bytes_in = 1 << 20, .calls = 99};
    struct control_ended ended = {.reason = CONTROL_END_REASON_CLIENT_LEFT, .text = "left"};
    struct control_end end = {.reason = CONTROL_END_REASON_REVOKED, .text = "lease revoked"};

    snprintf(ready.devices[0].name, sizeof(ready.devices[0].name), "GPU");
    snprintf(ready.devices[1].pci, sizeof(ready.devices[1].pci), "0000:17:00.0");
    grant.devices[1].ordinal = 1;
    write_frame(CONTROL_SETUP, &setup);
    write_frame(CONTROL_READY, &ready);
    write_frame(CONTROL_FAILED, &failed);
    write_frame(CONTROL_GRANT, &grant);
    write_frame(CONTROL_STATS, &stats);
    write_frame(CONTROL_ENDED, &ended);
    write_frame(CONTROL_END, &end);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    directory = argv[1];
    handshake();
    welcome();
    supervision();
    return 0;
}
