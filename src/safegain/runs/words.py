"""How likely something is, in words: the same in the report and on the page."""

LIKELY = (
    (0.95, "almost certain"),
    (0.8, "very likely"),
    (0.6, "likely"),
    (0.4, "as likely as not"),
    (0.1, "possible"),
)


def likely(share: float) -> str:
    """
    >>> likely(0.83)
    'very likely'
    """
    return next((words for least, words in LIKELY if share >= least), "a guess")
