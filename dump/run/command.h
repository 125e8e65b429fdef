/* SPDX-License-Identifier: BSD-2-Clause */
/* A command of ptl-dump: its row in the table of commands, and the options that commands share. */
#ifndef DUMP_RUN_COMMAND_H
#define DUMP_RUN_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <ptl/reader.h>

#include "analysis/input/filter.h"
#include "common/program/options.h"
#include "common/text/json.h"
#include "dump/run/partial.h"
#include "dump/run/slurm.h"
#include "flow/view/engines.h"

enum dump_color { DUMP_COLOR_AUTO, DUMP_COLOR_ALWAYS, DUMP_COLOR_NEVER };

struct flow_timeline;

/* What a server has opened for the command that a child process runs. A command takes members, and sets them to NULL. */
struct dump_prepared {
	struct ptl_trace *trace;
	struct flow_timeline *timeline; /* NULL: the command builds the timeline */
};

/*
 * Options that commands share. A command with options of its own declares a structure whose FIRST member is a struct
 * dump_options. The same pointer then serves as the target of the shared table and of the command's own table.
 */
struct dump_options {
	struct analysis_filter filter;
	const char *calls; /* --calls; NULL */
	bool json;
	bool quiet;
	bool ignore_index;
	bool follow; /* reads the trace while a recorder writes it, and shows new data */
	bool live;   /* FILE names a session */
	/* with --live, while a file of the session is read: the file is open in here; else NULL */
	struct format_session_files *session;
	const char *code_store; /* NULL: from the environment */
	struct common_string_list jit;
	bool debuginfod;
	uint32_t max_expansion; /* 0: the default; see struct ptl_open_options */
	enum dump_color color;
	unsigned jobs;                          /* 0: one per CPU */
	const struct flow_engine_class *engine; /* NULL: the default */
	bool no_demangle;
	bool full_names;    /* --full-names: text has parameters and template arguments */
	const char *output; /* -o; NULL: standard output */
	bool force;         /* --force: replaces an existing output */
	struct {
		uint32_t number, count; /* 0: the whole trace */
	} shard;
	const char *partial; /* --partial: path of the partial result; NULL: the command shows its result */
	struct {
		uint32_t jobs; /* 0: the default */
		bool script;   /* --jobs-script */
		bool slurm;
		struct dump_slurm_options options;
	} cluster;
	struct ptl_bytes passed; /* options that say how to read the trace, in the form of `given`; owned */
	struct ptl_bytes given;  /* options that determine the result, as zero-terminated "--name=value"; owned */
	const char *unsharded;   /* a given option that excludes partial results; NULL */
	struct dump_prepared *prepared; /* NULL: the command opens FILE */
};

/*
 * Groups of shared options. Every command has --quiet, --ignore-index and --max-expansion. Every command except exports
 * has --json, --color and --no-color.
 */
enum dump_takes {
	DUMP_TAKES_PROCESS = 1,  /* --pid --process --tid */
	DUMP_TAKES_CPU = 2,      /* --cpu */
	DUMP_TAKES_TIME = 4,     /* --time */
	DUMP_TAKES_IMAGE = 8,    /* --image */
	DUMP_TAKES_DECODE = 16,  /* -j --engine */
	DUMP_TAKES_NAMES = 32,   /* --demangle --no-demangle */
	DUMP_TAKES_FULL = 2048,  /* --full-names: the command's text has short names */
	DUMP_TAKES_CUT = 4096,   /* no options: text is cut to the width of a terminal */
	DUMP_TAKES_OUTPUT = 64,  /* -o --force: for exports, which write the format of another program */
	DUMP_TAKES_FOLLOW = 128, /* --follow */
	DUMP_TAKES_SHARD = 256,  /* --shard --partial */
	DUMP_TAKES_CALLS = 1024, /* --calls */
	DUMP_TAKES_ETL = 512,    /* no options: FILE may also be an .etl file of Windows */
};

/*
 * A command at work: the trace is open, --time is resolved against its clock, the output is chosen. The command writes
 * only to `out`, never to stdout by name: text, or JSON if options->json (through `json_out` or by itself). Messages go
 * through common/program/message.h.
 */
struct dump_run {
	struct dump_options *options; /* first member of the command's own structure */
	struct ptl_trace *trace;
	const char *path;    /* as the user gave it */
	const char *operand; /* operand before FILE; NULL: the command has no operand */
	char **more;         /* FILEs after the first, for a command with many FILEs */
	size_t more_count;
	struct dump_output *output;  /* dump/run/output.h */
	FILE *out;                   /* has a large buffer; only one thread at a time may write */
	bool failed;                 /* the command failed: its output is discarded */
	struct common_json json_out; /* started on out; call common_json_line after each record of a list */
	bool takes_etl;              /* FILE may be an .etl file */
	size_t width;                /* columns of the terminal that shows the output; 0: lines have any length */
	bool cuts_lines;             /* all lines are cut to the width, not only those of tables */
	bool shortens_names;         /* text has names of functions without parameters and template arguments */
	bool several;                /* one of several traces: a selected item may be in another trace */
	bool damaged;                /* a part of the .etl file could not be read */
	bool color;                  /* out takes escape sequences; never together with json */
	/*
	 * With --follow: called repeatedly while the trace grows. May use the trace. Returns as run does. NULL: no work
	 * to do.
	 */
	int (*idle)(struct dump_run *run);
	void *idle_context;
	bool progress; /* stderr is a terminal and out is not, so common_progress() disturbs no output */
	/* with --partial: views save their partial results here, and the command has no output */
	struct dump_partial_saver *saver;
	const struct flow_spans *spans;  /* with --calls: views are limited to these; NULL: all flow */
	struct dump_partial_set *merged; /* views read saved partial results from here; NULL: views decode */
};

