// SPDX-License-Identifier: BSD-3-Clause
// Results that every call of the driver returns, with the text that cuGetErrorString gives for
// each. Values are grouped in hundreds by cause.
#ifndef RGPU_PROTO_ABI_RESULT_H
#define RGPU_PROTO_ABI_RESULT_H

// X(name, value, text)
#define RGPU_CUDA_RESULTS(X) \
    X(CUDA_SUCCESS, 0, "no error") \
    X(CUDA_ERROR_INVALID_VALUE, 1, "invalid argument") \
    X(CUDA_ERROR_OUT_OF_MEMORY, 2, "out of memory") \
    X(CUDA_ERROR_NOT_INITIALIZED, 3, "the driver has not been initialised") \
    X(CUDA_ERROR_DEINITIALIZED, 4, "the driver is being shut down") \
    X(CUDA_ERROR_PROFILER_DISABLED, 5, "an external tool has the profiler") \
    X(CUDA_ERROR_PROFILER_NOT_INITIALIZED, 6, "the profiler has not been set up") \
    X(CUDA_ERROR_PROFILER_ALREADY_STARTED, 7, "the profiler is running already") \
    X(CUDA_ERROR_PROFILER_ALREADY_STOPPED, 8, "the profiler is not running") \
    X(CUDA_ERROR_STUB_LIBRARY, 34, "this library is a stub without a driver") \
    X(CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER, 36, "this call needs a newer driver") \
    X(CUDA_ERROR_DEVICE_UNAVAILABLE, 46, "the device cannot be used now") \
    X(CUDA_ERROR_NO_DEVICE, 100, "no GPU can be used") \
    X(CUDA_ERROR_INVALID_DEVICE, 101, "there is no such device") \
    X(CUDA_ERROR_DEVICE_NOT_LICENSED, 102, "the device lacks a licence") \
    X(CUDA_ERROR_INVALID_IMAGE, 200, "the code image cannot be used") \
    X(CUDA_ERROR_INVALID_CONTEXT, 201, "this is no usable context") \
    X(CUDA_ERROR_CONTEXT_ALREADY_CURRENT, 202, "this context is current already") \
    X(CUDA_ERROR_MAP_FAILED, 205, "mapping failed") \
    X(CUDA_ERROR_UNMAP_FAILED, 206, "unmapping failed") \
    X(CUDA_ERROR_ARRAY_IS_MAPPED, 207, "the array is mapped") \
    X(CUDA_ERROR_ALREADY_MAPPED, 208, "already mapped") \
    X(CUDA_ERROR_NO_BINARY_FOR_GPU, 209, "the image has no code for this GPU") \
    X(CUDA_ERROR_ALREADY_ACQUIRED, 210, "already acquired") \
    X(CUDA_ERROR_NOT_MAPPED, 211, "not mapped") \
    X(CUDA_ERROR_NOT_MAPPED_AS_ARRAY, 212, "not mapped as an array") \
    X(CUDA_ERROR_NOT_MAPPED_AS_POINTER, 213, "not mapped as a pointer") \
    X(CUDA_ERROR_ECC_UNCORRECTABLE, 214, "memory error that ECC could not correct") \
    X(CUDA_ERROR_UNSUPPORTED_LIMIT, 215, "the device has no such limit") \
    X(CUDA_ERROR_CONTEXT_ALREADY_IN_USE, 216, "another thread has this context") \
    X(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, 217, "these devices cannot reach each other's memory") \
    X(CUDA_ERROR_INVALID_PTX, 218, "the PTX does not compile") \
    X(CUDA_ERROR_INVALID_GRAPHICS_CONTEXT, 219, "this is no usable graphics context") \
    X(CUDA_ERROR_NVLINK_UNCORRECTABLE, 220, "NVLink error that could not be corrected") \
    X(CUDA_ERROR_JIT_COMPILER_NOT_FOUND, 221, "the PTX compiler's library is missing") \
    X(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 222, \
      "the PTX is of a version that this driver does not read") \
    X(CUDA_ERROR_JIT_COMPILATION_DISABLED, 223, "compiling PTX is switched off") \
    X(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, 224, "this execution affinity is not supported") \
    X(CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC, 225, \
      "device code synchronises in a way that is not supported") \
    X(CUDA_ERROR_CONTAINED, 226, "error contained to this process: peer memory or hardware") \
    X(CUDA_ERROR_INVALID_SOURCE, 300, "the device source cannot be used") \
    X(CUDA_ERROR_FILE_NOT_FOUND, 301, "file not found") \
    X(CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND, 302, "a shared library lacks a symbol") \
    X(CUDA_ERROR_SHARED_OBJECT_INIT_FAILED, 303, "a shared library did not start") \
    X(CUDA_ERROR_OPERATING_SYSTEM, 304, "a call of the operating system failed") \
    X(CUDA_ERROR_INVALID_HANDLE, 400, "this is no valid handle") \
    X(CUDA_ERROR_ILLEGAL_STATE, 401, "not possible in the present state") \
    X(CUDA_ERROR_LOSSY_QUERY, 402, "the answer would lose information") \
    X(CUDA_ERROR_NOT_FOUND, 500, "nothing has this name") \
    X(CUDA_ERROR_NOT_READY, 600, "not finished yet") \
    X(CUDA_ERROR_ILLEGAL_ADDRESS, 700, "a kernel used an address that is not its own") \
    X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701, "the launch needs more resources than there are") \
    X(CUDA_ERROR_LAUNCH_TIMEOUT, 702, "the kernel ran too long and was ended") \
    X(CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING, 703, "the launch mixes texturing modes") \
    X(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, 704, "peer access is enabled already") \
    X(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, 705, "peer access is not enabled") \
    X(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, 708, "the primary context is active already") \
    X(CUDA_ERROR_CONTEXT_IS_DESTROYED, 709, "the context has been destroyed") \
    X(CUDA_ERROR_ASSERT, 710, "an assertion in a kernel failed") \
    X(CUDA_ERROR_TOO_MANY_PEERS, 711, "no more peers can be mapped") \
    X(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, 712, "this host memory is registered already") \
    X(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, 713, "this host memory is not registered") \
    X(CUDA_ERROR_HARDWARE_STACK_ERROR, 714, "hardware stack error") \
    X(CUDA_ERROR_ILLEGAL_INSTRUCTION, 715, "illegal instruction in a kernel") \
    X(CUDA_ERROR_MISALIGNED_ADDRESS, 716, "misaligned address in a kernel") \
    X(CUDA_ERROR_INVALID_ADDRESS_SPACE, 717, \
      "operation on an address space that does not allow it") \
    X(CUDA_ERROR_INVALID_PC, 718, "a kernel's program counter left its code") \
    X(CUDA_ERROR_LAUNCH_FAILED, 719, "a kernel failed") \
    X(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, 720, \
      "more blocks than a cooperative launch may have") \
    X(CUDA_ERROR_TENSOR_MEMORY_LEAK, 721, "tensor memory was not freed") \
    X(CUDA_ERROR_NOT_PERMITTED, 800, "not permitted") \
    X(CUDA_ERROR_NOT_SUPPORTED, 801, "not supported") \
    X(CUDA_ERROR_SYSTEM_NOT_READY, 802, "the system is not ready to give GPUs") \
    X(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, 803, "the parts of the driver do not fit each other") \
    X(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, 804, \
      "this device does not support forward compatibility") \
    X(CUDA_ERROR_MPS_CONNECTION_FAILED, 805, "the MPS server cannot be reached") \
    X(CUDA_ERROR_MPS_RPC_FAILURE, 806, "the MPS server does not answer") \
    X(CUDA_ERROR_MPS_SERVER_NOT_READY, 807, "the MPS server takes no clients yet") \
    X(CUDA_ERROR_MPS_MAX_CLIENTS_REACHED, 808, "the MPS server has all the clients it can have") \
    X(CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED, 809, \
      "the device has all the connections it can have") \
    X(CUDA_ERROR_MPS_CLIENT_TERMINATED, 810, "the MPS server ended this client") \
    X(CUDA_ERROR_CDP_NOT_SUPPORTED, 811, "dynamic parallelism is not supported here") \
    X(CUDA_ERROR_CDP_VERSION_MISMATCH, 812, "two versions of dynamic parallelism met") \
    X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, 900, "not possible while the stream is captured") \
    X(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, 901, "the capture failed earlier") \
    X(CUDA_ERROR_STREAM_CAPTURE_MERGE, 902, "this would join two captures") \
    X(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, 903, "the capture began in another stream") \
    X(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, 904, "the capture leaves work behind in another stream") \
    X(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, 905, "this depends on work outside of the capture") \
    X(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, 906, "the legacy stream would wait for a captured one") \
    X(CUDA_ERROR_CAPTURED_EVENT, 907, "the event was last recorded in a capture") \
    X(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, 908, "another thread began this capture") \
    X(CUDA_ERROR_TIMEOUT, 909, "the wait took too long") \
    X(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, 910, "the change does not fit the instantiated graph") \
    X(CUDA_ERROR_EXTERNAL_DEVICE, 911, "error in a device outside of CUDA") \
    X(CUDA_ERROR_INVALID_CLUSTER_SIZE, 912, "the clusters of the launch do not fit") \
    X(CUDA_ERROR_FUNCTION_NOT_LOADED, 913, "the function has not been loaded") \
    X(CUDA_ERROR_INVALID_RESOURCE_TYPE, 914, "a resource of the wrong type") \
    X(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, 915, "a resource that does not fit or suffice") \
    X(CUDA_ERROR_KEY_ROTATION, 916, "error while keys were changed") \
    X(CUDA_ERROR_UNKNOWN, 999, "unknown error")

#define RGPU_CUDA_RESULT_VALUE(name, value, text) name = value,
typedef enum cudaError_enum { RGPU_CUDA_RESULTS(RGPU_CUDA_RESULT_VALUE) } CUresult;

#endif
