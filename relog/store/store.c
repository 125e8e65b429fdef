/* SPDX-License-Identifier: BSD-2-Clause */
/* The stage that moves blobs into a code store, and the stage that reads blobs back from a code store. */
#include "relog/store/store.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/content/content_remote.h"
#include "common/content/http.h"
#include "common/error.h"
#include "common/hash_map.h"
#include "common/plural.h"
#include "common/program/message.h"
#include "common/sha256.h"
#include "format/metadata/metadata.h"
#include "format/reader/parts.h"
#include "relog/cut/select.h"

struct store {
	const struct relog_settings *settings;
	struct ptl_relogger *relogger;
	struct ptl_bytes storage;             /* scratch memory of the current event */
	struct common_byte_map attached;      /* hashes that were already looked up */
	struct common_content_remote *remote; /* NULL if --attach-code names a folder */
	uint64_t moved, bytes;                /* count and bytes of moved blobs */
	uint64_t there;                       /* moved blobs that the store already had */
	uint64_t left, missing;
};

/* ---- into the store ---------------------------------------------------------------------------------- */

static bool is_of_images(uint32_t type)
{
	return type == PTL_BLOB_CODE || type == PTL_BLOB_SYMBOLS || type == PTL_BLOB_DEBUG;
}

static int detach(struct store *store, struct ptl_trace *trace, const struct ptl_blob_info *blob, bool *keep)
{
	uint8_t *data = NULL;
	bool added;
	size_t size;
	int status = ptl_blob_read(trace, blob->hash, blob->size, &data, &size);

	/* A damaged blob stays in the output, where its copy reports the damage. */
	if (status == PTL_CORRUPT || status == PTL_TRUNCATED || status == PTL_NOT_FOUND)
		return 0;
	if (!status)
		status = common_content_add(store->settings->detach_code, blob->hash, data, size, &added);
	free(data);
	if (status)
		return common_fail_in(status, "--detach-code");
	store->moved++;
	store->bytes += size;
	store->there += !added;
	*keep = false;
	return 0;
}

static int take_blob(void *context, struct ptl_relogger *relogger, struct ptl_relogger_input *input,
		     const struct ptl_blob_info *blob, bool *keep)
{
	struct store *store = context;

	(void)relogger;
	if (!*keep || !(is_of_images(blob->type) || format_is_attached(ptl_relogger_input_trace(input), blob->hash)))
		return 0;
	if (blob->size > store->settings->memory_limit / 2) {
		store->left++;
		return 0;
	}
	return detach(store, ptl_relogger_input_trace(input), blob, keep);
}

/* ---- back from the store ------------------------------------------------------------------------------- */

static bool is_in_inputs(const struct store *store, const uint8_t hash[PTL_HASH_SIZE])
{
	for (size_t i = 0; i < ptl_relogger_input_count(store->relogger); i++)
		if (ptl_blob_find(ptl_relogger_input_trace(ptl_relogger_input_at(store->relogger, i)), hash))
			return true;
	return false;
}

static const char *attached_folder(const struct store *store)
{
	return store->remote ? common_content_remote_folder(store->remote) : store->settings->attach_code;
}

static int add_blob(struct store *store, uint32_t type, const uint8_t hash[PTL_HASH_SIZE])
{
	uint8_t found[PTL_HASH_SIZE];
	uint64_t size;
	int status = store->remote ? common_content_remote_fetch(store->remote, hash, COMMON_CONTENT_REMOTE_MAX) : 0;
	int fd = status && status != PTL_NOT_FOUND ? -1 : common_content_open(attached_folder(store), hash, &size);

	if (status && status != PTL_NOT_FOUND)
		return common_fail_in(status, "--attach-code");
	if (fd < 0) {
		store->missing++;
		return 0;
	}
	status = ptl_relogger_blob_file(store->relogger, type, fd, 0, size, found);
	close(fd);
	if (!status && memcmp(found, hash, PTL_HASH_SIZE) != 0) {
		char text[COMMON_SHA256_TEXT_SIZE];

		common_sha256_format(hash, text);
		status = common_fail(PTL_CORRUPT, "the content of %.2s/%s in %s is not what its name says", text,
				     text + 2, attached_folder(store));
	}
	if (status)
		return common_fail_in(status, "--attach-code");
	store->moved++;
	store->bytes += size;
	return 0;
}

static int attach_blob(struct store *store, bool has, uint32_t type, const uint8_t hash[PTL_HASH_SIZE])
{
	int status;

	if (!has || common_byte_map_get(&store->attached, hash, PTL_HASH_SIZE))
		return 0;
	status = common_byte_map_put(&store->attached, hash, PTL_HASH_SIZE, type);
	if (!status && !is_in_inputs(store, hash))
		status = add_blob(store, type, hash);
	return status;
}

