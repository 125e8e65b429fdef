/* SPDX-License-Identifier: BSD-2-Clause */
/* What a command of ptl-dump is: one entry, one row of the table, and the options that commands share. */
#ifndef DUMP_SESSION_COMMAND_H
#define DUMP_SESSION_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <ptl/reader.h>

#include "common/program/options.h"
#include "common/text/json.h"
#include "dump/cluster/slurm.h"
#include "dump/partial/partial.h"
#include "dump/session/filter.h"
#include "flow/view/engines.h"

enum dump_color { DUMP_COLOR_AUTO, DUMP_COLOR_ALWAYS, DUMP_COLOR_NEVER };

/*
 * The options that commands share. A command with options of its own declares a structure whose FIRST
 * member is this one; the same pointer then serves as target of the shared and of its own table.
 */
struct dump_options {
	struct dump_filter filter;
	bool json;
	bool quiet;
	bool ignore_index;
	bool follow;                          /* the trace is being written: shows what comes */
	bool live;                            /* FILE is the name of a session */
	struct format_session_files *session; /* that, while its files are read: FILE is open there; NULL */
	const char *code_store;               /* NULL: that of the environment */
	struct common_string_list jit;
	bool debuginfod;
	uint32_t max_expansion; /* 0: the default; as struct ptl_open_options */
	enum dump_color color;
	unsigned jobs;                          /* 0: one per CPU */
	const struct flow_engine_class *engine; /* NULL: the default */
	bool no_demangle;
	const char *output; /* of -o; NULL: standard output */
	bool force;         /* an output that exists is replaced */
	struct {
		uint32_t number, count; /* 0: all of the trace */
	} shard;
	const char *partial; /* where the partial result goes; NULL: the command shows its result */
	struct {
		uint32_t jobs; /* 0: the default */
		bool script;   /* --jobs-script */
		bool slurm;
		struct dump_slurm_options options;
	} cluster;
	struct ptl_bytes passed; /* options of reading, as in given; owned */
	struct ptl_bytes given;  /* the options that say what the result is, as zero-ended "--name=value"; owned */
	const char *unsharded;   /* one that was given, and does not go with partial results; NULL */
};

/*
 * Groups of shared options; --quiet, --ignore-index and --max-expansion are always there, and so are --json, --color and
 * --no-color but for exports.
 */
enum dump_takes {
	DUMP_TAKES_PROCESS = 1,  /* --pid --process --tid */
	DUMP_TAKES_CPU = 2,      /* --cpu */
	DUMP_TAKES_TIME = 4,     /* --time */
	DUMP_TAKES_IMAGE = 8,    /* --image */
	DUMP_TAKES_DECODE = 16,  /* -j --engine */
	DUMP_TAKES_NAMES = 32,   /* --demangle --no-demangle */
	DUMP_TAKES_OUTPUT = 64,  /* -o --force: of exports, whose format is another program's */
	DUMP_TAKES_FOLLOW = 128, /* --follow */
	DUMP_TAKES_SHARD = 256,  /* --shard --partial */
	DUMP_TAKES_ETL = 512,    /* no options: FILE may be an .etl file of Windows, too */
};

/*
 * A command at work: the trace is open, --time is resolved against its clock, the output is chosen. A
 * command writes to `out` alone (text, or JSON when options->json: through `json_out` or by itself), never
 * to stdout by name. What it has to say besides its output goes through common/program/message.h.
 */
struct dump_session {
	struct dump_options *options; /* first member of the command's own structure */
	struct ptl_trace *trace;
	const char *path;    /* as the user gave it */
	const char *operand; /* what the command asked for before it; NULL */
	char **more;         /* the FILEs behind it, of a command that takes many */
	size_t more_count;
	struct dump_output *output;  /* dump/session/output.h */
	FILE *out;                   /* with a large buffer; one thread at a time writes to it */
	bool failed;                 /* the command did not do its work: its output is not kept */
	struct common_json json_out; /* started on out; common_json_line after each record of a list */
	bool takes_etl;              /* FILE may be an .etl file */
	bool damaged;                /* a part of the .etl file could not be read */
	bool color;                  /* out takes escape sequences; never true together with json */
	/* With --follow: called again and again, may use the trace, and returns as run does. NULL: nothing to do. */
	int (*idle)(struct dump_session *session);
	void *idle_context;
	bool progress; /* stderr is a terminal and out is not: common_progress() disturbs no other output */
	struct dump_partial_saver
		*saver;                  /* with --partial: views give their results to this, and output goes nowhere */
	struct dump_partial_set *merged; /* views take their results from this; NULL: they decode */
};

