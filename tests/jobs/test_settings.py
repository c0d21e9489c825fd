"""What the command line says of model, search and certificate: a small grammar, and one line where it is broken."""

import subprocess
import sys

import pytest

from safegain import (
    Adam,
    Auto,
    Boosting,
    Bootstrap,
    Cholesky,
    Claims,
    ClosedForm,
    ConjugateGradient,
    DeepNetwork,
    Descent,
    Forest,
    Free,
    GradientDescent,
    KernelMachine,
    Linear,
    Momentum,
    MultiMeasure,
    Network,
    Neumann,
    Newton,
    PerClass,
    PerGroup,
    PGSClassifier,
    PGSRegressor,
    Recipe,
    RMSProp,
    Structured,
    Unrolled,
)
from safegain.jobs.settings import make_estimator


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("auto", "auto"),
        ("network", Network()),
        ("linear", Linear()),
        (" network ,n_hidden = 50,  solver=gd, alpha=1e-3 ", Network(n_hidden=50, solver="gd", alpha=1e-3)),
        ("n_hidden=50, name=network", Network(n_hidden=50)),
        ("linear, alpha=0.5, scaling=none", Linear(alpha=0.5, scaling="none")),
        ('linear, scaling="none"', Linear(scaling="none")),
        ("network, recipe={}", Network(recipe=Recipe())),
        (
            "network, n_hidden=16, recipe={n_steps=60, dropout=0.25}",
            Network(n_hidden=16, recipe=Recipe(n_steps=60, dropout=0.25)),
        ),
        ("network, solver=adam", Network(solver="adam")),
        ('linear, solver="newton"', Linear(solver="newton")),
        ('linear, solver={name="newton", tol=1e-12}, alpha=2', Linear(solver=Newton(tol=1e-12), alpha=2)),
        ('linear, solver={name="closed-form"}', Linear(solver=ClosedForm())),
        ('network, solver={name="gd"}', Network(solver=Descent(GradientDescent()))),
        ('network, solver={name="momentum", n_steps=9}', Network(solver=Descent(Momentum(), n_steps=9))),
        (
            'network, solver={n_steps=300, name="adam", learning_rate=0.1, batch_size=64, seed=3}, n_hidden=20',
            Network(n_hidden=20, solver=Descent(Adam(0.1), n_steps=300, batch_size=64, seed=3)),
        ),
        (
            'network, solver={name="rmsprop", learning_rate=0.1, memory_budget=1000}',
            Network(solver=Descent(RMSProp(0.1), memory_budget=1000)),
        ),
    ],
)
def test_a_model_is_a_name_with_settings_and_tables_within(text, model):
    assert make_estimator("classes", {"model": text}).model == model


@pytest.mark.parametrize(
    ("text", "search"),
    [
        ("auto", Auto()),
        ("auto, held_out=0.25", Auto(held_out=0.25)),
        ("structured, n_outer=3", Structured(n_outer=3)),
        ("free, n_outer=50, engine=cg", Free(n_outer=50, engine="cg")),
        ("free, penalty=hinge, eps1=3, eps2=0.5", Free(penalty="hinge", eps1=3, eps2=0.5)),
        ('free, engine={name="cg", tol=1e-6, damping=0.1}', Free(engine=ConjugateGradient(damping=0.1, tol=1e-6))),
        ('free, engine={name="cholesky"}, n_outer=2', Free(engine=Cholesky(), n_outer=2)),
        ('structured, engine={name="neumann", terms=4}', Structured(engine=Neumann(terms=4))),
        ('free, engine={name="unrolled", last=5}', Free(engine=Unrolled(last=5))),
    ],
)
def test_a_search_is_a_name_with_settings_and_a_table_for_its_engine(text, search):
    assert make_estimator("classes", {"search": text, "model": "linear"}).search == search


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("0.05", Claims(0.05)),
        ("0.1, size=200", Claims(0.1, size=200)),
        ("size=0.3", Claims(size=0.3)),
        ("0.05,per_class=true", Claims(0.05, per_class=True)),
        ('0.05, measures=["error", "brier"], per_group=true', Claims(measures=["error", "brier"], per_group=True)),
        (
            '0.05, tolerance={error=0.1, brier=0.2}, measures=["error", "brier"]',
            Claims(measures=["error", "brier"], tolerance={"error": 0.1, "brier": 0.2}),
        ),
        ('0.05, priors={yes=0.25, "no, never"=0.75}', Claims(priors={"yes": 0.25, "no, never": 0.75})),
    ],
)
def test_a_certificate_is_a_level_with_settings(text, claims):
    assert make_estimator("classes", {"certificate": text}).certificate == claims


@pytest.mark.parametrize(
    ("text", "learner"),
    [
        ("forest", Forest()),
        ("boosting, max_iter=300, categorical=[1, 4]", Boosting(max_iter=300, categorical=(1, 4))),
        ("kernel, width=0.5", KernelMachine(width=0.5)),
        ("deep, n_layers=2", DeepNetwork(n_layers=2)),
    ],
)
def test_a_family_is_a_name_with_settings(text, learner):
    assert make_estimator("classes", {"model": text}).model == learner


