# SPDX-License-Identifier: BSD-3-Clause
# libcuda.so.1: the stand-in for the driver's library.
CLIENT_SOURCES := $(wildcard client-lib/cuda/*/*.c) \
    $(addprefix $(B)/gen/,api_calls.c api_watched.c api_unsupported.c client_calls.c proc_table.c cuda_ops.c)
# Statically linked where it can be, since it is loaded into every program. It stays in a process that has loaded it, with
# its sessions: a program that looks now and then whether there is a GPU would otherwise open one each time.
# A client must not be able to tell this library's dependencies from its own: archives are hidden.
CLIENT_LDFLAGS := -Wl,-soname,libcuda.so.1 -Wl,-Bsymbolic -Wl,-z,nodelete -Wl,--exclude-libs,ALL \
    -Wl,--version-script=$(B)/gen/libcuda.map

# OpenSSL as well. A shared libssl, linked or loaded, would take the name libssl.so.3 in the program for
# good: what the program loads later, such as conda's Python with a newer OpenSSL of its own, would get
# the system's and fail for want of newer symbols. It costs 5 MB of file and 0.3 ms at the start.
# Debian 13's libcrypto.a needs others in its turn.
CLIENT_LIBS := -l:libssl.a -l:libcrypto.a -l:libnettle.a -ldl \
    $(if $(shell grep -sl -- -lzstd /usr/lib/*/pkgconfig/libcrypto.pc),-l:libzstd.a -l:libz.a)
$(call program_library,libcuda.so.1,$(CLIENT_SOURCES),rgputransport rgpucommon rgpudriver,$(CLIENT_LIBS),$(CLIENT_LDFLAGS),$(B)/gen/libcuda.map)
INSTALL_FILES += $(B)/lib/libcuda.so.1:$(LIBDIR)/libcuda.so.1:0755:client \
    $(foreach f,$(wildcard config/containers/*),$(f):$(PREFIX)/share/doc/rgpu/containers/$(notdir $(f)):0644:client) \
    $(foreach f,$(wildcard config/vm/*),$(f):$(PREFIX)/share/doc/rgpu/vm/$(notdir $(f)):0644:client) \
    config/modulefiles/rgpu.in:$(MODULEDIR)/rgpu:0644:client
