bin_PROGRAMS += launcher/muster
launcher_muster_SOURCES = \
	%D%/cmd.h \
	%D%/cmd_keygen.c \
	%D%/cmd_roll.c \
	%D%/cmd_run.c \
	%D%/main.c \
	%D%/roll_print.c %D%/roll_print.h \
	%D%/source_opts.c %D%/source_opts.h
launcher_muster_LDADD = $(WIRE_LIBS) $(HOSTFILE_LIBS) $(COMMON_LIBS) $(JANSSON_LIBS)
