/* SPDX-License-Identifier: BSD-2-Clause */
/* Command lines from tables: one table gives parsing, --help and the words for completion. */
#ifndef COMMON_OPTIONS_H
#define COMMON_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

struct common_option {
	const char *long_name; /* "output", without dashes; NULL ends a table; "": a heading */
	char short_name;       /* 'o', or 0 */
	const char *argument;  /* "FILE" in the help, NULL for a switch; "WORD,..." takes a list */
	const char *help;      /* wrapped to fit; a newline starts a line; NULL hides the option */
	/*
	 * Takes the argument (NULL for a switch). Returns 0, or a failure (common_fail) whose text
	 * says what was expected; the caller adds the option's name.
	 */
	int (*take)(void *target, const char *argument);
	/*
	 * NULL-ended list of the allowed words, or NULL for any. They are checked before take is
	 * called (each word of a list), are added to the help, and serve completion.
	 */
	const char *const *choices;
};

struct common_command_line {
	const char *program;                       /* "ptl-dump flow" */
	const char *usage;                         /* "[options] FILE" */
	const char *summary;                       /* what it does, one or two sentences */
	const char *examples;                      /* lines shown under "Examples:" */
	const struct common_option *const *tables; /* NULL-ended list of tables, shown in this order */
	int stop_at_operand;                       /* non-zero: the first operand ends the options */
};

/*
 * Parses argv with GNU habits (permuted operands unless stop_at_operand, "--", --name=value,
 * abbreviated long names). Operands are moved to the end in their order and *first_operand is the
 * index of the first (argc when there are none). Options are taken in the order of the command
 * line. Where a name is in two tables the first counts. argv[0] is skipped.
 *
 * --help (-h) and --version (-V) are always there and print to stdout. So is the hidden
 * --completion-words, which prints every option, one a line, and --completion-words=NAME, which
 * prints the choices of the option NAME: shell completion is made of the same tables.
 *
 * Returns 0 to go on, 1 when --help, --version or --completion-words was served (the program exits
 * with COMMON_EXIT_OK), or a failure that has been reported on stderr with "try: ... --help":
 * PTL_MISUSE, what take returned, or PTL_SYSTEM where what was served could not be written.
 */
int common_options_parse(const struct common_command_line *line, void *target, int argc, char **argv,
			 int *first_operand);

/* Values for take(). Anything else is PTL_MISUSE, with a text that says what was expected. */

/* "4096" or "0x1000". */
int common_parse_u64(const char *text, uint64_t *value);
/* A factor for max_expansion (ptl/reader.h): 1 and more; 0, for any, becomes UINT32_MAX. */
int common_parse_expansion(const char *text, uint32_t *times);
/* As common_parse_u64, with K, M, G or T after it for powers of 1024: "16K". */
int common_parse_size(const char *text, uint64_t *bytes);
/* "1.5s", "20ms", "3us", "7ns", "2m", "1h", a plain number is seconds; to nanoseconds, exactly. */
int common_parse_duration(const char *text, uint64_t *nanoseconds);

#endif
