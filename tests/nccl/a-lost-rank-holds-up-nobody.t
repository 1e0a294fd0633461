#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Ranks whose process or box is killed, or that never come: the others are told, and go on.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/ranks.sh"
environment=()
start_box --devices sim:1
first=$BOX
start_box --devices sim:1
second_pid=$BOX_PID
BOXES=$first,$BOX

bereave process kill_process process-1
ok "process: the reason names the rank" await_line process-0 '^# lost the process of member 1 is gone'
ok "process: nothing more is done with it" await_line process-0 '^ok 2 '
ok "process: the GPU is usable" await_line process-0 '^# word is written'

# Who does not come.
environment=(RGPU_NCCL_TIMEOUT=1)
begin alone "$LOST" 2 0 1 "$TMP/alone.id" meet
ok "rank 0 that waits in vain is told" await_line alone '^# met 6 1 of 2 members have come in time'
begin late "$LOST" 2 1 1 "$TMP/alone.id" meet
ok "who comes when nobody is there any more is told at once" await_line late '^# met 6 the process that the others are to meet is gone'
environment=(RGPU_NCCL_TIMEOUT=60)
begin leader "$LOST" 3 0 1 "$TMP/three.id" meet
environment=(RGPU_NCCL_TIMEOUT=1)
begin strange "$LOST" 3 1 1 "$TMP/three.id" strange
ok "who does not know the key does not meet them" await_line strange '^# met 6 '
environment=()
begin wrong "$LOST" 2 1 1 "$TMP/three.id" meet
ok "another number of ranks is refused" await_line wrong '^# met 6 the team of that name has another number of members'
begin one "$LOST" 3 1 1 "$TMP/three.id" meet
begin two "$LOST" 3 2 1 "$TMP/three.id" meet
for name in leader one two; do ok "nobody keeps the others from meeting" await_line $name '^# met 0'; done

kill_box() { kill -KILL "$second_pid"; }
bereave box kill_box
ok "box: nothing more is done with it" await_line box-0 '^ok 2 '
done_testing
