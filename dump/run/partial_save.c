/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the partial results of one shard. */
#include <limits.h>
#include <stdlib.h>

#include "common/error.h"
#include "common/vector.h"
#include "common/version.h"
#include "dump/run/description.h"
#include "format/reader/damage.h"

struct dump_partial_saver {
	struct dump_partial_writer writer;
	struct dump_description description;
	struct flow_shard shard;
	struct ptl_bytes payload; /* scratch */
};

static int add_text(char ***texts, size_t *count, char *text)
{
	if (text && common_vector_room(texts, *count, sizeof(**texts))) {
		(*texts)[(*count)++] = text;
		return 0;
	}
	free(text);
	return common_fail_memory("options", *count);
}

/* ---- records of views ---------------------------------------------------------------------------- */

static int begin_run(void *context, struct ptl_trace *trace, const char *view)
{
	struct dump_partial_saver *saver = context;
	const struct dump_trace_id id = dump_trace_id_of(trace);

	saver->payload.size = 0;
	dump_trace_id_write(&id, &saver->payload);
	dump_partial_write_text(view, &saver->payload);
	return dump_partial_write_block(&saver->writer, DUMP_PARTIAL_RUN, &saver->payload);
}

static int put_record(void *context, const struct ptl_bytes *record)
{
	struct dump_partial_saver *saver = context;

	return dump_partial_write_record(&saver->writer, record);
}

/* ---- the file ------------------------------------------------------------------------------------ */

static int describe_partial(struct dump_partial_saver *saver, const char *command, const char *operand,
			    const struct ptl_bytes *options)
{
	struct dump_description *description = &saver->description;
	int status = 0;

	description->version = strdup(COMMON_VERSION);
	description->command = strdup(command);
	description->operand = strdup(operand ? operand : "");
	if (!description->version || !description->command || !description->operand || options->failed)
		return common_fail_memory("options", options->size);
	for (size_t at = 0; !status && at < options->size;) {
		const char *text = (const char *)options->data + at;

		status = add_text(&description->options, &description->option_count, strdup(text));
		at += strlen(text) + 1;
	}
	return status;
}

int dump_partial_save_open(const char *path, const char *command, const char *operand, const struct ptl_bytes *options,
			   uint32_t number, uint32_t count, struct dump_partial_saver **result)
{
	struct dump_partial_saver *saver = calloc(1, sizeof(*saver));
	int status;

	if (!saver)
		return common_fail_memory("partial results", sizeof(*saver));
	*result = saver;
	saver->writer.file.fd = -1;
	saver->description.number = number;
	saver->description.count = count;
	saver->shard = (struct flow_shard){
		.context = saver, .number = number, .count = count, .begin = begin_run, .put = put_record};
	status = describe_partial(saver, command, operand, options);
	return status < 0 ? status : dump_partial_writer_open(&saver->writer, path);
}

int dump_partial_save_path(struct dump_partial_saver *saver, const char *path)
{
	struct dump_description *description = &saver->description;
	char *place = realpath(path, NULL);
	size_t count = description->path_count;
	int status = add_text(&description->places, &count, place ? place : strdup(path));

	return status < 0 ? status : add_text(&description->paths, &description->path_count, strdup(path));
}

int dump_partial_save_trace(struct dump_partial_saver *saver, const struct ptl_trace *trace)
{
	struct dump_description *description = &saver->description;

	if (!common_vector_room(&description->traces, description->trace_count, sizeof(*description->traces)))
		return common_fail_memory("traces", description->trace_count * sizeof(*description->traces));
	description->traces[description->trace_count++] = dump_trace_id_of(trace);
	return 0;
}

int dump_partial_save_damage(struct dump_partial_saver *saver, const struct ptl_trace *trace)
{
	const struct dump_trace_id id = dump_trace_id_of(trace);
	int status = 0;

	for (size_t i = 0; !status && i < ptl_damage_count(trace); i++) {
		const struct ptl_damage *damage = ptl_damage_at(trace, i);

		if (!format_damage_hurts(trace, damage))
			continue;
		saver->payload.size = 0;
		dump_trace_id_write(&id, &saver->payload);
		common_write_varint(&saver->payload, damage->offset);
		dump_partial_write_text(damage->text, &saver->payload);
		status = dump_partial_write_block(&saver->writer, DUMP_PARTIAL_DAMAGE, &saver->payload);
	}
	return status;
}

const struct flow_shard *dump_partial_save_shard(const struct dump_partial_saver *saver)
{
	return &saver->shard;
}

int dump_partial_save_commit(struct dump_partial_saver *saver)
{
	int status;

	saver->payload.size = 0;
	dump_description_write(&saver->description, &saver->payload);
	status = dump_partial_write_block(&saver->writer, DUMP_PARTIAL_DESCRIPTION, &saver->payload);
	return status < 0 ? status : dump_partial_writer_commit(&saver->writer);
}

void dump_partial_save_close(struct dump_partial_saver *saver)
{
	if (!saver)
		return;
	dump_partial_writer_close(&saver->writer);
	dump_description_free(&saver->description);
	common_bytes_free(&saver->payload);
	free(saver);
}
