"""`./dev`: set-up happens once, system packages are root's affair, and what is missing is told.

The script runs in an empty folder with a PATH of stand-ins that write down how they were called, so that
nothing is installed here.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = ["run", "test", "faults", "bench", "chaos", "interop", "lint", "lock", "clean"]
PACKAGES = {
    "redis-server": "redis-server",
    "mariadb-install-db": "mariadb-server-core mariadb-client-core",
}
"""What shows that a server can be started, and what brings it."""
TOOLS = ["bash", "dirname", "mkdir", "cat", "rm", "cp", "sha256sum", "env", "chmod", "flock", "grep", "find", "sed"]

# A python that answers the script's questions as this house says, and makes environments that hold itself.
PYTHON = """#!/usr/bin/env bash
echo "python $*" >>"$CALLS"
case "$*" in
  *version_info*'<'*) exit "$TOO_OLD" ;;
  *ensurepip*) [[ -e $HOUSE/ensurepip ]] ;;
  *version_info*) echo 3.11 ;;
  "-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
  "-m pip --version") [[ $0 == *venv* ]] ;;
esac
"""
APT = """#!/usr/bin/env bash
echo "apt-get $*" >>"$CALLS"
[[ $* != *install* || ! -e $DEV_POLICY ]] || echo "policy $("$DEV_POLICY"; echo $?)" >>"$CALLS"
[[ -z $NO_PACKAGES ]] || exit 100
[[ $* == *install*venv* ]] && : >"$HOUSE/ensurepip"
true
"""


class House:
    """A copy of the script, alone with its stand-ins."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.bin = root / "bin"
        self.repo = root / "repo"
        self.bin.mkdir()
        (self.repo / ".ci").mkdir(parents=True)
        shutil.copy(ROOT / "dev", self.repo)
        for name in (".ci/requirements.lock", ".ci/transit-python.lock", "pyproject.toml"):
            shutil.copy(ROOT / name, self.repo / name)
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool) or f"/usr/bin/{tool}")
        self.calls_file = root / "calls"
        self.calls_file.touch()
        self.stand_in("python3", PYTHON)
        self.stand_in("apt-get", APT)
        for binary in (*PACKAGES, "initdb"):
            self.stand_in(binary, "#!/usr/bin/env bash\n")
        self.policy = root / "policy-rc.d"
        (root / "ensurepip").touch()

    def stand_in(self, name: str, text: str) -> None:
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def run(
        self, *arguments: str, user: int = 1000, too_old: bool = False, no_packages: bool = False
    ) -> subprocess.CompletedProcess[str]:
        self.stand_in("id", f"#!/usr/bin/env bash\necho {user}\n")
        environment = {
            "PATH": str(self.bin),
            "HOME": str(self.root),
            "HOUSE": str(self.root),
            "CALLS": str(self.calls_file),
            "TOO_OLD": "1" if too_old else "0",
            "NO_PACKAGES": "1" if no_packages else "",
            "DEV_POLICY": str(self.policy),
        }
        command = [self.bin / "bash", self.repo / "dev", *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30, check=False)

    def calls(self, word: str) -> list[str]:
        return [line for line in self.calls_file.read_text().splitlines() if word in line]


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_without_any_set_up(house: House, command: str):
    done = house.run(command, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith(f"./dev {command}")
    assert house.calls("") == []


def test_the_script_alone_lists_its_commands(house: House):
    listed = house.run().stdout
    assert [name for name in COMMANDS if f"\n  {name} " not in listed] == []


def test_an_unknown_command_fails(house: House):
    done = house.run("tset")
    assert done.returncode == 1
    assert "there is no command 'tset'" in done.stderr


def test_the_first_call_sets_up_and_the_second_starts_at_once(house: House):
    assert house.run("test", "tests/core").returncode == 0
    first = len(house.calls("pip"))
    assert house.calls("pip --quiet --disable-pip-version-check install -r .ci/requirements.lock")
    assert house.run("test", "tests/core").returncode == 0
    assert len(house.calls("pip")) == first
    assert len(house.calls("-m pytest tests/core")) == 2


def test_another_lock_sets_up_anew(house: House):
    house.run("test", "tests/core")
    before = len(house.calls("install -r"))
    with (house.repo / ".ci/requirements.lock").open("a") as lock:
        lock.write("one-more==1.0\n")
    house.run("test", "tests/core")
    assert len(house.calls("install -r")) == before + 1


def test_a_user_without_ensurepip_is_told_what_to_install(house: House):
    (house.root / "ensurepip").unlink()
    done = house.run("test", "tests/core")
    assert done.returncode == 1
    assert "missing: python3.11-venv. Install with: sudo apt-get install python3.11-venv" in done.stderr
    assert house.calls("apt-get") == []
    assert not (house.repo / ".venv").exists()


def test_root_without_ensurepip_installs_it(house: House):
    (house.root / "ensurepip").unlink()
    assert house.run("test", "tests/core", user=0).returncode == 0
    assert any("install" in call and "python3.11-venv" in call for call in house.calls("apt-get"))


def test_a_user_without_python_is_told(house: House):
    done = house.run("test", "tests/core", too_old=True)
    assert done.returncode == 1
    assert "missing: python3 python3-venv" in done.stderr


def test_root_whose_system_has_no_newer_python_is_told_so(house: House):
    done = house.run("test", "tests/core", user=0, too_old=True)
    assert done.returncode == 1
    assert "needs Python >= 3.11" in done.stderr


@pytest.mark.parametrize(("binary", "package"), PACKAGES.items())
def test_a_user_without_a_server_is_told_what_to_install(house: House, binary: str, package: str):
    (house.bin / binary).unlink()
    done = house.run("test", "tests/core")
    assert done.returncode == 1
    assert f"Install with: sudo apt-get install {package}" in done.stderr
    assert house.calls("apt-get") == []


@pytest.mark.parametrize(("binary", "package"), PACKAGES.items())
def test_root_without_a_server_installs_it(house: House, binary: str, package: str):
    (house.bin / binary).unlink()
    assert house.run("test", "tests/core", user=0).returncode == 0
    assert house.calls(f"install -y --no-install-recommends {package}")


def test_a_server_that_is_installed_starts_no_service(house: House):
    (house.bin / "redis-server").unlink()
    house.stand_in("systemctl", '#!/usr/bin/env bash\necho "systemctl $*" >>"$CALLS"\n')
    house.run("test", "tests/core", user=0)
    assert house.calls("policy") == ["policy 101"]
    assert house.calls("systemctl") == ["systemctl --quiet disable redis-server"]
    assert not house.policy.exists()


def test_a_failed_installation_ends_the_script_and_leaves_no_policy(house: House):
    (house.bin / "redis-server").unlink()
    assert house.run("test", "tests/core", user=0, no_packages=True).returncode != 0
    assert house.calls("-m pytest") == []
    assert not house.policy.exists()


def test_a_policy_of_the_machine_is_left_alone(house: House):
    (house.bin / "redis-server").unlink()
    house.policy.write_text("#!/bin/sh\nexit 104\n")
    house.policy.chmod(0o755)
    house.run("test", "tests/core", user=0)
    assert house.calls("policy") == ["policy 104"]
    assert house.policy.exists()


def test_cleaning_removes_what_was_made(house: House):
    house.run("test", "tests/core")
    (house.repo / "build").mkdir()
    house.run("clean")
    left = sorted(path.name for path in house.repo.iterdir())
    assert left == [".ci", "dev", "pyproject.toml"]


def test_ci_calls_the_command_that_the_readme_names():
    assert "exec ./dev test\n" in (ROOT / ".ci" / "run").read_text()
    assert "./dev test" in (ROOT / "README.md").read_text()
    assert os.access(ROOT / "dev", os.X_OK)


def test_the_locks_name_versions_and_nothing_else():
    for lock in (ROOT / ".ci").glob("*.lock"):
        lines = [line for line in lock.read_text().splitlines() if not line.startswith("#")]
        assert lines
        assert [line for line in lines if "==" not in line or "://" in line or "--" in line or "hash" in line] == []
