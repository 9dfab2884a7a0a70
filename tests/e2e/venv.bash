# Packages from PyPI for tests: virtual environments below the build, each made once. Load after helper.bash.

# venv_make NAME [--system-site-packages] PIP-ARG...: the environment $MUSTER_BUILDDIR/NAME/venv; made anew when these
# words are others, by one test at a time. Says why it cannot be made.
venv_make() {
  local dir=$MUSTER_BUILDDIR/$1 stamp="$*" options=()
  shift
  [ "$1" != --system-site-packages ] || { options=("$1") && shift; }
  mkdir -p "$dir"
  ( # no set -e: it does not hold before "||"
    flock -w 300 9 || exit
    [ "$(cat "$dir/made" 2>/dev/null)" != "$stamp" ] || exit 0
    rm -f "$dir/made"
    /usr/bin/python3 -m venv --clear "${options[@]}" "$dir/venv" &&
      timeout 300 "$dir/venv/bin/pip" install -q "$@" &&
      echo "$stamp" >"$dir/made"
  ) 9>"$dir/lock" >"$dir/make.log" 2>&1 || {
    echo "$* could not be fetched ($dir/make.log): $(tail -n 1 "$dir/make.log")"
    return 1
  }
}

# deepspeed_make: one that Debian 12's torch (1.13) is new enough for: newer ones want 2.0.
deepspeed_make() {
  DS_BUILD_OPS=0 venv_make deepspeed --system-site-packages --no-build-isolation deepspeed==0.15.4
}
