#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Truth: code that comes and goes: a JIT, private plugins, libraries that share an address, luajit.
# shellcheck source=tests/e2e/truth.sh
. "$PTL_TESTS/e2e/truth.sh"

program jit
program jit_rounds
program memfd_rewrite
program dlopen_reuse
program private_loader

cat >"$scratch/sieve.lua" <<'END'
local function sieve(n)
	local composite, count = {}, 0
	for i = 2, n do
		if not composite[i] then
			count = count + 1
			for j = i * i, n, i do composite[j] = true end
		end
	end
	return count
end
local text = {}
for i = 1, 30 do
	text[#text + 1] = string.format("%d:%d", i, sieve(2000 + i))
end
print(table.concat(text, " "))
-- A second hot loop, so that traces are made, left, and made again.
local sum = 0
for i = 1, 200000 do
	if i % 7 == 0 then sum = sum + i else sum = sum - i % 3 end
end
print(sum)
END
# Its hashes of strings are seeded at random, so that each run executes other instructions.
unstepped '3 8 14' luajit luajit "$scratch/sieve.lua"
unstepped '2 9' 'luajit, interpreter only' luajit -joff "$scratch/sieve.lua"
unstepped '4 13' 'luajit -O3' luajit -O3 "$scratch/sieve.lua"
finish
