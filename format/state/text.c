/* SPDX-License-Identifier: BSD-2-Clause */
/* Texts that several processes and threads share. */
#include <stdlib.h>
#include <string.h>

#include "format/state/state_internal.h"

static struct format_state_text *hold_text(struct format_state_text *text)
{
	text->holders++;
	return text;
}

struct format_state_text *format_state_text(struct ptl_state *state, const char *text)
{
	const size_t size = strlen(text) + 1;
	struct format_state_text **name = &state->names[common_hash_bytes(text, size) & (FORMAT_STATE_NAMES - 1)];
	struct format_state_text *made;

	if (*name && !strcmp((*name)->text, text))
		return hold_text(*name);
	made = malloc(sizeof(*made) + size);
	if (!made)
		return NULL;
	state->text_bytes += sizeof(*made) + size + 16;
	made->holders = 1;
	memcpy(made->text, text, size);
	format_state_text_drop(state, *name);
	*name = hold_text(made);
	return made;
}

void format_state_text_drop(struct ptl_state *state, struct format_state_text *text)
{
	if (!text || --text->holders)
		return;
	state->text_bytes -= sizeof(*text) + strlen(text->text) + 1 + 16;
	free(text);
}
