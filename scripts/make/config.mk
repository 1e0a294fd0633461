# SPDX-License-Identifier: BSD-3-Clause
# Settings that a user may override on the command line or in the environment.
#   SAN=address,undefined | thread    sanitizers; objects live in a folder of their own
#   WERROR=1                          warnings are errors (CI)
#   ASSERT=1                          a broken invariant ends the process (CI)
#   V=1                               shows every command instead of a line about it
#   DESTDIR=, PREFIX=                 where `make install` puts things

PREFIX     ?= /usr/local
SYSCONFDIR ?= /etc
DESTDIR    ?=
SAN        ?=
WERROR     ?=
ASSERT     ?=

comma := ,
empty :=
space := $(empty) $(empty)

# build/ for the plain build, build/san-address-undefined/ and the like for the others.
B := build$(if $(SAN),/san-$(subst $(comma),-,$(SAN)))

# The oldest C library that client libraries run with: that of Enterprise Linux 8 (client-lib/floor).
GLIBC_FLOOR := 2.28
# The cross compiler is CC, as in make CC=aarch64-linux-gnu-gcc.
LOADER := $(if $(findstring aarch64,$(shell $(CC) -dumpmachine 2>/dev/null)),ld-linux-aarch64.so.1,ld-linux-x86-64.so.2)
ifeq ($(SAN),)
FLOOR_FLAGS := -nodefaultlibs
FLOOR_DEPS  := $(B)/lib/rgpufloor.a $(B)/floor/libc.so.6
FLOOR_LIBS  := $(B)/lib/rgpufloor.a -Wl$(comma)--as-needed \
    $(foreach l,libc.so.6 libpthread.so.0 libdl.so.2 librt.so.1,$(B)/floor/$(l)) -l:$(LOADER) -l:libc_nonshared.a -lgcc
endif

CC      ?= gcc
PYTHON  ?= python3
CFLAGS  ?= -O2 -g
WARN    := -Wall -Wextra -Wshadow -Wvla -Wstrict-prototypes -Wmissing-prototypes \
           -Wno-unused-parameter $(if $(filter thread,$(SAN)),-Wno-tsan) $(if $(WERROR),-Werror)
ALL_CPPFLAGS = -D_GNU_SOURCE $(if $(ASSERT),-DRGPU_ASSERT_ENDS) -I. -I$(B)/gen $(CPPFLAGS)
ALL_CFLAGS   = -std=gnu11 -fPIC -fvisibility=hidden -pthread $(WARN) \
               $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer) $(CFLAGS)
ALL_LDFLAGS  = -pthread $(if $(SAN),-fsanitize=$(SAN),-Wl$(comma)-z$(comma)defs) \
               -Wl,-z,relro,-z,now $(LDFLAGS)
