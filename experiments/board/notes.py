"""What a person has to say on the board's page; everything else there is computed."""

HOW_SETTINGS_WERE_CHOSEN = """\
Network, recipe and early stopping were fixed in docs/results.md, on splits 100 to 104, for all methods alike; half of
the trusted rows are held out by every method, and no method was tuned for a cell. The settings of PGS auto (kernel
widths, penalties, rounds, landmarks, share of the evidence, the rule of the comparison; the curve's starts for
numbers) were chosen on splits 100 to 119: other draws of rows and of wrong labels, from the same data sets, so that
rows which tested there may train here. [Decision 0007](decisions/0007-residual-curve.md) and
[0008](decisions/0008-kernel-evidence.md) have what was tried.

One setting was changed after figures of the published splits had been seen: the refit may now seem worse than the
reference by two standard errors on the held-out rows instead of one. Runs on splits 100 to 107 spoke for it, and were
made because the first published figures fell back often on spambase. The 11 of 95 runs of PGS auto that had fallen
back were done again; the others are not touched by the rule.

What PGS auto does and peers do not: its last training uses the held-out rows as well, since with corrected labels it
has no need to stop on them. On splits 100 that was worth 0 to 0.1 points on MNIST, letter, pendigits and spambase, and
0.8 to 0.9 on CIFAR-10 and CIFAR-10N: less than what lies between it and the peers there.

PGS auto trains five networks and chooses among four, peers train one (cleanlab six, SafeW and gold loss correction
several). Times were taken with two runs at a time on a machine that was also doing other things: a multiple is of
Baseline in the same batch of runs, and the median over seeds."""

WHAT_IT_SAYS = """\
PGS auto wins 17 of 19 cells. What it misses: on YouTube (250 test rows, 7% of the votes wrong, so that half a point is
one or two rows) learning to reweight is 1.1 points ahead, and gold loss correction is ahead by less than half a
point in one spambase cell. On MNIST with half of the labels wrong it has 94.1 where 94.3 was asked and all true
labels give the same network 95.2; 3,500 landmarks instead of 2,000 correct more labels there, for four times the time,
and were left out. Numbers are level with the best peer of each cell and not ahead: mpg with heavy-tailed errors (39
test rows) is 6% behind Huber. Little noise leaves little to gain: CIFAR-10N, where people were wrong in 18 or 40% of
the labels, recovers 0.39 of the gap."""
