"""scripts/setup against a pretended machine: a PATH of stubs records what would have been run."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

TOOLS = "bash basename cat dirname env grep rm sed sha256sum tr xargs".split()
DEBIAN = 'ID=debian\nVERSION_ID="12"\n'
UBUNTU = 'ID=ubuntu\nID_LIKE=debian\nVERSION_ID="24.04"\n'

STUBS = {
    # Everything is installed except what MISSING names.
    "dpkg-query": 'for p in "${@:3}"; do case " $MISSING " in *" $p "*) ;; *) echo "ii  $p";; esac; done',
    "apt-get": 'echo "apt-get $*" >>"$CALLS"; exit "${APT_EXIT:-0}"',
    "id": 'echo "$FAKE_UID"',
}
SUDO = 'echo sudo >>"$CALLS"; exec "$@"'
# Stands for `python3 -m venv` and for the pip in the environment that it makes.
PYTHON3 = '''echo "python3 $*" >>"$CALLS"
if [ "$2" = venv ]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; exit 0; fi
[ "$1" = -c ] && exit 1
exit "${PIP_EXIT:-0}"'''


class Machine:
    """A checkout with only the scripts, on a machine with only TOOLS and stubs."""

    def __init__(self, folder: Path, root: Path):
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.checkout = folder / "checkout"
        shutil.copytree(root / "scripts", self.checkout / "scripts")
        self.os_release = folder / "os-release"
        self.os_release.write_text(DEBIAN)
        self.calls_file = folder / "calls"
        for tool in [*TOOLS, "cp", "echo", "mkdir"]:
            (self.bin / tool).symlink_to(shutil.which(tool))
        for name, body in STUBS.items():
            self.stub(name, body)
        self.stub("python3", PYTHON3)

    def stub(self, name: str, body: str):
        path = self.bin / name
        path.write_text(f"#!{shutil.which('bash')}\n{body}\n")
        path.chmod(0o755)

    def setup(self, *arguments, **environment) -> subprocess.CompletedProcess:
        environment = {"PATH": str(self.bin), "OS_RELEASE": str(self.os_release), "FAKE_UID": "0",
                       "CALLS": str(self.calls_file), "MISSING": "", **environment}
        return subprocess.run([self.checkout / "scripts/setup", *arguments], env=environment,
                              capture_output=True, text=True, timeout=60)

    def calls(self) -> list[str]:
        return self.calls_file.read_text().splitlines() if self.calls_file.exists() else []

    def apt_calls(self) -> list[str]:
        return [call for call in self.calls() if call.startswith("apt-get")]


@pytest.fixture
def machine(tmp_path, root) -> Machine:
    return Machine(tmp_path, root)


def test_no_root_and_no_sudo_says_what_to_run_as_root(machine):
    done = machine.setup(FAKE_UID="1000", MISSING="ccache cmake")
    assert done.returncode == 1
    assert "As root, run: apt-get update && apt-get install -y cmake ccache" in done.stderr
    assert machine.calls() == []


def test_failing_apt_fails_setup(machine):
    done = machine.setup(MISSING="ccache", APT_EXIT="100")
    assert done.returncode == 1
    assert "could not install" in done.stderr
    assert not (machine.checkout / ".venv").exists()


def test_other_distributions_are_refused_with_the_list_of_packages(machine):
    machine.os_release.write_text("ID=fedora\nVERSION_ID=40\n")
    done = machine.setup()
    assert done.returncode == 1
    assert "ASSAY_NO_APT=1" in done.stderr and "libseccomp-dev" in done.stderr
    assert machine.setup(ASSAY_NO_APT="1").returncode == 0
    assert machine.apt_calls() == []


def test_unknown_argument_is_refused(machine):
    done = machine.setup("--fast")
    assert done.returncode == 1 and "--fast" in done.stderr
    assert machine.calls() == []


def test_given_python_without_torch_is_refused_and_left_alone(machine):
    machine.stub("mypython", 'echo "mypython $*" >>"$CALLS"; printf "torch\\ntriton\\nninja\\n"')
    done = machine.setup(PYTHON=str(machine.bin / "mypython"))
    assert done.returncode == 1
    assert "lacks: torch triton." in done.stderr
    assert not any("pip" in call for call in machine.calls())


def test_given_python_that_does_not_exist_is_refused(machine):
    done = machine.setup(PYTHON="/no/such/python3")
    assert done.returncode == 1 and "no such program" in done.stderr


def test_failing_pip_fails_setup_and_is_tried_again(machine):
    failed = machine.setup(PIP_EXIT="1")
    assert failed.returncode == 1 and "PYTHON=/path" in failed.stderr
    # The half-made environment is finished, not trusted.
    assert "pip install" in machine.setup().stdout
    assert "up to date" in machine.setup().stdout


def test_nothing_missing_installs_nothing(machine):
    machine.setup()
    before = machine.calls()
    done = machine.setup()
    assert done.returncode == 0 and machine.calls() == before
    assert machine.apt_calls() == []


def test_changed_requirements_are_installed(machine):
    machine.setup()
    with open(machine.checkout / "scripts/requirements.txt", "a", encoding="utf-8") as file:
        file.write("another==1.0\n")
    assert "pip install" in machine.setup().stdout


@pytest.mark.parametrize("os_release, boost", [(DEBIAN, "libboost1.81-dev"),
                                               (UBUNTU, "libboost1.83-dev")])
def test_boost_is_new_enough(machine, os_release, boost):
    machine.os_release.write_text(os_release)
    machine.setup(MISSING=boost)
    assert machine.apt_calls()[-1].endswith(f" {boost}")


def test_only_the_missing_packages_are_installed_with_sudo_when_not_root(machine):
    machine.stub("sudo", SUDO)
    done = machine.setup("--dev", FAKE_UID="1000", MISSING="ninja-build clang-tidy")
    assert done.returncode == 0, done.stderr
    assert machine.calls()[0] == "sudo"
    assert machine.apt_calls()[0] == "apt-get -q update"
    assert machine.apt_calls()[1].endswith(" ninja-build clang-tidy")


def test_dev_packages_only_when_asked(machine):
    machine.setup(MISSING="clang-format-14 clang-tidy")
    assert machine.apt_calls() == []


def test_dry_run_changes_nothing(machine):
    done = machine.setup("--dry-run", "--dev", MISSING="cmake")
    assert done.returncode == 0 and "apt-get" in done.stdout and "pip install" in done.stdout
    assert machine.calls() == []
    assert not (machine.checkout / ".venv").exists()


def test_pinned_torch_is_tried_from_the_cpu_index_without_a_gpu(machine):
    if os.path.exists("/dev/nvidiactl"):
        pytest.skip("this machine has an NVIDIA GPU; the CPU build is for those without")
    machine.setup()
    index = [call for call in machine.calls() if "whl/cpu" in call]
    assert len(index) == 1 and index[0].endswith("torch==2.11.0")
