// SPDX-License-Identifier: BSD-3-Clause
// Managed memory as CUDA C++ has it: variables, allocations, structures with pointers into it,
// prefetches and advice.
#include "runtime.h"

__managed__ int counter = 5;
__managed__ float table[1000];

struct node {
    int value;
    node *next;
};

__global__ void count(int by)
{
    atomicAdd(&counter, by);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 1000)
        table[i] += i;
}

__global__ void sum(const node *first, int *result)
{
    int total = 0;
    for (const node *n = first; n; n = n->next)
        total += n->value;
    *result = total;
}

__global__ void twice(node n, int *result)
{
    *result = 2 * n.value;
}

static void variables()
{
    is_int(counter, 5, "a variable has its initial value");
    counter = 10;
    count<<<10, 100>>>(3);
    CHECK(cudaDeviceSynchronize());
    is_int(counter, 10 + 3000, "and the host's and the kernel's after it");
    ok(table[999] == 999.0f && table[1] == 1.0f, "a table is filled by a kernel");
}

static void lists()
{
    enum { NODES = 3000 };
    node *first = nullptr;
    int *result;
    CHECK(cudaMallocManaged(&result, sizeof(*result)));
    for (int i = 0; i < NODES; i++) {
        node *n;
        CHECK(cudaMallocManaged(&n, sizeof(*n)));
        n->value = i;
        n->next = first;
        first = n;
    }
    sum<<<1, 1>>>(first, result);
    CHECK(cudaDeviceSynchronize());
    is_int(*result, NODES * (NODES - 1) / 2, "a kernel follows a list of many allocations");
    twice<<<1, 1>>>(*first, result);
    CHECK(cudaDeviceSynchronize());
    is_int(*result, 2 * (NODES - 1), "an argument of a launch comes from managed memory");
    while (first) {
        node *next = first->next;
        CHECK(cudaFree(first));
        first = next;
    }
    CHECK(cudaFree(result));
}

static void attributes()
{
    cudaPointerAttributes attributes;
    int *memory;
    CHECK(cudaMallocManaged(&memory, 100000));
    CHECK(cudaPointerGetAttributes(&attributes, memory));
    ok(attributes.type == cudaMemoryTypeManaged && attributes.hostPointer == memory &&
           attributes.devicePointer == memory,
       "its attributes are those of managed memory");
    CHECK(cudaMemset(memory, 1, 100000));
    CHECK(cudaDeviceSynchronize());
    is_int(memory[5], 0x01010101, "memory is filled on the GPU");
    CHECK(cudaFree(memory));
}

int main()
{
    variables();
    lists();
    attributes();
    return done();
}
