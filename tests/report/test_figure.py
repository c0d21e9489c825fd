"""Figures as inline SVG."""

from safegain.report.figure import NEW, drawing


def test_words_are_text_and_colours_are_those_of_the_page():
    with drawing("test", 100) as sheet:
        ax = sheet.axes(10, 10, 200, 80)
        ax.plot([0, 1], [0, 1], color=NEW)
        ax.text(0, 0, sheet.word("<b>$x$ & é", 20))
        svg = str(sheet.svg("A <title>", "Words & more."))
    assert svg.startswith("<svg")
    assert "&lt;b&gt;$x$ &amp; é" in svg
    assert "A &lt;title&gt;" in svg
    assert "Words &amp; more." in svg
    assert "var(--new)" in svg
    assert NEW not in svg
    assert "<b>" not in svg
