#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Truth: programs everybody has: true, ls, python3, a shell pipeline, gcc with its children.
# shellcheck source=tests/e2e/truth.sh
. "$PTL_TESTS/e2e/truth.sh"

every true /bin/true
turn=1
long 'ls -lR' ls -lR /usr/include
cat >"$scratch/script.py" <<'END'
import collections, json, re, textwrap, zlib
text = (textwrap.__doc__ or "") + textwrap.dedent(open(textwrap.__file__).read())
words = collections.Counter(re.findall(r"[a-z]+", text.lower()))
top = [word for word, count in sorted(words.items(), key=lambda p: (-p[1], p[0]))[:10]]
print(json.dumps({"top": top, "crc": zlib.crc32(text.encode())}))
END
big 'python3 running a script' "$python" "$scratch/script.py"

cat >"$scratch/pipeline" <<'END'
#!/bin/sh
# Builtins, a loop, subshells and five other programs.
for i in 1 2 3; do
	ls /usr/include | sort -r | head -n $((i * 10)) | tr a-z A-Z | (read first; echo "$i $first"; wc -l)
done
END
chmod +x "$scratch/pipeline"
some 'a shell pipeline' "$scratch/pipeline"

"$python" - >"$scratch/source.c" <<'END'
print("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n")
for i in range(12):
    print(f"""struct s{i} {{ int key; char name[{i + 8}]; }};
static int compare{i}(const void *a, const void *b)
{{
	const struct s{i} *x = a, *y = b;
	return x->key < y->key ? -1 : x->key > y->key ? 1 : strcmp(x->name, y->name);
}}
int f{i}(struct s{i} *s, int n)
{{
	int sum = 0;
	qsort(s, (size_t)n, sizeof(*s), compare{i});
	for (int i = 0; i < n; i++)
		sum += s[i].key * {i + 3} % 17 + printf("%s\\\\n", s[i].name);
	return sum;
}}
""")
END
big 'gcc -O2 -c' gcc -O2 -c -o "$scratch/object.o" "$scratch/source.c"
finish
