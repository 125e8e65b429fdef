/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stage that redacts. redact_begin() reads the whole trace first. A path in the last event may make a word secret,
 * and the first event must already be written without the word. redact_begin() also reads all blobs: images name blobs
 * by hash, and redaction changes hashes.
 * Neither is possible for a trace that is being written. Only rules that learn no words from events are then allowed,
 * and a blob is read when an event first names the blob.
 */
#include "relog/redact/redact.h"

#include <stdlib.h>
#include <string.h>

#include <ptl/kernel.h>

#include "common/error.h"
#include "common/plural.h"
#include "common/program/message.h"
#include "common/sha256.h"
#include "common/vector.h"
#include "format/metadata/metadata.h"
#include "format/relogger/ahead.h"
#include "format/relogger/control.h"
#include "format/relogger/names.h"
#include "relog/redact/blob.h"
#include "relog/redact/live.h"
#include "relog/redact/payload.h"

struct redact {
	const struct relog_redact_rules *rules;
	struct ptl_relogger *relogger;
	struct relog_redactor redactor;
	struct common_byte_map changed; /* hash of a blob: index in hashes, plus 1; 0: the blob is dropped */
	uint8_t (*hashes)[PTL_HASH_SIZE];
	size_t hash_count;
	struct relog_code_origins origins;
	size_t dropped;
	size_t left; /* blobs of code that keep text to redact */
	bool live;   /* the input is being written */
	struct relog_live_blobs named;
	struct ptl_bytes storage;
};

static const struct ptl_schema *schema_of(const struct ptl_trace *trace, const struct ptl_event *event)
{
	const struct ptl_schema *schema = ptl_schema_of(trace, event);
	size_t count;
	const struct ptl_schema *const *known;

	if (schema || ptl_event_is_raw(event))
		return schema;
	known = ptl_kernel_schemas(&count);
	for (size_t i = 0; i < count; i++)
		if (memcmp(&known[i]->provider, &event->descriptor.provider, sizeof(known[i]->provider)) == 0 &&
		    known[i]->id == event->descriptor.id && known[i]->version == event->descriptor.version &&
		    known[i]->opcode == event->descriptor.opcode)
			return known[i];
	return NULL;
}

/* ---- learning secret words ------------------------------------------------------------------- */

static int learn_event(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct redact *redact = context;
	const int status = relog_code_origins_learn(&redact->origins, trace, event);

	return status ? status : relog_redact_learn_event(&redact->redactor, schema_of(trace, event), event);
}

static int learn_host(struct redact *redact, const char *name)
{
	int status = 0;

	if (redact->rules->host)
		status = relog_redactor_learn_word(&redact->redactor, name, strlen(name));
	if (!status && redact->rules->host)
		status = relog_redactor_learn_word(&redact->redactor, name, strcspn(name, "."));
	return status;
}

static int learn_provenance(struct redact *redact, const struct ptl_provenance *step)
{
	int status = relog_redactor_learn(&redact->redactor, RELOG_TEXT, step->command);

	for (size_t i = 0; i < step->inputs && !status; i++)
		status = relog_redactor_learn(&redact->redactor, RELOG_PATH, step->input[i].name);
	return status;
}

static int learn_trace(struct redact *redact, struct ptl_relogger_input *input)
{
	static const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = learn_event};
	struct ptl_trace *trace = ptl_relogger_input_trace(input);
	int status = 0;

	for (size_t i = 0; i < ptl_machine_count(trace) && !status; i++)
		if (ptl_machine_at(trace, i))
			status = learn_host(redact, ptl_machine_at(trace, i)->hostname);
	for (size_t i = 0; i < ptl_provenance_count(trace) && !status; i++)
		status = learn_provenance(redact, ptl_provenance_at(trace, i));
	for (size_t i = 0; i < ptl_loss_count(trace) && !status; i++)
		status = relog_redactor_learn(&redact->redactor, RELOG_TEXT, ptl_loss_at(trace, i)->cause);
	redact->redactor.own = true;
	if (!status)
		status = relog_redactor_learn(&redact->redactor, RELOG_TEXT, format_relogger_command(redact->relogger));
	redact->redactor.own = false;
	return status ? status : ptl_process(trace, NULL, &callbacks, redact);
}

/* ---- blobs, first pass ----------------------------------------------------------------------- */

