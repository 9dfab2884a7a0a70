# Small unmodified MPI programs for the end-to-end tests, built by Open MPI's compiler.
EXTRA_DIST += %D%/arg.h %D%/abort.c %D%/allreduce.c %D%/die.c %D%/hang.c %D%/hello.c %D%/publish.c \
	%D%/ring.c
noinst_SCRIPTS =
if HAVE_MPICC
mpi_test_files = %D%/abort %D%/allreduce %D%/die %D%/hang %D%/hello %D%/publish %D%/ring
noinst_SCRIPTS += $(mpi_test_files)
CLEANFILES += $(mpi_test_files)

$(mpi_test_files): %: %.c %D%/arg.h
	$(AM_V_GEN)$(MKDIR_P) tests/mpi && \
	$(MPICC) $(WARN_CFLAGS) -g -O1 -I$(top_srcdir) -o $@ $<
endif
