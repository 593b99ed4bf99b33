"""A Python with the packages of a requirements file, pinned by their hashes; one for all clones on a machine, as ccache is.

It lies in the cache folder of the user, by what the file says and by the Python that runs it.
"""
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile


def folder_of(requirements):
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "skald"
    content = hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()[:16]
    return cache / f"{requirements.stem}-{content}"


def install(requirements, folder):
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                    "--no-deps", "--require-hashes", "-r", requirements], check=True)


def python_with(requirements):
    """Made where nobody looks and then moved, so that what is found is whole."""
    folder = folder_of(requirements)
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        making = pathlib.Path(tempfile.mkdtemp(dir=folder.parent))
        try:
            install(requirements, making / "made")
            (making / "made").rename(folder)
        except OSError:
            if not folder.exists():  # another clone's may be there by now
                raise
        finally:
            shutil.rmtree(making)
    return folder / "bin" / "python"


def run_again_with(requirements):
    """This program under that Python, in place of this one; returns where it is already."""
    if pathlib.Path(sys.prefix).resolve() != folder_of(requirements).resolve():
        python = python_with(requirements)
        os.execv(python, [python, *sys.argv])
