# Without libpmix: what can be tested everywhere.
noinst_LIBRARIES += agent/libpmixmap.a
agent_libpmixmap_a_SOURCES = %D%/pmix_map.c %D%/pmix_map.h

if HAVE_PMIX
noinst_LIBRARIES += agent/libpmixd.a
agent_libpmixd_a_SOURCES = \
	%D%/pmix_client.c %D%/pmix_client.h \
	%D%/pmix_dmodex.c %D%/pmix_dmodex.h \
	%D%/pmix_coll.c %D%/pmix_coll.h \
	%D%/pmix_info.c %D%/pmix_info.h \
	%D%/pmix_init.c %D%/pmix_init.h \
	%D%/pmix_job.c %D%/pmix_job.h \
	%D%/pmix_log.c %D%/pmix_log.h \
	%D%/pmix_names.c %D%/pmix_names.h \
	%D%/pmix_notify.c %D%/pmix_notify.h \
	%D%/pmix_proc.h \
	%D%/pmix_query.c %D%/pmix_query.h \
	%D%/pmix_shift.c %D%/pmix_shift.h \
	%D%/pmix_spawn.c %D%/pmix_spawn.h \
	%D%/pmix_upcall.c %D%/pmix_upcall.h \
	%D%/pmix_value.c %D%/pmix_value.h \
	%D%/pmix_version.c %D%/pmix_version.h \
	%D%/pmix_wire.c %D%/pmix_wire.h
agent_libpmixd_a_CPPFLAGS = $(AM_CPPFLAGS) $(PMIX_CFLAGS)
PMIXD_LIBS = agent/libpmixd.a agent/libpmixmap.a $(WIRE_LIBS) $(COMMON_LIBS) $(PMIX_LIBS)

libexec_PROGRAMS += agent/muster-pmixd
agent_muster_pmixd_SOURCES = %D%/pmix_main.c
agent_muster_pmixd_CPPFLAGS = $(AM_CPPFLAGS) $(PMIX_CFLAGS)
agent_muster_pmixd_LDADD = $(PMIXD_LIBS)
endif
