# What the hooks here share: the way to the API server as this pod's service account.
# Sourced, not run; needs curl. POSIX sh.
# shellcheck shell=sh

account=${MUSTER_SERVICE_ACCOUNT:-/var/run/secrets/kubernetes.io/serviceaccount}

die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# api_open NAMESPACE: sets $namespace (the pod's own where none is given), $api (the URL of
# what is in it) and $dir, which goes when the hook ends.
api_open() {
    [ -n "${KUBERNETES_SERVICE_HOST:-}" ] ||
        die "this is no pod: KUBERNETES_SERVICE_HOST is not set"
    command -v curl >/dev/null || die "curl is missing in this image"
    [ -r "$account/token" ] ||
        die "there is no $account/token: the pod needs automountServiceAccountToken: true"
    namespace=${1:-$(cat "$account/namespace")}
    case $KUBERNETES_SERVICE_HOST in
    *:*) host="[$KUBERNETES_SERVICE_HOST]" ;;
    *) host=$KUBERNETES_SERVICE_HOST ;;
    esac
    # shellcheck disable=SC2034  # for who sources this
    api=https://$host:${KUBERNETES_SERVICE_PORT:-443}/api/v1/namespaces/$namespace
    dir=$(mktemp -d)
    trap 'rm -rf "$dir"' EXIT
    trap 'exit 130' INT TERM
}

# request URL METHOD [CURL-OPTION...]: sets $code; the answer goes to $dir/answer. The token
# never stands on a command line.
request() {
    url=$1
    shift
    # shellcheck disable=SC2034  # for who sources this
    code=$(printf 'header = "Authorization: Bearer %s"\n' "$(cat "$account/token")" |
        curl -q --config - --silent --show-error --noproxy '*' --proto '=https' \
            --cacert "$account/ca.crt" --connect-timeout 5 --max-time 15 \
            --output "$dir/answer" --write-out '%{http_code}' --request "$@" "$url") ||
        die "the API server gave no answer: $url"
}
