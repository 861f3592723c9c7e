#!/bin/sh
# The image's command: serves on all of the container's addresses, as docker's port publishing needs. Who may
# reach it is said outside: publish on 127.0.0.1, or mount a key file and name it in ASSAY_API_KEY_FILE.
# Without keys it answers to localhost and to addresses, so that a web page whose name was made to resolve to
# this machine gets nothing; other names stand in KERNEL_ENV_ALLOW_HOSTS (comma-separated).
# Arguments are added to `assay serve`.
set -eu
# Any user and a read-only root will do: the store goes where there is room for it.
store="${ASSAY_STORE:-}"
if [ -z "$store" ]; then
  store=/store/serve.db
  [ -w /store ] || store="${TMPDIR:-/tmp}/serve.db"
fi
keys="${ASSAY_API_KEY_FILE:-${KERNEL_ENV_API_KEY_FILE:-}}"
if [ -n "$keys" ]; then
  set -- --api-key-file "$keys" "$@"
else
  export KERNEL_ENV_ALLOW_HOSTS="${KERNEL_ENV_ALLOW_HOSTS:-localhost}"
  set -- --insecure "$@"
fi
exec assay serve --host 0.0.0.0 --port "${PORT:-8000}" --store "$store" "$@"
