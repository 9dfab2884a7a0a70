dist_pkglibexec_SCRIPTS = %D%/k8s/configmap-hook
EXTRA_DIST += %D%/k8s/README.md %D%/k8s/kustomization.yaml %D%/k8s/rbac.yaml
