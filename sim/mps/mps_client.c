// SPDX-License-Identifier: BSD-3-Clause
// The limits are read once, when the process connects, as contexts of a GPU read theirs when
// created.
#include "sim/mps/mps_client.h"

#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/net/fdpass.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "sim/mps/mps_board.h"
#include "sim/sim_config.h"

static struct {
    int connection;
    struct mps_board *board; // NULL: not a client
    struct mps_place *place;
    unsigned percentage;
    size_t limits[SIM_MAX_DEVICES]; // 0: no limit
} mps = {.connection = -1, .percentage = 100};

// ---- limits ----

static CUresult read_percentage(void)
{
    const char *text = getenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
    char *end;

    if (!text || !*text)
        return CUDA_SUCCESS;
    double value = strtod(text, &end);
    if (end == text || *end || value <= 0 || value > 100) {
        log_error("setting not understood, name=CUDA_MPS_ACTIVE_THREAD_PERCENTAGE value=\"%s\"",
                  text);
        return CUDA_ERROR_INVALID_VALUE;
    }
    mps.percentage = value < 1 ? 1 : (unsigned)value;
    return CUDA_SUCCESS;
}

// Parses limits such as "0=2G,1=512M".
static CUresult read_limits(void)
{
    const char *text = getenv("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"), *at = text;
    char entry[64];

    while (at && *at) {
        size_t length = strcspn(at, ",");
        char *end;
        snprintf(entry, sizeof(entry), "%.*s", (int)length, at);
        unsigned long device = strtoul(entry, &end, 10);
        size_t bytes;
        if (end == entry || *end != '=' || device >= SIM_MAX_DEVICES ||
            sim_config_size(end + 1, &bytes)) {
            log_error("setting not understood, name=CUDA_MPS_PINNED_DEVICE_MEM_LIMIT value=\"%s\"",
                      text);
            return CUDA_ERROR_INVALID_VALUE;
        }
        mps.limits[device] = bytes;
        at += length + (at[length] == ',');
    }
    return CUDA_SUCCESS;
}

unsigned mps_share_of(unsigned multiprocessors)
{
    unsigned share = (multiprocessors * mps.percentage + 99) / 100;

    return mps.board ? share : multiprocessors;
}

size_t mps_memory_limit(int index)
{
    return mps.board && mps.limits[index] ? mps.limits[index] : SIZE_MAX;
}

// ---- joining ----

static CUresult take_board(void)
{
    struct mps_reply reply = {0};
    size_t count = 1;
    int board = -1;
    ssize_t n = fdpass_receive(mps.connection, &reply, sizeof(reply), &board, &count);

    if (n == sizeof(reply) && reply.answer == MPS_FULL)
        return CUDA_ERROR_MPS_MAX_CLIENTS_REACHED;
    if (n != sizeof(reply) || reply.answer != MPS_TAKEN || count != 1 ||
        reply.place >= MPS_CLIENTS_MAX)
        return n < 0 ? CUDA_ERROR_MPS_CONNECTION_FAILED : CUDA_ERROR_MPS_SERVER_NOT_READY;
    void *memory = mmap(NULL, sizeof(*mps.board), PROT_READ | PROT_WRITE, MAP_SHARED, board, 0);
    close(board);
    if (memory == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    mps.board = memory;
    mps.place = &mps.board->places[reply.place];
    return CUDA_SUCCESS;
}

// Sends our credentials explicitly, since another process may have made the connection.
static CUresult mps_client_ask(void)
{
    struct mps_request request = {.kind = MPS_REQUEST_CLIENT};
    const struct ucred who = {.pid = getpid(), .uid = geteuid(), .gid = getegid()};
    union {
        char bytes[CMSG_SPACE(sizeof(struct ucred))];
        struct cmsghdr align;
    } control = {{0}};
    struct iovec part = {.iov_base = &request, .iov_len = sizeof(request)};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);

    *header = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
                               .cmsg_type = SCM_CREDENTIALS,
                               .cmsg_len = CMSG_LEN(sizeof(who))};
    memcpy(CMSG_DATA(header), &who, sizeof(who));
    if (sendmsg(mps.connection, &message, MSG_NOSIGNAL) != sizeof(request))
        return CUDA_ERROR_MPS_CONNECTION_FAILED;
    return take_board();
}

CUresult mps_join(void)
{
    struct sockaddr_un address;
    SCOPED_FD int connection = -1;

    if (mps_address("control", &address))
        return CUDA_SUCCESS;
    connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    // Without a daemon the process runs without MPS, as with the real driver.
    if (connection < 0 || connect(connection, (struct sockaddr *)&address, sizeof(address)))
        return CUDA_SUCCESS;
    // A process that connects for us may have set SO_PASSCRED; we do not need the sender's
    // credentials.
    if (setsockopt(connection, SOL_SOCKET, SO_PASSCRED, &(int){0}, sizeof(int)))
        return CUDA_ERROR_OPERATING_SYSTEM;
    SIM_TRY(read_percentage());
    SIM_TRY(read_limits());
    mps.connection = connection;
    CUresult result = mps_client_ask();
    if (result) {
        log_error("the MPS server does not take this process, error=%d", (int)result);
        mps.connection = -1;
        return result;
    }
    connection = -1;
    return CUDA_SUCCESS;
}

// ---- afterwards ----

bool mps_is_client(void)
{
    return mps.board != NULL;
}

CUresult mps_status(void)
{
    struct pollfd end = {.fd = mps.connection, .events = POLLRDHUP};

    if (!mps.board)
        return CUDA_SUCCESS;
    if (atomic_load(&mps.place->terminated))
        return CUDA_ERROR_MPS_CLIENT_TERMINATED;
    if (atomic_load(&mps.board->faulted))
        // the faulting client gets the same error, so the error does not reveal it
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    return poll(&end, 1, 0) > 0 ? CUDA_ERROR_MPS_RPC_FAILURE : CUDA_SUCCESS;
}

void mps_fault(void)
{
    if (mps.board)
        atomic_store(&mps.board->faulted, 1);
}

void mps_kernel_begins(void)
{
    if (mps.board)
        atomic_fetch_add(&mps.place->running, 1);
}

void mps_kernel_ended(void)
{
    if (mps.board)
        atomic_fetch_sub(&mps.place->running, 1);
}
