// SPDX-License-Identifier: BSD-3-Clause
// See out_of_reach.h. Each message appears once, and only when a program fails: most programs with
// page-locked memory never let a kernel touch it.
#include "client-lib/cuda/objects/out_of_reach.h"

#include <link.h>
#include <string.h>

#include "client-lib/cuda/objects/addresses.h"
#include "client-lib/cuda/report/tell.h"

static int is_nccl(struct dl_phdr_info *object, size_t size, void *argument)
{
    const char *name = object->dlpi_name ? strrchr(object->dlpi_name, '/') : NULL;

    return name && !strncmp(name, "/libnccl.so", strlen("/libnccl.so"));
}

static bool has_nccl(void)
{
    return dl_iterate_phdr(is_nccl, NULL);
}

static bool is_out_of_reach(const struct box_session *session)
{
    return !session->memory->maps_page_locked && !session->mirrors_on_demand;
}

static const char *advice(const struct box_session *session)
{
    if (has_nccl())
        return "NCCL's kernels wait for words of it, so NCCL needs GPUs of the host that it runs on: start the ranks "
               "with rgpuctl run, which loads rgpu's own libnccl.so.2 (RGPU_NCCL=own), or on the box itself";
    return session->mirrors_on_demand
               ? "The box gets such memory when the program asks for its device pointer (cuMemHostGetDevicePointer), or its "
                 "address is a parameter of a kernel or in a small copy to the GPU; this one was neither. Run the program on "
                 "the box itself, so that the transport is shm, or set RGPU_MAPPED_HOST=mirror"
               : "Run the program on the box itself, so that the transport is shm, or set RGPU_MAPPED_HOST=auto if it is "
                 "enough that memory agrees where work is sent and waited for";
}

void out_of_reach_refused(const struct box_session *session)
{
    if (is_out_of_reach(session))
        tell_once(
            "GPUs of box %s do not reach page-locked memory of this program over %s (%s), so that it has no "
            "address for kernels. %s",
            session->box, session->transport, session->transport_reason, advice(session));
}

void out_of_reach_failed(const struct box_session *session, CUresult result)
{
    if (result == CUDA_ERROR_ILLEGAL_ADDRESS && !session->memory->maps_page_locked &&
        memory_any_on_host())
        tell_once(
            "a kernel used an address that is none. If it is one of page-locked memory of this program: GPUs of box "
            "%s do not reach that over %s (%s). %s",
            session->box, session->transport, session->transport_reason, advice(session));
}

void out_of_reach_mirrored(const struct box_session *session)
{
    if (!session->memory->maps_page_locked && has_nccl())
        tell_once(
            "a copy of page-locked memory on the box is not enough for NCCL, whose kernels wait for what the host writes "
            "meanwhile: its ranks may wait for ever. Start them with rgpuctl run, which loads rgpu's own libnccl.so.2 "
            "(RGPU_NCCL=own), or on the box itself");
}
