# SPDX-License-Identifier: BSD-2-Clause
# Declarations of the public headers as the compiler sees them, for the ABI check and the Python module.
"""declarations(top, includes, headers, cc) returns a list of C declarations, without inline functions and comments."""
import re
import subprocess

MARKER = re.compile(r'# \d+ "([^"]*)"')


def own_text(top, includes, headers, cc):
    """Returns the preprocessed text of the headers in folders of top, without other included headers."""
    text = "".join(f"#include <{header}>\n" for header in headers)
    command = [*cc.split(), "-E", "-x", "c", *(f"-I{folder}" for folder in includes), "-"]
    done = subprocess.run(command, input=text, check=True, capture_output=True, encoding="utf-8", cwd=top).stdout
    wanted = {f"{folder}/{header}" for folder in includes for header in headers}
    lines, own = [], False
    for line in done.splitlines():
        marker = MARKER.match(line)
        if marker:
            own = marker.group(1) in wanted
        elif own:
            lines.append(line)
    return "\n".join(lines)


def declarations(top, includes, headers, cc="gcc"):
    found, start, depth = [], 0, 0
    text = own_text(top, includes, headers, cc)
    for at, character in enumerate(text):
        depth += (character == "{") - (character == "}")
        inline = text[start:at].lstrip().startswith("static ")
        if depth or not (character == ";" or character == "}" and inline):
            continue
        if not inline:
            found.append(" ".join(text[start:at + 1].split()))
        start = at + 1
    return [one for one in found if one != ";"]
