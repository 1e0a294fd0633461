# SPDX-License-Identifier: BSD-3-Clause
"""An MPS daemon of its own for native programs: mps_daemon.py BUILD PORT

Its pipes lie in a directory that is named after the port, which programs have in CUDA_MPS_PIPE_DIRECTORY. It says "ready" when the daemon
answers, and ends it when it is ended itself. Without NVIDIA's control program it is the software GPU's."""
import os
import shutil
import signal
import subprocess
import sys
import time


def control_program(build):
    return shutil.which("nvidia-cuda-mps-control") or os.path.join(build, "bin", "rgpu-sim-mps-control")


def answers(program):
    asked = subprocess.run([program], input="get_server_list\n", capture_output=True, text=True)
    return asked.returncode == 0 and "annot" not in asked.stdout + asked.stderr


def main():
    build, port = sys.argv[1:3]
    directory = "/tmp/rgpu-study-mps-%s" % port
    os.makedirs(directory, mode=0o700)
    os.environ.update(CUDA_MPS_PIPE_DIRECTORY=directory, CUDA_MPS_LOG_DIRECTORY=directory)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    program = control_program(build)
    daemon = subprocess.Popen([program, "-f"], stdout=subprocess.DEVNULL)
    try:
        while not answers(program):
            if daemon.poll() is not None:
                sys.exit("mps_daemon: %s ended" % program)
            time.sleep(0.02)
        print("ready", flush=True)
        sys.exit(daemon.wait())
    finally:
        daemon.terminate()
        daemon.wait()
        shutil.rmtree(directory, ignore_errors=True)


main()
