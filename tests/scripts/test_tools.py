"""The other scripts' failure paths, and the facts that are said in two places."""

import os
import re
import shutil
import subprocess

import pytest

import assay


def test_format_check_finds_an_unformatted_file(root, tmp_path):
    shutil.copytree(root / "scripts", tmp_path / "scripts")
    shutil.copy(root / ".clang-format", tmp_path)
    for folder in ("src", "tests", "examples", "bench"):
        (tmp_path / folder).mkdir()
    source = tmp_path / "src/a.cc"
    source.write_text("int  main( ){return 0 ;}\n")

    check = [tmp_path / "scripts/format", "--check"]
    found = subprocess.run(check, capture_output=True, text=True)
    assert found.returncode == 1 and "a.cc" in found.stderr
    subprocess.run([tmp_path / "scripts/format"], check=True)
    assert source.read_text() == "int main() { return 0; }\n"
    subprocess.run(check, check=True)


def test_gpu_tests_refuse_loudly_without_a_gpu(root):
    if os.path.exists("/dev/nvidiactl"):
        pytest.skip("this machine has an NVIDIA GPU")
    done = subprocess.run([root / "tests/gpu/run"], capture_output=True, text=True)
    assert done.returncode == 77
    assert "SKIPPED" in done.stderr and "Nothing was tested" in done.stderr


def test_version_is_the_builds(root):
    cmake = (root / "CMakeLists.txt").read_text()
    assert re.search(r"project\(assay VERSION ([\d.]+)", cmake)[1] == assay.__version__
