// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/putnotify/put.h"

#include "common/base/scope.h"
#include "client-lib/putnotify/team_watch.h"
#include "client-lib/putnotify/window.h"

// ---- the order of uses of a signal in different streams ----

// Begins a use of a signal, after its earlier uses in other streams. A context of the member is
// current.
static enum rgpu_result begin_use(struct signal_use *use, CUstream stream, unsigned long long *id)
{
    enum rgpu_result result = DRIVER(cuStreamGetId(stream, id));
    if (result || !use->last || use->in == *id)
        return result;
    return DRIVER(cuStreamWaitEvent(stream, use->last, 0));
}

static enum rgpu_result first_use(struct rgpu_window *window, struct signal_use *use, int rank)
{
    enum rgpu_result result = DRIVER(cuEventCreate(&use->last, CU_EVENT_DISABLE_TIMING));
    if (result)
        return result;
    use->context = window->team->members[rank].context;
    use->next_used = window->used;
    window->used = use;
    return RGPU_SUCCESS;
}

static enum rgpu_result end_use(struct rgpu_window *window, struct signal_use *use, int rank,
                                CUstream stream, unsigned long long id)
{
    enum rgpu_result result = use->last ? RGPU_SUCCESS : first_use(window, use, rank);
    if (!result)
        result = DRIVER(cuEventRecord(use->last, stream));
    if (result)
        return result;
    use->in = id;
    use->pending = true;
    watch_stir(window->team);
    return RGPU_SUCCESS;
}

// ---- the parts of a put ----

static enum rgpu_result put_payload(const struct rgpu_window *window, int from, int to,
                                    size_t offset, CUdeviceptr source, size_t bytes,
                                    CUstream stream)
{
    const struct window_side *side = window_side(window, from, to);
    CUdeviceptr target = side->base + offset;
    if (!bytes || (from == to && target == source))
        return RGPU_SUCCESS;
    return DRIVER(cuMemcpyPeerAsync(target, side->context, source,
                                    window->team->members[from].context, bytes, stream));
}

static enum rgpu_result write_number(const struct rgpu_window *window, int from, int to, int tag,
                                     uint32_t number, CUstream stream)
{
    const struct rgpu_team *team = window->team;
    int i = from - team->first;
    size_t there = (size_t)from * (size_t)window->tags + (size_t)tag;
    size_t here = (size_t)to * (size_t)(window->tags + 1) + (size_t)tag;
    const struct window_side *side = window_side(window, from, to);
    CUcontext own = team->members[from].context;
    CUdeviceptr signal = side->signals + there * sizeof(number);
    CUdeviceptr word = window->ends[i].words + here * sizeof(number);
    if (side->context == own || team->reaches[i * team->size + to])
        return DRIVER(cuStreamWriteValue32_v2(stream, signal, number, 0));
    enum rgpu_result result = DRIVER(cuStreamWriteValue32_v2(stream, word, number, 0));
    if (result)
        return result;
    return DRIVER(cuMemcpyPeerAsync(signal, side->context, word, own, sizeof(number), stream));
}

static struct signal_use *sent(const struct rgpu_window *window, int from, int to, int tag)
{
    int own_tags = window->tags + 1;
    if (tag == RGPU_NO_SIGNAL)
        tag = window->tags;
    return &window->ends[from - window->team->first].sent[to * own_tags + tag];
}

// Counts the signal up and ends the use that begin_use began; ID is from begin_use.
static enum rgpu_result count_up(struct rgpu_window *window, int from, int to, int tag,
                                 CUstream stream, unsigned long long id)
{
    struct signal_use *use = sent(window, from, to, tag);
    enum rgpu_result result = RGPU_SUCCESS;
    if (tag != RGPU_NO_SIGNAL)
        result = write_number(window, from, to, tag, use->count + 1, stream);
    if (result)
        return result;
    use->count++;
    return end_use(window, use, from, stream, id);
}

static enum rgpu_result put_in(struct rgpu_window *window, int from, int to, size_t offset,
                               CUdeviceptr source, size_t bytes, int tag, CUstream stream)
{
    unsigned long long id;
    enum rgpu_result result = begin_use(sent(window, from, to, tag), stream, &id);
    if (!result)
        result = put_payload(window, from, to, offset, source, bytes, stream);
    return result ? result : count_up(window, from, to, tag, stream, id);
}

// CUDA holds a copy between two GPUs in the legacy default stream until the blocking streams of
// both have no work (CUDA C++ Programming Guide, Peer-to-Peer Memory Copy), also if a wait there
// ends only by this put or a later one.
static bool would_be_held(const struct rgpu_window *window, int from, int to, CUstream stream)
{
    return (!stream || stream == CU_STREAM_LEGACY) &&
           window_side(window, from, to)->context != window->team->members[from].context;
}

