"""One run whose ranks have a defect, with a runner in this process: `limited.py DATA LOCKS BEHAVIOUR`, for a runner with little memory."""

import sys
from pathlib import Path

from tests.bench.failures.conftest import installation
from tests.bench.failures.scene import torchrun

if __name__ == "__main__":
    with installation(Path(sys.argv[1]), locks=Path(sys.argv[2])) as scene:
        scene.runner(torchrun(sys.argv[3])).work()
