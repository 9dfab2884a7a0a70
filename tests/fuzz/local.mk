# Targets of ./dev fuzz, which builds with clang: no part of `make all`.
EXTRA_PROGRAMS += tests/fuzz/claims tests/fuzz/configmap tests/fuzz/dialect tests/fuzz/dns \
	tests/fuzz/environ tests/fuzz/frames tests/fuzz/hostlist tests/fuzz/hosts tests/fuzz/httpreq \
	tests/fuzz/keys tests/fuzz/pmi1 tests/fuzz/podname tests/fuzz/remote tests/fuzz/resolvconf \
	tests/fuzz/rundir tests/fuzz/status
FUZZ_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
FUZZ_WIRE_LIBS = $(WIRE_LIBS) $(HOSTFILE_LIBS) $(COMMON_LIBS)
tests_fuzz_claims_SOURCES = %D%/claims.c %D%/demand.h
tests_fuzz_claims_LDADD = agent/libagent.a $(FUZZ_WIRE_LIBS)
tests_fuzz_claims_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_configmap_SOURCES = %D%/configmap.c %D%/demand.h
tests_fuzz_configmap_LDADD = launcher/liblauncher.a $(FUZZ_WIRE_LIBS) $(JANSSON_LIBS)
tests_fuzz_configmap_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_environ_SOURCES = %D%/environ.c %D%/demand.h
tests_fuzz_environ_LDADD = $(HOSTFILE_LIBS) $(COMMON_LIBS)
tests_fuzz_environ_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_frames_SOURCES = %D%/frames.c %D%/demand.h
tests_fuzz_frames_LDADD = $(FUZZ_WIRE_LIBS)
tests_fuzz_frames_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_keys_SOURCES = %D%/keys.c %D%/demand.h
tests_fuzz_keys_CPPFLAGS = $(AM_CPPFLAGS) $(SSH_CFLAGS)
tests_fuzz_keys_LDADD = $(FUZZ_WIRE_LIBS)
tests_fuzz_keys_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_pmi1_SOURCES = %D%/pmi1.c %D%/demand.h
tests_fuzz_pmi1_LDADD = $(PMI1_LIBS) $(FUZZ_WIRE_LIBS)
tests_fuzz_pmi1_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_remote_SOURCES = %D%/remote.c %D%/demand.h
tests_fuzz_remote_LDADD = $(FUZZ_WIRE_LIBS)
tests_fuzz_remote_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_status_SOURCES = %D%/status.c %D%/demand.h
tests_fuzz_status_LDADD = launcher/liblauncher.a $(FUZZ_WIRE_LIBS) $(JANSSON_LIBS)
tests_fuzz_status_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_dialect_SOURCES = %D%/dialect.c
tests_fuzz_dialect_LDADD = $(HOSTFILE_LIBS) $(COMMON_LIBS)
tests_fuzz_dialect_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_hostlist_SOURCES = %D%/hostlist.c
tests_fuzz_hostlist_LDADD = $(HOSTFILE_LIBS) $(COMMON_LIBS)
tests_fuzz_hostlist_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_dns_SOURCES = %D%/dns.c %D%/demand.h
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
EXTRA_DIST += %D%/targets %D%/run.sh %D%/wire_seeds.sh tests/cases/claims tests/cases/configmaps \
	tests/cases/environs tests/cases/keys tests/cases/pmi1 tests/cases/remote tests/cases/status \
	tests/cases/wire
