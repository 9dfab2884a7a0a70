# Small unmodified MPI programs for the end-to-end tests, built by Open MPI's compiler.
mpi_tests = %D%/abort %D%/accept %D%/allreduce %D%/die %D%/hang %D%/hello \
	%D%/publish %D%/ring %D%/spawn
EXTRA_DIST += %D%/arg.h $(mpi_tests:=.c)
noinst_SCRIPTS =
if HAVE_MPICC
noinst_SCRIPTS += $(mpi_tests)
CLEANFILES += $(mpi_tests)

$(mpi_tests): %: %.c %D%/arg.h
	$(AM_V_GEN)$(MKDIR_P) tests/mpi && \
	$(MPICC) $(WARN_CFLAGS) -g -O1 -I$(top_srcdir) -o $@ $<
endif
