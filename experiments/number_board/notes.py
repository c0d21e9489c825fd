"""What a person has to say on the page of the board for numbers; everything else there is computed."""

HOW_IT_IS_PLAYED = """\
**Data sets.** Settings are chosen on the development sets alone; the final sets judge ([the sets](datasets.md)). Sets
with fewer than 1,000 rows (bodyfat, mpg) are shown and not judged.

**Cells.** A cell is a data set, a kind of errors, the share of wrong labels and a number of trusted rows. Errors are
normal (half a standard deviation of the labels, or one), heavy-tailed (Student, 1.5 degrees of freedom, half a
standard deviation), one-sided (exponential, one standard deviation), wrong units and signs (factors 10, 100, 1000,
0.1, -1), and labels of other rows. There are 300 trusted rows, and 30 with the typical errors. At most 3,000 rows are
weak, and 1,500 to 3,000 test. Each seed draws rows, errors and test rows anew.

**Usual models.** Ridge and Huber regression, random forest (300 trees; leaf 1 and leaf 10), ExtraTrees (leaf 5),
scikit-learn's histogram boosting with squared and with absolute loss, SVR (RBF, labels standardised), 25 neighbours;
each on all labels with the trusted rows' right ones ("raw + trusted"), and on the trusted rows alone.

**Peers.** cleanlab.regression around boosting and forest (100 trees), trusted rows never left out;
RANSAC; the paper's PGS and the curve over residuals, both around ridge regression."""

HOW_IT_IS_JUDGED = """\
- **Error.** Mean squared error on the test rows over their variance. Means over cells and seeds are geometric.
- **All true.** The best usual model on the same rows without wrong labels.
- **Best usual model.** The one with the smallest mean error on seeds 0 to 4, compared on seeds 5 to 9. We are above a
  ratio *with 95% confidence* if the one-sided bound of the five logarithms is (paired t, four degrees of freedom).
- **Unsafe.** More than 5% above the usual model that five-fold cross-validation over trusted rows would have picked.
- **Called wrong.** Numbers that are more likely wrong than right. "Closer" and "covered" are of those; "recall,
  large" is of errors above one standard deviation. "Precision where .8 are found" is of the list, most suspicious
  first, that has .8 of these.
- **Seeds.** Ten, 0 to 9, of the usual models; Safegain is run on seeds 5 to 9, which judge, cross-validation on 5 to 7,
  and peers, which no bar names, on seed 5. Development sets show seed 0, and seeds 0 to 2 with 20 trusted rows."""