static enum rgpu_result put_order(const struct team_member *member, CUstream first, CUstream second)
{
    enum rgpu_result result = DRIVER(cuEventRecord(member->turn, first));
    return result ? result : DRIVER(cuStreamWaitEvent(second, member->turn, 0));
}

enum rgpu_result put_signal(struct rgpu_window *window, int from, int to, size_t offset,
                            CUdeviceptr source, size_t bytes, int tag, CUstream stream)
{
    const struct team_member *member = &window->team->members[from];
    if (!would_be_held(window, from, to, stream))
        return put_in(window, from, to, offset, source, bytes, tag, stream);
    enum rgpu_result result = put_order(member, stream, member->aside);
    if (!result)
        result = put_in(window, from, to, offset, source, bytes, tag, member->aside);
    return result ? result : put_order(member, member->aside, stream);
}

enum rgpu_result put_wait(struct rgpu_window *window, int at, int from, int tag, int count,
                          CUstream stream)
{
    size_t slot = (size_t)from * (size_t)window->tags + (size_t)tag;
    struct signal_use *use = &window->ends[at - window->team->first].awaited[slot];
    CUdeviceptr signal = window_side(window, at, at)->signals + slot * sizeof(uint32_t);
    unsigned long long id;
    enum rgpu_result result = begin_use(use, stream, &id);
    if (!result)
        result = DRIVER(
            cuStreamWaitValue32_v2(stream, signal, use->count + (uint32_t)count,
                                   CU_STREAM_WAIT_VALUE_GEQ | window->team->members[at].flush));
    if (result)
        return result;
    use->count += (uint32_t)count;
    return end_use(window, use, at, stream, id);
}

// ---- the calls ----

static enum rgpu_result check_tag(const struct rgpu_window *window, int tag)
{
    if (tag < 0 || tag >= window->tags)
        return failure(RGPU_ERROR_RANGE, "there is no tag %d in a window of %d", tag, window->tags);
    return RGPU_SUCCESS;
}

// Captured streams are refused: a graph would send the same signal numbers each time that it runs.
enum rgpu_result put_check_stream(const struct rgpu_team *team, int rank, CUstream stream)
{
    CUstreamCaptureStatus status;
    CUcontext context;
    enum rgpu_result result = DRIVER(cuStreamGetCtx(stream, &context));
    if (!result && context != team->members[rank].context)
        return failure(RGPU_ERROR_INVALID, "the stream is not of member %d's context", rank);
    if (!result)
        result = DRIVER(cuStreamIsCapturing(stream, &status));
    if (!result && status != CU_STREAM_CAPTURE_STATUS_NONE)
        return failure(RGPU_ERROR_NOT_SUPPORTED, "puts and waits cannot be captured into a graph");
    return result;
}

RGPU_PUBLIC enum rgpu_result rgpu_put_signal_async(struct rgpu_window *window, int from, int to,
                                                   size_t offset, CUdeviceptr source, size_t bytes,
                                                   int tag, CUstream stream)
{
    enum rgpu_result result = window_check_pair(window, "rgpu_put_signal_async", from, to);
    if (!result && tag != RGPU_NO_SIGNAL)
        result = check_tag(window, tag);
    if (!result)
        result = window_check_place(window, to, offset, bytes);
    if (result)
        return result;
    SCOPED_LOCK(&window->team->lock);
    if ((result = team_is_usable(window->team)) || (result = team_enter(window->team, from)))
        return result;
    result = put_check_stream(window->team, from, stream);
    if (!result)
        result = put_signal(window, from, to, offset, source, bytes, tag, stream);
    team_leave();
    return result;
}

RGPU_PUBLIC enum rgpu_result rgpu_signal_wait_async(struct rgpu_window *window, int at, int from,
                                                    int tag, int count, CUstream stream)
{
    enum rgpu_result result = window_check_pair(window, "rgpu_signal_wait_async", at, from);
    if (!result)
        result = check_tag(window, tag);
    if (!result && (count < 1 || count > RGPU_COUNT_MAX))
        result = failure(RGPU_ERROR_RANGE, "1 to %d signals can be waited for, not %d",
                         RGPU_COUNT_MAX, count);
    if (result)
        return result;
    SCOPED_LOCK(&window->team->lock);
    if ((result = team_is_usable(window->team)) || (result = team_enter(window->team, at)))
        return result;
    result = put_check_stream(window->team, at, stream);
    if (!result)
        result = put_wait(window, at, from, tag, count, stream);
    team_leave();
    return result;
}
