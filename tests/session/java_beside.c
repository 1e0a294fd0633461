// SPDX-License-Identifier: BSD-3-Clause
// A Java virtual machine in a program that uses managed memory. The machine's handler of SIGSEGV
// turns the fault of a null reference into an exception. Such faults and faults of managed memory
// occur by turns and at once.
//
//     java-beside LIBJVM first|last    when the machine is made: before the first managed memory,
//                                      or after it
#include "tests/programs/driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

// The interface as the specification of JNI numbers it.
typedef void *reference;
typedef const void **environment; // *environment: the table of functions
enum { EXCEPTION_OCCURRED = 15, EXCEPTION_CLEAR = 17, FIND_CLASS = 6, GET_OBJECT_CLASS = 31 };
enum { IS_INSTANCE_OF = 32, GET_METHOD = 33, CALL_INT = 51, NEW_STRING = 167 };
struct initial {
    int version, options;
    void *list;
    unsigned char ignore;
};

enum { SIZE = 600 * 1000, ROUNDS = 20, NULLS = 400 };

static struct gpu gpu;
static unsigned char *memory;
static void *machine;
static environment java;
static reference text, null_pointer;
static void *compare_to;

#define JAVA(number, type, ...) \
    ((type(*)(environment *, __VA_ARGS__))(uintptr_t)((*(const void ***)java)[number]))

static void make_machine(const char *library)
{
    struct {
        const char *text;
        void *more;
    } options[] = {{"-Xmx64m", NULL}, {"-XX:+UseSerialGC", NULL}};
    struct initial arguments = {.version = 0x00010008, .options = 2, .list = options};
    void *file = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
    int (*create)(void **, environment *, void *) =
        file ? (int (*)(void **, environment *, void *))dlsym(file, "JNI_CreateJavaVM") : NULL;
    if (!create || create(&machine, &java, &arguments))
        bail("no Java virtual machine of %s", library);
    reference class = JAVA(FIND_CLASS, reference, const char *)((void *)java, "java/lang/String");
    null_pointer =
        JAVA(FIND_CLASS, reference, const char *)((void *)java, "java/lang/NullPointerException");
    text = JAVA(NEW_STRING, reference, const char *)((void *)java, "text");
    compare_to = JAVA(GET_METHOD, void *, reference, const char *,
                      const char *)((void *)java, class, "compareTo", "(Ljava/lang/String;)I");
    if (!class || !null_pointer || !text || !compare_to)
        bail("no strings in Java");
}

// Returns how many null references raised a Java exception. Repeats often enough that the virtual
// machine compiles the code.
static int null_references(void)
{
    int right = 0;
    uint64_t none = 0;
    for (int i = 0; i < NULLS; i++) {
        JAVA(CALL_INT, int, reference, void *, void *)((void *)java, text, compare_to, &none);
        reference thrown = JAVA(EXCEPTION_OCCURRED, reference, int)((void *)java, 0);
        JAVA(EXCEPTION_CLEAR, void, int)((void *)java, 0);
        right += thrown && JAVA(IS_INSTANCE_OF, unsigned char, reference,
                                reference)((void *)java, thrown, null_pointer);
    }
    return right;
}

static bool use_managed(unsigned char value)
{
    CUdeviceptr address = (CUdeviceptr)(uintptr_t)memory;
    bool right = true;
    CHECK(cuMemsetD8(address, value, SIZE));
    CHECK(cuCtxSynchronize());
    for (size_t i = 0; i < SIZE; i += 1000)
        right = right && memory[i] == value;
    memset(memory, value + 1, SIZE);
    unsigned char last = 0;
    CHECK(cuMemcpyDtoH(&last, address + SIZE - 1, 1));
    return right && last == (unsigned char)(value + 1);
}

static void *use_managed_often(void *right)
{
    CHECK(cuCtxSetCurrent(gpu.context));
    for (int i = 0; i < ROUNDS; i++)
        *(int *)right += use_managed((unsigned char)(3 * i));
    return NULL;
}

int main(int argc, char **argv)
{
    CUdeviceptr address;
    pthread_t thread;
    int right = 0, nulls = 0;
    if (argc != 3)
        bail("usage: java-beside LIBJVM first|last");
    bool first = strcmp(argv[2], "first") == 0;
    if (first)
        make_machine(argv[1]);
    gpu = open_gpu(0);
    CHECK(cuMemAllocManaged(&address, SIZE, CU_MEM_ATTACH_GLOBAL));
    memory = (unsigned char *)(uintptr_t)address;
    ok(use_managed(1), "managed memory is used");
    if (!first)
        make_machine(argv[1]);
    is_int(null_references(), NULLS, "null references become exceptions");
    ok(use_managed(7), "managed memory is used beside the machine");
    is_int(null_references(), NULLS, "and null references are what they were");
    pthread_create(&thread, NULL, use_managed_often, &right);
    for (int i = 0; i < ROUNDS; i++)
        nulls += null_references();
    pthread_join(thread, NULL);
    is_int(nulls, ROUNDS * NULLS, "all of them while another thread uses managed memory");
    is_int(right, ROUNDS, "which sees what it should");
    CHECK(cuMemFree(address));
    return done();
}
