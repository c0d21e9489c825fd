"""Where a data file comes from: a folder of the user's, the cache, or its origin on the internet."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

SHA256 = {
    "abalone.csv": "f8a0a7b802c68301952e372a3c7af76a09c3dafe2fe893de112403c586402fc0",
    "banana.csv.gz": "2b5d4bee7be647926f1e8dbd662414e8234c049125531aa444fe99c915486fd7",
    "benefits.csv.gz": "bb2467b60dcfadc05e25d927be436f8c6e893ae549f3b69e9058b530622fba93",
    "bodyfat_libsvm.csv": "c285621ad2439c25ce5c7ebc92eab90ffd8891f11148f9e8bb65ab2278258496",
    "cadata.csv": "54e9c0286f00473a0c1f8b5701448000323563e01dfe4c3448a3caef5af293f5",
    "chess.csv.gz": "ba07c68ef8a53cf1e2ead3ecf8dd11d753699ff7400453fec7f52139b794ed11",
    "cifar10.npz": "bced44e8c5789dca92188cd175aa7924f16416f4c16804c81531038662d45e3c",
    "cifar10n_labels.npz": "07a474fe546fdc81830360996c86e9bf4cfe8d582fc68831c9ea23625895aa79",
    "concrete.csv": "0c6a8c3c88088c0498801d71ab5758ec3cee665fab732da5f10a4bf3f2a075b0",
    "contraceptive.csv.gz": "062200b7fd00c57be1cd309ee5e2691bf3822708dfef467596da5491c41a3083",
    "cpusmall.csv": "519e53a3f71813acd43fea7923c00ceb7083a1e634549e26ab1d6dc918e6ac11",
    "diamonds.csv.gz": "73b0873c3560e9940f9d38e983b94cca5b606af4c770b08a799910563a08ca2b",
    "german.csv.gz": "cc671be58da567e2aaf492dd2ed8f3759a10721d5b5af09eca96798205c2421d",
    "insured.csv.gz": "c9030b03a4a704b984ee0c9afca40001484f2b5d343580dfc9a5d789d7538f5f",
    "kin8nm.csv.gz": "ed01ea926858de353f6a34e47d3e16b309f8f162545a0e9f00437e379c8d8915",
    "letter.csv.gz": "cd599a06e9eb31884a745a5ebf0a1abcc95f58f6494f96f946e46527bbd51442",
    "marketing.csv.gz": "4fe110dc80a68235badcffdafa13626238473cc1053db21729380a0039a1cb12",
    "mg.csv": "102b6085d67d544eef62dac35b289ed2f5ff0e92ac4cfcab160cf24ba133a5f8",
    "mnist.npz": "8d3e7c3c0fffe0d2973f2671a5beba77c5ee57b25040469d9d3f7782aca6557b",
    "movies.csv.gz": "fef9852d6a634638ebc988a39289acb24da069973871549b04a6bfb7955c6879",
    "mpg.csv": "7cbc9b28fba6926141ed2be68a53e7327bf8b48c89313c55146901c4d30cf100",
    "nox.csv.gz": "2edc6613b306c3fae762b2f88d2fcb8df9ec31b6f95c49a988360640af75fa4f",
    "optdigits.csv.gz": "d314fbe69905a2ce09f1dd38ff586cd40980bb1401805d7e048881c5ca53d291",
    "pendigits.csv.gz": "44de4b99982ce648b1279e822fcdd77112e05cec982c27c443ab506bb719dfd5",
    "phoneme.csv.gz": "6e98eb4fc924d44c3ce598fa08585adda9d051bee390a19d4c5859b78ef6b0de",
    "ring.csv.gz": "ccb262be922ad02f33020afc9cbeaf1587fdae7c1b84a0b4e35a231101538d30",
    "segment.csv.gz": "0da04d0af483ee334c9c9e43aaf85d270d56020ba27f237064a3cb00abc1d4f1",
    "space_ga.csv": "e8a9d31e5531a55a6b49f79b22405a3f45b1dfa81a3292c5e38a7987c0b31eb5",
    "spambase.csv.gz": "d7d6f052f8d012a7850e96eeebe4892fe1482987a238fc2d51ae952754630c31",
    "splice.csv.gz": "99e627ffc4709e2cfdb27ee02b062767d81c623269695bef5c8063f62030f8cc",
    "texture.csv.gz": "f1c252bc78dd43ff5bc6249ee56effaa28755ac3859bce4710fae425999001fd",
    "wages.csv.gz": "65b9af69250cb4305534146c2d0112aae8c2d11039cdb6c389915ea1e65d5040",
    "ws_sms.jsonl.gz": "d2f26de9baf739075660f553777fb69be7f118eabe0620123ae95234290da352",
    "ws_trec.jsonl.gz": "4716c537e39032d4badd08cc8e6b2daf9f1ec65d3f366503df4381606b0a1d1f",
    "ws_youtube.jsonl.gz": "1c605356bb33a2e5cea1f981a711059f14f647c03f0e6501c7d2628881128e81",
}


def cache_dir() -> Path:
    """The user's folder for files that can be made again: SAFEGAIN_CACHE, or safegain in the usual cache folder."""
    if own := os.environ.get("SAFEGAIN_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "safegain"


def search_folders(data_dir: str | Path | None = None) -> list[Path]:
    """The folders in which a file is looked for, in order: `data_dir`, else SAFEGAIN_DATA; then the cache."""
    first = data_dir or os.environ.get("SAFEGAIN_DATA")
    return [*([Path(first)] if first else []), cache_dir()]


def check_sha256(path: Path, expected: str, remedy: str) -> None:
    """Raise ValueError unless the file is, byte for byte, the one expected."""
    with path.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != expected:
        raise ValueError(f"{path}: sha256 should be {expected}, found {found}; {remedy}")


def find_file(name: str, *, data_dir: str | Path | None = None) -> Path | None:
    """The first file of that name in the search folders, its checksum verified; None where there is none."""
    for folder in search_folders(data_dir):
        path = folder / name
        if path.is_file():
            check_sha256(path, SHA256[name], "it is damaged or another version: delete it or put the right one there")
            return path
    return None


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a file beside `path` (its ending kept) and rename it when whole: no reader meets half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{os.getpid()}-{path.name}")
    try:
        write(part)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def obtain(
    name: str,
    *,
    data_dir: str | Path | None = None,
    convert: Callable[[Path], object] | None = None,
    origin: str,
) -> Path:
    """The path of a file: found, or converted from its `origin` once and kept in the cache.

    A converted file holds the same rows as ours but not the same bytes, so it lives in a folder of its own.
    """
    if found := find_file(name, data_dir=data_dir):
        return found
    converted = cache_dir() / "converted" / name
    if converted.is_file():
        return converted
    reason: OSError | None = None
    if convert is not None:
        try:
            write_atomically(converted, convert)
            return converted
        except OSError as error:
            reason = error
    folders = ", ".join(map(str, search_folders(data_dir)))
    failed = f" and could not be downloaded ({reason})" if reason else ""
    raise FileNotFoundError(
        f"{name} was not found in {folders}{failed}; put it into one of these folders, or name its folder with "
        f"data_dir or the environment variable SAFEGAIN_DATA. Where to get it: {origin}"
    ) from reason
