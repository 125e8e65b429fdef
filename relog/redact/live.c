/* SPDX-License-Identifier: BSD-2-Clause */
/* A blob has arrived if all bytes are readable. */
#include "relog/redact/live.h"

#include <stdlib.h>

#include "common/plural.h"
#include "common/program/message.h"
#include "format/event/kernel_class.h"
#include "relog/redact/blob.h"

typedef int (*decide_function)(void *context, struct ptl_trace *trace, const struct ptl_blob_info *blob);

bool relog_live_blobs_is(const struct relog_live_blobs *blobs, const uint8_t hash[PTL_HASH_SIZE],
			 enum relog_live_blob what)
{
	const uint64_t *known = common_byte_map_get(&blobs->named, hash, PTL_HASH_SIZE);

	return known && *known == (uint64_t)what;
}

/* *there: the blob has arrived. Blobs that redaction does not read are left out anyway. Returns PTL_NO_MEMORY. */
static int has_come(struct ptl_trace *trace, const struct ptl_blob_info *blob, bool *there)
{
	uint8_t *data;
	size_t size;
	int status;

	*there = blob != NULL;
	if (!blob || !relog_redact_reads(blob))
		return 0;
	status = ptl_blob_read(trace, blob->hash, (size_t)blob->size, &data, &size);
	*there = !status;
	if (status)
		return status == PTL_NO_MEMORY ? status : 0;
	free(data);
	return 0;
}

static int name_blob(struct relog_live_blobs *blobs, struct ptl_trace *trace, const uint8_t hash[PTL_HASH_SIZE],
		     bool complete, decide_function decide, void *context)
{
	const struct ptl_blob_info *blob = ptl_blob_find(trace, hash);
	bool there;
	int status;

	if (common_byte_map_get(&blobs->named, hash, PTL_HASH_SIZE))
		return 0;
	status = has_come(trace, blob, &there);
	there &= complete;
	if (!status)
		status = common_byte_map_put(&blobs->named, hash, PTL_HASH_SIZE,
					     there ? RELOG_LIVE_DECIDED : RELOG_LIVE_LATE);
	return !status && there ? decide(context, trace, blob) : status;
}

int relog_live_blobs_name(struct relog_live_blobs *blobs, struct ptl_trace *trace, const uint8_t hash[PTL_HASH_SIZE],
			  decide_function decide, void *context)
{
	return name_blob(blobs, trace, hash, true, decide, context);
}

static int name_image(struct relog_live_blobs *blobs, struct ptl_trace *trace, const struct ptl_image_event *image,
		      decide_function decide, void *context)
{
	bool file = true;
	int status = image->has_debug ? has_come(trace, ptl_blob_find(trace, image->debug), &file) : 0;

	if (!status && image->has_code)
		status = name_blob(blobs, trace, image->code, file, decide, context);
	if (!status && image->has_symbols)
		status = name_blob(blobs, trace, image->symbols, true, decide, context);
	if (!status && image->has_debug)
		status = name_blob(blobs, trace, image->debug, true, decide, context);
	return status;
}

int relog_live_blobs_event(struct relog_live_blobs *blobs, struct ptl_trace *trace, const struct ptl_event *event,
			   decide_function decide, void *context)
{
	const enum format_class class = format_class_of(&event->descriptor);
	struct format_kernel_event decoded;
	struct ptl_bytes storage = {0};
	int status = 0;

	if (class != FORMAT_CLASS_IMAGE && class != FORMAT_CLASS_CODE)
		return 0;
	if (format_kernel_decode(event, &storage, &decoded) == 0)
		status = decoded.class == FORMAT_CLASS_IMAGE
				 ? name_image(blobs, trace, &decoded.image, decide, context)
				 : name_blob(blobs, trace, decoded.code.code, true, decide, context);
	common_bytes_free(&storage);
	return status;
}

void relog_live_blobs_free(struct relog_live_blobs *blobs)
{
	if (blobs->late) {
		common_message_warning(
			"%zu " COMMON_PLURAL("piece", "pieces") " of code or symbols with text that was to go came "
								"later than what names " COMMON_PLURAL(
									"it: it is", "them: they are") " left out",
			blobs->late);
		common_message_hint("the same command on the whole trace keeps them, redacted");
	}
	common_byte_map_free(&blobs->named);
}
