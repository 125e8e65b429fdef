/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses address filters in the kernel's syntax, and converts them to and from attachments. */
#include "format/metadata/pt_filter.h"

#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/error.h"

#define ID_SIZE 24 /* bytes: action, first, size, of 8 bytes each */

/* Parses a number; false if there is none. */
static bool read_number(const char **at, uint64_t *value)
{
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	*value = strtoull(*at, &end, 0);
	*at = end;
	return true;
}

static bool read_action(const char **at, struct format_pt_filter *filter)
{
	static const struct {
		const char *word;
		uint32_t action;
	} actions[] = {{"filter", FORMAT_PT_FILTER_TRACE}, {"stop", FORMAT_PT_FILTER_STOP}};

	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
		const size_t size = strlen(actions[i].word);

		if (strncmp(*at, actions[i].word, size) != 0 || (*at)[size] != ' ')
			continue;
		filter->action = actions[i].action;
		*at += size + strspn(*at + size, " ");
		return true;
	}
	return false;
}

int format_pt_filter_next(const char **text, struct format_pt_filter *filter)
{
	const char *at = *text + strspn(*text, " ,\n");

	*text = at;
	if (!*at)
		return 0;
	*filter = (struct format_pt_filter){.path = ""};
	if (!read_action(&at, filter) || !read_number(&at, &filter->first) || *at++ != '/' ||
	    !read_number(&at, &filter->size) || !filter->size)
		return common_fail(PTL_CORRUPT, "\"%.100s\" is no address filter", *text);
	if (*at == '@') {
		filter->path = at + 1;
		filter->path_size = strcspn(filter->path, " ,\n");
		at = filter->path + filter->path_size;
	}
	*text = at;
	return 1;
}

void format_pt_filter_attach(const struct format_pt_filter *filter, const char *path, struct ptl_attachment *attachment)
{
	/* Process 0 identifies the machine when traces of several machines are merged. */
	*attachment = (struct ptl_attachment){
		.kind = PTL_ATTACHMENT_PT_FILTER, .pid = 0, .name = path, .id_size = ID_SIZE};
	common_store64(attachment->id, filter->action);
	common_store64(attachment->id + 8, filter->first);
	common_store64(attachment->id + 16, filter->size);
}

bool format_pt_filter_of(const struct ptl_attachment *attachment, struct format_pt_filter *filter)
{
	uint64_t action;

	if (attachment->kind != PTL_ATTACHMENT_PT_FILTER || attachment->id_size < ID_SIZE)
		return false;
	action = common_load64(attachment->id);
	*filter = (struct format_pt_filter){
		.action = (uint32_t)action,
		.first = common_load64(attachment->id + 8),
		.size = common_load64(attachment->id + 16),
		.path = attachment->name,
		.path_size = strlen(attachment->name),
	};
	return (action == FORMAT_PT_FILTER_TRACE || action == FORMAT_PT_FILTER_STOP) && filter->size;
}
