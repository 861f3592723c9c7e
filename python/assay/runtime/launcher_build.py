"""Builds Triton's C launchers fast: one per kernel signature, 0.3 s each with Triton's own flags.

Most of that time goes into reading Python's and CUDA's headers and into optimising glue code, so
the zygote compiles the headers once and its children build with them at ``-O1``. Used through
Triton's own hook (``triton.knobs.build.impl``); where there is no such hook, or no GCC, Triton
builds as it always does.
"""

import os
import shutil
import subprocess
import sysconfig

import triton

PREFIX = """#include "cuda.h"
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#define PY_SSIZE_T_CLEAN
#include <Python.h>
"""
FLAGS = ["-O1", "-fPIC", "-Wno-psabi"]
TIMEOUT_S = 60


def install(folder: str) -> None:
    """Compiles the headers into ``folder``, which must stay readable, and tells Triton. Raises
    OSError or subprocess.SubprocessError when the compiler does not do it."""
    compiler = os.environ.get("CC") or shutil.which("gcc")
    knobs = getattr(getattr(triton, "knobs", None), "build", None)
    if compiler is None or not hasattr(knobs, "impl") or knobs.impl is not None:
        return
    from triton.backends.nvidia.driver import include_dirs

    prefix = os.path.join(folder, "launcher_prefix.h")
    with open(prefix, "w", encoding="utf-8") as file:
        file.write(PREFIX)
    command = [compiler, "-x", "c-header", prefix, "-o", prefix + ".gch", *FLAGS, *_includes(include_dirs)]
    subprocess.run(command, check=True, capture_output=True, timeout=TIMEOUT_S)

    def build(name: str, src: str, srcdir: str, library_dirs: list, include_dirs: list, libraries: list) -> str:
        module = os.path.join(srcdir, name + sysconfig.get_config_var("EXT_SUFFIX"))
        command = [compiler, *(["-include", prefix] if os.access(prefix, os.R_OK) else []), src]
        command += [*FLAGS, "-shared", "-o", module]
        command += [f"-l:{lib}" if ".so" in lib or lib.endswith(".a") else f"-l{lib}" for lib in libraries]
        command += [f"-L{path}" for path in library_dirs]
        subprocess.check_call([*command, *_includes([*include_dirs, srcdir])], stdout=subprocess.DEVNULL)
        return module

    knobs.impl = build


def _includes(folders: list) -> list[str]:
    scheme = sysconfig.get_default_scheme()
    # Debian's own scheme names a folder that holds no headers.
    python = sysconfig.get_paths("posix_prefix" if scheme == "posix_local" else scheme)["include"]
    return [f"-I{path}" for path in [*folders, python] if path is not None]
