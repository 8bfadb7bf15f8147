# The report: one result of the runner as a page that needs nothing else, and as charts.
#
# Owns the way from the JSON to HTML and SVG. Reading is record.py, arithmetic figures.py, words
# wording.py, drawing svg.py and the chart_*.py, layout page.py with template/. Only page.py needs
# anything beyond Python itself (requirements.lock).
#
# SPDX-License-Identifier: MIT
