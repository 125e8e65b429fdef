/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stage that searches this machine, and servers, for missing symbols and debug information of images. Found files
 * are attached by build id, so events stay unchanged. The search runs after the whole trace was read. For a trace that
 * is being written, the stage searches files as soon as their image appears: the files may be gone at the end.
 */
#include "relog/embed/embed.h"

#include <stdlib.h>
#include <string.h>

#include <ptl/symbols.h>

#include "common/error.h"
#include "common/hash_map.h"
#include "common/plural.h"
#include "common/program/message.h"
#include "elf/debuginfod.h"
#include "elf/image_store.h"
#include "flow/symbol/source_store.h"
#include "format/metadata/metadata.h"
#include "format/relogger/ahead.h"
#include "relog/cut/select.h"

#define SYMBOLS_MAX ((size_t)256 << 20)
#define DEBUG_MAX ((size_t)1 << 30) /* bytes of debug information whose source files are stored */
#define IMAGE UINT32_MAX            /* pseudo kind among attachment kinds: an image of a trace */
#define OWN 2                       /* value in seen: an attachment that this stage found */

/* An image of a live trace whose symbol blob has not arrived yet. */
struct waiting {
	struct waiting *next;
	struct ptl_image_event image;
	char path[];
};

struct embed {
	enum elf_embed what;
	struct ptl_relogger *relogger;
	struct elf_image_store *store;
	struct flow_source_store *sources; /* NULL: source files are not wanted */
	struct ptl_bytes storage;          /* scratch memory of the current event */
	struct common_byte_map seen;       /* by struct key */
	uint64_t lacking, found;           /* counts of symbol tables and debug files */
	bool live;                         /* the input is being written */
	bool servers;                      /* debuginfod servers may be asked */
	struct waiting *waiting;
	struct ptl_bytes debug; /* hashes of debug information of a live trace, whose source files are wanted */
};

/* ---- seen images and attachments ----------------------------------------------------------------------------- */

/* Key of the map `seen`: an attachment kind, for files with a build id. */
struct key {
	uint32_t kind;
	uint8_t build_id[PTL_ATTACHMENT_ID_MAX];
};

static struct key key_of(uint32_t kind, const uint8_t *build_id, size_t size)
{
	struct key key = {.kind = kind};

	memcpy(key.build_id, build_id, size);
	return key;
}

static int note_image(struct embed *embed, uint32_t kind, const uint8_t *build_id, size_t size, uint64_t what)
{
	const struct key key = key_of(kind, build_id, size);

	return common_byte_map_put(&embed->seen, &key, sizeof(key), what);
}

/* ---- writing found files ----------------------------------------------------------------------------------- */

static int put_blob(void *context, uint32_t type, const void *data, size_t size, uint8_t hash[PTL_HASH_SIZE])
{
	const struct embed *embed = context;

	return ptl_relogger_blob(embed->relogger, type, data, size, hash);
}

static int put_attachment(void *context, const struct ptl_attachment *attachment)
{
	struct embed *embed = context;
	struct ptl_bytes body = {0};
	int status;

	format_attachment_encode(attachment, &body);
	status = body.failed ? common_fail_memory("an attachment", 0)
			     : ptl_relogger_record(embed->relogger, FORMAT_RECORD_ATTACHMENT, body.data, body.size);
	common_bytes_free(&body);
	if (!status && attachment->kind != PTL_ATTACHMENT_SOURCE)
		status = note_image(embed, attachment->kind, attachment->id, attachment->id_size, OWN);
	embed->found += attachment->kind == PTL_ATTACHMENT_SYMBOLS || attachment->kind == PTL_ATTACHMENT_DEBUG;
	return status;
}

/* ---- finding lacks ----------------------------------------------------------------------------------------- */

/* Whether a symbol table has local symbols. A stripped file has dynamic symbols only, which are all global. */
static bool has_local(struct ptl_trace *trace, const uint8_t hash[PTL_HASH_SIZE])
{
	struct ptl_symbol_table *table = NULL;
	uint8_t *data;
	bool found = false;
	size_t size;

	if (ptl_blob_read(trace, hash, SYMBOLS_MAX, &data, &size))
		return false;
	if (ptl_symbols_decode(data, size, &table) == 0)
		for (size_t i = 0; !found && i < ptl_symbols_count(table); i++)
			found = ptl_symbols_get(table, i).type == 't';
	ptl_symbols_free(table);
	free(data);
	return found;
}

static bool is_noted(const struct embed *embed, uint32_t kind, const struct ptl_image_event *image)
{
	const struct key key = key_of(kind, image->build_id, image->build_id_size);

	return common_byte_map_get(&embed->seen, &key, sizeof(key)) != NULL;
}

/* Stores the source files that debug information in the trace names. Unreadable debug information names none. */
static int store_sources(struct embed *embed, struct ptl_trace *trace, const uint8_t hash[PTL_HASH_SIZE],
			 const char *image)
{
	uint8_t *data;
	size_t size;

	return ptl_blob_read(trace, hash, DEBUG_MAX, &data, &size)
		       ? 0
		       : flow_source_store_take_memory(embed->sources, data, size, image);
}

