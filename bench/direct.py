#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The benchmark's driver: in preparation."""
raise SystemExit("bench/direct.py: in preparation")
