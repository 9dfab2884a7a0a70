noinst_PROGRAMS += tests/e2e/claimant
tests_e2e_claimant_SOURCES = %D%/claimant.c
tests_e2e_claimant_LDADD = $(WIRE_LIBS) $(HOSTFILE_LIBS) $(COMMON_LIBS)
