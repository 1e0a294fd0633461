/* Who waits is served in order; a large request is not starved by small ones that come later, and
 * those who want other GPUs do not wait for it. */
#include "tests/broker/pool_sample.h"

static uint64_t sequence;

static struct pool_lease *wait_for(struct pool *pool, const struct request *request)
{
    struct pool_lease *lease = lease_new();

    lease->request = *request;
    lease->sequence = ++sequence;
    snprintf(lease->id, sizeof(lease->id), "L%d", (int)sequence);
    if (pool_add_lease(pool, lease) || queue_join(pool->queue, lease))
        bail("cannot wait");
    return lease;
}

static int place(struct pool *pool, const struct request *request, uint64_t as)
{
    struct plan plan = {0};
    int error = plan_make(pool, request, as, &plan);

    plan_clear(&plan);
    return error;
}

static void test_order(void)
{
    struct pool *pool = pool_new();
    struct request one = sample_request(1, GPU_EXCLUSIVE, 0), two = sample_request(2, 0, 0);
    struct pool_lease *first = wait_for(pool, &two), *second = wait_for(pool, &one);
    struct pool_lease *third = wait_for(pool, &two);

    is_int(pool->queue->length, 3, "three wait");
    ok(TAILQ_FIRST(&pool->queue->classes) == first->queue_class, "the first is at the head");
    ok(first->queue_class == third->queue_class && second->queue_class != first->queue_class,
       "equal requests are of one class");
    queue_leave(pool->queue, first);
    ok(TAILQ_FIRST(&pool->queue->classes) == second->queue_class, "then the second");
    queue_leave(pool->queue, second);
    ok(TAILQ_FIRST(&pool->queue->classes) == third->queue_class, "then the third");
    queue_leave(pool->queue, third);
    queue_leave(pool->queue, third);
    ok(TAILQ_EMPTY(&pool->queue->classes) && pool->queue->length == 0, "then nobody");
    pool_free(&pool);
}

static void test_fairness(void)
{
    struct pool *pool = pool_new();
    struct request large = sample_request(2, GPU_EXCLUSIVE, 0);
    struct request small = sample_request(1, GPU_EXCLUSIVE, 0);
    struct request share = sample_request(1, GPU_SHARED, GB);
    struct request elsewhere = sample_request(1, GPU_EXCLUSIVE, 0);
    struct pool_hold hold[1];
    struct pool_lease *waiting;

    sample_box(pool, "a", 2, "H200", 100 * GB, GPU_EXCLUSIVE);
    sample_box(pool, "b", 1, "A100", 80 * GB, GPU_EXCLUSIVE);
    sample_box(pool, "c", 1, "H200", 100 * GB, GPU_SHARED);
    strcpy(large.model, "H200");
    strcpy(elsewhere.model, "A100");
    strcpy(small.model, "H200");
    is_int(sample_take(pool, &small, hold), 0, "one of the two is taken");
    waiting = wait_for(pool, &large);
    is_int(place(pool, &small, sequence + 1), -EAGAIN, "the free one is left to who waits for two");
    is_int(place(pool, &elsewhere, sequence + 1), 0, "another model is not");
    is_int(place(pool, &share, sequence + 1), 0, "nor are shares");
    is_int(place(pool, &small, waiting->sequence), 0, "who came before takes it");
    waiting->queue_class->impossible = true;
    is_int(place(pool, &small, sequence + 1), 0, "who can never be served holds up nobody");
    queue_leave(pool->queue, waiting);
    is_int(place(pool, &small, sequence + 1), 0, "nor who has gone");
    pool_free(&pool);
}

int main(void)
{
    test_order();
    test_fairness();
    return done();
}
