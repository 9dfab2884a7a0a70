noinst_PROGRAMS += tests/bench/floor
tests_bench_floor_SOURCES = %D%/floor.c
tests_bench_floor_LDADD = $(COMMON_LIBS)
EXTRA_DIST += %D%/launch.sh
