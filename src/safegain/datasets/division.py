"""Which data sets settings are chosen on, and which ones only judge.

A final set is never looked at while anything is chosen: it is run once, from one tagged commit (docs/board.md).
"""

DEVELOPMENT = (
    "mnist",
    "cifar10n",
    "letter",
    "pendigits",
    "spambase",
    "phoneme",
    "banana",
    "digits",
    "ws_youtube",
    "ws_trec",
)
FINAL = (
    "texture",
    "segment",
    "splice",
    "chess",
    "optdigits",
    "marketing",
    "ring",
    "german",
    "contraceptive",
    "insured",
    "benefits",
    "ws_sms",
)
DEVELOPMENT_NUMBERS = ("abalone", "bodyfat", "cpusmall", "mg", "mpg", "space_ga", "cadata", "kin8nm", "concrete")
FINAL_NUMBERS = ("diamonds", "nox", "movies", "wages")
