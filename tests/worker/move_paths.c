// SPDX-License-Identifier: BSD-3-Clause
// The worker's choice of the path by which its device moves bytes, with invented times: usual,
// tried and kept paths, moves that are not measured because they show nothing, paths that the box
// and the program force, and the report to the box.
//
// The time that a move needed before it could be placed counts too. The test writes its invented
// times there, in seconds, so that a short stall of the machine changes nothing.
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/net/control.h"
#include "proto/wire.h"
#include "tests/tap.h"
#include "daemon/worker/copy/one_sided/move_paths.h"
#include "daemon/worker/core/session.h"
#include "daemon/worker/core/told_paths.h"
#include "worker_serve.h"

enum {
    TWO = PATH_BIT(PATH_ONE_SIDED) | PATH_BIT(PATH_DIRECT),
    BLOCKS = PATH_BIT(PATH_SMALL_BLOCKS) | PATH_BIT(PATH_ONE_SIDED) | PATH_BIT(PATH_LARGE_BLOCKS),
    MANY = 200, // moves: more than any choice takes
};
#define SECOND UINT64_C(1000000000)

static int ends[2]; // the supervisor's and ours

static struct move_path_wish wish(enum move_kind kind, uint64_t size, bool alone, unsigned usable)
{
    return (struct move_path_wish){.kind = kind, .size = size, .alone = alone, .usable = usable};
}

static enum path choose(enum move_kind kind, uint64_t size, bool alone, unsigned usable)
{
    const struct move_path_wish asked = wish(kind, size, alone, usable);
    struct timed_path way;

    return move_path_choose(&way, &asked);
}

static enum path next(const struct move_path_wish *asked, const uint64_t ns[PATHS], bool goes_on)
{
    struct timed_path way;
    enum path path = move_path_choose(&way, asked);

    way.before = ns[path];
    timed_path_begins(&way);
    move_path_ended(&way, goes_on);
    return path;
}

// Moves until the choice is made: how many, MANY if it is not.
static unsigned moves_until_settled(const struct move_path_wish *asked, const uint64_t ns[PATHS],
                                    unsigned in_a_run)
{
    struct timed_path way;

    for (unsigned i = 0; i < MANY; i++) {
        move_path_choose(&way, asked);
        if (!way.open)
            return i;
        next(asked, ns, (i + 1) % in_a_run != 0);
    }
    return MANY;
}

// Returns the number of rows that the supervisor received; *last is the last of them.
static unsigned told(struct path_row *last)
{
    static struct control_frame frame;
    struct control_paths message;
    int none = -1;
    unsigned count;

    told_paths_report(ends[1], "rdma");
    if (recv(ends[0], &(char){0}, 1, MSG_PEEK | MSG_DONTWAIT) <= 0)
        return 0;
    if (control_receive_packet(ends[0], &frame, &none) ||
        control_decode(&frame, CONTROL_PATHS, &message))
        bail("what was told cannot be read");
    count = message.rows_size / (unsigned)sizeof(*last);
    if (strcmp(message.transport, "rdma"))
        return 0;
    memcpy(last, message.rows + (count - 1) * sizeof(*last), sizeof(*last));
    return count;
}

static void what_is_usual(void)
{
    is_int(choose(MOVE_TO_DEVICE, 4096, true, TWO), PATH_ONE_SIDED, "a small move goes by blocks");
    is_int(choose(MOVE_TO_DEVICE, 1 << 20, true, TWO), PATH_DIRECT, "a large one directly");
    is_int(choose(MOVE_FROM_DEVICE, 1 << 20, true, BLOCKS), PATH_ONE_SIDED,
           "by usual blocks where it cannot");
    is_int(choose(MOVE_FROM_DEVICE, 64, true, PATH_BIT(PATH_DIRECT)), PATH_DIRECT,
           "and as it can where there is one way");
}

