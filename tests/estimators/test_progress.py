"""The progress bar and callbacks."""

from tests.estimators.samples import classifier, noisy_digits


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
