# SPDX-License-Identifier: BSD-3-Clause
"""Names of a page's headings, to which links lead (PAGE.md#NAME)."""
import re


def heading_names(headings):
    """Returns the names of HEADINGS, plain texts of one page in their order, as the places that show such pages give them."""
    names, counts = [], {}
    for heading in headings:
        name = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        count = counts[name] = counts.get(name, -1) + 1
        names.append(f"{name}-{count}" if count else name)
    return names