static void moves_alone(void)
{
    const uint64_t ns[PATHS] = {[PATH_ONE_SIDED] = SECOND / 10, [PATH_DIRECT] = SECOND};
    const struct move_path_wish asked = wish(MOVE_TO_DEVICE, 1 << 20, true, TWO);
    struct path_row row = {0};
    unsigned count = moves_until_settled(&asked, ns, 1);

    ok(count >= 2 * PATH_TRIES_LEAST && count < MANY, "both ways are tried a few times (%u)",
       count);
    is_int(choose(MOVE_TO_DEVICE, 1 << 20, true, TWO), PATH_ONE_SIDED, "the faster one stays");
    is_int(choose(MOVE_FROM_DEVICE, 1 << 20, true, TWO), PATH_DIRECT,
           "and says nothing of the other direction");
    is_int(told(&row), 1, "the box is told once");
    ok(row.use == PATH_MOVE_TO && row.pattern == PATH_LATENCY && row.size == 20 &&
           row.chosen == PATH_ONE_SIDED && row.ns[PATH_ONE_SIDED] >= SECOND / 10 &&
           row.ns[PATH_ONE_SIDED] < SECOND && row.ns[PATH_DIRECT] >= SECOND,
       "of direction, size, choice and times");
    is_int(told(&row), 0, "and not again");
    const uint64_t doubled[PATHS] = {[PATH_ONE_SIDED] = SECOND * 3, [PATH_DIRECT] = SECOND};
    for (unsigned i = 0; i < PATH_SLOW; i++)
        next(&asked, doubled, false);
    ok(moves_until_settled(&asked, doubled, 1) > PATH_TRIES, "times that double open the choice");
    is_int(choose(MOVE_TO_DEVICE, 1 << 20, true, TWO), PATH_DIRECT, "for what is faster now");
    ok(told(&row) == 1 && row.chosen == PATH_DIRECT, "which the box hears too");
}

static void what_says_nothing(void)
{
    const uint64_t ns[PATHS] = {[PATH_ONE_SIDED] = SECOND, [PATH_DIRECT] = SECOND};
    struct move_path_wish asked = wish(MOVE_TO_DEVICE, 1 << 14, true, TWO), other = asked;
    struct path_row row;
    struct timed_path way, later;
    unsigned open = 0;

    for (unsigned i = 0; i < MANY; i++) {
        move_path_choose(&way, &asked);
        move_path_choose(&later, &other);
        timed_path_begins(&way);
        move_path_ended(&way, false);
        open += way.open;
    }
    is_int(open, MANY, "one that did not stay alone is not timed as if it had");
    move_path_choose(&way, &asked);
    move_path_give_up(&way);
    ok(way.path == PATH_ONE_SIDED && !way.measured && !way.open,
       "one whose path cannot be had goes by the usual blocks, and is not timed");
    other.rows = true;
    for (unsigned i = 0; i < MANY; i++)
        next(&other, ns, false);
    move_path_choose(&way, &asked);
    ok(way.open, "nor is a rectangle");
    asked.alone = false;
    for (unsigned i = 0; i < MANY; i++)
        next(&asked, ns, i % 3 != 2);
    move_path_choose(&way, &asked);
    ok(way.open, "nor those of a short run");
    is_int(told(&row), 0, "and the box hears nothing");
}

static void runs(void)
{
    const uint64_t ns[PATHS] = {[PATH_ONE_SIDED] = SECOND,
                                [PATH_SMALL_BLOCKS] = SECOND / 8,
                                [PATH_LARGE_BLOCKS] = SECOND / 2};
    const struct move_path_wish asked = wish(MOVE_FROM_DEVICE, 1 << 22, false, BLOCKS);
    struct path_row row = {0};
    unsigned moves = 0;
    struct timed_path way = {.open = true};

    for (; way.open && moves < 4000; moves++) {
        next(&asked, ns, moves % 10 != 9);
        move_path_choose(&way, &asked);
    }
    ok(moves > MANY / 4 && moves < 4000, "moves that follow each other are timed by runs (%u)",
       moves);
    is_int(choose(MOVE_FROM_DEVICE, 1 << 22, false, BLOCKS), PATH_SMALL_BLOCKS,
           "the fastest of three block sizes stays");
    ok(told(&row) == 1 && row.use == PATH_MOVE_FROM && row.pattern == PATH_BANDWIDTH &&
           row.chosen == PATH_SMALL_BLOCKS,
       "and the box is told");
    ok(row.ns[PATH_SMALL_BLOCKS] >= SECOND / 8 && row.ns[PATH_SMALL_BLOCKS] < SECOND / 5,
       "with the time of one move of a run");
}

static void both_directions_at_once(void)
{
    const uint64_t ns[PATHS] = {[PATH_ONE_SIDED] = SECOND, [PATH_DIRECT] = SECOND / 4};
    const struct move_path_wish to = wish(MOVE_TO_DEVICE, 1 << 18, false, TWO),
                                from = wish(MOVE_FROM_DEVICE, 1 << 18, false, TWO);
    struct timed_path ways[2];

    for (unsigned i = 0; i < 10 * MANY; i++)
        next(i % 2 ? &to : &from, ns, i % 20 < 18);
    move_path_choose(&ways[0], &to);
    move_path_choose(&ways[1], &from);
    ok(!ways[0].open && !ways[1].open, "runs of two directions do not break each other");
}