/* Attaches all blobs that the event refers to. */
static int attach_all(struct store *store, const struct ptl_event *event)
{
	struct relog_subject subject;
	const struct ptl_image_event *image = &subject.event.image;
	int status;

	store->storage.size = 0;
	relog_subject_of(event, &store->storage, &subject);
	if (!subject.understood)
		return 0;
	if (subject.event.class == FORMAT_CLASS_CODE)
		return attach_blob(store, true, PTL_BLOB_CODE, subject.event.code.code);
	if (subject.event.class != FORMAT_CLASS_IMAGE)
		return 0;
	status = attach_blob(store, image->has_code, PTL_BLOB_CODE, image->code);
	if (!status)
		status = attach_blob(store, image->has_symbols, PTL_BLOB_SYMBOLS, image->symbols);
	if (!status)
		status = attach_blob(store, image->has_debug, PTL_BLOB_DEBUG, image->debug);
	return status;
}

static int store_take_event(void *context, struct ptl_relogger *relogger, struct ptl_trace_event *event)
{
	const int status = attach_all(context, ptl_event_record(event));

	return status ? status : ptl_relogger_inject(relogger, event);
}

static int store_take_record(void *context, struct ptl_relogger *relogger, struct ptl_relogger_input *input,
			     const struct ptl_record *record, bool *keep)
{
	struct ptl_attachment *attachment;
	int status = format_attachment_of(record, &attachment);

	(void)relogger;
	(void)input;
	(void)keep;
	if (status || !attachment)
		return status;
	status = attach_blob(context, attachment->kind != PTL_ATTACHMENT_PT_FILTER,
			     format_attachment_blob(attachment->kind), attachment->hash);
	format_attachment_free(attachment);
	return status;
}

/* ---- the stage ------------------------------------------------------------------------------------------- */

static int store_begin(void *context, struct ptl_relogger *relogger)
{
	struct store *store = context;

	store->relogger = relogger;
	return 0;
}

static int store_end(void *context, struct ptl_relogger *relogger)
{
	const struct store *store = context;
	const char *why = NULL;

	(void)relogger;
	if (store->remote && common_content_remote_failures(store->remote, &why))
		common_message_warning("%s", why);
	if (store->missing)
		common_message_warning(
			"%llu " COMMON_PLURAL("piece", "pieces") " of code, symbols or debug "
								 "information " COMMON_PLURAL(
									 "is", "are") " not in %s, nor in the input",
			(unsigned long long)store->missing, store->settings->attach_code);
	return 0;
}

static void free_store(void *state)
{
	struct store *store = state;

	if (store->left)
		common_message_warning(
			"%llu " COMMON_PLURAL("piece", "pieces") " of code or debug information " COMMON_PLURAL(
				"is",
				"are") " too large for --memory-limit, and " COMMON_PLURAL("stays",
											   "stay") " in the output",
			(unsigned long long)store->left);
	if (store->settings->detach_code && !store->settings->quiet)
		common_message_note(
			"%llu " COMMON_PLURAL(
				"piece",
				"pieces") " of code and symbols (%.1f MB) are in %s; it had %llu of them before",
			(unsigned long long)store->moved, (double)store->bytes / 1e6, store->settings->detach_code,
			(unsigned long long)store->there);
	common_bytes_free(&store->storage);
	common_byte_map_free(&store->attached);
	common_content_remote_close(store->remote);
	free(store);
}

static int open_attached(struct store *store, const char *folder)
{
	struct stat info;
	int status;

	if (common_http_is_url(folder)) {
		status = common_content_remote_open(folder, &store->remote);
		return status ? common_fail_in(status, "--attach-code") : 0;
	}
	return stat(folder, &info) < 0 || !S_ISDIR(info.st_mode)
		       ? common_fail(PTL_MISUSE, "--attach-code: there is no folder %s", folder)
		       : 0;
}

static int store_add(const struct relog_settings *settings, struct ptl_relogger *relogger, void **state)
{
	static const struct ptl_relogger_callbacks detaching = {
		.size = sizeof(detaching), .begin = store_begin, .end = store_end, .blob = take_blob};
	static const struct ptl_relogger_callbacks attaching = {.size = sizeof(attaching),
								.begin = store_begin,
								.record = store_take_record,
								.event = store_take_event,
								.end = store_end};
	struct store *store;
	int status = 0;

	if (!settings->detach_code && !settings->attach_code)
		return 0;
	store = calloc(1, sizeof(*store));
	if (!store)
		return common_fail_memory("a code store", sizeof(*store));
	store->settings = settings;
	*state = store;
	if (settings->attach_code)
		status = open_attached(store, settings->attach_code);
	return status ? status
		      : ptl_relogger_callbacks(relogger, settings->detach_code ? &detaching : &attaching, store);
}

const struct relog_stage relog_stage_store = {"code store", store_add, free_store, NULL};
