# Reference ranks: what they compute, exchange, and are. Arrows: train, infer -> model, comm,
# compute -> common; comm, check -> nccl -> common.
noinst_LIBRARIES += kernels/compute/libcompute.a kernels/compute/libcompute_plain.a \
	kernels/comm/libcomm.a kernels/model/libmodel.a kernels/nccl/libncclopen.a

# The kernels are compiled twice (compute/order.h). Nothing is contracted to FMA by itself, and no
# error of a square root is told: both would cost either bits or speed. Vectors never cross a
# call between files, so that their ABI (-Wno-psabi) is nobody's concern.
COMPUTE_CFLAGS = $(AM_CFLAGS) -ffp-contract=off -fno-math-errno -fno-trapping-math \
	-ftree-vectorize -fvect-cost-model=dynamic -Wno-psabi
kernels_compute_libcompute_plain_a_SOURCES = %D%/compute/table.c %D%/compute/table.h \
	%D%/compute/attention.h %D%/compute/exp.inc %D%/compute/few.h %D%/compute/matmul.h %D%/compute/order.h \
	%D%/compute/pointwise.h %D%/compute/scalar.h %D%/compute/step.h
kernels_compute_libcompute_plain_a_CFLAGS = $(COMPUTE_CFLAGS)
kernels_compute_libcompute_a_SOURCES = %D%/compute/choose.c %D%/compute/cpu.c \
	%D%/compute/compute.h
kernels_compute_libcompute_a_CFLAGS = $(AM_CFLAGS)
COMPUTE_LIBS = kernels/compute/libcompute.a
if HAVE_FMA_BUILD
noinst_LIBRARIES += kernels/compute/libcompute_fma.a
kernels_compute_libcompute_fma_a_SOURCES = %D%/compute/table.c
kernels_compute_libcompute_fma_a_CFLAGS = $(COMPUTE_CFLAGS) -mavx2 -mfma
kernels_compute_libcompute_a_CFLAGS += -DHAVE_FMA_BUILD
COMPUTE_LIBS += kernels/compute/libcompute_fma.a
endif
COMPUTE_LIBS += kernels/compute/libcompute_plain.a -lm

# CUDA, where configure finds nvcc: all architectures that it knows from sm_75 on, and the
# last one's PTX for those to come. nvcc has a rule of its own; all else is C. Who does not call
# compute_cuda() links none of it.
NVCCFLAGS = -std=c++20 -O2
cuda_sources = %D%/compute/cuda/attention.h %D%/compute/cuda/backend.h \
	%D%/compute/cuda/elements.h %D%/compute/cuda/launches.h %D%/compute/cuda/product.h \
	%D%/compute/cuda/rows.h %D%/compute/cuda/words.h
EXTRA_DIST += %D%/compute/cuda/cuda.cu $(cuda_sources)
if HAVE_NVCC
kernels_compute_libcompute_a_SOURCES += %D%/compute/gpu.c
kernels_compute_libcompute_a_LIBADD = kernels/compute/cuda/cuda.o
COMPUTE_LIBS += $(CUDA_LIBS)
EXTRA_DIST += %D%/compute/no_gpu.c
else
kernels_compute_libcompute_a_SOURCES += %D%/compute/no_gpu.c
EXTRA_DIST += %D%/compute/gpu.c
endif
EXTRA_DIST += %D%/gpu-regs %D%/gpu-session.sh
# Sums have the order that compute.h states: nothing is contracted by itself.
CLEANFILES += kernels/compute/cuda/cuda.o
kernels/compute/cuda/cuda.o: %D%/compute/cuda/cuda.cu $(cuda_sources) %D%/compute/compute.h \
		%D%/compute/exp.inc %D%/compute/scalar.h
	$(AM_V_GEN)$(MKDIR_P) kernels/compute/cuda && \
	$(NVCC) $(NVCCFLAGS) -fmad=false $(NVCC_GENCODE) --threads 0 -I$(top_srcdir) -c -o $@ $<

# NVIDIA's library, opened at run time: nothing of it is needed to build.
kernels_nccl_libncclopen_a_SOURCES = %D%/nccl/nccl.c %D%/nccl/nccl.h
NCCL_LIBS = kernels/nccl/libncclopen.a

# comm/mpi.c is the only one that knows MPI.
kernels_comm_libcomm_a_SOURCES = %D%/comm/agree.c %D%/comm/agree.h %D%/comm/backend.h %D%/comm/comm.c %D%/comm/comm.h \
	%D%/comm/gpu_way.c %D%/comm/gpu_way.h %D%/comm/mpi.h %D%/comm/nccl.c %D%/comm/nccl.h \
	%D%/comm/nccl_watch.c %D%/comm/nccl_watch.h %D%/comm/self.c
kernels_comm_libcomm_a_CFLAGS = $(AM_CFLAGS)
if HAVE_MPICC
kernels_comm_libcomm_a_SOURCES += %D%/comm/mpi.c
kernels_comm_libcomm_a_CFLAGS += $(MPI_CFLAGS)
EXTRA_DIST += %D%/comm/no_mpi.c
else
kernels_comm_libcomm_a_SOURCES += %D%/comm/no_mpi.c
EXTRA_DIST += %D%/comm/mpi.c
endif
COMM_LIBS = kernels/comm/libcomm.a $(NCCL_LIBS) $(MPI_LIBS) -lpthread -ldl

kernels_model_libmodel_a_SOURCES = %D%/model/config.c %D%/model/config.h \
	%D%/model/joins.c %D%/model/joins.h \
	%D%/model/llama2c.c %D%/model/llama2c.h \
	%D%/model/mapped.c %D%/model/mapped.h %D%/model/mix.h \
	%D%/model/rope.c %D%/model/rope.h \
	%D%/model/tokenizer.c %D%/model/tokenizer.h
kernels_model_libmodel_a_CFLAGS = $(AM_CFLAGS) -ffp-contract=off
MODEL_LIBS = kernels/model/libmodel.a

bin_PROGRAMS += kernels/train/muster-train
noinst_LIBRARIES += kernels/train/libtrain.a
kernels_train_libtrain_a_SOURCES = \
	%D%/train/checkpoint.c %D%/train/checkpoint.h \
	%D%/train/ckptdir.c %D%/train/ckptdir.h \
	%D%/train/export.c %D%/train/export.h \
	%D%/train/losslog.c %D%/train/losslog.h \
	%D%/train/net.c %D%/train/net.h \
	%D%/train/opts.c %D%/train/opts.h \
	%D%/train/params.c %D%/train/params.h \
	%D%/train/plot.c %D%/train/plot.h \
	%D%/train/recipe.c %D%/train/recipe.h \
	%D%/train/run.c %D%/train/run.h \
	%D%/train/shard.c %D%/train/shard.h \
	%D%/train/text.c %D%/train/text.h \
	%D%/train/units.c %D%/train/units.h \
	%D%/train/wholefile.c %D%/train/wholefile.h
kernels_train_libtrain_a_CFLAGS = $(AM_CFLAGS) -ffp-contract=off
TRAIN_LIBS = kernels/train/libtrain.a $(MODEL_LIBS) $(COMM_LIBS) $(COMPUTE_LIBS) $(COMMON_LIBS)
kernels_train_muster_train_SOURCES = %D%/train/main.c
kernels_train_muster_train_LDADD = $(TRAIN_LIBS)

include kernels/check/local.mk
include kernels/infer/local.mk
