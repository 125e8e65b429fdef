/* SPDX-License-Identifier: BSD-2-Clause */
/* Command lines from tables: one table drives parsing, --help and completion. */
#ifndef COMMON_PROGRAM_OPTIONS_H
#define COMMON_PROGRAM_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/program/selection.h"
#include "common/text/string_list.h"

/* How an option's argument is stored. */
enum common_option_kind {
	COMMON_OPTION_CALLBACK, /* calls take() */
	COMMON_OPTION_CONSTANT, /* a switch: stores `least` */
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

/* A row gives the first four members in order, and the rest by one of the macros below. */
struct common_option {
	const char *long_name; /* "output", without dashes; NULL ends a table; "": a heading */
	char short_name;       /* 'o', or 0 */
	/* "FILE" in the help; NULL for a switch; "WORD,..." for a list; "[=WORD]" for an optional argument. */
	const char *argument;
	const char *help; /* wrapped to fit; a newline starts a new line; NULL hides the option */
	/*
	 * For COMMON_OPTION_CALLBACK: stores the argument (NULL for a switch) in `member`, the target's member at
	 * `offset`. Returns 0, or a failure (common_fail) whose text says what was expected; the caller adds the
	 * option's name.
	 */
	int (*take)(void *member, const char *argument);
	/*
	 * NULL-terminated list of the allowed words; NULL: any word. The parser checks the argument (each word of a
	 * list) against the list before storing. Help and completion show the words.
	 */
	const char *const *choices;
	const uint32_t *numbers; /* value that COMMON_OPTION_CHOICE stores for each choice; NULL: the choice's index */
	enum common_option_kind kind;
	uint8_t size;   /* bytes of a numeric member */
	bool has_given; /* the bool at given_offset is set to true */
	size_t offset;  /* of the member in the target, in bytes */
	size_t given_offset;
	uint64_t least, most; /* inclusive */
	bool rare;            /* for a heading: options below are shown by --help=all only */
};

/*
 * Destination of an argument: a member of the command line's target structure. The compiler checks the member's type,
 * and that the member can hold `most`.
 */

/* bool: set to true. */
#define COMMON_FLAG(structure, member)                                                                                 \
	COMMON_TARGET(CONSTANT, structure, member, bool), .size = sizeof(bool), .least = 1
/* A switch that stores a number. */
#define COMMON_CONSTANT(structure, member, value)                                                                      \
	.kind = COMMON_OPTION_CONSTANT, COMMON_NUMBER_MEMBER(structure, member, value), .least = (value)
/* const char *: the pointer is kept; unchanged if the option is not given. A path must not be empty. */
#define COMMON_STRING(structure, member) COMMON_TARGET(STRING, structure, member, const char *)
#define COMMON_PATH(structure, member) COMMON_TARGET(PATH, structure, member, const char *)
/* Integer of any type: "4096" or "0x1000". */
#define COMMON_NUMBER(structure, member, least_, most_)                                                                \
	.kind = COMMON_OPTION_NUMBER, COMMON_NUMBER_MEMBER(structure, member, most_), .least = (least_), .most = (most_)
/* As COMMON_NUMBER, and also accepts a unit: "64K". */
#define COMMON_COUNT(structure, member, least_, most_)                                                                 \
	.kind = COMMON_OPTION_COUNT, COMMON_NUMBER_MEMBER(structure, member, most_), .least = (least_), .most = (most_)
/* uint32_t: a limit. 0 (unlimited) is stored as UINT32_MAX. */
#define COMMON_LIMIT(structure, member)                                                                                \
	COMMON_TARGET(LIMIT, structure, member, uint32_t), .size = sizeof(uint32_t), .most = UINT32_MAX
/* uint64_t: "4096", "16K", "1M". */
#define COMMON_SIZE(structure, member, least_, most_)                                                                  \
	COMMON_TARGET(SIZE, structure, member, uint64_t), .size = sizeof(uint64_t), .least = (least_), .most = (most_)
#define COMMON_POWER_OF_TWO(structure, member, least_, most_)                                                          \
	COMMON_TARGET(POWER_OF_TWO, structure, member, uint64_t), .size = sizeof(uint64_t), .least = (least_),         \
								  .most = (most_)
/* uint64_t: nanoseconds, at least `least_`. */
#define COMMON_DURATION(structure, member, least_)                                                                     \
	COMMON_TARGET(DURATION, structure, member, uint64_t), .size = sizeof(uint64_t), .least = (least_)
/* Integer or enum of any type: index of the argument in `words`, or the element of `numbers_` at this index. */
#define COMMON_CHOICE(structure, member, words) COMMON_CHOICE_OF(structure, member, words, NULL)
#define COMMON_CHOICE_OF(structure, member, words, numbers_)                                                           \
	.kind = COMMON_OPTION_CHOICE, COMMON_NUMBER_MEMBER(structure, member, 0), .choices = (words),                  \
	.numbers = (numbers_)
/* struct common_string_list: adds the argument; at most `most_` arguments. */
#define COMMON_STRINGS(structure, member, most_)                                                                       \
	COMMON_TARGET(STRINGS, structure, member, struct common_string_list), .most = (most_)
/* struct common_id_set: adds the numbers of a comma-separated list. */
#define COMMON_IDS(structure, member) COMMON_TARGET(IDS, structure, member, struct common_id_set)
/* struct common_time_span: "A..B" for TIME_SPAN, a duration before the end for LAST. */
#define COMMON_TIME_SPAN(structure, member) COMMON_TARGET(TIME_SPAN, structure, member, struct common_time_span)
#define COMMON_LAST(structure, member) COMMON_TARGET(LAST, structure, member, struct common_time_span)
/* Any special case: `function` gets a pointer to the member. */
#define COMMON_CALLBACK(structure, member, function) .take = (function), .offset = offsetof(structure, member)
/* Used after another macro: also sets the bool `member` to true when the option is given. */
#define COMMON_GIVEN(structure, member) .has_given = true, .given_offset = COMMON_OFFSET(structure, member, bool)

/* Helpers of the macros above. */
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
	const char *summary;                       /* purpose of the program, one or two sentences */
	const char *examples;                      /* lines shown under "Examples:" */
	const struct common_option *const *tables; /* NULL-terminated list of tables, shown in this order */
	int stop_at_operand;                       /* non-zero: options end at the first operand */
	/* Called after each option from the tables, in order. May be NULL. */
	void (*taken)(void *context, const struct common_option *option, const char *argument);
	void *context;
};

