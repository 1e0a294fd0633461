// SPDX-License-Identifier: BSD-3-Clause
/* Generated from proto/cuda.spec. */
#include "worker_serve.h"
#include "worker_driver.h"
#include <string.h>

% for c in sent:
%   outs, text = c.outs(), c.string
static void handle_${c.symbol}(struct serve *serve, const void *raw)
{
%   if c.ins() or c.tail('bytes') or c.tail('reply_bytes') or c.served:
    const struct args_${c.symbol} *args = raw;
%   end
%   if text:
    const char *${text.name} = serve_string(serve, args + 1, args->${text.name}_length);
%   end
%   if c.tail('bytes'):
    if (!serve_bytes(serve, args + 1, args->bytes))
        return;
%   end
%   if outs:
    struct reply_${c.symbol} reply;
    memset(&reply, 0, sizeof(reply));
%   end
%   if c.served:
%       if text:
    if (!${text.name})
        return;
%       end
%       for p in c.found:
%           kind = f'handle(serve, HANDLE_{p.handle}, ' if p.handle else 'device(serve, '
    ${p.type} ${p.name} = serve_${kind}args->${p.name});
%       end
%       if c.needs:
    if (!serve_require(serve, driver.${c.needs}))
        return;
%       elif c.found:
    if (serve_failed(serve))
        return;
%       end
    serve_${c.symbol}(serve, args${', &reply' if outs else ''}${''.join(f', {p.name}' for p in c.found)});
%   else:
%       given = []
%       for p in c.params:
%           if p.is_new:
    ${p.type} ${p.name} = NULL;
%               given.append(f'&{p.name}')
%           elif p.is_string:
%               given.append(p.name)
%           elif p.handle and p.by_value:
    ${p.type} ${p.name} = serve_handle(serve, HANDLE_${p.handle}, args->${p.name});
%               given.append(p.name)
%           elif p.type == 'CUdevice' and p.by_value:
    CUdevice ${p.name} = serve_device(serve, args->${p.name});
%               given.append(p.name)
%           elif p.by_value:
%               given.append(f'({p.c_type})args->{p.name}')
%           elif p.array:
    if (args->${p.array[0]} > ${p.array[1]})
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
%               given.append(f'args->{p.name}' if p.const else f'({p.type} *)args->{p.name}')
%           elif p.is_in_struct and not p.is_out:
    ${p.type} ${p.name} = args->${p.name};
%               given.append(f'args->{p.name}_given ? &{p.name} : NULL' if 'opt' in p.marks else f'&{p.name}')
%           elif p.is_out:
%               if 'inout' in p.marks:
    reply.${p.name} = args->${p.name};
%               end
%               cast = '(void **)' if p.type == 'void' else f'({p.type} *)' if p.out_type != p.type else ''
%               given.append(f'{cast}&reply.{p.name}')
%           end
%       end
    if (serve_failed(serve))
        return;
    if (!driver.${c.symbol}) {
        serve_fail(serve, CUDA_ERROR_NOT_SUPPORTED);
        return;
    }
    serve_fail(serve, driver.${c.symbol}(${', '.join(given)}));
%       for p in c.params:
%           if p.is_new:
    if (!serve_failed(serve))
        serve_bind(serve, HANDLE_${p.handle}, args->${p.name}, ${p.name}, ${c.parent_of(p)});
%           end
%           if 'free' in p.marks:
    serve_unbind(serve, HANDLE_${p.handle}, args->${p.name});
%           end
%       end
%   end
%   if outs:
    if (!serve_failed(serve))
        serve_reply(serve, &reply, sizeof(reply));
%   end
}

%   if c.query:
%       waited = next(p for p in c.params if p.handle and p.by_value)
/* Asks, without waiting, whether what the call waits for has come. */
static CUresult query_${c.symbol}(struct serve *serve, const void *raw)
{
    const struct args_${c.symbol} *args = raw;
    ${waited.type} ${waited.name} = serve_handle(serve, HANDLE_${waited.handle}, args->${waited.name});

    if (serve_failed(serve) || !driver.${c.query})
        return CUDA_ERROR_NOT_SUPPORTED;
    return driver.${c.query}(${waited.name});
}

%   end
% end
const struct serve_entry serve_table[CUDA_OP_LIMIT] = {
% for c in sent:
    [${c.number}] = {
        .handle = handle_${c.symbol},
%   if 'checked' in c.flags:
        .check = check_${c.symbol},
%   end
%   if c.query:
        .query = query_${c.symbol},
%   end
        .kind = SERVE_${c.cls.upper()},
        .traits = ${c.traits()},
        .args_size = sizeof(struct args_${c.symbol}),
        .tail = ${'true' if c.string or c.tail('bytes') else 'false'},
    },
% end
};
