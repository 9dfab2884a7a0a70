noinst_PROGRAMS += tests/hosts/torn
tests_hosts_torn_SOURCES = %D%/torn.c %D%/torn.h %D%/torn_check.c
tests_hosts_torn_LDADD = $(HOSTFILE_LIBS) $(COMMON_LIBS)
