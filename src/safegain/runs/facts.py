"""What run.json and certificate-K.json hold, as types: whatever else is in a file is ignored, and a misfit is damage.

docs/run-format.md is made from these types (docs/make_run_format.py). What may be null may be absent: a reader does
without it. Nothing here imports torch.
"""

from typing import Annotated, Any, Literal, get_args

from msgspec import Struct

from safegain.data.kinds import Kind
from safegain.runs.certificate_facts import Certificate
from safegain.runs.fact_types import Count, Label, Positive, Share, Whole, told
from safegain.search.references import Reference

Task = Literal["classes", "numbers"]
Model = Literal[Reference, "new"]
MODELS: tuple[Model, ...] = get_args(Model)  # of a comparison, by number


class Rows(Struct, frozen=True):
    """How many rows there were of each kind."""

    all: Count
    weak: Count
    trusted: Count
    held_out: Annotated[Count, told("trusted, kept to compare models")]
    set_aside: Annotated[Count, told("trusted, kept for the certificate")]
    unlabelled: Count
    sample: Annotated[Count | None, told("trusted, and a random sample; null in runs of earlier versions")] = None


class Repeats(Struct, frozen=True):
    """Rows that are alike, after rounding: data/digest.py."""

    rows: Annotated[Count, told("that are like another one")]
    trusted: Annotated[Count, told("trusted rows among them that are like a weak one")]
    contradicting: Annotated[Count | None, told("weak rows that are like one of another label; null for numbers")] = (
        None
    )


class Files(Struct, frozen=True):
    """Where the rows came from."""

    train: Annotated[str | None, told("absolute path")] = None
    trusted: Annotated[str | None, told("absolute path, or the name of a column")] = None
    checked: Annotated[list[str] | None, told("absolute paths of reviews")] = None


class Verdict(Struct, frozen=True):
    """How it ended."""

    outcome: Annotated[
        Literal["improved", "safe", "fell back"],
        told(
            "improved: handed back, and certified with tolerance 0; safe: handed back otherwise; fell back: the "
            "reference was handed back"
        ),
    ]
    reference: Annotated[Reference, told("what the new model was compared with")]
    sentence: str | None = None


class ComparedModel(Struct, frozen=True):
    """A model on the trusted rows that models were compared on; one that diverged is not listed."""

    name: Annotated[str, told('a reference, or `"new"`')]
    n: Annotated[Count, told("rows")]
    loss: Annotated[
        float, told("mean log-loss at the model's best temperature, or mean squared error in the label's units")
    ]
    mistakes: Annotated[Share | None, told("their share; null for numbers")] = None
    role: Literal["reference", "new"] | None = None


class Margin(Struct, frozen=True):
    """Reference against new model on one validation set."""

    name: str
    raw_loss: float
    new_loss: float
    margin: float


class Part(Struct, frozen=True):
    """Both models on the compared rows of one class or group: share of mistakes, or mean squared error."""

    name: Label
    n: Count
    reference: float
    new: float


class CheckedClass(Struct, frozen=True):
    """Checked rows that were given one label."""

    name: Label
    n: Count
    wrong: Annotated[Count, told("their right label is another one")]


class Checked(Struct, frozen=True):
    """What the check of labels found, of rows whose label before it is known.

    `n`, `wrong` and `by_class` are about a random sample; `others` and `others_wrong` about rows that were chosen.
    """

    n: Count
    wrong: Annotated[Count, told("the right label is another one")]
    by_class: Annotated[list[CheckedClass] | None, told("by the label as given, most rows first; null for numbers")] = (
        None
    )
    others: Annotated[Count, told("checked rows outside the random sample")] = 0
    others_wrong: Count = 0


