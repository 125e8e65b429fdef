/* SPDX-License-Identifier: BSD-2-Clause */
/* Settings of a run of ptl-relog, from the command line. */
#ifndef RELOG_SETTINGS_SETTINGS_H
#define RELOG_SETTINGS_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/trace.h>

#include "common/bytes.h"
#include "relog/settings/clocks.h"
#include "relog/settings/cut.h"
#include "relog/settings/redact.h"
#include "relog/settings/windows.h"
#include "elf/image_store.h"
#include "import/raw/input.h"

#define RELOG_MANIFESTS_MAX 64u

struct relog_settings {
	const char *const *inputs; /* names in the order of the command line */
	size_t input_count;
	const char *output; /* "-": standard output */
	bool force;         /* replace an existing output */
	bool quiet;
	bool check; /* check the output afterwards: relog/check.h */
	bool recompress;
	uint8_t level;  /* zstd level; 0: uncompressed */
	uint64_t split; /* maximum bytes of a part; 0: one output */
	uint64_t memory_limit;
	uint32_t max_expansion; /* as in struct ptl_open_options; 0: the default */
	bool follow;            /* inputs are still being written */
	bool live;              /* the input is the name of a session */
	int opened;             /* open descriptor of the only input; 0: open the input by name */
	/*
	 * By input: origins that an earlier run computed; an origin with name NULL is unknown. NULL: no origins are
	 * known.
	 */
	const struct ptl_provenance_input *origins;
	uint64_t missed;         /* lost events of a session; becomes a loss of the output */
	bool sync;               /* sync the output to disk */
	bool repeated;           /* an earlier run has printed the messages about the inputs */
	enum ptl_hash_kind hash; /* hash of inputs in provenance */

	const char *rules;           /* name of a rule file; NULL: no rules */
	struct ptl_bytes rules_text; /* content of the file, which may be a pipe; relog_rules_load */
	bool rules_need_whole;       /* the rules need the whole input before its first event; relog_rules_load */
	bool replace;                /* images of rules may overlap other images */

	const char *detach_code; /* folder of a code store, or NULL */
	const char *attach_code;

	struct import_raw raw;
	struct relog_cut_settings cut;
	struct relog_window_settings windows;
	struct relog_clock_settings clocks;
	struct relog_redact_rules redact;
	enum elf_embed embed; /* parts to embed of files that perf.data names or traces lack */
	bool embed_given;
	const char *buildid_dir;             /* a build-id cache of perf; NULL: only ~/.debug */
	bool guest_code;                     /* guests execute user code of the process that runs them (perf.data) */
	bool debuginfod;                     /* servers may be asked for debug files */
	struct common_string_list manifests; /* manifests for events of .etl files */

	/* The command line, shell-quoted, for the provenance record. */
	struct ptl_bytes command;
};

/*
 * Parses argv.
 * Returns 0: settings are complete and consistent; 1: --help or --version was served; PTL_MISUSE: an error was reported
 * on stderr.
 * Keeps pointers to argv's words, and reorders argv.
 */
int relog_settings_parse(struct relog_settings *settings, int argc, char **argv);

/*
 * Whether the only input can be processed while the input is being written; else the run waits for its end. pt: the
 * input may have Intel PT.
 */
bool relog_settings_stream(const struct relog_settings *settings, bool pt);

void relog_settings_free(struct relog_settings *settings);

#endif
