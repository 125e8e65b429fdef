/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of EventHeader tracepoints. */
#include <string.h>

#include <ptl/event_header.h>

/* Parses lower-case hexadecimal digits. Returns false without a digit, or if the number exceeds `max`. */
static bool take_hex(const char **at, uint64_t max, uint64_t *value)
{
	const char *start = *at;

	*value = 0;
	for (; (**at >= '0' && **at <= '9') || (**at >= 'a' && **at <= 'f'); ++*at) {
		if (*value > max >> 4)
			return false;
		*value = *value << 4 | (uint64_t)(**at <= '9' ? **at - '0' : **at - 'a' + 10);
	}
	return *at > start;
}

/* Whether the text consists of capital letters, each followed by digits and small letters. */
static bool are_options(const char *text)
{
	bool begun = false;

	for (; *text; text++) {
		const bool capital = *text >= 'A' && *text <= 'Z';

		if (!capital && !(begun && ((*text >= '0' && *text <= '9') || (*text >= 'a' && *text <= 'z'))))
			return false;
		begun = true;
	}
	return true;
}

bool ptl_tracepoint_name_parse(const char *text, struct ptl_tracepoint_name *name)
{
	static const char system[] = "user_events:";
	const char *at, *dash;
	uint64_t level, keyword;

	if (strncmp(text, system, sizeof(system) - 1) == 0)
		text += sizeof(system) - 1;
	dash = strrchr(text, '_');
	if (!dash || dash == text || dash[1] != 'L' || strlen(text) >= PTL_TRACEPOINT_NAME_MAX || strpbrk(text, " :"))
		return false;
	at = dash + 2;
	if (!take_hex(&at, UINT8_MAX, &level) || *at++ != 'K' || !take_hex(&at, UINT64_MAX, &keyword) ||
	    !are_options(at))
		return false;
	memcpy(name->provider, text, (size_t)(dash - text));
	name->provider[dash - text] = 0;
	name->level = (uint8_t)level;
	name->keyword = keyword;
	memcpy(name->options, at, strlen(at) + 1);
	return true;
}
