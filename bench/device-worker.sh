#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Checks on a machine with a real GPU, as root, which access the driver needs under the confinement of workers, and that
# programs run under it. Runs from a directory that scripts/bundle made; takes at most LIMIT seconds (190).
# usage: BUNDLE/bench/device-worker.sh RESULTS [learn] [refuse]      (default: both)
here=$(cd "$(dirname "$0")/.." && pwd)
results=${1:?usage: device-worker.sh RESULTS}
shift
parts=" ${*:-learn refuse} "
mkdir -p "$results"
results=$(cd "$results" && pwd)
end=$((SECONDS + ${LIMIT:-190}))
summary=$results/worker-summary.txt
details=$results/worker-details.txt
: >"$summary" >"$details"
work=$(mktemp -d /tmp/rgpu-worker.XXXXXX)
chmod 755 "$work"
# In a directory that an unprivileged user can read.
cp -r "$here" "$work/bundle"
build=$work/bundle/build
export LD_LIBRARY_PATH=$work/bundle/deps${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PATH=$build/bin:$PATH
box_pid=
say() { echo "$*" | tee -a "$summary"; }
left() { echo $((end - SECONDS)); }
stop_box() {
    [ -z "$box_pid" ] || kill -TERM "$box_pid" 2>/dev/null
    [ -z "$box_pid" ] || timeout 5 tail --pid="$box_pid" -f /dev/null
    [ -z "$box_pid" ] || kill -KILL -- "-$box_pid" 2>/dev/null
    box_pid=
}
trap 'stop_box; rm -rf "$work"' EXIT
trap 'exit 143' INT TERM

say "$(uname -r), $(nproc) cores, $(id -un), lsm: $(cat /sys/kernel/security/lsm 2>/dev/null || echo unknown)"
say "$(nvidia-smi -L 2>/dev/null)"
ls -ln /dev/nvidia* /dev/nvidia-caps /dev/infiniband /dev/dri 2>/dev/null | tee -a "$summary"
for gpu in /proc/driver/nvidia/gpus/*/information; do say "$gpu: $(grep -i minor "$gpu" | tr -s ' \t')"; done
grep -h . /proc/driver/nvidia/params 2>/dev/null | grep -i device | tee -a "$summary"

# start_box NAME ARGUMENTS... starts a box.
start_box() {
    local name=$1
    shift
    rm -f "$work/box"
    mkfifo "$work/box"
    exec 8<>"$work/box"
    setsid "$build/bin/rgpud" --standalone --devices "${DEVICES:-cuda:all}" --listen 127.0.0.1:0 \
        --admin-socket "$work/admin.sock" ${BOX_ARGS:-} "$@" >"$work/box" 2>"$results/worker-box-$name.txt" 8>&- &
    box_pid=$!
    log=$results/worker-box-$name.txt
    if IFS= read -r -t 60 line <&8 && [[ $line =~ ([0-9.]+:[0-9]+) ]]; then
        box=${BASH_REMATCH[1]}
        say "$name: $line"
        return 0
    fi
    say "$name: the box did not start"
    tail -n 15 "$log" | tee -a "$summary"
    return 1
}

describe_worker() {
    local pid
    pid=$(pgrep -P "$(pgrep -P "$box_pid" -x rgpu-spawner)" -x rgpu-worker | tail -n 1)
    [ -n "$pid" ] || return
    say "a warm worker:"
    grep -E '^(Uid|Gid|Groups|CapEff|NoNewPrivs|Seccomp|VmPeak|VmSize|VmData|VmRSS|RssAnon|RssShmem|Threads)' \
        "/proc/$pid/status" | tr '\n\t' '; ' | tee -a "$summary"
    echo >>"$summary"
    ls -l "/proc/$pid/fd" | sed 's/.* \([0-9]* -> \)/\1/' | sort | uniq >>"$details"
}

# one NAME TRANSPORT PROGRAM... runs a program.
one() {
    local name=$1 transport=$2 status=0
    shift 2
    [ "$(left)" -gt 8 ] || { say "$name: no time left"; return; }
    env LD_LIBRARY_PATH="$build/lib:$LD_LIBRARY_PATH" RGPU_BOXES="$box" RGPU_TRANSPORT="$transport" \
        RGPU_LOG=warn timeout --kill-after=5 "${PROGRAM_SECONDS:-40}" "$@" \
        >"$work/out" 2>"$work/err" </dev/null || status=$?
    if [ $status = 0 ]; then
        passed=$((passed + 1))
    else
        failed+=("$name/$transport")
        {
            echo "==== $name over $transport: status $status"
            grep -A4 '^not ok' "$work/out" | head -n 20
            tail -n 3 "$work/out"
            tail -n 12 "$work/err"
        } >>"$details"
    fi
}

cat >"$work/compile.py" <<'P'
import torch
@torch.compile
def f(a, b): return torch.relu(a @ b) + a
a = torch.randn(256, 256, device="cuda")
r = f(a, a)
assert torch.allclose(r, torch.relu(a @ a) + a, atol=1e-2)
print("compiled")
P
cat >"$work/programs.py" <<'P'
import torch
a = torch.randn(1024, 1024); b = a.cuda()
assert torch.allclose((b @ b).cpu(), a @ a, atol=2e-1)
m = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8)).cuda()
o = torch.optim.SGD(m.parameters(), lr=0.1)
for i in range(20):
    o.zero_grad(); l = m(torch.randn(32, 64, device="cuda")).square().mean(); l.backward(); o.step()
x = torch.randn(8, 3, 64, 64, device="cuda")
try:
    c = torch.nn.Conv2d(3, 8, 3).cuda()(x).sum().item()
except RuntimeError as e:
    print("conv:", str(e)[:100])
p = torch.randn(1 << 20).pin_memory(); q = p.cuda(non_blocking=True); torch.cuda.synchronize()
assert torch.equal(q.cpu(), p)
k = torch.cuda._compile_kernel if hasattr(torch.cuda, "_compile_kernel") else None
print("torch works", torch.__version__)
P

programs() {
    local transport=$1 program
    shift
    for program in "$build"/tests/programs/* "$build"/tests/programs/static/* "$build"/tests/programs/shared/*; do
        [ -f "$program" ] && [ -x "$program" ] || continue
        case "${program##*/}" in exits | idle | endure | large) continue ;; esac
        one "${program#"$build"/tests/programs/}" "$transport" "$program"
    done
}