static void force(uint32_t paths)
{
    serve_paths_forced(NULL, &(struct args_paths_forced){.paths = paths});
}

static void forcing(void)
{
    struct timed_path way;
    const struct move_path_wish asked = wish(MOVE_TO_DEVICE, 1 << 16, true, TWO);

    force(PATH_BIT(PATH_ONE_SIDED));
    move_path_choose(&way, &asked);
    ok(way.path == PATH_ONE_SIDED && !way.measured && !way.open, "what is forced is taken");
    force(PATH_BIT(PATH_SMALL_BLOCKS));
    move_path_choose(&way, &asked);
    ok(way.measured, "what is forced and cannot be leaves the choice as it is");
    force(PATH_BIT(PATH_SMALL_BLOCKS) | PATH_BIT(PATH_DIRECT));
    is_int(choose(MOVE_TO_DEVICE, 64, true, TWO), PATH_DIRECT, "of several the one that can be");
    force(0);
    move_path_choose(&way, &asked);
    ok(way.measured, "and nothing forced is a choice again");
}

// Starts a worker with the paths that the box keeps.
static void start_with(uint32_t forced_paths, const struct path_kept *kept, size_t count)
{
    static uint8_t section[1024];
    const struct wire_paths head = {.forced = forced_paths};

    memcpy(section, &head, sizeof(head));
    memcpy(section + sizeof(head), kept, count * sizeof(*kept));
    session.paths = section;
    session.paths_size = (uint32_t)(sizeof(head) + count * sizeof(*kept));
    session.paths_forced = forced_paths;
    strcpy(session.transport, "rdma");
    move_paths_start();
}

static struct path_kept known(const char *transport, uint8_t use, uint8_t size, uint8_t chosen)
{
    struct path_kept kept = {.row = {.use = use, .size = size, .chosen = chosen}};

    strcpy(kept.transport, transport);
    kept.row.ns[PATH_ONE_SIDED] = kept.row.ns[PATH_DIRECT] = 5000;
    return kept;
}

static void what_the_box_knows(void)
{
    const struct path_kept kept[] = {known("rdma", PATH_MOVE_TO, 8, PATH_DIRECT),
                                     known("tcp", PATH_MOVE_TO, 9, PATH_DIRECT),
                                     known("rdma", PATH_TO_LOCKED, 9, PATH_DIRECT),
                                     known("rdma", PATH_MOVE_FROM, 23, PATH_ONE_SIDED),
                                     known("rdma", PATH_MOVE_FROM, 24, PATHS)};
    struct timed_path way;
    const struct move_path_wish asked = wish(MOVE_TO_DEVICE, 256, true, TWO),
                                other = wish(MOVE_TO_DEVICE, 512, true, TWO),
                                wrong = wish(MOVE_FROM_DEVICE, 1 << 24, true, TWO);

    start_with(0, kept, sizeof(kept) / sizeof(*kept));
    move_path_choose(&way, &asked);
    ok(way.path == PATH_DIRECT && !way.open, "what the box has kept is taken from the first move");
    is_int(choose(MOVE_FROM_DEVICE, 1 << 23, true, TWO), PATH_ONE_SIDED, "in both directions");
    move_path_choose(&way, &other);
    ok(way.open, "what is of another transport, or the client's, is not");
    move_path_choose(&way, &wrong);
    ok(way.open, "nor what cannot be right");
    start_with(PATH_BIT(PATH_ONE_SIDED), kept, 1);
    is_int(choose(MOVE_TO_DEVICE, 256, true, TWO), PATH_ONE_SIDED,
           "what the box forces comes first");
    force(PATH_BIT(PATH_DIRECT));
    is_int(choose(MOVE_TO_DEVICE, 1 << 23, true, TWO), PATH_DIRECT,
           "but for what the program does");
    session.paths_size = sizeof(struct wire_paths) - 1;
    move_paths_start();
    is_int(choose(MOVE_TO_DEVICE, 256, true, TWO), PATH_DIRECT, "a box that says nothing is heard");
}

int main(void)
{
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        bail("socketpair");
    what_is_usual();
    moves_alone();
    what_says_nothing();
    runs();
    both_directions_at_once();
    forcing();
    what_the_box_knows();
    return done();
}
