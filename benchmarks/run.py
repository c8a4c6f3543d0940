"""All benchmarks, one after the other: `make bench`."""

from __future__ import annotations

import runpy
from pathlib import Path

HERE = Path(__file__).parent

if __name__ == "__main__":
    for script in sorted(HERE.glob("*.py")):
        if script.name != "run.py":
            print(f"== {script.stem}")
            runpy.run_path(str(script), run_name="__main__")
            print()