report() {
    say "$1: $passed passed, ${#failed[@]} failed: ${failed[*]:-none}"
    grep -oE 'system call [a-z0-9_]+ (would be )?refused.*' "$log" | sed 's/,[0-9a-f]*,[0-9a-f]*$//' |
        sort | uniq -c | sort -rn | tee -a "$summary"
    kill -0 "$box_pid" 2>/dev/null && say "$1: the box is alive" || say "$1: the box is GONE"
}

passed=0 failed=()
if [[ $parts == *" learn "* ]] && start_box learn --worker-filter log; then
    describe_worker
    for program in saxpy modules linking print pinned contexts pools copies shared/sgemm shared/compile; do
        one "$program" shm "$build/tests/programs/$program"
    done
    one saxpy tcp "$build/tests/programs/saxpy"
    one torch shm python3 "$work/programs.py"
    report learn
    grep -o 'opens file=.*' "$log" | sort -u >"$results/worker-files.txt"
    grep -v 'file=/\(usr\|lib\|lib64\|sys\)/' "$results/worker-files.txt" | head -n 60 | tee -a "$summary"
    stop_box
fi
passed=0 failed=()
if [[ $parts == *" refuse "* ]] && start_box refuse; then
    describe_worker
    one torch shm python3 "$work/programs.py"
    one torch tcp python3 "$work/programs.py"
    (one torch-beside shm python3 "$work/programs.py"; report beside) >"$results/worker-beside.txt" 2>&1 &
    one saxpy-beside shm "$build/tests/programs/saxpy"
    wait $!
    programs shm
    programs tcp
    [ "$(left)" -lt 30 ] || PROGRAM_SECONDS=25 one torch.compile shm python3 "$work/compile.py"
    report refuse
    stop_box
fi
# Checks how the driver treats GPUs whose nodes cannot be opened.
if [ -c /dev/nvidia1 ] && [ "$(left)" -gt 15 ]; then
    for hidden in 0 1; do
        say "nvidia$hidden hidden: $(unshare -m sh -c "mount --bind /dev/null /dev/nvidia$hidden &&
            timeout 20 python3 -c 'import torch; n = torch.cuda.device_count(); print(n, [torch.cuda.get_device_properties(i).uuid for i in range(n)], torch.ones(3, device=\"cuda\").sum().item())'" 2>&1 | tail -n 2)"
    done
fi
say "took $SECONDS s"
