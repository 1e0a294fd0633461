// SPDX-License-Identifier: BSD-3-Clause
// libibverbs and librdmacm, loaded with dlopen: the client library depends only on libc, and
// machines without RDMA need not install them.
#ifndef RGPU_TRANSPORT_RDMA_VERBS_H
#define RGPU_TRANSPORT_RDMA_VERBS_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

// the header defines these names as macros
#undef ibv_reg_mr
#undef ibv_query_port

// Functions used, besides inline functions of the headers.
#define RDMA_CM_FUNCTIONS(X) \
    X(rdma_create_event_channel) \
    X(rdma_destroy_event_channel) \
    X(rdma_create_id) \
    X(rdma_destroy_id) \
    X(rdma_bind_addr) \
    X(rdma_resolve_addr) \
    X(rdma_resolve_route) \
    X(rdma_listen) \
    X(rdma_connect) \
    X(rdma_migrate_id) \
    X(rdma_accept) \
    X(rdma_reject) \
    X(rdma_disconnect) \
    X(rdma_get_cm_event) \
    X(rdma_ack_cm_event) \
    X(rdma_establish) \
    X(rdma_init_qp_attr) \
    X(rdma_get_src_port) \
    X(rdma_set_option) \
    X(rdma_event_str)
#define RDMA_IBV_FUNCTIONS(X) \
    X(ibv_fork_init) \
    X(ibv_get_device_name) \
    X(ibv_alloc_pd) \
    X(ibv_dealloc_pd) \
    X(ibv_reg_mr) \
    X(ibv_reg_dmabuf_mr) \
    X(ibv_dereg_mr) \
    X(ibv_create_comp_channel) \
    X(ibv_destroy_comp_channel) \
    X(ibv_create_cq) \
    X(ibv_destroy_cq) \
    X(ibv_get_cq_event) \
    X(ibv_ack_cq_events) \
    X(ibv_create_qp) \
    X(ibv_modify_qp) \
    X(ibv_destroy_qp) \
    X(ibv_query_device) \
    X(ibv_query_port) \
    X(ibv_query_gid) \
    X(ibv_wc_status_str)

struct rdma_verbs {
#define RDMA_MEMBER(name) __typeof__(name) *name;
    RDMA_CM_FUNCTIONS(RDMA_MEMBER)
    RDMA_IBV_FUNCTIONS(RDMA_MEMBER)
#undef RDMA_MEMBER
};
extern struct rdma_verbs verbs;

// Loads the libraries at the first call. Returns 0, or -errno and the missing part in TEXT.
int rdma_verbs_load(char *text, size_t room);

#endif
