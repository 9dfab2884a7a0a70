dist_pkglibexec_SCRIPTS = %D%/k8s/configmap-hook %D%/k8s/delete-pod-hook
hooksdir = $(pkglibexecdir)
dist_hooks_DATA = %D%/k8s/api.sh
EXTRA_DIST += %D%/k8s

# make bundle: a tree that runs in any image (contrib/bundle/bundle says how), and its archive.
noinst_LIBRARIES += contrib/bundle/libbundle.a
contrib_bundle_libbundle_a_SOURCES = \
	%D%/bundle/copytree.c %D%/bundle/copytree.h \
	%D%/bundle/interp.c %D%/bundle/interp.h
EXTRA_PROGRAMS += contrib/bundle/muster-install
contrib_bundle_muster_install_SOURCES = %D%/bundle/main.c
contrib_bundle_muster_install_LDADD = contrib/bundle/libbundle.a common/libcommon.a
contrib_bundle_muster_install_LDFLAGS = $(AM_LDFLAGS) -static
dist_noinst_SCRIPTS = %D%/bundle/bundle

BUNDLE = muster-$(PACKAGE_VERSION)-$(CPU)
.PHONY: bundle
bundle: all contrib/bundle/muster-install
	$(top_srcdir)/contrib/bundle/bundle . $(BUNDLE)
	tar -czf $(BUNDLE).tar.gz --sort=name --owner=0 --group=0 --numeric-owner $(BUNDLE)
