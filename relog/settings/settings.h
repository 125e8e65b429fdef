/* SPDX-License-Identifier: BSD-2-Clause */
/* What the command line of ptl-relog asks for. */
#ifndef RELOG_SETTINGS_SETTINGS_H
#define RELOG_SETTINGS_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/trace.h>

#include "common/bytes.h"
#include "relog/settings/cut.h"
#include "relog/settings/redact.h"
#include "elf/image_store.h"
#include "import/raw/input.h"

#define RELOG_MANIFESTS_MAX 64u

struct relog_settings {
	const char *const *inputs; /* traces, in the order of the command line */
	size_t input_count;
	const char *output; /* "-": standard output */
	bool force;         /* an existing output may be replaced */
	bool quiet;
	bool check; /* the output is read again, and compared: relog/check.h */
	bool recompress;
	uint8_t level;  /* 0: stored as it is */
	uint64_t split; /* bytes of a part; 0: one output */
	uint64_t memory_limit;
	uint32_t max_expansion; /* 0: the default; as struct ptl_open_options */
	bool follow;            /* inputs are still being written */
	bool live;              /* the input is the name of a session */
	int opened;             /* what is open of the one input; 0: it is to be opened */
	/* By input: what a run before found out; NULL: nothing. A name of NULL: not for this input. */
	const struct ptl_provenance_input *origins;
	uint64_t missed; /* events of a session that were gone before they could be read: a loss of the output */
	bool sync;       /* the output is on disk when the program ends */
	bool repeated;   /* what there is to say about the inputs was said before */
	enum ptl_hash_kind hash; /* of the inputs, for provenance */

	const char *rules; /* a rule file, or NULL */
	bool replace;      /* images of rules may overlap others */

	const char *detach_code; /* the folder of a code store, or NULL */
	const char *attach_code;

	struct import_raw raw;
	struct relog_cut_settings cut;
	struct relog_redact_rules redact;
	enum elf_embed embed; /* of the files that perf.data names, and that traces lack */
	bool embed_given;
	bool debuginfod;                     /* servers may be asked for debug files of these */
	struct common_string_list manifests; /* that explain events of .etl files */

	/* The command line as it was given, shell-quoted, for the provenance record. */
	struct ptl_bytes command;
};

/*
 * Reads argv. 0: settings are complete and agree with each other; 1: --help or --version was
 * served; PTL_MISUSE: reported on stderr. Words are kept by pointer, and argv is put into another
 * order.
 */
int relog_settings_parse(struct relog_settings *settings, int argc, char **argv);

/* Whether the one input can be worked on while it is being written; else its end is waited for. pt: whether it may have Intel PT. */
bool relog_settings_stream(const struct relog_settings *settings, bool pt);

void relog_settings_free(struct relog_settings *settings);

#endif
