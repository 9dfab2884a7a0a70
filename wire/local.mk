noinst_LIBRARIES += wire/libwire.a
wire_libwire_a_SOURCES = \
	%D%/agent_files.c %D%/agent_files.h \
	%D%/apps.c %D%/apps.h \
	%D%/branch.c %D%/branch.h \
	%D%/branch_state.c %D%/branch_state.h \
	%D%/chan.c %D%/chan.h \
	%D%/claim.c %D%/claim.h \
	%D%/claim_seats.c %D%/claim_seats.h \
	%D%/coll.c %D%/coll.h \
	%D%/coll_route.c %D%/coll_route.h \
	%D%/frame.c %D%/frame.h \
	%D%/graces.c %D%/graces.h \
	%D%/keyring.c %D%/keyring.h %D%/keyring_generate.c \
	%D%/link.c %D%/link.h %D%/link_core.h %D%/link_internal.h \
	%D%/link_hostkeys.c %D%/link_hostkeys.h \
	%D%/link_redial.c %D%/link_redial.h \
	%D%/link_resume.c %D%/link_resume.h \
	%D%/link_sock.c %D%/link_sock.h \
	%D%/link_ssh.c %D%/link_ssh.h \
	%D%/link_ssh_client.c \
	%D%/link_ssh_cmd.c %D%/link_ssh_cmd.h \
	%D%/link_ssh_exec.c \
	%D%/link_ssh_login.c %D%/link_ssh_login.h \
	%D%/link_ssh_server.c \
	%D%/link_ssh_shell.c %D%/link_ssh_shell.h %D%/link_shell.h \
	%D%/link_state.c %D%/link_state.h \
	%D%/link_stream.c \
	%D%/msg.c %D%/msg.h \
	%D%/namestore.c %D%/namestore.h \
	%D%/placeholders.c %D%/placeholders.h \
	%D%/remote.c %D%/remote.h \
	%D%/replay.c %D%/replay.h \
	%D%/roll_msg.c %D%/roll_msg.h \
	%D%/self.c %D%/self.h \
	%D%/tree.c %D%/tree.h \
	%D%/via.c %D%/via.h
nodist_wire_libwire_a_SOURCES = %D%/muster.pb-c.c %D%/muster.pb-c.h
wire_libwire_a_CPPFLAGS = $(AM_CPPFLAGS) $(SSH_CFLAGS)
WIRE_LIBS = wire/libwire.a $(SSH_LIBS) $(PROTOBUFC_LIBS)

EXTRA_DIST += %D%/muster.proto
BUILT_SOURCES += %D%/muster.pb-c.h
CLEANFILES += %D%/muster.pb-c.c %D%/muster.pb-c.h

%D%/muster.pb-c.c: %D%/muster.proto
	$(AM_V_GEN)$(MKDIR_P) wire && \
	$(PROTOC_C) --proto_path=$(top_srcdir) --c_out=. $(top_srcdir)/wire/muster.proto && \
	sed -i '1i #pragma GCC system_header' wire/muster.pb-c.h && \
	sed -i '1i #pragma GCC diagnostic ignored "-Wcast-qual"' wire/muster.pb-c.c

%D%/muster.pb-c.h: %D%/muster.pb-c.c
	@:
