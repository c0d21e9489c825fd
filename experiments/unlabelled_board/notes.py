"""What docs/unlabelled.md says of the board itself."""

HOW_IT_IS_PLAYED = """At most 4,000 rows of a set are there to learn from, and never more than 60% of it; at most 3,000
others test. Some of the first have their right label, and the others none: 5, 10 or 30 labels a class on average, drawn
at random except that every class has one, or 40% of the rows. Every seed draws all of it anew. Safegain has its
defaults, and so have usual models. LabelSpreading and LabelPropagation choose their settings by cross-validation over
the labelled rows. Methods that tell doubtful labels from trusted ones take a fifth of the labels as trusted. There are
five seeds; the two rbf graphs, which take minutes, have the first. Development sets have the first seed alone."""

HOW_IT_IS_JUDGED = """By accuracy on the test rows. Settings were chosen on development sets, and the six strongest
peers are named there, before a final set is run. "The same contest on the labelled rows alone" is Safegain with all
rows without a label left out but one."""
