noinst_LIBRARIES += agent/libkeeper.a
agent_libkeeper_a_SOURCES = \
	%D%/check_list.c %D%/check_list.h \
	%D%/inspector.c %D%/inspector.h \
	%D%/inspector_fsm.c %D%/inspector_fsm.h \
	%D%/keeper.c %D%/keeper.h \
	%D%/keeper_kin.c %D%/keeper_kin.h \
	%D%/keeper_lookup.c %D%/keeper_lookup.h \
	%D%/keeper_main.c %D%/keeper_main.h \
	%D%/keeper_ranks.c %D%/keeper_ranks.h \
	%D%/keeper_send.c %D%/keeper_send.h \
	%D%/keeper_state.c %D%/keeper_state.h \
	%D%/master_port.c %D%/master_port.h \
	%D%/rank_env.c %D%/rank_env.h \
	%D%/rank_fds.c %D%/rank_fds.h \
	%D%/rank_in.c %D%/rank_in.h \
	%D%/rank_io.c %D%/rank_io.h
KEEPER_LIBS = agent/libkeeper.a
