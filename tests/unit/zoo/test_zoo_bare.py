"""The zoo runs on a bare machine: its networks, methods and training import with torch and numpy alone."""

import subprocess
import sys

SCRIPT = """
import sys

REFUSED = ("polars", "pydantic", "scipy", "sklearn", "numba", "typer", "rich", "altair", "msgspec", "transformers")

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in REFUSED:
            raise ImportError(name + " is not on a bare machine")

sys.meta_path.insert(0, Refuse())
from eyechart.zoo import arrays, loader
from eyechart.zoo.train import loop
from eyechart.zoo.methods import METHODS
from eyechart.zoo.networks import NETWORKS

for registry in (NETWORKS, METHODS):
    for name in registry.names():
        registry.get(name)
print(len(NETWORKS.names()), len(METHODS.names()))
"""


def test_networks_and_methods_import_with_torch_and_numpy_alone() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[0]) > 15
