/* SPDX-License-Identifier: BSD-2-Clause */
/* Command lines from tables: one table gives parsing, --help and the words for completion. */
#ifndef COMMON_PROGRAM_OPTIONS_H
#define COMMON_PROGRAM_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/program/selection.h"
#include "common/text/string_list.h"

/* What becomes of an option's argument. */
enum common_option_kind {
	COMMON_OPTION_CALLBACK, /* take() does it */
	COMMON_OPTION_CONSTANT, /* a switch: stores least */
	COMMON_OPTION_STRING,
	COMMON_OPTION_PATH,
	COMMON_OPTION_NUMBER,
	COMMON_OPTION_COUNT,
	COMMON_OPTION_LIMIT,
	COMMON_OPTION_SIZE,
	COMMON_OPTION_POWER_OF_TWO,
	COMMON_OPTION_DURATION,
	COMMON_OPTION_CHOICE,
	COMMON_OPTION_STRINGS,
	COMMON_OPTION_IDS,
	COMMON_OPTION_TIME_SPAN,
	COMMON_OPTION_LAST,
};

/* A row names the first four members in order, and the rest with one of the macros below. */
struct common_option {
	const char *long_name; /* "output", without dashes; NULL ends a table; "": a heading */
	char short_name;       /* 'o', or 0 */
	/* "FILE" in the help, NULL for a switch; "WORD,..." takes a list; "[=WORD]" may be left out. */
	const char *argument;
	const char *help; /* wrapped to fit; a newline starts a line; NULL hides the option */
	/*
	 * Of COMMON_OPTION_CALLBACK: takes the argument (NULL for a switch). member is `offset` behind the target of
	 * the command line. Returns 0, or a failure (common_fail) whose text says what was expected; the caller adds
	 * the option's name.
	 */
	int (*take)(void *member, const char *argument);
	/*
	 * NULL-ended list of the allowed words, or NULL for any. They are checked before the argument is
	 * taken (each word of a list), are added to the help, and serve completion.
	 */
	const char *const *choices;
	const uint32_t *numbers; /* what COMMON_OPTION_CHOICE stores for each choice; NULL: its index */
	enum common_option_kind kind;
	uint8_t size;   /* of the member, where it is a number */
	bool has_given; /* the bool at given_offset becomes true */
	size_t offset;  /* of the member in the target */
	size_t given_offset;
	uint64_t least, most; /* inclusive */
	bool rare;            /* of a heading: only --help=all shows what is under it */
};

/*
 * Where the argument goes: a member of the structure that is the target of the command line. The compiler checks the
 * member's type, and that it can hold `most`.
 */

/* bool: true. */
#define COMMON_FLAG(structure, member)                                                                                 \
	COMMON_TARGET(CONSTANT, structure, member, bool), .size = sizeof(bool), .least = 1
/* A switch that stores a number. */
#define COMMON_CONSTANT(structure, member, value)                                                                      \
	.kind = COMMON_OPTION_CONSTANT, COMMON_NUMBER_MEMBER(structure, member, value), .least = (value)
/* const char *: kept by pointer; NULL where it was left out. A path is not empty. */
#define COMMON_STRING(structure, member) COMMON_TARGET(STRING, structure, member, const char *)
#define COMMON_PATH(structure, member) COMMON_TARGET(PATH, structure, member, const char *)
/* Any type of integer: "4096" or "0x1000". */
#define COMMON_NUMBER(structure, member, least_, most_)                                                                \
	.kind = COMMON_OPTION_NUMBER, COMMON_NUMBER_MEMBER(structure, member, most_), .least = (least_), .most = (most_)
/* The same, or with a unit: "64K". */
#define COMMON_COUNT(structure, member, least_, most_)                                                                 \
	.kind = COMMON_OPTION_COUNT, COMMON_NUMBER_MEMBER(structure, member, most_), .least = (least_), .most = (most_)
/* uint32_t: a number that bounds something; 0, for any, is stored as UINT32_MAX. */
#define COMMON_LIMIT(structure, member)                                                                                \
	COMMON_TARGET(LIMIT, structure, member, uint32_t), .size = sizeof(uint32_t), .most = UINT32_MAX
/* uint64_t: "4096", "16K", "1M". */
#define COMMON_SIZE(structure, member, least_, most_)                                                                  \
	COMMON_TARGET(SIZE, structure, member, uint64_t), .size = sizeof(uint64_t), .least = (least_), .most = (most_)
#define COMMON_POWER_OF_TWO(structure, member, least_, most_)                                                          \
	COMMON_TARGET(POWER_OF_TWO, structure, member, uint64_t), .size = sizeof(uint64_t), .least = (least_),         \
								  .most = (most_)
/* uint64_t: nanoseconds, at least so many. */
#define COMMON_DURATION(structure, member, least_)                                                                     \
	COMMON_TARGET(DURATION, structure, member, uint64_t), .size = sizeof(uint64_t), .least = (least_)
