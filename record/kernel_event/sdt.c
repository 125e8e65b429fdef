/* SPDX-License-Identifier: BSD-2-Clause */
/* Events "sdt:PATH:NAME" and "sdt:PATH:PROVIDER:NAME": uprobes at the places in the program's SDT notes. */
#include "record/kernel_event/sdt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/plural.h"
#include "common/program/message.h"
#include "common/text/json.h"
#include "common/text/text.h"
#include "elf/sdt.h"
#include "record/image/binary.h"
#include "record/kernel_event/fetch.h"
#include "record/kernel_event/kinds.h"
#include "record/kernel_event/uprobe_event.h"

struct search {
	const struct record_binary *binary;
	struct kernel_event *event;
	const char *path, *provider, *name; /* provider NULL: any provider */
	char found[200];                    /* provider of the first match */
	unsigned places, refused, left_out;
};

/* ---- recording ------------------------------------------------------------------------------- */

static int add_probe_place(struct search *search, const struct kernel_event_place *place)
{
	int status;

	if (!search->event->made)
		return kernel_event_uprobe_event_make(search->event, search->name, place);
	status = kernel_event_uprobe_event_extend(search->event, place);
	search->refused += status == PTL_SYSTEM;
	return status == PTL_SYSTEM ? 0 : status;
}

static int take_probe(void *context, const struct elf_sdt_probe *probe)
{
	struct search *search = context;
	struct kernel_event_place place = {.path = search->path};
	struct ptl_bytes arguments = {0};
	unsigned left_out;
	int status;

	if (strcmp(probe->name, search->name) != 0 ||
	    (search->provider && strcmp(probe->provider, search->provider) != 0))
		return 0;
	if (!search->provider && search->places && strcmp(search->found, probe->provider) != 0)
		return common_fail(PTL_MISUSE, "%s and %s have a probe %s: sdt:PATH:PROVIDER:NAME says which",
				   search->found, probe->provider, probe->name);
	if (!elf_offset(search->binary->elf, probe->address, &place.offset) ||
	    (probe->semaphore && !elf_offset(search->binary->elf, probe->semaphore, &place.reference)))
		return common_fail(PTL_CORRUPT, "the probe %s is not in the file", probe->name);
	kernel_event_fetch_sdt(probe->arguments, &arguments, &left_out);
	common_write_le(&arguments, 0, 1);
	place.arguments = (const char *)arguments.data;
	status = arguments.failed ? common_fail_memory("a probe", arguments.size) : add_probe_place(search, &place);
	common_bytes_free(&arguments);
	if (!search->places++)
		snprintf(search->found, sizeof(search->found), "%s", probe->provider);
	search->left_out += left_out;
	return status;
}

static void say_left_out(const struct search *search)
{
	if (search->left_out)
		common_message_note("%s: %u of its arguments cannot be fetched by the kernel, and " COMMON_PLURAL(
					    "is", "are") " left out",
				    search->event->name, search->left_out);
	if (search->refused)
		common_message_note("%s: %u of %u places are left out, whose arguments have other types",
				    search->event->name, search->refused, search->places);
}

static int find_probe(struct search *search, struct perf_tracing *tracing)
{
	struct record_binary binary;
	char system[210];
	int status = record_binary_open(search->path, &binary);

	if (status < 0)
		return status;
	search->binary = &binary;
	status = elf_sdt_probes(binary.elf, take_probe, search);
	record_binary_close(&binary);
	if (status == 0 && !search->places)
		status = common_fail(PTL_NOT_FOUND,
				     "there is no probe %s; ptl-record --list-probes %s shows which there are",
				     search->name, search->path);
	if (status < 0)
		return common_fail_in(status, "%s", search->path);
	say_left_out(search);
	snprintf(system, sizeof(system), "sdt_%s", search->found);
	return kernel_event_uprobe_event_read(search->event, system, tracing);
}

int kernel_event_sdt_read(struct kernel_event *event, struct perf_tracing *tracing)
{
	struct search search = {.event = event};
	char *path = strdup(strchr(event->name, ':') + 1), *name, *provider;
	int status;

	if (!path)
		return common_fail_memory("a probe", strlen(event->name));
	name = strrchr(path, ':');
	if (!name || name == path || !name[1]) {
		free(path);
		return common_fail(PTL_MISUSE, "'%s': expected sdt:PATH:NAME or sdt:PATH:PROVIDER:NAME", event->name);
	}
	*name++ = 0;
	provider = access(path, F_OK) < 0 ? strrchr(path, ':') : NULL;
	if (provider)
		*provider++ = 0;
	search.path = path;
	search.name = name;
	search.provider = provider;
	status = find_probe(&search, tracing);
	free(path);
	return status;
}

/* ---- listing --------------------------------------------------------------------------------- */

struct listing {
	bool as_json;
	size_t count;
};

static void list_json(const struct elf_sdt_probe *probe, const char *fetched)
{
	struct common_json json;

	common_json_start(&json, stdout);
	common_json_object(&json, NULL);
	common_json_string(&json, "provider", probe->provider);
	common_json_string(&json, "name", probe->name);
	common_json_hex(&json, "address", probe->address);
	common_json_hex(&json, "semaphore", probe->semaphore);
	common_json_string(&json, "arguments", probe->arguments);
	common_json_string(&json, "fetched", fetched);
	common_json_object_end(&json);
	common_json_line(&json);
}

static void list_line(const struct elf_sdt_probe *probe)
{
	struct ptl_bytes line = {0};

	common_text_safe(&line, probe->provider);
	common_text_add(&line, ":");
	common_text_safe(&line, probe->name);
	common_text_format(&line, "  0x%llx%s  ", (unsigned long long)probe->address,
			   probe->semaphore ? " semaphore" : "");
	common_text_safe(&line, probe->arguments);
	common_text_add(&line, "\n");
	fwrite(line.data, 1, line.size, stdout);
	common_bytes_free(&line);
}

static int list_probe(void *context, const struct elf_sdt_probe *probe)
{
	struct listing *listing = context;
	struct ptl_bytes fetched = {0};
	unsigned left_out;

	listing->count++;
	kernel_event_fetch_sdt(probe->arguments, &fetched, &left_out);
	common_write_le(&fetched, 0, 1);
	if (fetched.failed)
		return common_fail_memory("a probe", fetched.size);
	if (listing->as_json)
		list_json(probe, (const char *)fetched.data + (*fetched.data == ' '));
	else
		list_line(probe);
	common_bytes_free(&fetched);
	return 0;
}

int kernel_event_sdt_list(const char *path, bool as_json)
{
	struct listing listing = {.as_json = as_json};
	struct record_binary binary;
	int status = record_binary_open(path, &binary);

	if (status < 0)
		return status;
	status = elf_sdt_probes(binary.elf, list_probe, &listing);
	record_binary_close(&binary);
	if (status == 0 && !listing.count)
		return common_fail(PTL_NOT_FOUND, "%s has no probes: they are made with sys/sdt.h", path);
	return status < 0 ? common_fail_in(status, "%s", path) : 0;
}
