"""The wheel holds the package and nothing else, and works in an environment that has nothing of this repository."""

import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path
from shutil import copy, copytree, ignore_patterns

import pytest

REPOSITORY = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of what it is built from, so that nothing is left in the repository."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        copy(REPOSITORY / name, source)
    for name in ("wagoe_jobs", "containers", "settings", "examples", "tests"):
        copytree(REPOSITORY / name, source / name, ignore=ignore_patterns("__pycache__"))
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(source)]
    done = subprocess.run(build, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = out.glob("*.whl")
    return built


def test_its_only_package_is_ours(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"wagoe_jobs"}
    assert len(tops) == 2
    assert "wagoe_jobs/py.typed" in names
    packaged = {name for name in names if name.endswith((".py", ".lua"))}
    sources = {
        str(path.relative_to(REPOSITORY))
        for kind in ("*.py", "*.lua")
        for path in (REPOSITORY / "wagoe_jobs").rglob(kind)
    }
    assert packaged == sources


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a new environment with the wheel in it.

    Its dependencies are those that are installed here, through a path: nothing is fetched. What pip installs
    comes first on the path, so that it is the wheel that is imported.
    """
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, symlinks=True)
    python = home / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    install = [*pip, "install", "--no-index", "--no-deps", str(wheel)]
    done = subprocess.run(install, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stdout + done.stderr
    return python


def run(python: Path, program: str, folder: Path) -> str:
    done = subprocess.run(
        [python, "-X", "dev", "-W", "error", "-c", program],
        cwd=folder,
        env={"PYTHONPATH": f"{site_of(python)}:{sysconfig.get_path('purelib')}"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def site_of(python: Path) -> Path:
    (site,) = (python.parents[1] / "lib").glob("python*/site-packages")
    return site


def test_it_is_the_wheel_that_is_imported_and_importing_is_quiet(installed: Path, tmp_path: Path) -> None:
    where = run(installed, "import wagoe_jobs; print(wagoe_jobs.__file__)", tmp_path).strip()
    assert Path(where).is_relative_to(site_of(installed))
    assert run(installed, (REPOSITORY / "tests" / "quiet_import.py").read_text(), tmp_path) == "quiet\n"


def test_jobs_run_from_it(installed: Path, tmp_path: Path) -> None:
    program = """
from wagoe_jobs import handler, running
from wagoe_jobs.containers import JobsContainer

@handler("add")
def add(args):
    return args["a"] + args["b"]

job_handlers = [add]
with running(JobsContainer(settings={"modules": [__name__], "jobs": {}})) as system:
    print(system.client().wait(system.client().enqueue(add, {"a": 1, "b": 2}), timeout=10).result)
"""
    assert run(installed, program, tmp_path) == "3\n"
