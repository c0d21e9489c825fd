"""What the docstrings of both estimators say of arguments and attributes."""

PARAMETERS = """
    Parameters
    ----------
    model : name, learner, torch.nn.Module, scikit-learn {kind}, or a list of these, default="auto"
        What is trained: "auto", "network", "linear", "forest", "boosting", "kernel", "deep", {more}or your own; "auto"
        is {auto}.
        "auto" as a search holds a contest of what is trained on labels as given and as corrected, and a mixture of at
        most three may win; a list of models takes part as one.
        Learners carry settings: Network(n_hidden=50), Linear(alpha=0.01), Forest(min_samples_leaf=10),
        Module(module, solver="adam"), Wrapped(estimator, features=...).
    search : {{{searches}}} or an object such as Free(), default="auto"
        {search_words} "free" is the paper's: every weight and every label on its own. Free(n_outer=50) has settings.
    reference : {{"best", "raw", "raw+trusted", "trusted"}}, default="best"
        What you would have had anyway, and what is handed back where nothing better is found: the model trained on
        the weak labels, on weak and trusted labels, on the trusted labels alone, or the best of them on trusted rows
        held out. In a contest "best" chooses between the last two, of all models.
    safeness : Safeness or None, default=None
        What "not worse" is to mean besides the comparison with the reference, for example PerClass() + PerGroup().
        None is Bootstrap(3) for "free" and "structured", and nothing more for others.
    certificate : float, Claims or None, default=None
        Set trusted rows aside before anything sees them, and hand the new model back only if they show, at this
        level, that it is not worse than the reference. `certify(X, y)` does it later, on fresh rows.
    validation_fraction : float, default=0.2
        Labelled rows that are held out and taken as trusted when `fit` is given no trusted rows.
    device : {{"auto", "cpu", "cuda", "mps"}}, default="auto"
        Where a contest trains kernels, modules and networks of classes, in single precision: "auto" is a GPU if torch
        finds one. All else stays on the processor, the fitted model too; searches with an outer loop refuse a GPU.
    checkpoint : path or None, default=None
        A folder in which a fit keeps what it has trained, after every stage or outer step. A fit of the same rows with
        the same settings goes on from there, with any number of processes, and ends with the same bits if that number
        is the same; when it ends well, the checkpoint is removed.
    verbose : int, default=0
        1 shows a progress bar with the time left.
    random_state : int, RandomState or None, default=None
        Everything random follows from it, and so does every `random_state=None` of an estimator of yours.

    Attributes
    ----------
    model_, reference_model_ : TrainedModel, TrainedFamily, TrainedEstimator or TrainedMixture
        The model that predicts, and its reference; one and the same after a fall back. What won a contest is a
        mixture: `model_.members`, with `model_.weights`. `estimator` of a TrainedEstimator is the fitted one of yours.
    reference_ : str
        Which rows the reference was trained on.
    references_ : dict
        The references that were kept, by name: "raw", "raw+trusted", "trusted"; of a contest the one.
    comparison_ : DataFrame
        References and "new" model on trusted rows kept to compare them, before a last training takes those rows in; a
        new model that was refused is there too. One line for each row and model, and none where trusted rows are too
        few. Columns: row (its number in the X of `fit`, counted on over the processes in their order), model, {columns}
    leaderboard_ : DataFrame
        Under "auto": how models fared on trusted rows that they had not seen, best first. Columns: learner, trained_on
        (which labels), {standings}, share (of the mixture that won), seconds.
    worth_ : Worth or None
        Of 20 to 999 labels that are all right, where other rows have none: the quality of models with a quarter of the
        `labels`, half and four fifths, `alone` without the other rows and `together` with them. `more_labels(i)` is how
        many more labels would have done as much.
    certificate_ : Certificate or None
        What the rows that were set aside say.
    sample_weight_ : ndarray (n,)
        How far each row is trusted; 1 for trusted rows.
    {labels}
    corrected_labels_ : ndarray (n,)
        What each label should have been.
    safeness_ : SafenessReport
        For each validation set its name, the reference's loss, the new loss and the margin; `status` is the outcome as
        a sentence.
    history_ : list of dict
        For each outer step: objective, margins, rank_loss, safe, violation, seconds, and what the engine
        reports.{history}
    n_iter_ : int
        Length of the history, less the start of an outer loop; of a contest the models that were compared.
    trusted_, sample_, held_out_, set_aside_ : ndarray (n,) of bool
        The rows that were taken as trusted; those of them that are a random sample; of these, the rows that were kept
        from the search, to compare what it finds; and those that were kept from everything, for the certificate.
    ledger_ : Ledger
        What was learned from, and what was tested: `certify` refuses these rows, and writes its tests down.
    record_ : Record
        All of this as one value, from which `safegain.save` writes a run folder.
    """