def test_several_texts_are_a_list_of_models():
    asked = ["forest, n_trees=50", "auto", "boosting, max_iter=300"]
    assert make_estimator("classes", {"model": asked}).model == [Forest(n_trees=50), "auto", Boosting(max_iter=300)]


@pytest.mark.parametrize(
    ("task", "settings", "words"),
    [
        ("classes", {"model": ["forest", "stump"]}, "^model: 'stump' is not known; give one of auto, network"),
        ("classes", {"model": ["linear", "forest, n_hidden=5"]}, "^model: Forest takes no option 'n_hidden'; it is"),
        (
            "classes",
            {"model": ["forest", "linear"], "search": "free"},
            r"^search: 'free' follows .* model=\[Forest\(.*Linear\(.*give one of 'network', 'linear'",
        ),
        ("classes", {"model": ["forest", "huber"]}, "^model: 'huber' is for numbers"),
    ],
)
def test_what_is_wrong_with_one_of_several_models_names_the_option(task, settings, words):
    with pytest.raises(ValueError, match=words) as caught:
        make_estimator(task, settings)
    assert "\n" not in str(caught.value)


def test_a_safeness_is_a_sum():
    found = make_estimator("classes", {"safeness": "per-class:a,3 + bootstrap:5+measures:log_loss, brier"}).safeness
    assert found == PerClass(["a", 3]) + Bootstrap(5) + MultiMeasure("log_loss", "brier")
    assert make_estimator("classes", {"safeness": "per-group"}).safeness == PerGroup()


def test_the_task_says_which_estimator_and_what_is_given_goes_to_it():
    settings = {"reference": "raw", "validation_fraction": 0.3, "checkpoint": "there"}
    found = make_estimator("numbers", settings, verbose=1, random_state=5)
    assert isinstance(found, PGSRegressor)
    expected = PGSRegressor(**settings, verbose=1, random_state=5).get_params()
    assert found.get_params() == expected
    assert isinstance(make_estimator("classes", {}), PGSClassifier)


def test_a_workspace_is_one_of_the_free_search_and_comes_by_its_own_option():
    found = make_estimator("classes", {"search": "free, n_outer=3", "workspace": "/tmp", "model": "linear"})
    assert found.search == Free(n_outer=3, workspace="/tmp")
    for settings in ({}, {"search": "auto"}, {"search": "structured"}):
        with pytest.raises(ValueError, match=r"^search: \w+ takes no option 'workspace'; it is an option of Free$"):
            make_estimator("classes", {**settings, "workspace": "/tmp"})


