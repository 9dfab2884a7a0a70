if HAVE_PMIX
libexec_PROGRAMS += agent/muster-pmixd
agent_muster_pmixd_SOURCES = %D%/pmix_main.c
agent_muster_pmixd_CPPFLAGS = $(AM_CPPFLAGS) $(PMIX_CFLAGS)
agent_muster_pmixd_LDADD = $(WIRE_LIBS) $(COMMON_LIBS) $(PMIX_LIBS)
endif
