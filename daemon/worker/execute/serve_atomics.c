// SPDX-License-Identifier: BSD-3-Clause
// Reports which atomic operations a GPU can perform on memory of its host and of another GPU.
#include "worker_driver.h"
#include "worker_serve.h"

static CUresult serve_atomics_ask(const struct args_device_atomics *args, CUdevice device,
                                  CUdevice peer, unsigned int *out)
{
    if (!args->of_peer)
        return driver.cuDeviceGetHostAtomicCapabilities
                   ? driver.cuDeviceGetHostAtomicCapabilities(out, args->operations, args->count,
                                                              device)
                   : CUDA_ERROR_NOT_SUPPORTED;
    return driver.cuDeviceGetP2PAtomicCapabilities
               ? driver.cuDeviceGetP2PAtomicCapabilities(out, args->operations, args->count, device,
                                                         peer)
               : CUDA_ERROR_NOT_SUPPORTED;
}

void serve_device_atomics(struct serve *serve, const struct args_device_atomics *args)
{
    unsigned int out[sizeof(args->operations) / sizeof(args->operations[0])] = {0};
    CUdevice device = serve_device(serve, args->dev), peer = serve_device(serve, args->peer);

    if (args->count > sizeof(out) / sizeof(out[0]) ||
        args->count * sizeof(out[0]) > serve_reply_room(serve, args->reply_room))
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    if (!serve_failed(serve))
        serve_fail(serve, serve_atomics_ask(args, device, peer, out));
    if (!serve_failed(serve))
        serve_reply_bytes(serve, out, args->count * sizeof(out[0]));
}
