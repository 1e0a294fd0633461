#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The sessions with Slurm that pages print are run as they stand there in a real cluster, and print what the pages say but for numbers.
# seconds: 600
. "$(dirname "$0")/cluster.sh"
start_pool_cluster
cd "$TOP"
mapfile -t pages < <(grep -l '^<!-- on cluster -->' README.md docs/*.md docs/*/*.md)
ok "there are such pages" [ ${#pages[@]} -ge 1 ]
for page in "${pages[@]}"; do
    dir=$TMP/work/${page//\//-}
    install -d -m 777 "$dir"
    install -m 755 "$BUILD/examples/vector" "$dir"
    install -m 755 <(printf '#!/bin/bash\n./vector\n') "$dir/job.sh"
    while read -r line; do
        case $line in
        'ok - '*) pass "${line#ok - }" ;;
        'not ok - '*) fail "${line#not ok - }" ;;
        *) echo "$line" >&2 ;;
        esac
    done < <(cd "$dir" && as $ALICE env RGPU_BROKER="unix:$BROKER_SOCKET" PATH="$BUILD/bin:$PATH" COLUMNS=120 \
        python3 -B "$TOP/tests/pages/consoles.py" "$TOP/$page" cluster 2>&1)
    await "the end of its leases" no_leases
done
done_testing