static int note_change(struct redact *redact, const uint8_t hash[PTL_HASH_SIZE], const struct ptl_bytes *changed)
{
	if (!changed)
		return common_byte_map_put(&redact->changed, hash, PTL_HASH_SIZE, 0);
	if (!common_vector_room(&redact->hashes, redact->hash_count, sizeof(*redact->hashes)))
		return common_fail_memory("hashes", (redact->hash_count + 1) * sizeof(*redact->hashes));
	common_sha256_of(changed->data, changed->size, redact->hashes[redact->hash_count]);
	return common_byte_map_put(&redact->changed, hash, PTL_HASH_SIZE, ++redact->hash_count);
}

static int look_at_blob(void *context, struct ptl_trace *trace, const struct ptl_blob_info *blob)
{
	struct redact *redact = context;
	struct relog_blob_outcome outcome;
	int status = relog_redact_blob(&redact->redactor, &redact->origins, trace, blob, &redact->storage, &outcome);

	redact->left += !status && outcome.left;
	if (!status && outcome.fate != RELOG_BLOB_SAME)
		status = note_change(redact, blob->hash, outcome.fate == RELOG_BLOB_CHANGED ? &redact->storage : NULL);
	return status ? status : format_relogger_check(redact->relogger);
}

static int look_at_blobs(struct redact *redact, struct ptl_trace *trace)
{
	int status = 0;

	for (size_t i = 0; i < ptl_blob_count(trace) && !status; i++)
		status = look_at_blob(redact, trace, ptl_blob_at(trace, i));
	return status;
}

/* Examines blobs that an event names. Used for a trace that is being written, whose blobs cannot all be read first. */
static int look_at_named(struct redact *redact, struct ptl_trace *trace, const struct ptl_event *event)
{
	const int status = relog_code_origins_learn(&redact->origins, trace, event);

	return status ? status : relog_live_blobs_event(&redact->named, trace, event, look_at_blob, redact);
}

/* Learns the host name, the only word that the rules of a live trace may need: see relog_redact_streams. */
static int begin_live(struct redact *redact)
{
	const struct ptl_trace *trace = ptl_relogger_input_trace(ptl_relogger_input_at(redact->relogger, 0));

	return learn_host(redact, ptl_trace_machine(trace)->hostname);
}

