# NCCL without GPUs: stand-ins for NVIDIA's libraries, as a folder for LD_LIBRARY_PATH, and programs whose
# GPU is emulated. The stand-ins are not told of sanitizers: plain programs load them.
STAND_INS = tests/unit/standin/libnccl.so.2 tests/unit/standin/libcuda.so.1
noinst_DATA += $(STAND_INS)
CLEANFILES += $(STAND_INS)
EXTRA_DIST += %D%/fake_cuda.c %D%/fake_nccl.c %D%/standin_memory.h
STAND_IN_CC = $(AM_V_GEN)$(MKDIR_P) tests/unit/standin && \
	$(CC) $(WARN_CFLAGS) -D_GNU_SOURCE -I$(top_srcdir) -O1 -shared -fPIC
tests/unit/standin/libnccl.so.2: %D%/fake_nccl.c %D%/standin_memory.h
	$(STAND_IN_CC) -o $@ $<
tests/unit/standin/libcuda.so.1: %D%/fake_cuda.c %D%/standin_memory.h
	$(STAND_IN_CC) -o $@ $<

EMULATED_GPU = %D%/emulated.c %D%/emulated.h %D%/emulated_cuda.c
noinst_PROGRAMS += tests/unit/nccl_probe tests/unit/emulated_train tests/unit/emulated_infer
tests_unit_nccl_probe_SOURCES = %D%/nccl_probe.c $(EMULATED_GPU)
tests_unit_nccl_probe_LDADD = $(COMM_LIBS) $(COMPUTE_LIBS) $(COMMON_LIBS)
tests_unit_emulated_train_SOURCES = kernels/train/main.c $(EMULATED_GPU)
tests_unit_emulated_train_LDADD = $(TRAIN_LIBS)
tests_unit_emulated_infer_SOURCES = kernels/infer/main.c $(EMULATED_GPU)
tests_unit_emulated_infer_LDADD = $(INFER_LIBS)
