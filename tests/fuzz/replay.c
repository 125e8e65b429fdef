/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs a fuzz target over its corpus without a fuzzing engine: one TAP test a file, over the bytes
 * as they are, and for a small file also over every truncation of it and over damage to every byte,
 * as far as the time of all files together goes.
 *
 *   fuzz_NAME FOLDER           runs every file of FOLDER
 *   fuzz_NAME FILE             runs one, to look at a failure
 *   fuzz_NAME --expand FOLDER DIRECTORY
 *                              writes FOLDER's inputs as bytes to DIRECTORY, for an engine
 *
 * A file NAME.hex holds bytes as hexadecimal text; '#' starts a comment.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/file.h"

#define INPUT_LIMIT ((size_t)64 << 20)
#define DAMAGE_LIMIT 4096    /* bytes; larger inputs are not damaged byte by byte */
#define SECONDS_FOR_DAMAGE 8 /* seconds for all files; unused time passes to the next files */
#define SECONDS_FOR_ONE 20 /* CPU seconds after which a single run counts as hanging; tests/tap limits runs that wait */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

/* the current run, for the report of a crash */
static struct {
	unsigned number;
	const char *name;
	const char *what; /* "truncated to", "with byte", or "as it is" */
	size_t at;
	unsigned flipped;
} now;

/* Called in a dying process: reports the current run. */
static void report_death(void)
{
	char line[512];
	const int length = snprintf(line, sizeof(line), "not ok %u - %s\n# died: %s %zu (xor 0x%02x)\n", now.number,
				    now.name, now.what, now.at, now.flipped);

	(void)common_write_all(STDOUT_FILENO, line, (size_t)length);
}

static void on_signal(int number)
{
	report_death();
	signal(number, SIG_DFL);
	raise(number);
}

/*
 * Runs the target on a copy of exactly `size` bytes, so that a sanitizer sees reads beyond the end. An empty input is a
 * valid pointer, not NULL.
 */
static void run_one(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		abort();
	if (size)
		memcpy(copy, data, size);
	setitimer(ITIMER_PROF, &(struct itimerval){.it_value = {.tv_sec = SECONDS_FOR_ONE}}, NULL);
	(void)LLVMFuzzerTestOneInput(size ? copy : copy + 1, size);
	setitimer(ITIMER_PROF, &(struct itimerval){0}, NULL);
	free(copy);
}

static double seconds_now(void)
{
	struct timespec now_is;

	clock_gettime(CLOCK_MONOTONIC, &now_is);
	return (double)now_is.tv_sec + (double)now_is.tv_nsec / 1e9;
}

static size_t common_divisor(size_t a, size_t b)
{
	return b ? common_divisor(b, a % b) : a;
}

/*
 * Returns a step that visits every byte once, spread over the input: if the time runs out, the skipped bytes are not
 * all at the end.
 */
static size_t spread_step(size_t size)
{
	size_t step = size * 618 / 1000; /* golden ratio: successive positions spread evenly */

	while (step > 1 && common_divisor(step, size) != 1)
		step--;
	return step ? step : 1;
}

/* Runs every truncation, and three kinds of damage to every byte. False: the time ran out. */
static bool run_damaged(uint8_t *data, size_t size, double end)
{
	static const uint8_t flips[] = {0x01, 0x80, 0xff};
	const size_t step = spread_step(size);

	for (size_t i = 0, at = 0; i < size; i++, at = (at + step) % size) {
		now.what = "truncated to";
		now.at = at;
		now.flipped = 0;
		run_one(data, at);
		now.what = "with byte";
		for (size_t f = 0; f < sizeof(flips); f++) {
			now.flipped = flips[f];
			data[at] ^= flips[f];
			run_one(data, size);
			data[at] ^= flips[f];
		}
		if (seconds_now() > end)
			return false;
	}
	return true;
}

static int hex_value(int c)
{
	static const char digits[] = "0123456789abcdef";
	const char *found = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;

	return found ? (int)(found - digits) : -1;
}

