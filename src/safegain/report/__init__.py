"""report.html: what a run found, for the person who owns the spreadsheet. One file, no script, no network, no torch."""

from safegain.report.page import report_html, write_report

__all__ = ["report_html", "write_report"]