struct dump_command {
	const char *name;                    /* "flow" */
	const char *operand;                 /* name of the operand before FILE, "FUNCTION"; NULL: no operand */
	bool many;                           /* takes several FILEs; run->trace is the first */
	const char *summary;                 /* for the list of commands: half a line, no full stop */
	const char *details;                 /* one or two sentences for "ptl-dump flow --help" */
	const char *examples;                /* lines for "Examples:" */
	unsigned takes;                      /* enum dump_takes, combined by | */
	const struct common_option *options; /* the command's own options, or NULL */
	bool lists_damage;                   /* the output lists the damage: messages need not repeat it */
	bool judges_damage;                  /* the command's exit status itself reports damage */
	/* names of the command's own options that exclude --partial, NULL-terminated; or NULL */
	const char *const *unsharded;
	bool adds_traces;    /* partial results of several traces can be merged */
	size_t options_size; /* of the command's structure; at least sizeof(struct dump_options) */
	/*
	 * Checks options that exclude each other before the file is opened. Returns PTL_MISUSE with a text. May be
	 * NULL.
	 */
	int (*check)(const struct dump_options *options);
	/*
	 * Called before the output is opened, and may replace options->output. Returns a negative ptl_status. NULL: nothing
	 * to do.
	 */
	int (*prepare_output)(struct dump_options *options);
	/* Whether the options need no trace; the run then has none. NULL: the command always needs a trace. */
	bool (*needs_no_trace)(const struct dump_options *options);
	/*
	 * Does the work. Returns 0, COMMON_EXIT_FINDING (positive), or a negative ptl_status with its chain of causes,
	 * which the caller reports. The caller detects a full output or a closed pipe at the end. A long-running
	 * command calls dump_output_check() now and then and returns its status.
	 */
	int (*run)(struct dump_run *run);
	/* Runs the whole command instead of all members above, if its FILEs are no traces. Returns the exit status. */
	int (*whole)(const struct dump_command *command, int argc, char **argv);
	/* Frees members of the command's own options. May be NULL. */
	void (*free_options)(struct dump_options *options);
};

/*
 * Parses a command line (argv[0] is the command's name), opens the file, runs the command and reports damage that the
 * reader found. Returns the exit status: COMMON_EXIT_INPUT if a part of the file could not be read, even though the
 * rest was shown.
 */
int dump_command_main(const struct dump_command *command, int argc, char **argv);
/* As dump_command_main, with an opened trace instead of FILE, which then is a name only. */
int dump_command_prepared(const struct dump_command *command, int argc, char **argv, struct dump_prepared *prepared);
/*
 * Runs a command on the partial results of all shards. The shards give the names of the traces and the options. Options
 * of output and of reading come from `own`. argv has room for all arguments. Returns the exit status.
 */
int dump_command_merge(const struct dump_command *command, int argc, char **argv, const struct dump_options *own,
		       struct dump_partial_set *merged);

/*
 * For each trace of a command with many FILEs: dump_run_open opens run->path as run->trace and reports
 * errors. dump_run_close closes the trace, reports its damage, and returns whether damage was found.
 */
int dump_run_open(struct dump_run *run);
bool dump_run_close(struct dump_run *run);
/*
 * Warns of unreadable parts of the trace, or hints at the command that lists the damage. Returns whether the trace has
 * damage. lists_it: the output lists the damage already.
 */
bool dump_run_report(const struct dump_run *run, bool lists_it);

/* Tables of shared options that belong to `takes`; only for dump_command_main. */
#define DUMP_TABLES_MAX 16
struct dump_tables {
	const struct common_option *tables[DUMP_TABLES_MAX + 1]; /* NULL-terminated */
	const char *engine_names[16];                            /* NULL-terminated; arguments of --engine */
	struct common_option decode[4];
};
void dump_options_tables(const struct dump_command *command, struct dump_tables *tables);

/*
 * Returns 0 while all output was written. Returns PTL_CANCELLED after the reader of a pipe has gone: the program then
 * ends without a message, with COMMON_EXIT_OK. Returns PTL_SYSTEM for any other failed write. Cheap.
 */
int dump_output_check(const struct dump_run *run);
/* Whether the output is a terminal. */
bool dump_output_is_terminal(const struct dump_run *run);
/*
 * Returns the name of the -o file before it is complete, for a library that opens its output file itself. Returns NULL
 * if the output is standard output, a pipe or a device.
 */
const char *dump_output_file(const struct dump_run *run);

/* SGR sequences if run->color, else "". dump_plain() ends a style. */
const char *dump_bold(const struct dump_run *run);
const char *dump_dim(const struct dump_run *run);
const char *dump_red(const struct dump_run *run);
const char *dump_plain(const struct dump_run *run);

#endif
