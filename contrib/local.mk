dist_pkglibexec_SCRIPTS = %D%/k8s/configmap-hook %D%/k8s/delete-pod-hook
hooksdir = $(pkglibexecdir)
dist_hooks_DATA = %D%/k8s/api.sh
EXTRA_DIST += %D%/k8s/README.md %D%/k8s/kustomization.yaml %D%/k8s/rbac.yaml \
	%D%/k8s/rbac-pods.yaml
