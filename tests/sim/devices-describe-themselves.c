// SPDX-License-Identifier: BSD-3-Clause
// Identity and properties of the devices: distinct, stable, consistent, chosen by the settings.
#include "tests/sim/sim_test.h"

static void check_visible(const char *list, int wanted, const char *first_bus)
{
    int status, pipes[2];
    if (pipe(pipes))
        bail("no pipe");
    pid_t pid = fork();
    if (!pid) {
        char text[32] = "";
        int count = -1;
        setenv("CUDA_VISIBLE_DEVICES", list, 1);
        if (cuInit(0) == CUDA_SUCCESS)
            cuDeviceGetCount(&count);
        if (count > 0)
            cuDeviceGetPCIBusId(text, sizeof(text), 0);
        exit(count == wanted && !strcmp(text, first_bus) ? 0 : 1);
    }
    waitpid(pid, &status, 0);
    ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "CUDA_VISIBLE_DEVICES=\"%s\" shows %d", list,
       wanted);
    close(pipes[0]);
    close(pipes[1]);
}

int main(void)
{
    sim_isolate("3", "512M");
    check_visible("2,0", 2, "0000:42:00.0");
    check_visible("1", 1, "0000:41:00.0");
    check_visible("0,9,1", 1, "0000:40:00.0");
    check_visible("GPU-72677075-7369-4d30-8000-000000000002", 1, "0000:41:00.0");
    check_visible("", -1, "");
    check_visible("1,1", -1, "");
    check_visible("GPU-72677075", -1, "");
    check_visible("0,GPU-72677075-7369-4d30-8000-000000000002", 1, "0000:40:00.0");

    CHECK(cuInit(0));
    CUuuid uuids[3];
    for (int i = 0; i < 3; i++) {
        char bus[32];
        CUdevice again = -1;
        CHECK(cuDeviceGetUuid(&uuids[i], i));
        CHECK(cuDeviceGetPCIBusId(bus, sizeof(bus), i));
        CHECK(cuDeviceGetByPCIBusId(&again, bus));
        is_int(again, i, "device %d is found by its bus id %s", i, bus);
    }
    ok(memcmp(&uuids[0], &uuids[1], 16) && memcmp(&uuids[1], &uuids[2], 16), "UUIDs differ");
    is_int(device_attribute(0, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR), 9,
           "compute capability 9");
    is_int(device_attribute(0, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR), 0, "point 0");
    bool all = true;
    for (int a = 1; a < CU_DEVICE_ATTRIBUTE_MAX; a++) {
        int value;
        all = all && cuDeviceGetAttribute(&value, (CUdevice_attribute)a, 0) == CUDA_SUCCESS;
    }
    ok(all, "every attribute has an answer");
    int value, peers;
    gives(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX, 0), CUDA_ERROR_INVALID_VALUE,
          "and none beyond them");
    size_t total;
    CHECK(cuDeviceTotalMem(&total, 2));
    is_int(total, 512 << 20, "the memory is what was set");
    CHECK(cuDeviceCanAccessPeer(&peers, 0, 1));
    is_int(peers, 1, "devices reach each other");
    CHECK(cuDeviceCanAccessPeer(&peers, 1, 1));
    is_int(peers, 0, "not themselves");
    gives(cuDeviceTotalMem(&total, 3), CUDA_ERROR_INVALID_DEVICE, "there is no fourth");
    CUcontext a = sim_context(0);
    CUdeviceptr here = device_alloc(4096);
    sim_context(1);
    CUdeviceptr there = device_alloc(4096);
    ok(here != there, "addresses of two devices differ");
    CHECK(cuMemsetD32(there, 0x01020304, 1024));
    CHECK(cuMemcpyPeer(here, a, there, NULL, 4096));
    uint32_t word = 0;
    CHECK(cuMemcpyDtoH(&word, here + 4092, 4));
    is_int(word, 0x01020304, "and memory is copied between them");
    return done();
}
