dist_pkglibexec_SCRIPTS = %D%/k8s/configmap-hook %D%/k8s/delete-pod-hook
dist_pkglibexec_DATA = %D%/k8s/api.sh
EXTRA_DIST += %D%/k8s/rbac-pods.yaml %D%/k8s/README.md %D%/k8s/kustomization.yaml %D%/k8s/rbac.yaml