class Record(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A step or a candidate of the search; null, or nothing, stands for what is no number."""

    candidate: Annotated[str | None, told('of "auto" for classes')] = None
    step: Annotated[Whole | None, told("of other searches")] = None
    objective: float | None = None
    rank_loss: Annotated[float | None, told("loss on the rows that rank candidates")] = None
    mistakes: float | None = None
    safe: bool | None = None
    violation: float | None = None
    margins: Annotated[dict[str, float | None] | None, told("by validation set")] = None
    share: Annotated[float | None, told("of the evidence in the mixture that is trained on")] = None
    fold: Whole | None = None
    seconds: float | None = None


class Worth(Struct, frozen=True):
    """What rows without a label were worth, by the number of labels that were learned from.

    Quality is the share of right answers, or of the variance of numbers that is explained, on other labelled rows.
    """

    labels: list[Whole]
    alone: Annotated[list[float], told("quality of the reference, without the other rows")]
    together: Annotated[list[float], told("quality of a model that learned from all rows")]


class EncoderParameters(Struct, frozen=True):
    """Arguments of `TableEncoder`."""

    kinds: dict[str, Kind]
    folder: Annotated[str | None, told("where pictures lie")] = None
    image_features: str = "auto"
    random_state: Whole = 0


class Encoder(Struct, frozen=True):
    """How a table becomes a matrix: what `TableEncoder.state` gives."""

    parameters: EncoderParameters
    blocks: Annotated[list[dict[str, Any]], told("one for each column, in order")]


class Estimator(Struct, frozen=True):
    """What `load` reads; all else is for other readers."""

    name: Annotated[str, told("`PGSClassifier` or `PGSRegressor`")]
    parameters: Annotated[dict[str, Any], told("constructor arguments, as described below")]
    not_stored: Annotated[
        list[str], told("arguments that no file can hold; they have their defaults after loading")
    ] = []
    fitted: Annotated[dict[str, Any] | None, told("`Fitted`, which `load` checks")] = None


class Architecture(Struct, frozen=True, kw_only=True):
    """The kind of model; its numbers are in model.safetensors."""

    kind: Literal["linear", "two-layer", "module"]
    sizes: Annotated[list[Whole], told("columns with the one, outputs; or features, hidden units, outputs; or outputs")]
    linear: bool
    dtype: Literal["float32", "float64"]
    scaled: Annotated[bool, told("rows are standardised")]
    handed_back: Annotated[Model, told("whose theta predicts")]
    references: list[str]
    gain: Annotated[Positive | None, told("of a network's hidden units")] = None
    name: Annotated[str | None, told("of a module")] = None
    parameters: Annotated[dict[str, list[Whole]] | None, told("of a module: name -> shape")] = None
    mean: Annotated[float | None, told("of numbers, to be added to outputs; absent: that of all labels")] = None
    unit: Annotated[Positive | None, told("of numbers, that outputs are in; absent: that of all labels")] = None


class StoredModel(Struct, frozen=True, kw_only=True):
    """One trained model. Its arrays in model.safetensors: `model.NAME.ARRAY`, of members `model.NAME.NUMBER.ARRAY`."""

    kind: Annotated[
        Literal["forest", "boosting", "kernel", "deep", "mixture", "reshaped", "estimator", "model"],
        told("estimator: one of the user's, as skops stores it; model: an `Architecture`, whose theta is `theta.raw`"),
    ]
    facts: Annotated[
        dict[str, Any],
        told("`n_features`, and a few numbers of each kind; of a mixture `weights` and `sharpness`; `name`"),
    ]
    members: Annotated[list["StoredModel"] | None, told("of a mixture at most three, of a reshaped one one")] = None


class StoredModels(Struct, frozen=True, kw_only=True):
    """Models that are no single architecture."""

    handed_back: Annotated[Model, told("which one predicts")]
    models: Annotated[dict[str, StoredModel], told("the references, and `new` if it was handed back")]


class Standing(Struct, frozen=True, kw_only=True):
    """A learner in a contest."""

    learner: Annotated[str, told("with its settings")]
    trained_on: Annotated[str, told("the labels: raw, raw+trusted, trusted or corrected")]
    loss: Annotated[float, told("on trusted rows that it had not seen")]
    mistakes: Annotated[Whole | None, told("absent for numbers")] = None
    share: Annotated[float, told("of the mixture that won")]
    seconds: float


class Fitted(Struct, frozen=True, kw_only=True):
    """What was learned, apart from the tables and the arrays."""

    n_features_in: Whole
    feature_names_in: list[str] | None = None
    label_dtype: Annotated[str, told("NumPy's type of y")]
    class_dtype: Annotated[str | None, told("NumPy's type of the classes")] = None
    label_mean: Annotated[float, told("how numbers were standardised")]
    label_scale: float
    clip: Annotated[float | None, told("the largest error that counts in a certificate of numbers")] = None
    given_before_check: Annotated[
        bool, told("of trusted rows the labels table has in `given` what was there before the check")
    ] = False
    n_iter: Whole
    reference: Reference
    model: Annotated[Architecture | None, told("null where there are `models`")] = None
    models: Annotated[StoredModels | None, told("of other kinds than an `Architecture`")] = None
    safeness: dict[str, Any]
    certificate: dict[str, Any] | None = None
    history: list[dict[str, Any]]
    leaderboard: Annotated[list[Standing], told("how several learners fared, best first")] = []


class Facts(Struct, frozen=True, kw_only=True):
    """run.json."""

    format: Annotated[Whole, told("3")]
    task: Task
    safegain: Annotated[str | None, told("version that wrote it")] = None
    versions: Annotated[dict[str, str] | None, told("python, torch, numpy, scikit-learn")] = None
    created: Annotated[str | None, told("ISO 8601, UTC")] = None
    seconds: Annotated[float | None, told("duration of the fit")] = None
    label: Annotated[str | None, told("column of the labels")] = None
    classes: Annotated[
        list[Label] | None, told("all of one type, in the order of all class numbers; null for numbers")
    ] = None
    rows: Rows | None = None
    repeats: Annotated[Repeats | None, told("null after a fit of several processes")] = None
    columns: Annotated[dict[str, Kind] | None, told("feature column -> how it was read")] = None
    files: Files | None = None
    notes: Annotated[list[str] | None, told("what was inferred, what was left out and why")] = None
    estimator: Estimator | None = None
    encoder: Annotated[Encoder | None, told("there is one where there are `columns`, for these columns")] = None
    verdict: Verdict | None = None
    certificate: Certificate | None = None
    models: list[ComparedModel] | None = None
    margins: Annotated[list[Margin] | None, told("of each validation set")] = None
    by_class: list[Part] | None = None
    by_group: list[Part] | None = None
    history: list[Record] | None = None
    worth: Annotated[Worth | None, told("null where rows without a label had no part in the fit")] = None
    checked: Annotated[Checked | None, told("null where labels before a check are not known")] = None
    n_suspicious: Annotated[Count | None, told("weak rows with `suspicion` > 0.5: more likely wrong than right")] = None
    seed: Whole | None = None
