// SPDX-License-Identifier: BSD-3-Clause
// Kernels run with their own parameters, their prints precede the answer that reports their end,
// and their failures are reported.
#include <string.h>

#include "tests/worker/peer.h"

static const char kernels[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
    ".global .align 1 .b8 text[7] = {104, 101, 108, 108, 111, 10, 0};\n"
    ".visible .entry add(.param .u64 data, .param .u32 value)\n"
    "{\n"
    " .reg .u64 a, o; .reg .u32 v, t;\n"
    " ld.param.u64 a, [data];\n ld.param.u32 v, [value];\n"
    " cvta.to.global.u64 a, a;\n mov.u32 t, %tid.x;\n mul.wide.u32 o, t, 4;\n add.u64 a, a, o;\n"
    " ld.global.u32 t, [a];\n add.u32 t, t, v;\n st.global.u32 [a], t;\n ret;\n"
    "}\n"
    ".visible .entry greet()\n"
    "{\n"
    " .reg .u64 f;\n mov.u64 f, text;\n cvta.global.u64 f, f;\n"
    " { .param .b64 p0; st.param.b64 [p0], f; .param .b64 p1; st.param.b64 [p1], 0;\n"
    "   .param .b32 r; call.uni (r), vprintf, (p0, p1); }\n"
    " ret;\n"
    "}\n"
    ".visible .entry bad()\n"
    "{\n"
    " .reg .u64 a; .reg .u32 v;\n mov.u64 a, 64;\n mov.u32 v, 1;\n st.global.u32 [a], v;\n ret;\n"
    "}\n";

struct parameters {
    uint64_t data;
    uint32_t value;
} __attribute__((packed));

static void launch(struct peer *peer, uint64_t function, const void *parameters, uint32_t size)
{
    POST_TAIL(peer, launch, parameters, size, .function = function, .grid_x = 1, .grid_y = 1,
              .grid_z = 1, .block_x = 8, .block_y = 1, .block_z = 1, .bytes = size);
}

static CUresult synchronize(struct peer *peer)
{
    peer->deferred = CUDA_SUCCESS;
    return ASK(peer, cuCtxSynchronize);
}

static void runs(struct peer *peer, uint64_t add)
{
    uint32_t words[8] = {1, 2, 3, 4, 5, 6, 7, 8}, got[8] = {0}, want[8], used = 0;
    CUdeviceptr memory = peer_alloc(peer, sizeof(words));
    struct parameters parameters = {memory, 100};
    struct args_read_rows read = {
        .src = memory, .pitch = 32, .width = 32, .rows = 1, .reply_room = 32};

    POST_TAIL(peer, write_rows, words, 32, .dst = memory, .pitch = 32, .width = 32, .rows = 1,
              .bytes = 32);
    launch(peer, add, &parameters, sizeof(parameters));
    peer_ask(peer, OP_read_rows, &read, sizeof(read), NULL, 0, NULL, 0, got, 32, &used);
    for (int i = 0; i < 8; i++)
        want[i] = words[i] + 100;
    is_mem(got, want, 32, "a kernel adds to every word");
    launch(peer, add, &parameters, sizeof(parameters) - 4);
    synchronize(peer);
    is_int(peer->deferred, CUDA_ERROR_INVALID_VALUE, "with a parameter missing it is refused");
    peer_ask(peer, OP_read_rows, &read, sizeof(read), NULL, 0, NULL, 0, got, 32, &used);
    is_mem(got, want, 32, "and has not run");
}

static void describes(struct peer *peer, uint64_t add, uint64_t module)
{
    uint8_t bytes[256];
    uint32_t used = 0, count = 0;
    struct args_function_info info = {.function = add, .reply_room = sizeof(bytes)};
    struct args_module_functions names = {.module = module, .reply_room = sizeof(bytes)};
    struct reply_module_function_count reply;

    is_int(peer_ask(peer, OP_function_info, &info, sizeof(info), NULL, 0, NULL, 0, bytes,
                    sizeof(bytes), &used),
           CUDA_SUCCESS, "a function is described");
    const struct wire_function_info *head = (const void *)bytes;
    const struct wire_parameter *parameters = (const void *)(head + 1);
    is_int(head->parameter_count, 2, "it has two parameters");
    is_int(head->parameter_bytes, 12, "of twelve bytes");
    is_int(parameters[1].offset, 8, "the second behind the first");
    ASK_REPLY(peer, module_function_count, &reply, .module = module);
    is_int(reply.count, 3, "its module has three functions");
    peer_ask(peer, OP_module_functions, &names, sizeof(names), NULL, 0, NULL, 0, bytes,
             sizeof(bytes), &used);
    for (uint32_t i = 0; i < used; i++)
        count += bytes[i] == '\0';
    is_int(count, 3, "and names them");
}

static void prints(struct peer *peer, uint64_t greet)
{
    launch(peer, greet, NULL, 0);
    is_int(synchronize(peer), CUDA_SUCCESS, "a kernel that prints is done");
    is_str(peer->text, "hello\nhello\nhello\nhello\nhello\nhello\nhello\nhello\n",
           "what it printed came before that was said");
}

static void unloads(struct peer *peer, uint64_t module, uint64_t add)
{
    is_int(ASK(peer, cuModuleUnload, .hmod = module), CUDA_SUCCESS, "a module is unloaded");
    launch(peer, add, NULL, 0);
    synchronize(peer);
    is_int(peer->deferred, CUDA_ERROR_INVALID_HANDLE, "its functions went with it");
}

static void refuses(struct peer *peer)
{
    static const char text[] = ".version 8.0\n.target sm_90\n.address_size 64\n.entry x { add }\n";
    struct wire_option options[] = {{.option = CU_JIT_ERROR_LOG_BUFFER, .value = 1000}};
    uint8_t bytes[2048];
    uint32_t used = 0;

    POST(peer, image_begin, .image = 99, .size = sizeof(text));
    POST_TAIL(peer, image_data, text, sizeof(text), .image = 99, .bytes = sizeof(text));
    struct args_module_load load = {.module = peer_mint(peer, HANDLE_MODULE),
                                    .image = 99,
                                    .bytes = sizeof(options),
                                    .reply_room = sizeof(bytes)};
    is_int(peer_ask(peer, OP_module_load, &load, sizeof(load), options, sizeof(options), NULL, 0,
                    bytes, sizeof(bytes), &used),
           CUDA_ERROR_INVALID_PTX, "broken PTX is refused");
    const struct wire_jit_outputs *outputs = (const void *)bytes;
    ok(used > sizeof(*outputs) && outputs->error_size > 0, "with the compiler's log");
}

static void faults(struct peer *peer)
{
    uint64_t module = peer_module(peer, kernels);

    launch(peer, peer_function(peer, module, "bad"), NULL, 0);
    is_int(synchronize(peer), CUDA_ERROR_ILLEGAL_ADDRESS, "a bad address is told by the next wait");
    is_int(synchronize(peer), CUDA_ERROR_ILLEGAL_ADDRESS, "and by every one after it");
    is_int(ASK(peer, cuDevicePrimaryCtxReset_v2), CUDA_SUCCESS, "until the context is reset");
    peer_retain(peer, 0);
    is_int(synchronize(peer), CUDA_SUCCESS, "which brings it back");
}

int main(void)
{
    struct peer peer;

    peer_start(&peer, &(struct peer_options){0});
    peer_retain(&peer, 0);
    uint64_t module = peer_module(&peer, kernels);
    uint64_t add = peer_function(&peer, module, "add");
    runs(&peer, add);
    describes(&peer, add, module);
    prints(&peer, peer_function(&peer, module, "greet"));
    unloads(&peer, module, add);
    refuses(&peer);
    faults(&peer);
    peer_stop(&peer);
    return done();
}
