bin_PROGRAMS += launcher/muster
noinst_LIBRARIES += launcher/liblauncher.a
launcher_liblauncher_a_SOURCES = \
	%D%/apps_opts.c %D%/apps_opts.h \
	%D%/ask.c %D%/ask.h \
	%D%/ask_opts.c %D%/ask_opts.h \
	%D%/blame.c %D%/blame.h \
	%D%/check_opts.c %D%/check_opts.h \
	%D%/check_print.c %D%/check_print.h \
	%D%/cmd.h \
	%D%/cmd_check.c \
	%D%/cmd_hostfile.c \
	%D%/cmd_keygen.c \
	%D%/cmd_replace.c \
	%D%/cmd_drain.c \
	%D%/cmd_roll.c \
	%D%/cmd_status.c \
	%D%/cmd_run.c \
	%D%/cmd_roles.c %D%/cmd_roles.h \
	%D%/configmap.c %D%/configmap.h \
	%D%/events.c %D%/events.h \
	%D%/exchange.c %D%/exchange.h \
	%D%/grid.c %D%/grid.h \
	%D%/group.c %D%/group.h \
	%D%/finding.c %D%/finding.h \
	%D%/foreign_opts.c %D%/foreign_opts.h \
	%D%/inspection.c %D%/inspection.h \
	%D%/input.c %D%/input.h \
	%D%/job.c %D%/job.h %D%/job_internal.h \
	%D%/job_ask.c \
	%D%/job_attempt.c %D%/job_attempt.h \
	%D%/job_claim.c \
	%D%/job_coll.c \
	%D%/job_connect.c \
	%D%/job_discover.c \
	%D%/job_exchange.c \
	%D%/job_input.c \
	%D%/job_inspect.c \
	%D%/job_pairs.c \
	%D%/job_fsm.c %D%/job_fsm.h \
	%D%/job_metrics.c \
	%D%/job_muster.c \
	%D%/job_names.c \
	%D%/job_notify.c \
	%D%/job_output.c \
	%D%/job_plan.c %D%/job_plan.h \
	%D%/job_record.c \
	%D%/job_return.c \
	%D%/job_roles.c \
	%D%/job_roll.c \
	%D%/job_spares.c \
	%D%/job_spawn.c \
	%D%/job_stats.c %D%/job_stats.h \
	%D%/job_status.c \
	%D%/job_stop.c \
	%D%/job_up.c \
	%D%/job_wait.c \
	%D%/lines.c %D%/lines.h \
	%D%/local_agent.c \
	%D%/look.c %D%/look.h \
	%D%/map.c %D%/map.h \
	%D%/oneline.c %D%/oneline.h \
	%D%/opts_layout.c %D%/opts_layout.h \
	%D%/opts.c %D%/opts.h \
	%D%/output.c %D%/output.h \
	%D%/pairing.c %D%/pairing.h \
	%D%/pairs.c %D%/pairs.h \
	%D%/policy.c %D%/policy.h \
	%D%/progress.c %D%/progress.h \
	%D%/replace_hook.c %D%/replace_hook.h \
	%D%/roles.c %D%/roles.h \
	%D%/roles_opts.c %D%/roles_opts.h \
	%D%/roll_print.c %D%/roll_print.h \
	%D%/sink.c %D%/sink.h \
	%D%/source_json.c %D%/source_json.h \
	%D%/spares.c %D%/spares.h \
	%D%/spool.c %D%/spool.h \
	%D%/status_text.c %D%/status_text.h \
	%D%/streams.c %D%/streams.h \
	%D%/verdict.c %D%/verdict.h \
	%D%/via_opts.c %D%/via_opts.h \
	%D%/world_fsm.c %D%/world_fsm.h \
	%D%/writer.c %D%/writer.h
launcher_muster_SOURCES = %D%/main.c
launcher_muster_LDADD = launcher/liblauncher.a $(WIRE_LIBS) $(HOSTFILE_LIBS) \
	$(COMMON_LIBS) $(JANSSON_LIBS)
