noinst_PROGRAMS += tests/bench/floor
tests_bench_floor_SOURCES = %D%/floor.c
tests_bench_floor_LDADD = $(COMMON_LIBS)
EXTRA_DIST += %D%/detect.sh %D%/hostfile.sh %D%/launch.sh %D%/pods.bash %D%/recover.py %D%/recover.sh

EXTRA_DIST += %D%/hello.c
if HAVE_MPICC
noinst_SCRIPTS += tests/bench/hello
CLEANFILES += tests/bench/hello

tests/bench/hello: %D%/hello.c
	$(AM_V_GEN)$(MKDIR_P) tests/bench && $(MPICC) $(WARN_CFLAGS) -g -O1 -o $@ $<
endif

noinst_PROGRAMS += tests/bench/gemm
tests_bench_gemm_SOURCES = %D%/gemm.c %D%/peer.c %D%/peer.h
tests_bench_gemm_LDADD = $(COMPUTE_LIBS) $(COMMON_LIBS) -ldl
noinst_PROGRAMS += tests/bench/decode
tests_bench_decode_SOURCES = %D%/decode.c %D%/peer.c %D%/peer.h
tests_bench_decode_LDADD = $(COMPUTE_LIBS) $(COMMON_LIBS) -ldl -lm
EXTRA_DIST += %D%/serve.sh %D%/train.sh

# What a GPU session measures (kernels/gpu-session.sh).
EXTRA_DIST += %D%/gpu_session.cu
if HAVE_NVCC
noinst_PROGRAMS += tests/bench/gpu_session
tests_bench_gpu_session_SOURCES =
tests_bench_gpu_session_LDADD = tests/bench/gpu_session.o $(COMM_LIBS) $(COMPUTE_LIBS) $(COMMON_LIBS)
CLEANFILES += tests/bench/gpu_session.o
tests/bench/gpu_session.o: %D%/gpu_session.cu kernels/compute/cuda/cuda.o kernels/check/gpu_run.o
	$(AM_V_GEN)$(MKDIR_P) tests/bench && \
	$(NVCC) $(NVCCFLAGS) $(NVCC_GENCODE) --threads 0 -I$(top_srcdir) -c -o $@ $<
endif
