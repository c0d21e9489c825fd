"""What a person has to say on the board's page; everything else there is computed."""

HOW_IT_IS_PLAYED = """\
**Data sets.** Settings of Safegain are chosen on the development sets alone. The final sets judge: nobody looks at
them before, and they are run once, from one tagged commit ([the sets](datasets.md)). CIFAR-10N, whose labels people
gave, is a development set.

**Cells.** A cell is a data set, a kind of noise and a number of trusted rows. Wrong labels are drawn uniformly (30%
with two classes; 50% and 30% with more), go to the next class (pairs, 40%), or depend on the row (30% with two
classes, 40% with more). Texts have the majority of their labelling rules. There are 100 trusted rows, and 1,000 where
a set has at least 4,000 rows. At most 3,000 rows are weak; at least 1,500 rows test (40% of a set with fewer than
3,000 rows), and up to 3,000 where they are left over. Each seed draws rows, wrong labels and test rows anew.
Development sets leave out the milder uniform noise, and MNIST all but the uniform one.

**The same rows for all.** Every method gets the same numbers: words as 0/1 columns, gaps filled, texts as 200
directions of tf-idf. Every method knows the right labels of the trusted rows. "Safegain, right=" also knows what
these were labelled before they were checked; no other method has a use for that.

**Usual models.** Logistic regression, random forest (300 trees; leaf 1 and leaf 10), ExtraTrees (300 trees, leaf 5),
scikit-learn's histogram boosting, SVC (RBF, C = 1), 25 neighbours, and our network. Each is trained on all labels as
given with the trusted rows' right ones ("raw + trusted"), and on the trusted rows alone. Columns are scaled where the
model needs it. Nothing else is set.

**Peers.** cleanlab around three usual models, with the trusted rows never doubted; gold loss correction,
Meta-Weight-Net and S-Model around our network ([methods](methods.md)).

**All labels true.** The best usual family of each cell when every label is right: what no method can know."""

HOW_IT_IS_JUDGED = """\
- **Best usual model.** The one with the best mean test accuracy on seeds 0 to 4: picked with hindsight, as no user
  can. It is compared on seeds 5 to 9. With d the mean of the five differences and s their standard deviation, we are
  behind *with 95% confidence* if d + 2.13 s / √5 < -0.5 points (one-sided paired t, four degrees of freedom).
- **Recovered gap.** (Safegain - best usual model) / (all labels true - best usual model) on seeds 5 to 9, where the
  gap is at least 2 points; the mean over cells. The best family with true labels is picked on the same seeds, which
  makes the gap rather larger.
- **Strongest peers.** The six with the best mean rank on the development sets, named in
  `experiments/board/strongest.json` before a final set was run. The test is a two-sided Wilcoxon signed-rank test;
  its unit is a data set, the mean over its cells and seeds. Holm corrects for six tests.
- **Cross-validation's pick.** The usual model that five-fold cross-validation over the trusted rows finds most
  accurate; of equals the first, raw + trusted before trusted rows alone. Models on raw labels are trained on all weak
  rows and four folds of the trusted ones; forests have 100 trees there.
- **Unsafe.** A run more than a point of test accuracy below cross-validation's pick.
- **Seeds.** Ten, 0 to 9, of the usual models. Safegain, cross-validation and "all labels true" are run on seeds 5 to 9,
  which judge; cleanlab and the three network methods on 5 to 7. Each pair is compared on the seeds that both have. This
  keeps the board within a night of two cores. Development sets show seed 0, and seeds 0 to 3 with 40 trusted rows; the
  strongest peers were named there on seeds 0 to 2. "Safegain, right=" is run on development sets alone.

Seeds of a set share its rows and are not independent: a bound of one cell speaks of other draws from that set."""
