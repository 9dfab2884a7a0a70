man_pages_scd = \
	%D%/muster.1.scd \
	%D%/muster-check.1.scd \
	%D%/muster-checks.7.scd \
	%D%/muster-hostfile.1.scd \
	%D%/muster-infer.1.scd \
	%D%/muster-install.8.scd \
	%D%/muster-keygen.1.scd \
	%D%/muster-mpi.7.scd \
	%D%/muster-replace.1.scd \
	%D%/muster-roll.1.scd \
	%D%/muster-run.1.scd \
	%D%/muster-status.1.scd \
	%D%/muster-train.1.scd \
	%D%/muster-sidecar.8.scd \
	%D%/muster-sources.7.scd \
	%D%/musterd.8.scd
EXTRA_DIST += $(man_pages_scd)
if HAVE_SCDOC
man_MANS = \
	%D%/muster.1 \
	%D%/muster-check.1 \
	%D%/muster-checks.7 \
	%D%/muster-hostfile.1 \
	%D%/muster-infer.1 \
	%D%/muster-install.8 \
	%D%/muster-keygen.1 \
	%D%/muster-mpi.7 \
	%D%/muster-replace.1 \
	%D%/muster-roll.1 \
	%D%/muster-run.1 \
	%D%/muster-status.1 \
	%D%/muster-train.1 \
	%D%/muster-sidecar.8 \
	%D%/muster-sources.7 \
	%D%/musterd.8
CLEANFILES += $(man_MANS)

%D%/%: $(top_srcdir)/%D%/%.scd
	$(AM_V_GEN)$(MKDIR_P) man && SOURCE_DATE_EPOCH=0 $(SCDOC) < $< > $@
endif
