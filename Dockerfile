# Kernel Env's server: `assay serve` with its judge.
#
#   docker build -t kernel-env:latest .
#   docker run --rm --gpus all -p 127.0.0.1:8000:8000 -e KERNEL_ENV_GPUS=0 kernel-env:latest
#
# The steps are in deploy/build_image.sh. nvcc is in the base image because CUDA submissions are compiled.
# For a reproducible image give BASE with its digest (name@sha256:...) and APT_SNAPSHOT.
ARG BASE=nvidia/cuda:13.0.1-devel-ubuntu24.04
FROM ${BASE}

ARG APT_SNAPSHOT=""
ARG JOBS=4
# OpenEnv's `openenv build` passes these; they change nothing here.
ARG BUILD_MODE=standalone
ARG ENV_NAME=kernel_env

COPY . /src/assay
RUN APT_SNAPSHOT="${APT_SNAPSHOT}" /src/assay/deploy/build_image.sh \
      --prefix /opt/assay --source /src/assay --jobs "${JOBS}" \
 && install -m 755 /src/assay/deploy/entrypoint.sh /opt/assay/bin/entrypoint \
 && mkdir -p /app /store && cp /opt/assay/README.md /app/README.md && chmod 1777 /store \
 && rm -rf /src

ENV PATH=/opt/assay/bin:/opt/assay/python/bin:/usr/local/cuda/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    ASSAY_PYTHON=/opt/assay/python/bin/python \
    ENV_README_PATH=/app/README.md \
    ENABLE_WEB_INTERFACE=true \
    HOME=/tmp
USER 65532:65532
VOLUME /store
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["/opt/assay/python/bin/python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/health', timeout=2)"]
ENTRYPOINT ["/opt/assay/bin/entrypoint"]