struct dump_command {
	const char *name;                    /* "flow" */
	const char *operand;                 /* what stands before FILE, "FUNCTION"; NULL: nothing */
	bool many;                           /* takes several FILEs; the session's trace is the first one */
	const char *summary;                 /* for the list of commands: half a line, no full stop */
	const char *details;                 /* one or two sentences for "ptl-dump flow --help" */
	const char *examples;                /* lines for "Examples:" */
	unsigned takes;                      /* enum dump_takes, or-ed */
	const struct common_option *options; /* the command's own, or NULL */
	bool lists_damage;                   /* its output has the damage: messages need not repeat it */
	bool judges_damage;                  /* its own exit status says whether damage matters */
	const char *const *unsharded; /* names of own options that do not go with --partial, NULL-ended; or NULL */
	bool adds_traces;             /* partial results of several traces can be merged */
	size_t options_size;          /* of the command's structure; at least sizeof(struct dump_options) */
	/*
	 * Checks options that exclude each other before the file is opened; PTL_MISUSE with a text. May be
	 * NULL.
	 */
	int (*check)(const struct dump_options *options);
	/* Whether the options ask for what needs no trace: the session has none then. May be NULL: it always needs one. */
	bool (*needs_no_trace)(const struct dump_options *options);
	/*
	 * Does the work. Returns 0, COMMON_EXIT_FINDING (positive), or a negative ptl_status with its chain of
	 * causes, which the caller reports. A full output or a closed pipe is found by the caller at the
	 * end; a long-running command asks dump_output_check() now and then and returns what it says.
	 */
	int (*run)(struct dump_session *session);
	/* Instead of all that: the whole of a command whose FILEs are no traces. Its exit status. */
	int (*whole)(const struct dump_command *command, int argc, char **argv);
	/* Frees what the command's own options own. May be NULL. */
	void (*free_options)(struct dump_options *options);
};

/*
 * Parses a command's line (argv[0] is the command's name), opens its file, runs it, reports damage that
 * the reader met, and gives the exit status:
 * COMMON_EXIT_INPUT when any of the file could not be read, even though the rest was shown.
 */
int dump_command_main(const struct dump_command *command, int argc, char **argv);
/*
 * The same with the partial results of all shards, which have the traces' names and the options but for those of output and of
 * reading, which are own's. argv has room for them all. The exit status.
 */
int dump_command_merge(const struct dump_command *command, int argc, char **argv, const struct dump_options *own,
		       struct dump_partial_set *merged);

/*
 * For the traces of a command that takes many: opens what session->path says as session->trace, after a report of what went
 * wrong, and closes it, after a report of its damage, of which it returns whether there was any.
 */
int dump_session_open(struct dump_session *session);
bool dump_session_close(struct dump_session *session);
/* Says what could not be read of the trace, or refers to the command that lists it; true where there is such a thing. */
bool dump_session_report(const struct dump_session *session, bool lists_it);

/* The tables of shared options that go with takes: for dump_command_main alone. */
#define DUMP_TABLES_MAX 15
struct dump_tables {
	const struct common_option *tables[DUMP_TABLES_MAX + 1]; /* NULL-ended */
	const char *engine_names[16];                            /* NULL-ended; what --engine takes */
	struct common_option decode[4];
};
void dump_options_tables(const struct dump_command *command, struct dump_tables *tables);

/*
 * 0 as long as all output was taken; PTL_CANCELLED once the reader of a pipe has gone (no message: the
 * program then ends quietly, with COMMON_EXIT_OK); PTL_SYSTEM for any other failed write. Cheap.
 */
int dump_output_check(const struct dump_session *session);
/* Whether it goes to a terminal. */
bool dump_output_is_terminal(const struct dump_session *session);
/*
 * The name that the file of -o has until it is complete, for a library that opens what it writes by itself; NULL where the
 * output is no file of ours: standard output, a pipe, a device.
 */
const char *dump_output_file(const struct dump_session *session);

/* SGR sequences where session->color, "" elsewhere; style ends with dump_plain(). */
const char *dump_bold(const struct dump_session *session);
const char *dump_dim(const struct dump_session *session);
const char *dump_red(const struct dump_session *session);
const char *dump_plain(const struct dump_session *session);

#endif