/* Any type of integer or enum: the index of the argument in words, or what numbers_ has at that index. */
#define COMMON_CHOICE(structure, member, words) COMMON_CHOICE_OF(structure, member, words, NULL)
#define COMMON_CHOICE_OF(structure, member, words, numbers_)                                                           \
	.kind = COMMON_OPTION_CHOICE, COMMON_NUMBER_MEMBER(structure, member, 0), .choices = (words),                  \
	.numbers = (numbers_)
/* struct common_string_list: adds the argument; so many are possible. */
#define COMMON_STRINGS(structure, member, most_)                                                                       \
	COMMON_TARGET(STRINGS, structure, member, struct common_string_list), .most = (most_)
/* struct common_id_set: adds the numbers of a comma list. */
#define COMMON_IDS(structure, member) COMMON_TARGET(IDS, structure, member, struct common_id_set)
/* struct common_time_span: "A..B"; or a duration before the end. */
#define COMMON_TIME_SPAN(structure, member) COMMON_TARGET(TIME_SPAN, structure, member, struct common_time_span)
#define COMMON_LAST(structure, member) COMMON_TARGET(LAST, structure, member, struct common_time_span)
/* Anything that is rare: function gets a pointer to the member. */
#define COMMON_CALLBACK(structure, member, function) .take = (function), .offset = offsetof(structure, member)
/* After one of the others: the bool becomes true when the option is given. */
#define COMMON_GIVEN(structure, member) .has_given = true, .given_offset = COMMON_OFFSET(structure, member, bool)

/* For the macros above. */
#define COMMON_ASSERTED(condition, text)                                                                               \
	(0 * sizeof(struct {                                                                                           \
		 char unused;                                                                                          \
		 _Static_assert(condition, text);                                                                      \
	 }))
#define COMMON_OFFSET(structure, member, type)                                                                         \
	(offsetof(structure, member) +                                                                                 \
	 COMMON_ASSERTED(__builtin_types_compatible_p(__typeof__(((structure *)NULL)->member), type),                  \
			 "the member has another type"))
#define COMMON_TARGET(kind_, structure, member, type)                                                                  \
	.kind = COMMON_OPTION_##kind_, .offset = COMMON_OFFSET(structure, member, type)
#define COMMON_NUMBER_MEMBER(structure, member, most_)                                                                 \
	.size = sizeof(((structure *)NULL)->member),                                                                   \
	.offset = offsetof(structure, member) +                                                                        \
		  COMMON_ASSERTED(((uint64_t)(most_) >> (8 * sizeof(((structure *)NULL)->member) - 1)) <= 1,           \
				  "the member is too small")

struct common_command_line {
	const char *program;                       /* "ptl-dump flow" */
	const char *usage;                         /* "[options] FILE" */
	const char *summary;                       /* what it does, one or two sentences */
	const char *examples;                      /* lines shown under "Examples:" */
	const struct common_option *const *tables; /* NULL-ended list of tables, shown in this order */
	int stop_at_operand;                       /* non-zero: the first operand ends the options */
	/* Called for each option of the tables that was taken, in order. May be NULL. */
	void (*taken)(void *context, const struct common_option *option, const char *argument);
	void *context;
};

/*
 * Parses argv with GNU habits (permuted operands unless stop_at_operand, "--", --name=value,
 * abbreviated long names). Operands are moved to the end in their order and *first_operand is the
 * index of the first (argc when there are none). Options are taken in the order of the command
 * line. Where a name is in two tables the first counts. argv[0] is skipped.
 *
 * --help (-h) and --version (-V) are always there and print to stdout; --help=all shows rare options, too. So is the hidden
 * --completion-words, which prints every option, one a line, and --completion-words=NAME, which
 * prints the choices of the option NAME: shell completion is made of the same tables.
 *
 * Returns 0 to go on, 1 when --help, --version or --completion-words was served (the program exits
 * with COMMON_EXIT_OK), or a failure that has been reported on stderr with "try: ... --help":
 * PTL_MISUSE, what take returned, or PTL_SYSTEM where what was served could not be written.
 */
int common_options_parse(const struct common_command_line *line, void *target, int argc, char **argv,
			 int *first_operand);

/* Values of arguments. Anything else is PTL_MISUSE, with a text that says what was expected. */

/* "4096" or "0x1000". */
int common_parse_u64(const char *text, uint64_t *value);
/* As common_parse_u64, with K, M, G or T after it for powers of 1024: "16K". */
int common_parse_size(const char *text, uint64_t *bytes);
/* "1.5s", "20ms", "3us", "7ns", "2m", "1h", a plain number is seconds; to nanoseconds, exactly. */
int common_parse_duration(const char *text, uint64_t *nanoseconds);

#endif
