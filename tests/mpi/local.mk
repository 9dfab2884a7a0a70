# Small unmodified MPI programs for the end-to-end tests, built by Open MPI's compiler and
# a second time, into tests/mpich, by MPICH's.
mpi_tests = %D%/abort %D%/accept %D%/allreduce %D%/apps %D%/barriers %D%/ckpt %D%/die %D%/hang %D%/hello \
	%D%/mortal %D%/publish %D%/ring %D%/spawn
EXTRA_DIST += %D%/arg.h %D%/sessions.c $(mpi_tests:=.c)
if HAVE_MPICC
noinst_SCRIPTS += $(mpi_tests)
CLEANFILES += $(mpi_tests)

$(mpi_tests): %: %.c %D%/arg.h
	$(AM_V_GEN)$(MKDIR_P) tests/mpi && \
	$(MPICC) $(WARN_CFLAGS) -g -O1 -I$(top_srcdir) -o $@ $<
endif

if HAVE_MPICC_MPICH
mpich_test_files = tests/mpich/abort tests/mpich/allreduce tests/mpich/apps tests/mpich/die \
	tests/mpich/hang tests/mpich/hello tests/mpich/publish tests/mpich/ring
noinst_SCRIPTS += $(mpich_test_files)
CLEANFILES += $(mpich_test_files)

$(mpich_test_files): tests/mpich/%: tests/mpi/%.c tests/mpi/arg.h
	$(AM_V_GEN)$(MKDIR_P) tests/mpich && \
	$(MPICC_MPICH) $(WARN_CFLAGS) -g -O1 -I$(top_srcdir) -o $@ $<
endif
