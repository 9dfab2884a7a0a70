sbin_PROGRAMS = agent/musterd
agent_musterd_SOURCES = %D%/main.c
agent_musterd_LDADD = $(WIRE_LIBS) $(HOSTFILE_LIBS) $(COMMON_LIBS)

include agent/pmix.mk
include agent/keeper.mk
