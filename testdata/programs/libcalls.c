/* SPDX-License-Identifier: BSD-2-Clause */
/* A plugin whose calls appear in the log of the host program. */

static int (*volatile callback)(int);

__attribute__((noinline)) static int inner(int value)
{
	return callback ? callback(value) + 1 : value;
}

int plugin_run(int (*called)(int), int value);
int plugin_run(int (*called)(int), int value)
{
	callback = called;
	return value > 0 ? plugin_run(called, value - 1) + inner(value) : inner(value);
}
