# Tests of the benchmark set itself: a benchmark that cannot fail proves nothing about speed.
#
# SPDX-License-Identifier: MIT
