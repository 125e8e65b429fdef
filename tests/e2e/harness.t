#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The test harness itself: a program that dies, hangs or stops early must count as failed.
set -u

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
number=0
failed=0

# A busy machine may take long to start a program: the bound is short only where it is what is tested.
timeout=300

# expect NAME PASSED FAILED SKIPPED STATUS, with the program's text on standard input
expect() {
	cat >"$work/$1"
	chmod +x "$work/$1"
	: >"$work/counts"
	PTL_COUNTS=$work/counts PTL_SKIPS=$work/skips PTL_TEST_TIMEOUT=$timeout "$PTL_TESTS/tap" "$work/$1" >"$work/out" 2>&1
	status=$?
	number=$((number + 1))
	want="$2 $3 $4 $work/$1 status $5"
	got="$(cat "$work/counts") status $status"
	if [ "$got" = "$want" ]; then
		echo "ok $number - $1"
	else
		failed=1
		echo "not ok $number - $1"
		echo "# wanted: $want"
		echo "# got:    $got"
	fi
}

expect good.t 2 0 0 0 <<'END'
#!/bin/sh
echo 1..2; echo ok 1 - a; echo ok 2 - b
END
expect plan-at-the-end.t 1 0 0 0 <<'END'
#!/bin/sh
echo ok; echo 1..1
END
expect one-fails.t 1 1 0 1 <<'END'
#!/bin/sh
echo 1..2; echo ok 1 - a; echo not ok 2 - b; exit 1
END
expect stops-early.t 1 1 0 1 <<'END'
#!/bin/sh
echo 1..3; echo ok 1 - a
END
expect dies.t 1 1 0 1 <<'END'
#!/bin/sh
echo 1..2; echo ok 1 - a; kill -SEGV $$
END
timeout=5
expect hangs.t 1 1 0 1 <<'END'
#!/bin/sh
echo 1..1; echo ok 1 - a; sleep 600
END
timeout=300
# Signals that the caller ignores are not ignored by what is tested.
trap '' INT QUIT HUP TERM
for name in INT QUIT HUP TERM; do
	expect "dies-of-$name.t" 0 1 0 1 <<END
#!/bin/sh
echo 1..1; kill -$name \$\$; echo ok 1 - lived
END
done
trap - INT QUIT HUP TERM
# What it leaves behind keeps its output open.
timeout=5
expect leaves-a-child.t 1 0 0 0 <<END
#!/bin/sh
echo 1..1; echo ok 1 - a; setsid sleep 600 & echo \$! >"$work/child"
END
kill "$(cat "$work/child")"
# The kernel's sum of time in which processes waited for a CPU stands in a file of the test: a busy machine gives a test more time.
echo 'some avg10=0.00 avg60=0.00 avg300=0.00 total=5000000' >"$work/pressure"
export PTL_CPU_PRESSURE="$work/pressure"
expect idle-machine.t 0 1 0 1 <<'END'
#!/bin/sh
sleep 9; echo ok 1 - a; echo 1..1
END
timeout=20
expect busy-machine.t 1 0 0 0 <<END
#!/bin/sh
echo 'some avg10=99.00 avg60=99.00 avg300=99.00 total=105000000' >"$work/pressure"
sleep 25; echo ok 1 - a; echo 1..1
END
unset PTL_CPU_PRESSURE
timeout=300
expect no-newline.t 1 0 0 0 <<'END'
#!/bin/sh
printf '1..1\nok 1 - a'
END
expect bad-status.t 1 1 0 1 <<'END'
#!/bin/sh
echo 1..1; echo ok 1 - a; exit 3
END
expect says-nothing.t 0 1 0 1 <<'END'
#!/bin/sh
END
expect skips-one.t 1 0 1 0 <<'END'
#!/bin/sh
echo 1..2; echo ok 1 - a; echo 'ok 2 - b # SKIP no such thing here'
END
expect skips-all.t 0 0 1 0 <<'END'
#!/bin/sh
echo '1..0 # SKIP no such thing here'
END
number=$((number + 1))
if [ "$(cat "$work/skips")" = "skips-one.t: b # no such thing here
skips-all.t: no such thing here" ]; then
	echo "ok $number - reasons of skips are kept"
else
	failed=1
	echo "not ok $number - reasons of skips are kept"
	sed 's/^/# /' "$work/skips"
fi
# cmocka numbers each group from 1, and calls a skipped test "not ok".
expect test_groups 2 0 1 0 <<'END'
#!/bin/sh
echo 1..2; echo ok 1 - a; echo 'not ok 2 # SKIP b'; echo '# ok - first'
echo 1..1; echo ok 1 - c; echo '# ok - second'
END
# In CI, a skip that is not expected fails the run.
for skip in "the moon is not full" "there is no gdb"; do
	printf '#!/bin/sh\necho 1..1; echo "ok 1 - a thing # SKIP %s"\n' "$skip" >"$work/strict.t"
	chmod +x "$work/strict.t"
	(cd "$work" && PTL_STRICT_SKIPS=1 "$PTL_TESTS/run" strict.t) >"$work/out" 2>&1
	status=$?
	number=$((number + 1))
	if [ $status = "$([ "$skip" = "there is no gdb" ] && echo 0 || echo 1)" ] && grep -q "$skip" "$work/out"; then
		echo "ok $number - a strict run: $skip"
	else
		failed=1
		echo "not ok $number - a strict run: $skip"
		sed 's/^/# /' "$work/out"
	fi
done
echo "1..$number"
exit $failed
