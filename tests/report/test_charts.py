"""Figures."""

import matplotlib

from safegain.report import report_html
from safegain.report.charts import models_chart
from safegain.report.comparison import standings
from safegain.runs import open_run
from tests.run_folders import make_run


def test_a_reports_figures_are_the_same_whatever_the_users_own_style_is(tmp_path):
    run = open_run(make_run(tmp_path / "run"))
    plain = report_html(run)
    with matplotlib.rc_context({"text.usetex": True, "font.size": 30, "axes.facecolor": "black"}):
        before = dict(matplotlib.rcParams)
        assert report_html(run) == plain
        assert dict(matplotlib.rcParams) == before


def test_a_chart_has_words_for_what_it_shows(tmp_path):
    shown = models_chart(standings(open_run(make_run(tmp_path / "run")).facts))
    assert "Your labels and the trusted rows (reference): 80; The trusted rows alone: 75; New model: 88." in shown
