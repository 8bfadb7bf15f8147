# The report: one result of the runner as a self-contained page, and as charts.
#
# Owns the way from the JSON to HTML and SVG. record.py reads, figures.py computes, wording.py has
# the words, svg.py and the chart_*.py draw, and page.py with template/ has the layout. Only page.py
# needs more than Python itself (requirements.lock).
#
# SPDX-License-Identifier: MIT
