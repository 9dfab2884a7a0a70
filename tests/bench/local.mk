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
