// SPDX-License-Identifier: BSD-3-Clause
// usage: bereaved. A member waits for another one's signal in a stream when that one's GPU is
// taken away, as the script that runs this does.
#include "tests/team/teams.h"

int main(void)
{
    char line[8];
    open_members(2);
    struct area area = new_area(1 << 20, 1);
    TEAM(rgpu_barrier_async(team, streams));
    synchronize_all();
    TEAM(rgpu_signal_wait_async(area.window, 0, 1, 0, 1, streams[0]));
    printf("# waits\n");
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin))
        bail("nobody said that the other one is gone");
    on(0);
    gives(cuStreamSynchronize(streams[0]), CUDA_SUCCESS, "the stream goes on");
    refuses(rgpu_team_check(team), RGPU_ERROR_LOST, "but the team is lost");
    diag("text: %s", rgpu_error_text());
    ok(strstr(rgpu_error_text(), "member 1"), "and says whose fault that is");
    refuses(rgpu_barrier_async(team, streams), RGPU_ERROR_LOST, "nothing can be done with it");
    on(0);
    ok(word_at(area.base[0]) == 0, "the survivor's GPU is as it was");
    rgpu_team_destroy(&team);
    on(0);
    gives(cuMemFree(area.base[0]), CUDA_SUCCESS, "and its memory is freed");
    return done();
}
