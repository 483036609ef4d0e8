"""Kernels without and with a patch, as `relayout verify kernel` builds them, kept in a folder."""
import json
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


class BuiltKernel:
    """A folder with an image and its debug file."""

    def __init__(self, folder):
        self.folder = folder
        self.image = folder / "bzImage"
        self.debug = folder / "vmlinux"

    def words(self):
        """Options of `record kernel` that record it."""
        return ["--image", self.image, "--debug", self.debug]


def build_pair(relayout, work, patch, source=None, kconfig=None):
    """The kernel as it is, and with the patch (a path below the repository)."""
    name = pathlib.Path(patch).stem
    configured = f"-{pathlib.Path(kconfig).stem}" if kconfig else ""
    pair = [BuiltKernel(work / f"{side}{configured}") for side in ("kernel", f"kernel-{name}")]
    if all(kernel.debug.exists() for kernel in pair):
        return pair
    boots = work / "boots"
    shutil.rmtree(boots, ignore_errors=True)
    words = ["verify", "kernel", "-q", "--patch", ROOT / patch, "--workload", "pipe", "--cpus", 2, "--iterations", 50]
    words += ["--runs", 2, "--keep", boots]
    words += ["--source", source] if source else []
    words += ["--kconfig", ROOT / kconfig] if kconfig else []
    done = subprocess.run([relayout, *map(str, words)], capture_output=True, text=True)
    # Two boots of each decide nothing, which is exit code 1.
    if done.returncode not in (0, 1):
        sys.exit(f"relayout {' '.join(map(str, words))}: {done.stderr}")
    for kernel, boot in zip(pair, ("before-pipe-2", "after-pipe-2")):
        built = pathlib.Path(json.loads((boots / boot / "meta.json").read_text())["debug_file"]).parent
        kernel.folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(built / "bzImage", kernel.image)
        shutil.copyfile(built / "vmlinux", kernel.debug)
    shutil.rmtree(boots)
    return pair
