sbin_PROGRAMS = agent/musterd
noinst_LIBRARIES += agent/libagent.a
agent_libagent_a_SOURCES = \
	%D%/agent.c %D%/agent.h \
	%D%/attempt.c %D%/attempt.h %D%/attempt_internal.h \
	%D%/attempt_fsm.c %D%/attempt_fsm.h \
	%D%/attempt_keeper.c \
	%D%/attempt_pmi1.c \
	%D%/attempt_pmix.c \
	%D%/attempt_proof.c \
	%D%/attempt_roles.c \
	%D%/attempt_roll.c \
	%D%/attempt_world.c \
	%D%/handoff.c %D%/handoff.h \
	%D%/handoff_dir.c %D%/handoff_dir.h \
	%D%/handoff_fsm.c %D%/handoff_fsm.h \
	%D%/inner.c %D%/inner.h \
	%D%/inspect.c %D%/inspect.h \
	%D%/kit.c %D%/kit.h \
	%D%/lead.c %D%/lead.h \
	%D%/modex.c %D%/modex.h \
	%D%/oom.c %D%/oom.h \
	%D%/opts.c %D%/opts.h \
	%D%/port_holder.c %D%/port_holder.h \
	%D%/preflight.c %D%/preflight.h \
	%D%/record.c %D%/record.h \
	%D%/session_fsm.c %D%/session_fsm.h \
	%D%/session.c %D%/session.h %D%/session_internal.h \
	%D%/session_ask.c \
	%D%/session_beside.c \
	%D%/session_children.c \
	%D%/session_claim.c \
	%D%/session_inspect.c \
	%D%/session_place.c \
	%D%/shell.c %D%/shell.h \
	%D%/shm_files.c %D%/shm_files.h \
	%D%/warm.c %D%/warm.h
agent_musterd_SOURCES = %D%/main.c
agent_musterd_LDADD = agent/libagent.a $(PMI1_LIBS) $(KEEPER_LIBS) $(WIRE_LIBS) $(SIDECAR_LIBS) \
	$(HOSTFILE_LIBS) \
	$(COMMON_LIBS)

include agent/keeper.mk
include agent/pmi1.mk
include agent/pmix.mk
