# Tests of the report: python3 -m unittest discover -s bench/report/tests -t .
#
# SPDX-License-Identifier: MIT
