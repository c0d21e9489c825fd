r"""The default in several processes, on one machine or on several, started by torch's own launcher.

One machine, two processes; examples/noisy_digits.py makes a table to try:

    torchrun --nproc-per-node 2 examples/torchrun_fit.py rows run

Two machines, four processes, with a folder that both see; the same line on each, but for --node-rank:

    torchrun --nnodes 2 --node-rank 0 --master-addr 10.0.0.1 --master-port 29500 --nproc-per-node 2 \
        examples/torchrun_fit.py shared/rows shared/run

The columns are `label`, `trusted`, and numbers to learn from. A process that dies ends the others with RankLost; start
the same line again, and they go on from the last stage that was kept.
"""

import sys

from safegain import ParquetRows, PGSClassifier, save
from safegain.data.process_group import launched_group


def fit_here(table: str, run: str) -> str:
    """What each process does: read its share of the rows, fit with the others, write what was found of its rows."""
    with launched_group() as ranks:
        names = ParquetRows.names(table, but=("label", "trusted"))
        rows = ParquetRows(table, columns=names).share(ranks.rank, ranks.size)
        model = PGSClassifier(["linear", "kernel"], checkpoint=f"{run}-checkpoint", random_state=0)
        model.fit(rows, rows.column("label"), trusted=rows.column("trusted"))
        save(model, run, rows)
        return model.safeness_.status


if __name__ == "__main__":
    print(fit_here(*sys.argv[1:]))
