# SPDX-License-Identifier: BSD-3-Clause
# librgpu: put and notify between GPUs. It takes whatever libcuda.so.1 the program has, NVIDIA's or ours.
TEAM_LDFLAGS := -Wl,-soname,librgpu.so.1 -Wl,--exclude-libs,ALL
$(call program_library,librgpu.so.1,$(wildcard client-lib/putnotify/*.c),rgpucommon,\
    -L$(B)/lib -l:libcuda.so.1 $(CLIENT_LIBS),$(TEAM_LDFLAGS),$(B)/lib/libcuda.so.1)
INSTALL_FILES += $(B)/lib/librgpu.so.1:$(LIBDIR)/librgpu.so.1:0755:client \
    client-lib/putnotify/rgpu.h:$(PREFIX)/include/rgpu.h:0644:client \
    client-lib/putnotify/rgpu_device.h:$(PREFIX)/include/rgpu_device.h:0644:client \
    docs/man/librgpu.3:$(MANDIR)/man3/librgpu.3:0644:client
