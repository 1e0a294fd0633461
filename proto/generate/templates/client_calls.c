// SPDX-License-Identifier: BSD-3-Clause
/* Generated from proto/cuda.spec. */
#include "client_calls.h"
#include "client-lib/cuda/objects/call.h"
#include <string.h>

% for c in sent:
%   bytes_in, bytes_out, text, made = c.tail('bytes'), c.tail('reply_bytes'), c.string, c.made
CUresult remote_${c.symbol}(${c.c_params})
{
    struct call call;
    call_begin(&call, OP_${c.symbol});
%   for p in c.params:
%       if p.bytes:
%           pass
%       elif p.array:
    if (!${p.name} && ${p.array[0]} > ${p.fewer})
        call_fail(&call, CUDA_ERROR_INVALID_VALUE);
    if (${p.array[0]} > ${p.array[1]})
        call_fail(&call, CUDA_ERROR_INVALID_VALUE);
%       elif p.is_new or p.is_string or (p.pointers and 'opt' not in p.marks):
    if (!${p.name})
        call_fail(&call, CUDA_ERROR_INVALID_VALUE);
%       end
%   end
%   for p in c.params:
%       if p.by_value and not p.bytes and p.type == 'CUdevice':
    int32_t wire_${p.name} = call_device(&call, ${p.name});
%       end
%   end
%   for p in c.params:
%       if p.bytes or not p.by_value:
%           pass
%       elif p.type == 'CUstream' and 'free' not in p.marks:
    uint64_t wire_${p.name} = call_stream(&call, ${p.name});
%       elif p.handle:
    uint64_t wire_${p.name} = call_handle(&call, HANDLE_${p.handle}, (const void *)(uintptr_t)${p.name});
%       end
%   end
%   if made:
    uint64_t wire_${made.name} = call_mint(&call, HANDLE_${made.handle});
%   end
%   size = f'sizeof(struct args_{c.symbol})'
%   if text:
    size_t ${text.name}_length = ${text.name} ? strlen(${text.name}) + 1 : 0;
%       size += f' + {text.name}_length'
%   end
%   if bytes_in:
%       size += f' + {bytes_in.name}_size'
%   end
    struct args_${c.symbol} *args = call_reserve(&call, ${size});
    if (!args)
        return ${f'call_unmint(&call, wire_{made.name})' if made else 'call.result'};
%   for p in c.ins():
%       if p.is_string:
    args->${p.name}_length = (uint32_t)(${p.name}_length);
%       elif p.array:
    memset(args->${p.name}, 0, sizeof(args->${p.name}));
    if (${p.array[0]} > ${p.fewer})
        memcpy(args->${p.name}, ${p.name}, (${p.array[0]} - ${p.fewer}) * sizeof(${p.name}[0]));
%       elif p.is_in_struct and 'opt' in p.marks:
    args->${p.name}_given = ${p.name} != NULL;
    if (${p.name})
        args->${p.name} = *${p.name};
    else
        memset(&args->${p.name}, 0, sizeof(args->${p.name}));
%       elif p.is_in_struct:
    args->${p.name} = *${p.cast}${p.name};
%       elif p.handle or p.type == 'CUdevice':
    args->${p.name} = wire_${p.name};
%       else:
    args->${p.name} = (${p.wire})${'(uintptr_t)' if p.c_type == 'void *' else ''}${p.name};
%       end
%   end
%   if bytes_in:
    args->bytes = (uint32_t)${bytes_in.name}_size;
%   end
%   if bytes_out:
    args->reply_room = (uint32_t)${bytes_out.name}_room;
%   end
%   if text:
    memcpy(args + 1, ${text.name}, ${text.name}_length);
%   end
%   if bytes_in:
    if (${bytes_in.name}_size)
        memcpy(args + 1, ${bytes_in.name}, ${bytes_in.name}_size);
%   end
%   outs = c.outs()
%   reply = '&reply, sizeof(reply)' if outs else 'NULL, 0'
%   if c.cls == 'async':
    CUresult outcome = call_post(&call);
%   else:
%       if outs:
    struct reply_${c.symbol} reply;
%       end
%       if bytes_out:
    CUresult outcome = call_wait_bytes(&call, ${reply}, ${bytes_out.name}, ${bytes_out.name}_room, ${bytes_out.name}_used);
%       else:
    CUresult outcome = call_wait(&call, ${reply});
%       end
%       if outs:
    if (outcome == CUDA_SUCCESS) {
%           for p in outs:
%               cast = '(void *)(uintptr_t)' if p.type == 'void' else ''
%               if 'opt' in p.marks:
        if (${p.name})
            *${p.cast}${p.name} = ${cast}reply.${p.name};
%               else:
        *${p.cast}${p.name} = ${cast}reply.${p.name};
%               end
%           end
    }
%       end
%   end
%   if made:
    if (outcome != CUDA_SUCCESS)
        handle_retire(wire_${made.name});
    else
        *${made.name} = (${made.type})(uintptr_t)wire_${made.name};
%   end
%   for p in c.params:
%       if 'free' in p.marks:
    if (outcome == CUDA_SUCCESS)
        handle_retire(wire_${p.name});
%       end
%   end
    return outcome;
}

% end
