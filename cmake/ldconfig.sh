#!/bin/sh
# SPDX-License-Identifier: MIT
# What it owns: the step after a library of an .rpm came or went: the loader's cache. It must not
# know which library it is.
/sbin/ldconfig