/* As store_sources, for debug information that a live trace may have at its end only. */
static int look_for_sources(struct embed *embed, struct ptl_trace *trace, const uint8_t hash[PTL_HASH_SIZE],
			    const char *image)
{
	const uint64_t *known = common_byte_map_get(&embed->seen, hash, PTL_HASH_SIZE);
	int status = known || !embed->sources ? 0 : common_byte_map_put(&embed->seen, hash, PTL_HASH_SIZE, 1);

	if (status || known || !embed->sources)
		return status;
	if (!embed->live)
		return store_sources(embed, trace, hash, image);
	common_write_bytes(&embed->debug, hash, PTL_HASH_SIZE);
	return embed->debug.failed ? common_fail_memory("source files", embed->debug.size) : 0;
}

static int store_late_sources(struct embed *embed, struct ptl_trace *trace)
{
	int status = 0;

	for (size_t at = 0; !status && at < embed->debug.size; at += PTL_HASH_SIZE)
		status = store_sources(embed, trace, embed->debug.data + at, NULL);
	return status;
}

static int take_attachment(struct embed *embed, struct ptl_trace *trace, const struct ptl_attachment *attachment,
			   bool *keep)
{
	const struct key key = key_of(attachment->kind, attachment->id, attachment->id_size);
	const uint64_t *known = common_byte_map_get(&embed->seen, &key, sizeof(key));
	int status = 0;

	if (attachment->kind == PTL_ATTACHMENT_SOURCE)
		return 0;
	/* The recorder has attached the same file after this stage did. */
	*keep = !known || *known != OWN;
	if (*keep)
		status = note_image(embed, attachment->kind, attachment->id, attachment->id_size, 1);
	if (!status && attachment->kind == PTL_ATTACHMENT_DEBUG)
		status = look_for_sources(embed, trace, attachment->hash, attachment->name);
	return status;
}

static int embed_take_record(void *context, struct ptl_relogger *relogger, struct ptl_relogger_input *input,
			     const struct ptl_record *record, bool *keep)
{
	struct ptl_attachment *attachment;
	int status = format_attachment_of(record, &attachment);

	(void)relogger;
	if (status || !attachment)
		return status;
	status = take_attachment(context, input ? ptl_relogger_input_trace(input) : NULL, attachment, keep);
	format_attachment_free(attachment);
	return status;
}

static int look_for_files(struct embed *embed, struct ptl_trace *trace, const struct ptl_image_event *image)
{
	struct elf_image_lack lack = {.path = image->file_name,
				      .build_id = image->build_id,
				      .build_id_size = image->build_id_size,
				      .has_symbols = image->has_symbols};
	int status = 0;

	lack.symbols = !is_noted(embed, PTL_ATTACHMENT_SYMBOLS, image) &&
		       !(image->has_symbols && has_local(trace, image->symbols));
	lack.debug = embed->what >= ELF_EMBED_DEBUG && !image->has_debug &&
		     !is_noted(embed, PTL_ATTACHMENT_DEBUG, image);
	embed->lacking += lack.symbols + lack.debug;
	if (lack.symbols || lack.debug)
		status = elf_image_store_lack(embed->store, &lack);
	if (!status && image->has_debug)
		status = look_for_sources(embed, trace, image->debug, image->file_name);
	/* Servers are asked at the end only, so that no event waits for a server. */
	return !status && embed->live && !embed->servers ? elf_image_store_find(embed->store) : status;
}

/* Remembers the image, with a copy of its file name, until its symbols arrive. */
static int await_symbols(struct embed *embed, const struct ptl_image_event *image)
{
	const size_t size = strlen(image->file_name) + 1;
	struct waiting *waiting = calloc(1, sizeof(*waiting) + size);

	if (!waiting)
		return common_fail_memory("what a trace lacks", sizeof(*waiting) + size);
	waiting->image = *image;
	waiting->image.file_name = memcpy(waiting->path, image->file_name, size);
	waiting->next = embed->waiting;
	embed->waiting = waiting;
	return 0;
}

/* Examines images whose symbols have arrived; with `all`, every waiting image. */
static int look_at_waiting(struct embed *embed, struct ptl_trace *trace, bool all)
{
	int status = 0;

	for (struct waiting **at = &embed->waiting; *at && !status;) {
		struct waiting *waiting = *at;

		if (!all && !ptl_blob_find(trace, waiting->image.symbols)) {
			at = &waiting->next;
			continue;
		}
		status = look_for_files(embed, trace, &waiting->image);
		*at = waiting->next;
		free(waiting);
	}
	return status;
}

