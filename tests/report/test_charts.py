"""Figures."""

import matplotlib

from safegain.report import report_html
from safegain.runs import open_run
from tests.run_folders import make_run


def test_a_reports_figures_are_the_same_whatever_the_users_own_style_is(tmp_path):
    run = open_run(make_run(tmp_path / "run"))
    plain = report_html(run)
    with matplotlib.rc_context({"text.usetex": True, "font.size": 30, "axes.facecolor": "black"}):
        before = dict(matplotlib.rcParams)
        assert report_html(run) == plain
        assert dict(matplotlib.rcParams) == before
