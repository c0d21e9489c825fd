"""The progress bar and callbacks."""

from sklearn.tree import DecisionTreeClassifier

from safegain import PGSClassifier, PGSRegressor
from safegain.estimators.progress import ProgressBar
from tests.estimators.samples import classifier, noisy_diabetes, noisy_digits


def test_callbacks_watch_and_stop(capsys):
    X, noisy, _, trusted = noisy_digits(200)
    seen = []
    callbacks = (lambda record, _: record["step"] == 2, lambda record, _: seen.append(record))
    fitted = classifier(n_outer=9, search={"callbacks": callbacks}, verbose=1)
    fitted.fit(X, noisy, trusted=trusted)
    assert fitted.n_iter_ == 2
    assert [record["step"] for record in seen] == [0, 1, 2]
    assert "a callback asked for it" in fitted.safeness_.status
    assert "searching" in capsys.readouterr().err
    classifier(n_outer=1).fit(X, noisy, trusted=trusted)
    assert capsys.readouterr() == ("", "")


def test_every_search_and_task_shows_its_stages(capsys):
    X, noisy, _, trusted = noisy_digits(200, k=3)
    Xr, yr, _, tr = noisy_diabetes()
    for model, data in [
        (PGSClassifier("linear", verbose=1, random_state=0), (X, noisy, trusted)),
        (PGSClassifier(DecisionTreeClassifier(), verbose=1, random_state=0), (X, noisy, trusted)),
        (PGSRegressor("linear", verbose=1, random_state=0), (Xr, yr, tr)),
    ]:
        model.fit(*data)
        out, err = capsys.readouterr()
        assert out == ""
        assert "searching" in err


def test_a_bar_that_ends_well_is_full_and_one_that_fails_is_not(capsys):
    with ProgressBar() as bar:
        bar.watch("first", 0, 9)
        bar.watch("second", 3, 9)  # the steps that were needed were fewer than it seemed
    assert "4/4" in capsys.readouterr().err
    bar = ProgressBar().__enter__()
    bar.watch("first", 2, 9)
    bar.__exit__(KeyError)
    assert "2/9" in capsys.readouterr().err