WRONG = {
    "model": [
        ("tree", "'tree' is not known; give one of auto, network, linear, forest, boosting, kernel, deep"),
        ('["network"]', r"\['network'\] is not known"),
        ("n_hidden=5", "has no name; give one of auto, network, linear"),
        ("auto, n_hidden=5", "auto takes no settings; name the learner instead"),
        ("best", "'best' is not known"),
        ("module, module=x", "'module' is not known"),
        ("network, n_outer=5", "Network takes no option 'n_outer'; it is an option of Free and Structured"),
        ("network, n_steps=5", "Network takes no option 'n_steps'; it is an option of Descent and Recipe"),
        ("linear, n_hidden=5", "Linear takes no option 'n_hidden'; it is an option of DeepNetwork and Network"),
        ("linear, recipe={n_steps=5}", "Linear takes no option 'recipe'; it is an option of Network"),
        ("network, colour=5", "Network takes no option 'colour'; no search or learner has one"),
        ("network, n_hidden=0", "n_hidden must be a whole number of at least 1, got 0"),
        ("network, n_hidden=many", "n_hidden must be a whole number of at least 1, got 'many'"),
        ("network, scaling=[1]", "scaling must be one of"),
        ("network, n_hidden=5, n_hidden=6", "cannot read 'n_hidden=6' in"),
        ("network, linear", "cannot read 'linear' in"),
        ("network,", "cannot read '' in"),
        ("network, n_hidden=", "cannot read 'n_hidden=' in"),
        ("network, solver=quick", "solver must be a solver or one of"),
        ("network, solver=adam, recipe={}", "recipe must be None where a solver trains"),
    ],
    "search": [
        ("random", "'random' is not known; give one of auto, free, structured"),
        ("n_outer=5", "has no name"),
        ("auto, n_outer=5", "Auto takes no option 'n_outer'; it is an option of Free and Structured"),
        ("free, n_hidden=5", "Free takes no option 'n_hidden'; it is an option of DeepNetwork and Network"),
        ("free, delta=0.05", "Free takes no option 'delta'; it is an option of Claims"),
        ("free, n_outer=0", "n_outer must be a whole number of at least 1, or None, got 0"),
        ("free, held_out=1", "held_out must be a share"),
        ("free, engine=quick", "engine must be an engine or one of"),
        ("free, workspace=/tmp", "workspace is given by --workspace"),
        ("structured, workspace=/tmp", "workspace is given by --workspace"),
        ("free, callbacks=[]", "callbacks are functions, which only Python can give"),
        ("", "cannot read '' in"),
    ],
    "certificate": [
        ("never", "delta must be a number between 0 and 1, got 'never'"),
        ("7", "delta must be a number between 0 and 1, got 7"),
        ("0.05, colour=1", "Claims takes no option 'colour'"),
        ("0.05, n_outer=1", "Claims takes no option 'n_outer'; it is an option of Free and Structured"),
        ("0.05, 0.1", "cannot read '0.1' in"),
        ("0.05, size=abc", "size must be a number of rows"),
        ("0.05, per_class=maybe", "per_class must be True or False, got 'maybe'"),
        ('0.05, measures=["error", "brie"]', "got 'brie'"),
        ("0.05, measures=error, tolerance={brier=0.1}", r"tolerance: names \['brier'\]; the measures are \['error'\]"),
    ],
    "recipe": [
        ("network, recipe=5", "must be a table such as {name=value}, got 5"),
        ("network, recipe={n_steps=5", "must be a table such as {name=value}, got '{n_steps=5'"),
        ("network, recipe={n_steps=0}", "n_steps must be a whole number"),
        ("network, recipe={n_steps=1.5}", "n_steps must be a whole number"),
        (
            "network, recipe={n_hidden=5}",
            "Recipe takes no option 'n_hidden'; it is an option of DeepNetwork and Network",
        ),
    ],
    "solver": [
        ("network, solver=5", "must be a table"),
        ("network, solver={n_steps=5}", "has no name; give one of newton, closed-form, gd"),
        ('network, solver={name="quick"}', "'quick' is not known"),
        ("network, solver={name=[1]}", r"\[1\] is not known"),
        ('network, solver={name="newton", n_steps=5}', "Newton takes no option 'n_steps'; it is an option of Descent"),
        ('network, solver={name="adam", n_outer=5}', "Adam takes no option 'n_outer'; it is an option of Free and"),
        (
            'network, solver={name="adam", tol=5}',
            "Adam takes no option 'tol'; it is an option of .* and Newton",
        ),
        ('network, solver={name="gd", batch_size=0}', "batch_size must be"),
        ('network, solver={name="gd", n_steps="many"}', "n_steps must be"),
        ('network, solver={name="gd", seed="mine"}', "seed must be"),
        ('network, solver={name="newton", tol="little"}', "tol must be"),
        ('network, solver={name="gd", learning_rate=-1}', "learning_rate must be positive"),
    ],
    "engine": [
        ("free, engine=5", "must be a table"),
        ("free, engine={damping=0.1}", "has no name; give one of cholesky, cg, neumann, unrolled"),
        ('free, engine={name="quick"}', "'quick' is not known"),
        ('free, engine={name="cg", colour=5}', "ConjugateGradient takes no option 'colour'"),
        ('free, engine={name="cg", terms=5}', "ConjugateGradient takes no option 'terms'; it is an option of Neumann"),
        ('free, engine={name="cg", damping="little"}', "damping must not be negative"),
        ('free, engine={name="neumann", terms=0}', "terms must be"),
    ],
    "safeness": [
        ("perfect", "'perfect' is not known; join some of"),
        ("bootstrap:0", "cannot read 'bootstrap:0': Bootstrap: m must be at least 1"),
        ("bootstrap:few", "cannot read 'bootstrap:few'"),
        ("per-class + measures:beauty", r"cannot read 'measures:beauty': .* got \['beauty'\]"),
    ],
}
WITHIN = {"recipe": "model", "solver": "model", "engine": "search"}  # named by itself, and given by this option


@pytest.mark.parametrize(
    ("argument", "text", "words"), [(name, *each) for name, cases in WRONG.items() for each in cases]
)
def test_what_is_wrong_is_said_in_one_line_that_names_the_argument(argument, text, words):
    with pytest.raises(ValueError, match=rf"^{argument}: .*{words}") as caught:
        make_estimator("classes", {WITHIN.get(argument, argument): text})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("task", "settings", "words"),
    [
        ("classes", {"colour": 1}, "^colour: is not an argument of PGSClassifier$"),
        ("classes", {"reference": "mine"}, "'reference'.*'mine'"),
        ("classes", {"validation_fraction": 3.0}, r"'validation_fraction'.*3\.0"),
        (
            "numbers",
            {"search": "structured"},
            "^search: 'structured' is for classes; use 'auto', 'free' or 'residuals' for numbers$",
        ),
    ],
)
def test_other_arguments_and_what_does_not_go_together(task, settings, words):
    with pytest.raises(ValueError, match=words):
        make_estimator(task, settings)


def test_a_misplaced_option_finds_its_owner_in_a_new_process():
    """Owners are known once they are imported, which the text of an option before theirs must not depend on."""
    script = (
        'from safegain.jobs.settings import make_estimator\nmake_estimator("classes", {"model": "linear, n_outer=5"})'
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ended.stderr.endswith("model: Linear takes no option 'n_outer'; it is an option of Free and Structured\n")
