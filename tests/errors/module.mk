# SPDX-License-Identifier: BSD-3-Clause
# What the driver answers to wrong arguments: the program that records it, wherever libcuda.so.1 is.
$(call test_helper,errors-record,tests/errors/record.c tests/errors/arguments.c \
    tests/errors/fixture.c $(B)/gen/error_calls.c,,-ldl)
$(B)/obj/tests/errors/fixture.o: tests/programs/kernels.ptx
