/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads each blob completely, one blob at a time. */
#include "relog/redact/blob.h"

#include <stdlib.h>
#include <string.h>

#include <ptl/symbols.h>

#include "common/error.h"

#define CODE_MAX ((size_t)96 << 20)
#define SYMBOLS_MAX ((size_t)24 << 20) /* A decoded table takes several times the memory. */

/* Redacts code in place. Takes ownership of data. */
static int redact_code(struct relog_redactor *redactor, const struct relog_code_origins *origins,
		       const struct ptl_blob_info *blob, uint8_t *data, size_t size, struct ptl_bytes *out,
		       struct relog_blob_outcome *outcome)
{
	bool changed = false;
	int status;

	common_bytes_free(out);
	*out = (struct ptl_bytes){.data = data, .size = size, .capacity = size};
	/* Code and its file share the limit, as both are in memory. */
	status = relog_redact_code(redactor, origins, blob->hash, out->data, size, CODE_MAX - size, &changed,
				   &outcome->left);
	outcome->fate = changed ? RELOG_BLOB_CHANGED : RELOG_BLOB_SAME;
	return status;
}

/* Redacts symbol names by text and pattern rules only: words of paths are also words of programs. */
static int redact_names(struct relog_redactor *redactor, const struct ptl_symbol_table *table,
			struct ptl_symbol *symbols, size_t *offsets, struct ptl_bytes *names, bool *changed)
{
	const size_t count = ptl_symbols_count(table);
	int status = 0;

	for (size_t i = 0; i < count && !status; i++) {
		symbols[i] = ptl_symbols_get(table, i);
		offsets[i] = names->size;
		status = relog_redact_matches(redactor, symbols[i].name, names);
		if (!status && strcmp(symbols[i].name, (const char *)names->data + offsets[i]) != 0)
			*changed = true;
	}
	for (size_t i = 0; i < count && !status; i++)
		symbols[i].name = (const char *)names->data + offsets[i];
	return status;
}

static int redact_symbols(struct relog_redactor *redactor, const uint8_t *data, size_t size, struct ptl_bytes *out,
			  enum relog_blob_fate *fate)
{
	struct ptl_symbol_table *table = NULL;
	struct ptl_symbol *symbols = NULL;
	struct ptl_bytes names = {0};
	size_t *offsets = NULL;
	bool changed = false;
	int status;

	*fate = RELOG_BLOB_SAME;
	if (!redactor->rules->literals.count && !redactor->rules->regexes.count)
		return 0;
	*fate = RELOG_BLOB_DROPPED;
	status = ptl_symbols_decode(data, size, &table);
	if (status)
		return status == PTL_NO_MEMORY ? status : 0;
	symbols = calloc(ptl_symbols_count(table) + 1, sizeof(*symbols));
	offsets = calloc(ptl_symbols_count(table) + 1, sizeof(*offsets));
	status = symbols && offsets ? redact_names(redactor, table, symbols, offsets, &names, &changed)
				    : common_fail_memory("symbols", ptl_symbols_count(table) * sizeof(*symbols));
	if (!status && changed)
		status = ptl_symbols_encode(symbols, ptl_symbols_count(table), out);
	if (!status)
		*fate = changed ? RELOG_BLOB_CHANGED : RELOG_BLOB_SAME;
	free(symbols);
	free(offsets);
	common_bytes_free(&names);
	ptl_symbols_free(table);
	return status;
}

static size_t limit_of(const struct ptl_blob_info *blob)
{
	return blob->type == PTL_BLOB_SYMBOLS ? SYMBOLS_MAX : CODE_MAX;
}

bool relog_redact_reads(const struct ptl_blob_info *blob)
{
	return (blob->type == PTL_BLOB_CODE || blob->type == PTL_BLOB_SYMBOLS) && blob->size <= limit_of(blob);
}

int relog_redact_blob(struct relog_redactor *redactor, const struct relog_code_origins *origins,
		      struct ptl_trace *trace, const struct ptl_blob_info *blob, struct ptl_bytes *out,
		      struct relog_blob_outcome *outcome)
{
	uint8_t *data;
	size_t size;
	int status;

	common_bytes_free(out); /* free the last blob before reading this one */
	*outcome = (struct relog_blob_outcome){.fate = RELOG_BLOB_DROPPED};
	if (!relog_redact_reads(blob))
		return 0;
	status = ptl_blob_read(trace, blob->hash, limit_of(blob), &data, &size);
	if (status)
		return status == PTL_CORRUPT || status == PTL_TRUNCATED || status == PTL_NOT_FOUND ||
				       status == PTL_UNSUPPORTED
			       ? 0
			       : status;
	if (blob->type == PTL_BLOB_CODE)
		return redact_code(redactor, origins, blob, data, size, out, outcome);
	status = redact_symbols(redactor, data, size, out, &outcome->fate);
	free(data);
	return status;
}
