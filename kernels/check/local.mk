# Health checks: stand-alone programs that agents start, and a library for their tests.
# -O3 vectorises; copies stay loops of our own, not calls of memcpy.
noinst_LIBRARIES += kernels/check/libcheck.a
kernels_check_libcheck_a_SOURCES = \
	%D%/check_opts.c %D%/check_opts.h \
	%D%/clones.h \
	%D%/core.c %D%/core.h \
	%D%/cores.c %D%/cores.h \
	%D%/cpu_judge.c %D%/cpu_judge.h \
	%D%/cuda_driver.c %D%/cuda_driver.h \
	%D%/finding.c %D%/finding.h \
	%D%/gpu_here.c %D%/gpu_here.h \
	%D%/kernel_log.c %D%/kernel_log.h \
	%D%/march.c %D%/march.h \
	%D%/memroom.c %D%/memroom.h \
	%D%/net_gpus.c %D%/net_gpus.h \
	%D%/net_hello.c %D%/net_hello.h \
	%D%/net_io.c %D%/net_io.h \
	%D%/net_judge.c %D%/net_judge.h \
	%D%/net_meet.c %D%/net_meet.h \
	%D%/net_nccl.c %D%/net_nccl.h \
	%D%/net_pair.c %D%/net_pair.h \
	%D%/nv_judge.c %D%/nv_judge.h \
	%D%/nvml.c %D%/nvml.h \
	%D%/pattern.h \
	%D%/physical.c %D%/physical.h \
	%D%/product.c %D%/product.h %D%/product_real.inc \
	%D%/supervise.c %D%/supervise.h \
	%D%/xid.c %D%/xid.h
kernels_check_libcheck_a_CFLAGS = $(AM_CFLAGS) -O3 -fno-tree-loop-distribute-patterns
CHECK_LIBS = kernels/check/libcheck.a $(NCCL_LIBS) $(COMMON_LIBS) $(JANSSON_LIBS)

pkglibexec_PROGRAMS = kernels/check/cpucheck kernels/check/netcheck kernels/check/nvprobe
kernels_check_cpucheck_SOURCES = %D%/cpu_main.c
kernels_check_cpucheck_LDADD = $(CHECK_LIBS)
kernels_check_nvprobe_SOURCES = %D%/nv_main.c
kernels_check_nvprobe_LDADD = $(CHECK_LIBS) -ldl
dist_pkgdata_DATA = %D%/thresholds
kernels_check_netcheck_SOURCES = %D%/net_main.c
kernels_check_netcheck_LDADD = $(CHECK_LIBS) -ldl

# As the CUDA back end (kernels/local.mk).
if HAVE_NVCC
pkglibexec_PROGRAMS += kernels/check/gpucheck
kernels_check_gpucheck_SOURCES = %D%/gpu_main.c %D%/gpu_formats.h %D%/gpu_run.h %D%/gpu_wrong.h
kernels_check_gpucheck_LDADD = kernels/check/gpu_run.o $(CHECK_LIBS) $(CUDA_LIBS)
endif
EXTRA_DIST += %D%/gpu_run.cu %D%/gpu_kernels.h
CLEANFILES += kernels/check/gpu_run.o
kernels/check/gpu_run.o: %D%/gpu_run.cu %D%/gpu_kernels.h %D%/gpu_formats.h %D%/gpu_run.h \
		%D%/gpu_wrong.h %D%/pattern.h
	$(AM_V_GEN)$(MKDIR_P) kernels/check && \
	$(NVCC) $(NVCCFLAGS) $(NVCC_GENCODE) --threads 0 -I$(top_srcdir) -c -o $@ $<
