# SPDX-License-Identifier: BSD-3-Clause
# make bench: the same programs natively and through a box. BENCH_ARGS goes to bench/run.

BENCH_PROGRAMS := $(B)/bench/measure
$(eval $(call link_rule,$(B)/bench/measure,bench/measure.c,,\
  -L$(B)/lib -l:libcuda.so.1 -lm,,$(B)/lib/libcuda.so.1))
$(B)/obj/bench/measure.o: tests/programs/kernels.ptx

# Measures the transports alone.
BENCH_PROGRAMS += $(B)/bench/transport
$(eval $(call link_rule,$(B)/bench/transport,bench/transport.c,rgputransport rgpucommon,$$(COMMON_LIBS) $$(TLS_LIBS)))

# Measures TCP itself.
BENCH_PROGRAMS += $(B)/bench/streams
$(eval $(call link_rule,$(B)/bench/streams,bench/streams.c,,-lpthread))

# Limits the rate of connections, for bench/tcp --pace.
$(eval $(call link_rule,$(B)/bench/pace.so,bench/pace.c,,,-shared))

# Measures page-locked memory, and the steps that provide it.
BENCH_PROGRAMS += $(B)/bench/pinned
$(eval $(call link_rule,$(B)/bench/pinned,bench/pinned.c,,\
  -L$(B)/lib -l:libcuda.so.1 -lpthread,,$(B)/lib/libcuda.so.1))
$(B)/obj/bench/pinned.o: tests/programs/kernels.ptx

# bench/paths.py: copies by each path, and by the path that rgpu chooses.
BENCH_PROGRAMS += $(B)/bench/path-times
$(eval $(call link_rule,$(B)/bench/path-times,bench/path_times.c,,\
  -L$(B)/lib -l:libcuda.so.1,,$(B)/lib/libcuda.so.1))
$(B)/obj/bench/path_times.o: tests/programs/kernels.ptx

# bench/between_boxes.py: copies and event waits between two GPUs, of one box and of two.
BENCH_PROGRAMS += $(B)/bench/between
$(eval $(call link_rule,$(B)/bench/between,bench/between.c,,\
  -L$(B)/lib -l:libcuda.so.1,,$(B)/lib/libcuda.so.1))
$(B)/obj/bench/between.o: tests/programs/kernels.ptx

# Notified puts, from streams and from kernels.
BENCH_PROGRAMS += $(B)/bench/notify
$(eval $(call link_rule,$(B)/bench/notify,bench/notify.c,rgpucommon,\
  -L$(B)/lib -l:librgpu.so.1 -l:libcuda.so.1,,$(B)/lib/librgpu.so.1 $(B)/lib/libcuda.so.1))
$(B)/obj/bench/notify.o: bench/notify.ptx tests/programs/kernels.ptx

# Compares arrays with linear memory.
BENCH_PROGRAMS += $(B)/bench/arrays
$(eval $(call link_rule,$(B)/bench/arrays,bench/arrays.c,,\
  -L$(B)/lib -l:libcuda.so.1,,$(B)/lib/libcuda.so.1))
$(B)/obj/bench/arrays.o: tests/programs/kernels.ptx

# bench/burst_clients.py: many clients at once.
BENCH_PROGRAMS += $(B)/bench/burst
$(eval $(call link_rule,$(B)/bench/burst,bench/burst.c,,\
  -L$(B)/lib -l:libcuda.so.1,,$(B)/lib/libcuda.so.1))
$(B)/obj/bench/burst.o: tests/programs/kernels.ptx

# Measures a kernel that filters a texture.
BENCH_PROGRAMS += $(B)/bench/filtering
$(eval $(call link_rule,$(B)/bench/filtering,bench/filtering.c,,\
  -L$(B)/lib -l:libcuda.so.1,,$(B)/lib/libcuda.so.1))
$(B)/obj/bench/filtering.o: tests/programs/kernels.ptx tests/programs/images.ptx

