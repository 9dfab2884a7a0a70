# Targets of ./dev fuzz, which builds with clang: no part of `make all`.
EXTRA_PROGRAMS += tests/fuzz/dialect tests/fuzz/dns tests/fuzz/hostlist tests/fuzz/hosts tests/fuzz/httpreq \
	tests/fuzz/podname tests/fuzz/resolvconf tests/fuzz/rundir
FUZZ_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_dialect_SOURCES = %D%/dialect.c
tests_fuzz_dialect_LDADD = $(HOSTFILE_LIBS) $(COMMON_LIBS)
tests_fuzz_dialect_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_hostlist_SOURCES = %D%/hostlist.c
tests_fuzz_hostlist_LDADD = $(HOSTFILE_LIBS) $(COMMON_LIBS)
tests_fuzz_hostlist_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_dns_SOURCES = %D%/dns.c
tests_fuzz_dns_CPPFLAGS = $(AM_CPPFLAGS) $(CARES_CFLAGS)
tests_fuzz_dns_LDADD = $(HOSTFILE_LIBS) $(COMMON_LIBS)
tests_fuzz_dns_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_hosts_SOURCES = %D%/hosts.c
tests_fuzz_hosts_LDADD = $(HOSTFILE_LIBS) $(COMMON_LIBS)
tests_fuzz_hosts_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_httpreq_SOURCES = %D%/httpreq.c
tests_fuzz_httpreq_LDADD = $(COMMON_LIBS)
tests_fuzz_httpreq_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_resolvconf_SOURCES = %D%/resolvconf.c
tests_fuzz_resolvconf_LDADD = $(HOSTFILE_LIBS) $(COMMON_LIBS)
tests_fuzz_resolvconf_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_podname_SOURCES = %D%/podname.c
tests_fuzz_podname_LDADD = $(HOSTFILE_LIBS) $(COMMON_LIBS)
tests_fuzz_podname_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_rundir_SOURCES = %D%/rundir.c
tests_fuzz_rundir_LDADD = $(HOSTFILE_LIBS) $(COMMON_LIBS)
tests_fuzz_rundir_LDFLAGS = $(FUZZ_LDFLAGS)
EXTRA_DIST += %D%/targets %D%/run.sh
