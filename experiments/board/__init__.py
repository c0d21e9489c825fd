"""The board: Safegain with its defaults against usual models and peers; docs/board.md.

`cells` says what is played, `entries` who plays, `plan` which runs that is, `judging` how arrays of accuracies are
judged, `scores` reads these from the store, `bars` and `sections` make them into what `page` shows. `strongest` names
the peers that the final test is against, and `guard` keeps the final sets from being run before their time.

python -m experiments.board [--only spambase] [--methods usual] [--seeds 0 1] [--quick] [--jobs 2] [--final]
"""