# Compares the ways to wait for small work.
BENCH_PROGRAMS += $(B)/bench/waits
$(eval $(call link_rule,$(B)/bench/waits,bench/waits.c,,\
  -L$(B)/lib -l:libcuda.so.1,,$(B)/lib/libcuda.so.1))
$(B)/obj/bench/waits.o: tests/programs/kernels.ptx

# Managed memory: the cost of alternating host and GPU phases.
BENCH_PROGRAMS += $(B)/bench/managed_speed
$(eval $(call link_rule,$(B)/bench/managed_speed,bench/managed_speed.c,,\
  -L$(B)/lib -l:libcuda.so.1,,$(B)/lib/libcuda.so.1))
$(B)/obj/bench/managed_speed.o: tests/programs/kernels.ptx

# make bench-rdma: sessions over verbs in an emulated machine.
BENCH_PROGRAMS += $(B)/bench/copies
$(eval $(call link_rule,$(B)/bench/copies,bench/copies.c,,\
  -L$(B)/lib -l:libcuda.so.1,,$(B)/lib/libcuda.so.1))
$(B)/obj/bench/copies.o: tests/programs/kernels.ptx
.PHONY: bench-tcp
# Compares sessions over tcp with iperf3 and sockperf; needs root.
bench-tcp: all $(addprefix $(B)/bench/,copies measure streams transport pace.so)
	@scripts/install-deps bench
	@bench/tcp --build $(B) $(BENCH_ARGS)
.PHONY: bench-places
# Copies from each possible location of a client.
bench-places: all study-programs
	@scripts/install-deps rdma studies
	@bench/places --build $(B) $(BENCH_ARGS)
.PHONY: bench-rdma
bench-rdma: all tests study-programs $(B)/bench/copies $(B)/bench/between
	@scripts/install-deps rdma bench
	@bench/rdma $(B) $(BENCH_ARGS)

# NVCC and the paths of its libraries are those of tests/programs/module.mk.
$(B)/bench/sgemm: bench/sgemm.cu
	@mkdir -p $(@D)
	$(call say,NVCC,$@)
	$(Q)$(NVCC) -std=c++17 -O2 -arch=sm_90 -Xlinker -rpath,$(CUDA_LIBRARY_PATH) -o $@ $< -lcublas

.PHONY: bench bench-built bench-programs bench-protection
# The cost of protection: plain tcp, with authentication, and with encryption, in one run.
bench-protection: all bench-programs
	@bench/run --build $(B) --base tcp --transports tcp/authenticate,tcp/privacy --idle 0 \
	    --output $(B)/bench/protection.jsonl $(BENCH_ARGS)
bench:
	@scripts/install-deps build bench
	@+$(MAKE) $(jobs) --no-print-directory bench-built
bench-programs: $(BENCH_PROGRAMS) $$(if $$(NVCC),$$(B)/bench/sgemm)
bench-built: all bench-programs bench-broker
	@bench/run --build $(B) $(BENCH_ARGS)
	@$(B)/bench/transport > $(B)/bench/transport.jsonl

# The broker alone, with simulated boxes.
.PHONY: bench-broker
bench-broker: $(B)/bin/rgpu-brokerd
	@mkdir -p $(B)/bench
	@bench/broker.py $(B) > $(B)/bench/broker.jsonl

# The broker alone, beside three that have one pool through etcd.
.PHONY: bench-broker-replicated
bench-broker-replicated: $(B)/bin/rgpu-brokerd
	@scripts/install-deps bench
	@mkdir -p $(B)/bench
	@bench/broker_replicated.py $(B) > $(B)/bench/broker-replicated.jsonl

# The broker with requests like those of boxes and nodes: the cost of size, waiting jobs, an open status page, and a
# slow or full disk; the growth of the database's log; the time of a restart. BENCH_ARGS selects cases.
.PHONY: bench-broker-load
bench-broker-load: $(B)/bin/rgpu-brokerd $(B)/tests/sync-gate.so
	@mkdir -p $(B)/bench
	@bench/broker_load.py $(B) $(BENCH_ARGS) > $(B)/bench/broker-load.jsonl
