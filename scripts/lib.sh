# Shared by the scripts in this folder; source it, after `set -euo pipefail`.
ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
SCRIPT="$(basename "$0")"

say() { printf '%s: %s\n' "$SCRIPT" "$*"; }
warn() { printf '%s: warning: %s\n' "$SCRIPT" "$*" >&2; }
die() {
  printf '%s: %s\n' "$SCRIPT" "$*" >&2
  exit 1
}

# PYTHON becomes an absolute path, as tests run in other folders. Symbolic links stay: the name of a
# virtual environment's interpreter says which environment it is.
if [ -n "${PYTHON:-}" ]; then
  found="$(command -v "$PYTHON")" || die "PYTHON=$PYTHON: no such program"
  PYTHON="$(cd "$(dirname "$found")" && pwd)/$(basename "$found")"
fi

# The interpreter that judges: PYTHON as it is, else the project's own environment.
judge_python() { printf '%s\n' "${PYTHON:-$ROOT/.venv/bin/python}"; }

# The interpreter that runs pytest: the judge's, or, when that is a foreign one that lacks the test
# packages, the overlay that `setup --dev` made over it.
test_python() {
  if [ -n "${PYTHON:-}" ] && ! has_packages "$PYTHON" "$ROOT/scripts/requirements-test.txt"; then
    printf '%s\n' "$ROOT/.deps/test-venv/bin/python"
  else
    judge_python
  fi
}

# The interpreter that assay.rl is built for, with its nanobind: the one that runs pytest, or, when
# `setup --dev` has not made that one, the judge's (then the build says what assay.rl lacks).
build_python() {
  local python
  python="$(test_python)"
  [ -x "$python" ] || python="$(judge_python)"
  printf '%s\n' "$python"
}

# has_packages PYTHON FILE: every package of a requirements file is there, in whatever version.
has_packages() { [ -z "$(missing_packages "$@")" ]; }

# missing_packages PYTHON FILE: those that are not there, one a line. Imports none of them.
missing_packages() {
  "$1" -I - "$2" <<'PY'
import importlib.metadata as metadata
import re
import sys

for line in open(sys.argv[1], encoding="utf-8"):
    name = re.match(r"[A-Za-z0-9_.-]*", line).group()
    try:
        if name:
            metadata.version(name)
    except metadata.PackageNotFoundError:
        print(name)
PY
}
