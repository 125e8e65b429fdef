/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes redaction. Input: rules, one per line, up to an empty line; then bytes that are redacted as text, as command
 * line, and as bytes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "relog/redact/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Adds the rules. Returns the end of the rules. */
static const char *read_rules(struct relog_redact_rules *rules, char *text)
{
	char *line;

	while ((line = strsep(&text, "\n")) && *line)
		relog_redact_rule(rules, line);
	return text ? text : "";
}

static void use(struct relog_redactor *redactor, const char *text)
{
	const size_t size = strlen(text);
	struct ptl_bytes out = {0};
	uint8_t *bytes = malloc(size + 1);
	bool changed = false;

	for (int kind = RELOG_TEXT; kind <= RELOG_SECRET; kind++) {
		out.size = 0;
		if (relog_redactor_learn(redactor, (enum relog_text_kind)kind, text) ||
		    relog_redact_text(redactor, (enum relog_text_kind)kind, text, &out) ||
		    strlen((const char *)out.data) + 1 != out.size)
			abort();
	}
	if (!bytes)
		abort();
	memcpy(bytes, text, size);
	if (relog_redact_find(redactor, bytes, size, &changed) || memcmp(bytes, text, size) != 0 ||
	    relog_redact_raw(redactor, bytes, size, &changed))
		abort();
	free(bytes);
	common_bytes_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct relog_redact_rules rules = {0};
	struct relog_redactor redactor;
	char *text = malloc(size + 1);

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = 0;
	/* The input is text up to the first zero byte. */
	const char *rest = read_rules(&rules, text);

	if (relog_redact_choose_key(&rules))
		abort();
	relog_redactor_open(&redactor, &rules);
	use(&redactor, rest);
	relog_redactor_close(&redactor);
	relog_redact_rules_free(&rules);
	free(text);
	return 0;
}