/*
 * Parses argv like GNU getopt_long: permuted operands unless stop_at_operand, "--", --name=value, abbreviated long
 * names. Operands move to the end, in their order; *first_operand becomes the index of the first operand (argc without
 * operands). Options are stored in the order of the command line. If a name is in two tables, the first table wins.
 * argv[0] is skipped.
 *
 * --help (-h) and --version (-V) are built in and print to stdout; --help=all shows rare options, too. The hidden
 * --completion-words prints every option, one a line, and --completion-words=NAME prints the choices of the option
 * NAME, so that shell completion uses the same tables.
 *
 * Returns 0 to go on, or 1 after --help, --version or --completion-words (the program exits with COMMON_EXIT_OK).
 * Failures were reported on stderr with "try: ... --help": PTL_MISUSE, the failure of take(), or PTL_SYSTEM if stdout
 * could not be written.
 */
int common_options_parse(const struct common_command_line *line, void *target, int argc, char **argv,
			 int *first_operand);

/* Parsers of argument values. Invalid text is PTL_MISUSE, with a message that says what was expected. */

/* "4096" or "0x1000". */
int common_parse_u64(const char *text, uint64_t *value);
/* As common_parse_u64, optionally followed by K, M, G or T for powers of 1024: "16K". */
int common_parse_size(const char *text, uint64_t *bytes);
/*
 * "1.5s", "20ms", "3us", "7ns", "2m", "1h"; a plain number is in seconds. Converts to nanoseconds; drops fractions of a
 * nanosecond.
 */
int common_parse_duration(const char *text, uint64_t *nanoseconds);

#endif
