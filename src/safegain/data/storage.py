"""Where tensors with an entry for every row live: in memory, or in files that are mapped into it.

Mapped, they are the system's to write out where memory is short. A file has no name once it is mapped, and is gone
with the tensor.
"""

import os
import tempfile
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Storage:
    folder: str | os.PathLike | None = None  # None: in memory

    def empty(self, *shape: int, dtype: torch.dtype) -> Tensor:
        count = torch.Size(shape).numel()
        if self.folder is None or not count:
            return torch.empty(shape, dtype=dtype)
        try:
            descriptor, path = tempfile.mkstemp(dir=self.folder)
        except OSError as error:
            raise ValueError(f"workspace: cannot write to {self.folder}: {error.strerror}") from error
        try:
            _reserve(descriptor, count * dtype.itemsize)  # a full disk is an error here, not a crash later
            return torch.from_file(path, shared=True, size=count, dtype=dtype).view(shape)
        except OSError as error:
            size = f"{count * dtype.itemsize:,} bytes"
            raise ValueError(f"workspace: {self.folder} has no room for {size}: {error.strerror}") from error
        finally:
            os.close(descriptor)
            os.unlink(path)

    def empty_like(self, rows: Tensor) -> Tensor:
        return self.empty(*rows.shape, dtype=rows.dtype)

    def zeros_like(self, rows: Tensor) -> Tensor:
        return self.empty_like(rows).zero_()

    def copy(self, rows: Tensor) -> Tensor:
        return self.empty_like(rows).copy_(rows)


def _reserve(descriptor: int, size: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
        return
    zeros = bytes(min(size, 2**20))  # macOS and Windows: only what is written has room for sure
    for start in range(0, size, len(zeros)):
        os.write(descriptor, zeros[: size - start])


IN_MEMORY = Storage()
