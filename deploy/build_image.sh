#!/usr/bin/env bash
# Builds Assay's server into one folder, on a bare Debian or Ubuntu: what the Dockerfile runs, and what can
# be tried without a container engine in a debootstrap root (deploy/try_image).
#
#   deploy/build_image.sh --prefix /opt/assay --source /src/assay [--jobs N] [--cpu-only] [--stage STAGE]
#
#   --cpu-only   PyTorch without CUDA: small, for trying the steps
#   --stage      system, python, build, client or clean alone; without it all of them in this order
#
# PREFIX then holds bin/assay, share/assay, the judge's interpreter in python/ and the client's wheel in
# wheels/. Versions: Python packages are pinned in scripts/requirements.txt, system packages by the base
# image, or by APT_SNAPSHOT=20261101T000000Z, the archive as it was then (Ubuntu 24.04, Debian).
set -euo pipefail

PREFIX=/opt/assay
SOURCE="$(cd "$(dirname "$0")/.." && pwd)"
JOBS="$(nproc)"
CPU_ONLY=0
STAGES=(system python build client clean)
while [ $# -gt 0 ]; do
  case "$1" in
    --prefix) PREFIX="$2"; shift 2 ;;
    --source) SOURCE="$2"; shift 2 ;;
    --jobs) JOBS="$2"; shift 2 ;;
    --cpu-only) CPU_ONLY=1; shift ;;
    --stage) STAGES=("$2"); shift 2 ;;
    -h | --help) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    *) echo "build_image.sh: unknown argument '$1' (see --help)" >&2; exit 2 ;;
  esac
done
PYTHON="$PREFIX/python/bin/python"
export DEBIAN_FRONTEND=noninteractive PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1

say() { printf 'build_image.sh: %s\n' "$*"; }
apt() { apt-get -q ${APT_SNAPSHOT:+--snapshot "$APT_SNAPSHOT"} "$@"; }

stage_system() {
  apt update
  apt install -y --no-install-recommends python3 python3-venv python3-dev ca-certificates sudo
}

# The interpreter that judges. It stands in PREFIX so that everything that is kept is in one place.
stage_python() {
  python3 -m venv "$PREFIX/python"
  if [ "$CPU_ONLY" = 1 ]; then
    "$PYTHON" -m pip install --index-url "${TORCH_CPU_INDEX:-https://download.pytorch.org/whl/cpu}" \
      --extra-index-url "${PIP_INDEX_URL:-https://pypi.org/simple}" -r "$SOURCE/scripts/requirements.txt"
  else
    "$PYTHON" -m pip install -r "$SOURCE/scripts/requirements.txt"
  fi
}

# scripts/setup knows which packages the build needs; with PYTHON it makes no environment of its own.
stage_build() {
  (cd "$SOURCE" && PYTHON="$PYTHON" scripts/setup)
  local build="${TMPDIR:-/tmp}/assay-build"
  cmake -S "$SOURCE" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DASSAY_TESTS=OFF \
    -DCMAKE_INSTALL_PREFIX="$PREFIX" -DASSAY_PYTHON="$PYTHON"
  cmake --build "$build" -j "$JOBS"
  cmake --install "$build" --strip
  rm -rf "$build"
  say "installed: $("$PREFIX/bin/assay" version)"
}

# For those who use the image as a client, and the README that /metadata shows.
stage_client() {
  local copy
  copy="$(mktemp -d)"
  cp -r "$SOURCE/kernel_env/." "$copy"
  "$PYTHON" -m pip wheel --no-deps --wheel-dir "$PREFIX/wheels" "$copy"
  rm -rf "$copy"
  mkdir -p "$PREFIX/share/assay/examples"
  cp "$SOURCE"/examples/*.py "$PREFIX/share/assay/examples/"
  cp "$SOURCE/kernel_env/README.md" "$PREFIX/README.md"
}

# What only the build needed. gcc and g++ stay: C++ and CUDA submissions are compiled with them.
stage_clean() {
  apt purge -y cmake ninja-build ccache libgtest-dev libgmock-dev 'libboost*-dev' libspdlog-dev sudo || true
  apt autoremove -y
  apt-get clean
  rm -rf /var/lib/apt/lists/*
}

for stage in "${STAGES[@]}"; do
  say "stage $stage"
  "stage_$stage"
done
