"""A word of warning for pages whose results were not all measured with the same code."""

from collections import Counter
from collections.abc import Iterable

from experiments.grid import Results
from experiments.plan import Run


def mixed_digests(runs: Iterable[Run], results: Results) -> str:
    """A sentence with how many runs each digest of the code has; nothing where all have the same one."""
    records = [record for run in dict.fromkeys(runs) if (record := results(run)) is not None]
    counts = Counter(record["versions"].get("code", "unknown") for record in records).most_common()
    if len(counts) < 2:
        return ""
    listed = ", ".join(f"{digest} ({count:,} run{'s' if count > 1 else ''})" for digest, count in counts)
    return f"Results of {len(counts)} versions of the code are mixed here, by the digest of its files: {listed}.\n"
