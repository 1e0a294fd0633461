#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""One request to a broker over its unix socket: api.py SOCKET METHOD PATH [JSON]"""
import sys

from pool import Api

if __name__ == "__main__":
    status, text = Api(sys.argv[1]).raw(*sys.argv[2:5])
    print(text)
    sys.exit(status >= 300)
