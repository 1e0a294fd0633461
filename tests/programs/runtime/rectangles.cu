// SPDX-License-Identifier: BSD-3-Clause
// cudaMallocPitch, cudaMemcpy2D, cudaMemset2D, cudaMalloc3D and cudaMemcpy3D.
#include "runtime.h"

__global__ void add_rows(unsigned char *data, size_t pitch, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height)
        data[y * pitch + x] += y;
}

int main()
{
    const int width = 301, height = 53;
    std::vector<unsigned char> in(width * height), out(width * height);
    random_numbers random(8);
    for (auto &v : in)
        v = random.u32();
    unsigned char *data;
    size_t pitch;
    CHECK(cudaMallocPitch(&data, &pitch, width, height));
    ok(pitch >= size_t(width), "a pitch of %zu", pitch);
    CHECK(cudaMemcpy2D(data, pitch, in.data(), width, width, height, cudaMemcpyHostToDevice));
    dim3 block(16, 16), grid((width + 15) / 16, (height + 15) / 16);
    add_rows<<<grid, block>>>(data, pitch, width, height);
    CHECK(cudaMemcpy2D(out.data(), width, data, pitch, width, height, cudaMemcpyDeviceToHost));
    unsigned wrong = 0;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            wrong += out[y * width + x] != (unsigned char)(in[y * width + x] + y);
    is_int(wrong, 0, "rows with a pitch, there, changed and back");
    CHECK(cudaMemset2D(data, pitch, 0x3C, 100, 20));
    CHECK(cudaMemcpy2D(out.data(), width, data, pitch, width, height, cudaMemcpyDeviceToHost));
    wrong = 0;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            wrong += out[y * width + x] != (x < 100 && y < 20
                                                ? 0x3C
                                                : (unsigned char)(in[y * width + x] + y));
    is_int(wrong, 0, "a rectangle set");
    CHECK(cudaFree(data));

    const int w = 33, h = 7, d = 5;
    std::vector<unsigned char> box(w * h * d), box_out(w * h * d, 0);
    for (auto &v : box)
        v = random.u32();
    cudaPitchedPtr device;
    CHECK(cudaMalloc3D(&device, make_cudaExtent(w, h, d)));
    cudaMemcpy3DParms there = {}, here = {};
    there.srcPtr = make_cudaPitchedPtr(box.data(), w, w, h);
    there.dstPtr = device;
    there.extent = make_cudaExtent(w, h, d);
    there.kind = cudaMemcpyHostToDevice;
    here.srcPtr = device;
    here.dstPtr = make_cudaPitchedPtr(box_out.data(), w, w, h);
    here.extent = there.extent;
    here.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3D(&there));
    CHECK(cudaMemcpy3D(&here));
    is_mem(box_out.data(), box.data(), box.size(), "a box there and back");
    CHECK(cudaMemset3D(device, 0x11, make_cudaExtent(10, 3, 2)));
    CHECK(cudaMemcpy3D(&here));
    wrong = 0;
    for (int z = 0; z < d; z++)
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++)
                wrong += box_out[(z * h + y) * w + x] !=
                         (x < 10 && y < 3 && z < 2 ? 0x11 : box[(z * h + y) * w + x]);
    is_int(wrong, 0, "a box set");
    CHECK(cudaFree(device.ptr));
    return done();
}
