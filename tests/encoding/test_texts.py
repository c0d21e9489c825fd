"""Texts, beside scikit-learn's TF-IDF."""

import numpy as np
import pytest
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from safegain.encoding import TableEncoder, texts
from tests.encoding.samples import arrow, encode, sentences


def test_few_terms_are_scikit_learns_tfidf():
    values = ["good film", "bad film film", "", "good good actor", "nothing"]
    oracle = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, dtype=np.float32)
    expected = oracle.fit_transform(values).toarray()
    encoder = TableEncoder({"c": "text"}).fit({"c": arrow([value or None for value in values])})
    assert np.array_equal(encoder.transform({"c": arrow(values)}), expected)
    assert encoder.get_feature_names_out().tolist() == [f"c: {term}" for term in oracle.get_feature_names_out()]
    new = ["a film that no one saw"]
    assert np.array_equal(encoder.transform({"c": arrow(new)}), oracle.transform(new).toarray())


def test_many_terms_are_scikit_learns_truncated_svd():
    values = sentences(600)
    rows = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2, dtype=np.float32).fit_transform(values)
    assert rows.shape[1] > texts.MOST_DENSE
    expected = TruncatedSVD(256, random_state=3).fit(rows).transform(rows)
    found = encode("text", arrow(values), random_state=3)
    assert found.shape == (600, 256)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_a_column_without_words_is_left_out_and_nothing_but_it_is_refused():
    table = {"c": arrow(["", "?!", None]), "x": arrow([1, 2, 3])}
    assert TableEncoder({"c": "text", "x": "number"}).fit_transform(table).shape == (3, 1)
    with pytest.raises(ValueError, match="nothing is left"):
        TableEncoder({"c": "text"}).fit(table)


@pytest.mark.parametrize("n", [1, 2])
def test_one_long_text_will_do(n):
    assert encode("text", arrow([" ".join(f"w{i}" for i in range(900))] * n)).shape == (n, 1)


def test_terms_are_learned_from_some_texts_where_there_are_many(monkeypatch):
    values = arrow(sentences(500))
    assert encode("text", values).shape == (500, 256)
    monkeypatch.setattr(texts, "MOST_FITTED", 50)
    found = encode("text", values)
    assert len(found) == 500
    assert found.shape[1] < 256  # 50 texts have fewer directions, or so few terms that all are kept