/* Replaces hexadecimal text by its bytes. */
static int decode_hex(uint8_t *data, size_t *size)
{
	size_t used = 0, digits = 0;
	bool comment = false;
	uint8_t byte = 0;

	for (size_t i = 0; i < *size; i++) {
		const int digit = hex_value(data[i]);

		if (data[i] == '#' || data[i] == '\n')
			comment = data[i] == '#';
		if (comment || strchr(" \t\r\n", data[i]))
			continue;
		if (digit < 0)
			return common_fail(PTL_CORRUPT, "offset %zu: not a hexadecimal digit", i);
		byte = (uint8_t)(byte << 4 | digit);
		if (++digits % 2 == 0)
			data[used++] = byte;
	}
	if (digits % 2)
		return common_fail(PTL_CORRUPT, "an odd number of hexadecimal digits");
	*size = used;
	return 0;
}

static int load(const char *path, uint8_t **data, size_t *size)
{
	const size_t length = strlen(path);
	int status = common_read_file(path, INPUT_LIMIT, data, size);

	if (status == 0 && length > 4 && strcmp(path + length - 4, ".hex") == 0) {
		status = decode_hex(*data, size);
		if (status < 0) {
			free(*data);
			common_fail_in(status, "%s", path);
		}
	}
	return status;
}

/* Replays one file as test `number` of `count`. False: the file cannot be read. */
static bool replay(unsigned number, unsigned count, const char *path)
{
	static double left = SECONDS_FOR_DAMAGE;
	const char *slash = strrchr(path, '/');
	const char *remark = "";
	uint8_t *data;
	size_t size;
	double start;

	now.number = number;
	now.name = slash ? slash + 1 : path;
	now.what = "as it is, bytes";
	now.flipped = 0;
	if (load(path, &data, &size) < 0) {
		printf("not ok %u - %s\n# %s\n", number, now.name, ptl_error_text());
		return false;
	}
	now.at = size;
	run_one(data, size);
	start = seconds_now();
	if (size <= DAMAGE_LIMIT && !run_damaged(data, size, start + left / (count - number + 1)))
		remark = " (damage cut short by time)";
	left -= seconds_now() - start;
	printf("ok %u - %s%s\n", number, now.name, remark);
	fflush(stdout);
	free(data);
	return true;
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* Calls visit for every file of folder, by name; returns how many calls were false, or -1. */
static int for_each_file(const char *folder, bool announce, bool (*visit)(unsigned, unsigned, const char *))
{
	struct dirent **entries;
	const int count = scandir(folder, &entries, is_visible, alphasort);
	int failures = 0;

	if (count < 0) {
		fprintf(stderr, "%s: %s\n", folder, strerror(errno));
		return -1;
	}
	if (announce)
		printf("1..%d%s\n", count, count ? "" : " # SKIP the corpus is empty");
	for (int i = 0; i < count; i++) {
		char path[4096];

		snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
		failures += !visit((unsigned)i + 1, (unsigned)count, path);
		free(entries[i]);
	}
	free(entries);
	return failures;
}

static const char *expand_to;

static bool expand(unsigned number, unsigned count, const char *path)
{
	char target[4096];
	uint8_t *data;
	size_t size;
	FILE *file;
	bool written;

	(void)number;
	(void)count;
	if (load(path, &data, &size) < 0) {
		fprintf(stderr, "%s\n", ptl_error_text());
		return false;
	}
	snprintf(target, sizeof(target), "%s/%s", expand_to, strrchr(path, '/') + 1);
	file = fopen(target, "wb");
	written = file && fwrite(data, 1, size, file) == size;
	if (file && fclose(file) != 0)
		written = false;
	if (!written)
		perror(target);
	free(data);
	return written;
}

int main(int argc, char **argv)
{
	static const int deaths[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGPROF};
	struct stat info;

	if (argc == 4 && strcmp(argv[1], "--expand") == 0) {
		expand_to = argv[3];
		return for_each_file(argv[2], false, expand) != 0;
	}
	if (argc != 2 || stat(argv[1], &info) < 0) {
		fprintf(stderr, "usage: %s FOLDER|FILE\n", argv[0]);
		return 2;
	}
	if (__sanitizer_set_death_callback)
		__sanitizer_set_death_callback(report_death);
	for (size_t i = 0; i < sizeof(deaths) / sizeof(deaths[0]); i++)
		if (!__sanitizer_set_death_callback || deaths[i] == SIGPROF || deaths[i] == SIGABRT)
			signal(deaths[i], on_signal);
	if (S_ISDIR(info.st_mode))
		return for_each_file(argv[1], true, replay) != 0;
	printf("1..1\n");
	return !replay(1, 1, argv[1]);
}
