include tests/unit/agent_fsm.mk
include tests/unit/agent_keeper.mk
include tests/unit/agent_pmi1.mk
check_PROGRAMS += tests/unit/test_pmix_map
TESTS += tests/unit/test_pmix_map
tests_unit_test_pmix_map_SOURCES = %D%/test_pmix_map.c
tests_unit_test_pmix_map_LDADD = \
	agent/libpmixmap.a $(WIRE_LIBS) $(COMMON_LIBS) $(UNIT_LIBS)

check_PROGRAMS += tests/unit/test_coll
TESTS += tests/unit/test_coll
tests_unit_test_coll_SOURCES = %D%/test_coll.c
tests_unit_test_coll_LDADD = $(WIRE_LIBS) $(COMMON_LIBS) $(UNIT_LIBS)

if HAVE_PMIX
check_PROGRAMS += tests/unit/test_pmix_calls
TESTS += tests/unit/test_pmix_calls
tests_unit_test_pmix_calls_SOURCES = %D%/test_pmix_calls.c
tests_unit_test_pmix_calls_CPPFLAGS = $(AM_CPPFLAGS) $(PMIX_CFLAGS)
tests_unit_test_pmix_calls_LDADD = $(PMIXD_LIBS) $(UNIT_LIBS)

check_PROGRAMS += tests/unit/test_pmix_version
TESTS += tests/unit/test_pmix_version
tests_unit_test_pmix_version_SOURCES = %D%/test_pmix_version.c
tests_unit_test_pmix_version_CPPFLAGS = $(AM_CPPFLAGS) $(PMIX_CFLAGS)
tests_unit_test_pmix_version_LDADD = $(PMIXD_LIBS) $(UNIT_LIBS)

check_PROGRAMS += tests/unit/test_pmix_server tests/unit/pmix_probe tests/unit/pmix_tool
TESTS += tests/unit/test_pmix_server
tests_unit_test_pmix_server_SOURCES = \
	%D%/pmix_bed.c %D%/pmix_bed.h \
	%D%/test_pmix_server.c
tests_unit_test_pmix_server_LDADD = $(WIRE_LIBS) $(COMMON_LIBS) $(UNIT_LIBS)
EXTRA_tests_unit_test_pmix_server_DEPENDENCIES = agent/muster-pmixd
tests_unit_pmix_probe_SOURCES = %D%/pmix_probe.c
tests_unit_pmix_probe_CPPFLAGS = $(AM_CPPFLAGS) $(PMIX_CFLAGS)
# Without sanitizers: libpmix leaks in its clients.
tests_unit_pmix_probe_CFLAGS = $(WARN_CFLAGS)
tests_unit_pmix_probe_LDADD = $(PMIX_LIBS)
tests_unit_pmix_tool_SOURCES = %D%/pmix_tool.c
tests_unit_pmix_tool_CPPFLAGS = $(AM_CPPFLAGS) $(PMIX_CFLAGS)
tests_unit_pmix_tool_CFLAGS = $(WARN_CFLAGS)
tests_unit_pmix_tool_LDADD = $(PMIX_LIBS)
if HAVE_MPICC
EXTRA_tests_unit_test_pmix_server_DEPENDENCIES += tests/unit/mpi_probe
endif
endif

EXTRA_DIST += %D%/mpi_probe.c
CLEANFILES += %D%/mpi_probe
tests/unit/mpi_probe: %D%/mpi_probe.c
	$(AM_V_GEN)$(MKDIR_P) tests/unit && \
	$(MPICC) -std=gnu11 -O1 -Wall -Wextra -o $@ $(top_srcdir)/tests/unit/mpi_probe.c
