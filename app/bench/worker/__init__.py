"""What runs on the node: the ranks of a benchmark, the only code here that imports torch.

`__main__` starts, `sweep` walks operations and sizes, `timing` says how one number is made, `collectives/` holds one file per
operation, `gemm` and `environment` are the other two reports, `life` keeps a rank from outliving its launcher.
It ships as one zipapp (`app/bench/launchers/package.py`) and needs Python 3.10 and PyTorch there, nothing else.
"""
