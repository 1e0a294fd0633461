# SPDX-License-Identifier: BSD-3-Clause
# libnccl.so.2 for ranks on several boxes. It lies in a directory of its own, so that only who asks for it gets it, and needs
# no library: librgpu and the driver are looked up when it is used.
$(call program_library,nccl/libnccl.so.2,$(wildcard client-lib/nccl/*.c),,,-Wl$(comma)-soname$(comma)libnccl.so.2,)
INSTALL_FILES += $(B)/lib/nccl/libnccl.so.2:$(LIBDIR)/nccl/libnccl.so.2:0755:client \
    docs/man/rgpu-nccl.7:$(MANDIR)/man7/rgpu-nccl.7:0644:client

$(B)/gen/combine.ptx: client-lib/nccl/combine_ptx.py
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)$(PYTHON) $< $@
$(B)/obj/client-lib/nccl/combine_kernels.o: $(B)/gen/combine.ptx
$(B)/obj/client-lib/nccl/combine_kernels.o: EXTRA_CPPFLAGS := -DCOMBINE_PTX='"$(B)/gen/combine.ptx"'
