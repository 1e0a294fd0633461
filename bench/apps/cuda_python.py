# SPDX-License-Identifier: BSD-3-Clause
"""cuda-python: the driver API by its bindings: NVRTC, modules, launches, graphs, virtual memory."""
from app import check, needs

np, _ = needs("numpy", "cuda.bindings")
from cuda.bindings import driver, nvrtc  # noqa: E402


def ok(answer):
    error, *values = answer
    assert int(error) == 0, error
    return values[0] if len(values) == 1 else values


ok(driver.cuInit(0))
device = ok(driver.cuDeviceGet(0))
context = ok(driver.cuDevicePrimaryCtxRetain(device))
ok(driver.cuCtxSetCurrent(context))
source = br'''extern "C" __global__ void add(float *x, float by) { x[blockIdx.x * blockDim.x + threadIdx.x] += by; }'''
program = ok(nvrtc.nvrtcCreateProgram(source, b"add.cu", 0, [], []))
attribute = driver.CUdevice_attribute
major = ok(driver.cuDeviceGetAttribute(attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device))
minor = ok(driver.cuDeviceGetAttribute(attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device))
ok(nvrtc.nvrtcCompileProgram(program, 1, [b"--gpu-architecture=sm_%d%d" % (major, minor)]))
image = b" " * ok(nvrtc.nvrtcGetCUBINSize(program))
ok(nvrtc.nvrtcGetCUBIN(program, image))
module = ok(driver.cuModuleLoadData(image))
add = ok(driver.cuModuleGetFunction(module, b"add"))
stream = ok(driver.cuStreamCreate(0))
memory = ok(driver.cuMemAlloc(4096))
ok(driver.cuMemsetD32(memory, 0, 1024))


def launch():
    ok(driver.cuLaunchKernel(add, 4, 1, 1, 256, 1, 1, 0, stream,
                             ((memory, np.float32(1.5)), (None, __import__("ctypes").c_float)), 0))


launch()
ok(driver.cuStreamSynchronize(stream))
host = np.zeros(1024, np.float32)
ok(driver.cuMemcpyDtoH(host.ctypes.data, memory, 4096))
check("a kernel of NVRTC", bool((host == 1.5).all()))

ok(driver.cuStreamBeginCapture(stream, driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL))
launch()
launch()
graph = ok(driver.cuStreamEndCapture(stream))
executable = ok(driver.cuGraphInstantiate(graph, 0))
for _ in range(5):
    ok(driver.cuGraphLaunch(executable, stream))
ok(driver.cuStreamSynchronize(stream))
ok(driver.cuMemcpyDtoH(host.ctypes.data, memory, 4096))
check("a captured graph", bool((host == 16.5).all()))

wanted = driver.CUmemAllocationProp()
wanted.type = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
wanted.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
wanted.location.id = int(device)
grain = ok(driver.cuMemGetAllocationGranularity(
    wanted, driver.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM))
address = ok(driver.cuMemAddressReserve(2 * grain, 0, 0, 0))
handles = [ok(driver.cuMemCreate(grain, wanted, 0)) for _ in range(2)]
access = driver.CUmemAccessDesc()
access.location = wanted.location
access.flags = driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
for i, handle in enumerate(handles):
    ok(driver.cuMemMap(int(address) + i * grain, grain, 0, handle, 0))
ok(driver.cuMemSetAccess(address, 2 * grain, [access], 1))
data = np.arange(2 * grain // 4, dtype=np.uint32)
ok(driver.cuMemcpyHtoD(address, data.ctypes.data, 2 * grain))
back = np.zeros_like(data)
ok(driver.cuMemcpyDtoH(back.ctypes.data, address, 2 * grain))
check("a copy over two mappings", np.array_equal(back, data))
ok(driver.cuMemUnmap(address, 2 * grain))
for handle in handles:
    ok(driver.cuMemRelease(handle))
ok(driver.cuMemAddressFree(address, 2 * grain))
check("given back", True)