static int look_at_image(struct embed *embed, struct ptl_trace *trace, const struct ptl_image_event *image)
{
	int status;

	if (!image->build_id_size || is_noted(embed, IMAGE, image))
		return 0;
	status = note_image(embed, IMAGE, image->build_id, image->build_id_size, 1);
	if (status)
		return status;
	return embed->live && image->has_symbols && !ptl_blob_find(trace, image->symbols)
		       ? await_symbols(embed, image)
		       : look_for_files(embed, trace, image);
}

static int embed_take_event(void *context, struct ptl_relogger *relogger, struct ptl_trace_event *event)
{
	struct embed *embed = context;
	struct ptl_relogger_input *input = ptl_event_input(event);
	struct relog_subject subject;
	int status = 0;

	embed->storage.size = 0;
	relog_subject_of(ptl_event_record(event), &embed->storage, &subject);
	if (input && embed->waiting)
		status = look_at_waiting(embed, ptl_relogger_input_trace(input), false);
	if (!status && input && subject.understood && subject.event.class == FORMAT_CLASS_IMAGE)
		status = look_at_image(embed, ptl_relogger_input_trace(input), &subject.event.image);
	return status ? status : ptl_relogger_inject(relogger, event);
}

/* ---- the stage ------------------------------------------------------------------------------------------- */

static int note_sources(struct embed *embed, struct ptl_trace *trace)
{
	int status = 0;

	for (size_t i = 0; !status && i < ptl_attachment_count(trace); i++)
		if (ptl_attachment_at(trace, i)->kind == PTL_ATTACHMENT_SOURCE)
			status = flow_source_store_has(embed->sources, ptl_attachment_at(trace, i)->name);
	return status;
}

static int embed_begin(void *context, struct ptl_relogger *relogger)
{
	struct embed *embed = context;
	struct elf_image_sink sink = {embed, put_blob, put_attachment};
	struct ptl_trace *first = ptl_relogger_input_trace(ptl_relogger_input_at(relogger, 0));
	int status = 0;

	embed->relogger = relogger;
	embed->live = format_relogger_is_live(relogger);
	if (embed->what >= ELF_EMBED_SOURCES)
		status = flow_source_store_new(&sink, ptl_trace_machine(first)->wall_start, &embed->sources);
	for (size_t i = 0; !status && embed->sources && i < ptl_relogger_input_count(relogger); i++)
		status = note_sources(embed, ptl_relogger_input_trace(ptl_relogger_input_at(relogger, i)));
	sink.sources = embed->sources ? flow_source_store_take : NULL;
	sink.source_context = embed->sources;
	return status ? status : elf_image_store_new(embed->what, &sink, &embed->store);
}

static int embed_end(void *context, struct ptl_relogger *relogger)
{
	struct embed *embed = context;
	struct ptl_trace *first = ptl_relogger_input_trace(ptl_relogger_input_at(relogger, 0));
	int status = look_at_waiting(embed, first, true);

	if (!status)
		status = store_late_sources(embed, first);
	if (!status)
		status = elf_image_store_find(embed->store);
	elf_debuginfod_warn();
	if (embed->sources)
		flow_source_store_report(embed->sources);
	if (elf_image_store_cut_names(embed->store))
		common_message_warning(
			"%llu " COMMON_PLURAL("name of a function overlaps another one in a file, and was",
					      "names of functions overlap in a file, and were") " cut",
			(unsigned long long)elf_image_store_cut_names(embed->store));
	if (!status && embed->lacking)
		common_message_note(
			"of %llu symbol tables and debug files that the trace lacks, %llu are found and added",
			(unsigned long long)embed->lacking, (unsigned long long)embed->found);
	return status;
}

static void free_embed(void *state)
{
	struct embed *embed = state;

	while (embed->waiting) {
		struct waiting *next = embed->waiting->next;

		free(embed->waiting);
		embed->waiting = next;
	}
	elf_image_store_free(embed->store);
	flow_source_store_free(embed->sources);
	common_bytes_free(&embed->debug);
	common_byte_map_free(&embed->seen);
	common_bytes_free(&embed->storage);
	free(embed);
}

static int embed_add(const struct relog_settings *settings, struct ptl_relogger *relogger, void **state)
{
	static const struct ptl_relogger_callbacks callbacks = {.size = sizeof(callbacks),
								.begin = embed_begin,
								.record = embed_take_record,
								.event = embed_take_event,
								.end = embed_end};
	struct embed *embed;

	if (settings->embed < ELF_EMBED_SYMBOLS || !(settings->embed_given || settings->debuginfod))
		return 0;
	if (relog_redact_wanted(&settings->redact)) {
		common_message_note(
			"--redact does not see what --embed adds to a trace that lacks it: that is left out; "
			"add it first, and redact the output of that");
		return 0;
	}
	embed = calloc(1, sizeof(*embed));
	if (!embed)
		return common_fail_memory("what a trace lacks", sizeof(*embed));
	embed->what = settings->embed;
	embed->servers = settings->debuginfod;
	*state = embed;
	return ptl_relogger_callbacks(relogger, &callbacks, embed);
}

const struct relog_stage relog_stage_embed = {"embed", embed_add, free_embed, NULL};
