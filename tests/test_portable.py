"""What Windows and macOS lack is needed by no import, nor by writing files and mapping arrays."""

import subprocess
import sys

SCRIPT = """
import os, pkgutil, signal, sys
from pathlib import Path
import filelock, matplotlib.pyplot, pandas, pyarrow.parquet, scipy, sklearn.linear_model, torch, torch.distributed
import starlette.applications, starlette.staticfiles, uvicorn  # as they are on this system

for name in [name for name in sys.modules if name.partition(".")[0] == "safegain"]:
    raise SystemExit(f"{name} was imported too early")
for name in ("fcntl", "termios", "resource", "pwd", "grp"):
    sys.modules[name] = None
for name in ("O_NOFOLLOW", "O_DIRECTORY", "posix_fallocate", "killpg", "pread", "fork"):
    delattr(os, name)
del signal.SIGKILL

import safegain
names = [module.name for module in pkgutil.walk_packages(safegain.__path__, "safegain.")]
for name in names:
    if not name.endswith("__main__"):
        __import__(name)
from safegain.data.files import written
from safegain.data.storage import Storage

folder = Path(sys.argv[1])
with written(folder / "a") as beside:
    beside.write_text("whole")
mapped = Storage(folder).zeros_like(torch.ones(300_000))
print(len(names), (folder / "a").read_text(), float(mapped.sum()), sorted(path.name for path in folder.iterdir()))
"""


def test_every_module_is_imported_without_what_only_linux_has(tmp_path):
    ended = subprocess.run([sys.executable, "-c", SCRIPT, str(tmp_path)], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    count, *rest = ended.stdout.split(maxsplit=1)
    assert int(count) > 100
    assert rest == ["whole 0.0 ['a']\n"]