static int redact_begin(void *context, struct ptl_relogger *relogger)
{
	struct redact *redact = context;
	int status = 0;

	relog_redactor_open(&redact->redactor, redact->rules);
	redact->relogger = relogger;
	redact->live = format_relogger_is_live(relogger);
	if (redact->live)
		return begin_live(redact);
	/* Write machine records at the end. */
	format_relogger_keep_machines(relogger);
	for (size_t i = 0; i < ptl_relogger_input_count(relogger) && !status; i++)
		status = learn_trace(redact, ptl_relogger_input_at(relogger, i));
	for (size_t i = 0; i < ptl_relogger_input_count(relogger) && !status; i++)
		status = look_at_blobs(redact, ptl_relogger_input_trace(ptl_relogger_input_at(relogger, i)));
	return status;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Replaces the hash of a redacted blob. Returns false if the blob was dropped. */
static bool change_hash(void *context, uint8_t hash[PTL_HASH_SIZE])
{
	struct redact *redact = context;
	const uint64_t *index = common_byte_map_get(&redact->changed, hash, PTL_HASH_SIZE);

	if (index && *index)
		memcpy(hash, redact->hashes[*index - 1], PTL_HASH_SIZE);
	return !index || *index;
}

static int take_extended(struct redact *redact, struct ptl_trace_event *event)
{
	const struct ptl_event *record = ptl_event_record(event);
	const size_t count = record->extended_count;
	struct ptl_extended *items = calloc(count, sizeof(*items));
	struct ptl_bytes bytes = {0};
	bool changed = false;
	size_t at = 0;
	int status = items ? 0 : common_fail_memory("extended items", count * sizeof(*items));

	for (size_t i = 0; i < count && !status; i++)
		common_write_bytes(&bytes, record->extended[i].data, record->extended[i].size);
	if (!status && bytes.failed)
		status = common_fail_memory("extended items", bytes.size);
	for (size_t i = 0; i < count && !status; i++) {
		items[i] = record->extended[i];
		items[i].data = bytes.data + at;
		status = relog_redact_raw(&redact->redactor, bytes.data + at, items[i].size, &changed);
		at += items[i].size;
	}
	if (!status && changed)
		status = ptl_event_set_extended(event, items, count);
	free(items);
	common_bytes_free(&bytes);
	return status;
}

static int redact_take_event(void *context, struct ptl_relogger *relogger, struct ptl_trace_event *event)
{
	struct redact *redact = context;
	const struct ptl_event *record = ptl_event_record(event);
	struct ptl_trace *trace = ptl_relogger_input_trace(ptl_event_input(event));
	const struct ptl_schema *schema = schema_of(trace, record);
	int status = redact->live ? look_at_named(redact, trace, record) : 0;

	/* redact_begin() could not learn from events that an earlier stage injected. */
	if (!status && (record->flags & PTL_EVENT_INJECTED))
		status = relog_redact_learn_event(&redact->redactor, schema, record);
	if (!status)
		status = relog_redact_payload(&redact->redactor, schema, record, change_hash, redact, &redact->storage);
	if (!status && (redact->storage.size != record->payload_size ||
			memcmp(redact->storage.data ? redact->storage.data : (const uint8_t *)"", record->payload,
			       record->payload_size) != 0))
		status = ptl_event_set_payload(event, redact->storage.data, redact->storage.size);
	if (!status && record->extended_count)
		status = take_extended(redact, event);
	return status ? status : ptl_relogger_inject(relogger, event);
}

/* ---- records --------------------------------------------------------------------------------- */

/* Returns the redacted text, owned by the caller. NULL: no memory. */
static char *redacted(struct redact *redact, enum relog_text_kind kind, const char *text)
{
	struct ptl_bytes out = {0};

	if (relog_redact_text(&redact->redactor, kind, text ? text : "", &out)) {
		common_bytes_free(&out);
		return NULL;
	}
	return (char *)out.data;
}

static int write_provenance(struct redact *redact, const struct ptl_provenance *step)
{
	struct ptl_provenance changed = *step;
	struct ptl_provenance_input *inputs = calloc(step->inputs + 1, sizeof(*inputs));
	char *command = redacted(redact, RELOG_COMMAND, step->command),
	     *rules = redacted(redact, RELOG_TEXT, step->rules),
	     *unmatched = redacted(redact, RELOG_TEXT, step->unmatched);
	bool made = inputs && command && rules && unmatched;
	int status;

	for (size_t i = 0; i < step->inputs && made; i++) {
		inputs[i] = step->input[i];
		inputs[i].name = redacted(redact, RELOG_PATH, step->input[i].name);
		made = inputs[i].name != NULL;
	}
	changed.command = command;
	changed.rules = rules;
	changed.unmatched = unmatched;
	changed.input = inputs;
	status = made ? ptl_relogger_add_provenance(redact->relogger, &changed) : common_fail_memory("provenance", 0);
	for (size_t i = 0; inputs && i < step->inputs; i++)
		free((char *)inputs[i].name);
	free(inputs);
	free(command);
	free(rules);
	free(unmatched);
	return status;
}

static int take_provenance(struct redact *redact, const struct ptl_record *record)
{
	struct ptl_provenance *step;
	int status = format_provenance_decode(common_cursor(record->data, record->size), &step);

	/* An unreadable record cannot be searched: drop the record. */
	if (status)
		return status == PTL_NO_MEMORY ? status : 0;
	status = write_provenance(redact, step);
	format_provenance_free(step);
	return status;
}

static int write_loss(struct redact *redact, const struct ptl_relogger_input *input, const struct ptl_loss *loss)
{
	struct ptl_loss changed = *loss;
	char *cause = redacted(redact, RELOG_TEXT, loss->cause);
	struct ptl_relogger_input_info info;
	int status = cause ? 0 : common_fail_memory("a loss", 0);

	ptl_relogger_input_info(input, &info);
	changed.cause = cause;
	if (changed.stream != PTL_NO_ID)
		changed.stream = ptl_relogger_map_stream(input, changed.stream);
	changed.first_time += changed.first_time ? (uint64_t)info.time_shift : 0;
	changed.last_time += changed.last_time ? (uint64_t)info.time_shift : 0;
	if (!status)
		status = ptl_relogger_map_id(input, &changed.pid);
	if (!status)
		status = ptl_relogger_map_id(input, &changed.tid);
	if (!status)
		status = ptl_relogger_loss(redact->relogger, &changed);
	free(cause);
	return status;
}

static int take_loss(struct redact *redact, const struct ptl_relogger_input *input, const struct ptl_record *record)
{
	struct ptl_loss *loss;
	int status = format_loss_decode(common_cursor(record->data, record->size), &loss);

	if (status)
		return status == PTL_NO_MEMORY ? status : 0;
	status = write_loss(redact, input, loss);
	format_loss_free(loss);
	return status;
}

static int write_attachment(struct redact *redact, const struct ptl_attachment *attachment)
{
	char *name = redacted(redact, RELOG_PATH, attachment->name);
	struct ptl_attachment changed = *attachment;
	struct ptl_bytes body = {0};
	int status;

	if (!name)
		return common_fail_memory("an attachment", 0);
	changed.name = name;
	status = changed.kind == PTL_ATTACHMENT_PT_FILTER || change_hash(redact, changed.hash) ? 0 : PTL_NOT_FOUND;
	if (!status)
		format_attachment_encode(&changed, &body);
	if (body.failed)
		status = common_fail_memory("an attachment", 0);
	if (!status)
		status = ptl_relogger_record(redact->relogger, FORMAT_RECORD_ATTACHMENT, body.data, body.size);
	common_bytes_free(&body);
	free(name);
	return status == PTL_NOT_FOUND ? 0 : status;
}

/* Keeps attachments of symbols and address filters. Drops files, because their content is unknown. */
static int take_attachment(struct redact *redact, const struct ptl_relogger_input *input,
			   const struct ptl_record *record)
{
	struct ptl_attachment *attachment;
	int status = format_attachment_of(record, &attachment);

	if (status || !attachment)
		return status;
	if (attachment->kind == PTL_ATTACHMENT_SYMBOLS && redact->live)
		status = relog_live_blobs_name(&redact->named, ptl_relogger_input_trace(input), attachment->hash,
					       look_at_blob, redact);
	if (!status && (attachment->kind == PTL_ATTACHMENT_SYMBOLS || attachment->kind == PTL_ATTACHMENT_PT_FILTER))
		status = write_attachment(redact, attachment);
	format_attachment_free(attachment);
	return status;
}

/* Redacts schemas, maps, and records of newer versions: overwrites texts in place. */
static int redact_other_record(struct redact *redact, const struct ptl_record *record, bool *keep)
{
	bool changed = false;
	int status;

	redact->storage.size = 0;
	common_write_bytes(&redact->storage, record->data, record->size);
	if (redact->storage.failed)
		return common_fail_memory("a record", record->size);
	status = record->size ? relog_redact_raw(&redact->redactor, redact->storage.data, record->size, &changed) : 0;
	*keep = !changed;
	if (status || !changed)
		return status;
	return ptl_relogger_record(redact->relogger, record->type, redact->storage.data, record->size);
}

static int take_machine(void *context, struct ptl_machine *machine)
{
	struct redact *redact = context;
	char *name = redacted(redact, redact->rules->host ? RELOG_SECRET : RELOG_TEXT, machine->hostname);

	if (!name)
		return common_fail_memory("a name", 0);
	machine->redacted = true;
	strncpy(machine->hostname, name, sizeof(machine->hostname) - 1);
	free(name);
	return 0;
}

/* Writes the machine record of a live trace at once: readers of the output need the machine first. */
static int write_machine(struct redact *redact, const struct ptl_record *record)
{
	struct ptl_machine machine;
	struct ptl_bytes body = {0};
	int status = format_machine_decode(common_cursor(record->data, record->size), &machine);

	if (status)
		return status == PTL_NO_MEMORY ? status : 0;
	status = take_machine(redact, &machine);
	if (!status)
		format_machine_encode(&machine, &body);
	if (body.failed)
		status = common_fail_memory("a machine", 0);
	if (!status)
		status = ptl_relogger_record(redact->relogger, record->type, body.data, body.size);
	common_bytes_free(&body);
	return status;
}

static int redact_take_record(void *context, struct ptl_relogger *relogger, struct ptl_relogger_input *input,
			      const struct ptl_record *record, bool *keep)
{
	struct redact *redact = context;

	(void)relogger;
	*keep = false;
	switch (record->type) {
	case FORMAT_RECORD_PROVENANCE:
		return take_provenance(redact, record);
	case FORMAT_RECORD_LOSS:
		return take_loss(redact, input, record);
	case FORMAT_RECORD_SCHEMA:
	case FORMAT_RECORD_MAP:
		/* Names that programs gave to their own events: apply only rules text: and regex:. */
		*keep = true;
		return redact->rules->literals.count || redact->rules->regexes.count
			       ? redact_other_record(redact, record, keep)
			       : 0;
	case FORMAT_RECORD_MACHINE:
		*keep = !redact->live;
		return redact->live ? write_machine(redact, record) : 0;
	case FORMAT_RECORD_ATTACHMENT:
		return take_attachment(redact, input, record);
	default:
		return redact_other_record(redact, record, keep);
	}
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Redacts the command line of this run, which may contain the secret texts. */
static char *rename_text(void *context, enum format_name kind, const char *text)
{
	static const enum relog_text_kind kinds[] = {
		[FORMAT_NAME_COMMAND] = RELOG_COMMAND,
		[FORMAT_NAME_RULES] = RELOG_TEXT,
		[FORMAT_NAME_INPUT] = RELOG_PATH,
	};

	struct redact *redact = context;
	char *name;

	redact->redactor.own = true;
	name = redacted(redact, kinds[kind], text);
	redact->redactor.own = false;
	return name;
}

static int redact_end(void *context, struct ptl_relogger *relogger)
{
	const struct format_renaming renaming = {.name = rename_text, .machine = take_machine, .context = context};

	return format_relogger_rename(relogger, &renaming);
}

static int take_blob(void *context, struct ptl_relogger *relogger, struct ptl_relogger_input *input,
		     const struct ptl_blob_info *blob, bool *keep)
{
	struct redact *redact = context;
	const bool late = redact->live && !relog_live_blobs_is(&redact->named, blob->hash, RELOG_LIVE_DECIDED);
	int status = late ? look_at_blob(redact, ptl_relogger_input_trace(input), blob) : 0;
	const uint64_t *index = common_byte_map_get(&redact->changed, blob->hash, PTL_HASH_SIZE);
	struct relog_blob_outcome outcome;
	uint8_t hash[PTL_HASH_SIZE];

	if (status)
		return status;
	*keep = !index;
	if (!index)
		return 0;
	redact->dropped += !*index;
	if (!*index)
		return 0;
	/* Written events still name the blob by its original hash. */
	if (relog_live_blobs_is(&redact->named, blob->hash, RELOG_LIVE_LATE)) {
		redact->named.late++;
		return 0;
	}
	status = relog_redact_blob(&redact->redactor, &redact->origins, ptl_relogger_input_trace(input), blob,
				   &redact->storage, &outcome);
	if (status || outcome.fate != RELOG_BLOB_CHANGED)
		return status;
	return ptl_relogger_blob(relogger, blob->type, redact->storage.data, redact->storage.size, hash);
}

/* ---- the stage ------------------------------------------------------------------------------- */

static void free_redact(void *state)
{
	struct redact *redact = state;

	if (redact->dropped)
		common_message_note(
			"%zu " COMMON_PLURAL("blob was",
					     "blobs were") " left out: debug information, and what cannot be searched",
			redact->dropped);
	if (redact->left) {
		common_message_warning(
			"%zu " COMMON_PLURAL("blob of code holds",
					     "blobs of code hold") " text that was to go among bytes that may be "
								   "instructions: it stays there",
			redact->left);
		common_message_hint(
			"a recording with --embed debug tells data from instructions; --drop-code leaves code out");
	}
	relog_live_blobs_free(&redact->named);
	relog_code_origins_free(&redact->origins);
	relog_redactor_close(&redact->redactor);
	common_byte_map_free(&redact->changed);
	free(redact->hashes);
	common_bytes_free(&redact->storage);
	free(redact);
}

static int redact_add(const struct relog_settings *settings, struct ptl_relogger *relogger, void **state)
{
	static const struct ptl_relogger_callbacks callbacks = {
		.size = sizeof(callbacks),
		.begin = redact_begin,
		.event = redact_take_event,
		.record = redact_take_record,
		.end = redact_end,
		.blob = take_blob,
	};
	struct redact *redact;

	if (!relog_redact_wanted(&settings->redact))
		return 0;
	redact = calloc(1, sizeof(*redact));
	if (!redact)
		return common_fail_memory("redaction", sizeof(*redact));
	redact->rules = &settings->redact;
	*state = redact;
	return ptl_relogger_callbacks(relogger, &callbacks, redact);
}

const struct relog_stage relog_stage_redact = {.name = "redact", .add = redact_add, .free = free_redact};
