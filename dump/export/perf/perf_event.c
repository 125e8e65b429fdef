/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events of the provider Linux-Perf are records of perf, kept by ptl-relog, or samples. Events of tracepoints become
 * samples with a format. perf has no place for other events.
 */
#include "dump/export/perf/perf_event.h"

#include <ptl/kernel.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/vector.h"
#include "perf/layout.h"
#include "perf/schemas.h"

#define STACK_TRACE64 6 /* EVENT_HEADER_EXT_TYPE_STACK_TRACE64: a match id of 8 bytes, then addresses */
#define TYPE_TRACEPOINT 2u
#define FIRST_TRACEPOINT 1u
#define UPPER_HALF (1ull << 63)
#define AUX_TRUNCATED 1u
#define SAMPLE_FIELDS 24u /* bytes of a sample behind the event's name: address of the code, period, address */

/* Numbers of events whose values perf prints by their meaning. Other events only have their names. */
static const struct {
	const char *name;
	uint32_t type;
	uint64_t config;
} known_events[] = {
	{"cycles", 0, 0},           {"cpu-cycles", 0, 0},   {"instructions", 0, 1},     {"cache-references", 0, 2},
	{"cache-misses", 0, 3},     {"branches", 0, 4},     {"branch-misses", 0, 5},    {"bus-cycles", 0, 6},
	{"cpu-clock", 1, 0},        {"task-clock", 1, 1},   {"page-faults", 1, 2},      {"faults", 1, 2},
	{"context-switches", 1, 3}, {"cs", 1, 3},           {"cpu-migrations", 1, 4},   {"migrations", 1, 4},
	{"minor-faults", 1, 5},     {"major-faults", 1, 6}, {"alignment-faults", 1, 7}, {"emulation-faults", 1, 8},
};

/* ---- samples ------------------------------------------------------------------------------------- */

static bool is_perf(const struct ptl_event *event)
{
	return memcmp(&event->descriptor.provider, &perf_provider, sizeof(perf_provider)) == 0;
}

/* Finds the stack of an event. */
static void find_calls(const struct ptl_event *event, struct dump_perf_sample *sample)
{
	for (size_t i = 0; i < event->extended_count; i++) {
		const struct ptl_extended *item = &event->extended[i];

		if (item->type != STACK_TRACE64 || item->size < 8)
			continue;
		sample->calls = item->data + 8;
		sample->call_count = (item->size - 8u) / 8;
	}
}

static struct dump_perf_place place_of(const struct ptl_event *event)
{
	return (struct dump_perf_place){event->pid, event->tid, event->cpu, event->time};
}

/* Reads the payload of a sample. *name: of the event. Returns false if the payload is too short. */
static bool read_sample(const struct ptl_event *event, const char **name, struct dump_perf_sample *sample)
{
	const size_t length = strnlen((const char *)event->payload, event->payload_size);
	const uint8_t *at = event->payload + length + 1;

	if (event->payload_size < length + 1 + SAMPLE_FIELDS)
		return false;
	*name = (const char *)event->payload;
	*sample = (struct dump_perf_sample){.ip = common_load64(at),
					    .period = common_load64(at + 8),
					    .address = common_load64(at + 16),
					    .raw = at + SAMPLE_FIELDS,
					    .raw_size = event->payload_size - length - 1 - SAMPLE_FIELDS};
	sample->place = place_of(event);
	find_calls(event, sample);
	return true;
}

/* As read_sample, for GuestSample: the calls are a part of the payload. */
static bool read_guest_sample(const struct ptl_event *event, const char **name, struct dump_perf_sample *sample)
{
	size_t calls;

	if (!read_sample(event, name, sample) || sample->raw_size < 2)
		return false;
	calls = common_load16(sample->raw);
	if (sample->raw_size - 2 < 8 * calls)
		return false;
	sample->guest = true;
	sample->calls = sample->raw + 2;
	sample->call_count = calls;
	sample->raw += 2 + 8 * calls;
	sample->raw_size -= 2 + 8 * calls;
	return true;
}

static int add_attr(struct dump_perf_file *file, const struct dump_perf_attr *attr)
{
	if (!common_vector_room(&file->attrs, file->attr_count, sizeof(*file->attrs)))
		return common_fail_memory("events", file->attr_count * sizeof(*file->attrs));
	file->attrs[file->attr_count++] = *attr;
	return 0;
}

/* Adds what the sample has to the attribute of its event. */
static void widen(struct dump_perf_attr *attr, const struct dump_perf_sample *sample)
{
	attr->has_cpu |= sample->place.cpu != PTL_NO_CPU;
	attr->has_address |= sample->address != 0;
	attr->has_calls |= sample->call_count != 0;
	attr->has_raw |= sample->raw_size != 0;
}

/* Finds the attribute of samples with a name and the same registers. NULL: none yet. */
static const uint64_t *find_sampled(struct dump_perf_events *events, const char *name,
				    const struct dump_perf_detail *detail)
{
	struct ptl_bytes *key = &events->raw;

	key->size = 0;
	common_write_bytes(key, name, strlen(name) + 1);
	common_write_le(key, detail ? detail->user.mask : 0, 8);
	common_write_le(key, detail ? detail->interrupt.mask : 0, 8);
	return key->failed ? NULL : common_byte_map_get(&events->samples, key->data, key->size);
}

static int add_sampled(struct dump_perf_events *events, struct dump_perf_file *file, const char *name,
		       const struct dump_perf_detail *detail, size_t *index)
{
	const uint64_t *known = find_sampled(events, name, detail);
	const size_t length = strcspn(name, ":/");
	struct dump_perf_attr attr = {.type = DUMP_PERF_RAW};
	int status;

	if (known) {
		*index = *known;
		return 0;
	}
	for (size_t i = 0; i < sizeof(known_events) / sizeof(known_events[0]); i++)
		if (strlen(known_events[i].name) == length && !memcmp(known_events[i].name, name, length))
			attr = (struct dump_perf_attr){.type = known_events[i].type, .config = known_events[i].config};
	attr.name = common_arena_copy(&events->names, name, strlen(name));
	if (!attr.name)
		return PTL_NO_MEMORY;
	*index = file->attr_count;
	status = add_attr(file, &attr);
	if (events->raw.failed)
		return common_fail_memory("a sample", events->raw.size);
	return status ? status : common_byte_map_put(&events->samples, events->raw.data, events->raw.size, *index);
}

/* ---- samples whose details may follow -------------------------------------------------------------- */

/* A copy of a sample's event. */
struct dump_perf_held {
	struct dump_perf_place place;
	struct ptl_bytes bytes; /* payload, then calls */
	size_t payload_size;
	bool guest; /* GuestSample, whose payload has the calls */
};

/* Handles a sample and its detail, which may be NULL. */
typedef int take_sample(struct dump_perf_events *events, struct dump_perf_file *file, const char *name,
			const struct dump_perf_sample *sample);

static bool is_same_place(const struct dump_perf_place *a, const struct dump_perf_place *b)
{
	return a->time == b->time && a->tid == b->tid && a->cpu == b->cpu;
}

/* Handles a held sample. */
static int take_held(struct dump_perf_events *events, struct dump_perf_file *file, const struct dump_perf_held *held,
		     const struct dump_perf_detail *detail, take_sample *take)
{
	const struct ptl_event event = {.payload = held->bytes.data, .payload_size = held->payload_size};
	struct dump_perf_sample sample = {0};
	const char *name;

	if (held->bytes.failed)
		return common_fail_memory("a sample", held->bytes.size);
	if (held->guest ? !read_guest_sample(&event, &name, &sample) : !read_sample(&event, &name, &sample))
		return 0;
	sample.place = held->place;
	if (!held->guest) {
		sample.calls = held->bytes.data + held->payload_size;
		sample.call_count = (held->bytes.size - held->payload_size) / 8;
	}
	sample.detail = detail;
	return take(events, file, name, &sample);
}

/* Handles all held samples, whose details can no longer follow. */
static int release_held(struct dump_perf_events *events, struct dump_perf_file *file, take_sample *take)
{
	int status = 0;

	for (size_t i = 0; i < events->held_count; i++) {
		if (!status)
			status = take_held(events, file, &events->held[i], NULL, take);
		common_bytes_free(&events->held[i].bytes);
	}
	events->held_count = 0;
	return status;
}

static int hold_sample(struct dump_perf_events *events, const struct ptl_event *event)
{
	struct dump_perf_sample sample = {0};
	struct dump_perf_held *held;

	if (COMMON_VECTOR_RESERVE(events->held, events->held_capacity, events->held_count + 1, "samples"))
		return PTL_NO_MEMORY;
	held = &events->held[events->held_count++];
	*held = (struct dump_perf_held){.place = place_of(event),
					.payload_size = event->payload_size,
					.guest = event->descriptor.id == PERF_EVENT_GUEST_SAMPLE};
	find_calls(event, &sample);
	common_write_bytes(&held->bytes, event->payload, event->payload_size);
	common_write_bytes(&held->bytes, sample.calls, 8 * sample.call_count);
	return 0;
}

/* Handles the held sample that a detail belongs to. *found: there is such a sample. */
static int join_held(struct dump_perf_events *events, struct dump_perf_file *file, const struct ptl_event *event,
		     take_sample *take, bool *found)
{
	struct dump_perf_detail detail;
	size_t i = events->held_count;
	int status;

	*found = dump_perf_detail_read(event, &detail);
	while (*found && i && strcmp((const char *)events->held[i - 1].bytes.data, detail.name) != 0)
		i--;
	*found = *found && i;
	if (!*found)
		return 0;
	events->details += detail.has_counters || detail.has_rest;
	status = take_held(events, file, &events->held[i - 1], &detail, take);
	common_bytes_free(&events->held[i - 1].bytes);
	events->held_count--;
	memmove(&events->held[i - 1], &events->held[i], (events->held_count - (i - 1)) * sizeof(*events->held));
	return status;
}

/*
 * Handles an event. Samples are held back until an event of another place or time follows. *taken: the event is a
 * sample, or the detail of a sample.
 */
static int follow_samples(struct dump_perf_events *events, struct dump_perf_file *file, const struct ptl_event *event,
			  take_sample *take, bool *taken)
{
	const uint16_t id = is_perf(event) ? event->descriptor.id : 0;
	const struct dump_perf_place place = place_of(event);
	struct dump_perf_sample sample;
	const char *name;
	int status = 0;

	*taken = false;
	if (events->held_count && !is_same_place(&events->held[0].place, &place))
		status = release_held(events, file, take);
	if (status)
		return status;
	if (id == PERF_EVENT_SAMPLE_DETAIL)
		return join_held(events, file, event, take, taken);
	*taken = id == PERF_EVENT_GUEST_SAMPLE ? read_guest_sample(event, &name, &sample)
					       : (id == PERF_RECORD_SAMPLE || id == PERF_EVENT_TRACEPOINT) &&
							 read_sample(event, &name, &sample);
	return *taken ? hold_sample(events, event) : 0;
}

static int gather_sample(struct dump_perf_events *events, struct dump_perf_file *file, const char *name,
			 const struct dump_perf_sample *sample)
{
	size_t index;
	const int status = add_sampled(events, file, name, sample->detail, &index);

	if (status)
		return status;
	widen(&file->attrs[index], sample);
	if (sample->detail)
		dump_perf_detail_widen(sample->detail, &file->attrs[index].shape);
	return 0;
}

static int put_sample(struct dump_perf_events *events, struct dump_perf_file *file, const char *name,
		      const struct dump_perf_sample *sample)
{
	const uint64_t *attr = find_sampled(events, name, sample->detail);
	struct dump_perf_sample found = *sample;

	found.attr = attr ? *attr : 0;
	if (attr)
		dump_perf_sample(file, &found);
	return 0;
}

int dump_perf_events_gathered(struct dump_perf_events *events, struct dump_perf_file *file)
{
	const int status = release_held(events, file, gather_sample);

	events->details = 0; /* counted again while writing */
	return status;
}

int dump_perf_events_finish(struct dump_perf_events *events, struct dump_perf_file *file)
{
	return release_held(events, file, put_sample);
}

/* ---- tracepoints --------------------------------------------------------------------------------- */

/* Returns the tracepoint of an event; NULL: another event. */
static struct dump_perf_tracepoint *find_tracepoint(const struct dump_perf_events *events,
						    const struct ptl_event *event)
{
	const uint64_t *known = common_byte_map_get(&events->identities, &event->descriptor.provider,
						    sizeof(event->descriptor.provider));
	uint8_t key[sizeof(struct ptl_guid) + 4];

	if (!known)
		return NULL;
	dump_perf_tracepoint_key(&event->descriptor, key);
	known = common_byte_map_get(&events->identities, key, sizeof(key));
	return known && *known ? events->tracepoints[*known - 1] : NULL;
}

static int add_tracepoint(struct dump_perf_events *events, struct dump_perf_file *file, struct ptl_trace *trace,
			  const struct ptl_event *event, struct dump_perf_tracepoint **found)
{
	const struct ptl_schema *schema = ptl_schema_of(trace, event);
	uint8_t key[sizeof(struct ptl_guid) + 4];
	struct dump_perf_attr attr = {.type = TYPE_TRACEPOINT};
	int status = 0;

	*found = find_tracepoint(events, event);
	if (*found || !schema || !dump_perf_tracepoint_fits(schema))
		return 0;
	if (!common_vector_room(&events->tracepoints, events->tracepoint_count, sizeof(struct dump_perf_tracepoint *)))
		return common_fail_memory("tracepoints", events->tracepoint_count * sizeof(*events->tracepoints));
	attr.config = FIRST_TRACEPOINT + events->tracepoint_count;
	status = dump_perf_tracepoint_new(trace, schema, (uint32_t)attr.config, file->attr_count, found);
	if (status)
		return status;
	attr.name = dump_perf_tracepoint_name(*found);
	events->tracepoints[events->tracepoint_count++] = *found;
	dump_perf_tracepoint_key(&event->descriptor, key);
	status = common_byte_map_put(&events->identities, key, sizeof(key), events->tracepoint_count);
	if (!status)
		status = common_byte_map_put(&events->identities, &event->descriptor.provider,
					     sizeof(event->descriptor.provider), 0);
	return status ? status : add_attr(file, &attr);
}

int dump_perf_events_gather(struct dump_perf_events *events, struct dump_perf_file *file, struct ptl_trace *trace,
			    const struct ptl_event *event)
{
	const uint16_t id = event->descriptor.id;
	struct dump_perf_tracepoint *tracepoint;
	struct dump_perf_sample sample = {0};
	bool taken;
	int status = follow_samples(events, file, event, gather_sample, &taken);

	if (status || taken)
		return status;
	if (!is_perf(event)) {
		status = add_tracepoint(events, file, trace, event, &tracepoint);
		if (status || !tracepoint)
			return status;
		sample.place = place_of(event);
		find_calls(event, &sample);
		sample.raw_size = 1;
		widen(&file->attrs[dump_perf_tracepoint_attr(tracepoint)], &sample);
		return 0;
	}
	events->has_losses |= id == PERF_RECORD_LOST || id == PERF_RECORD_LOST_SAMPLES || id == PERF_RECORD_AUX;
	return 0;
}

void dump_perf_events_describe(const struct dump_perf_events *events, struct dump_perf_file *file)
{
	dump_perf_tracepoints_describe(events->tracepoints, events->tracepoint_count, &file->tracing);
}

/* ---- records ------------------------------------------------------------------------------------- */

/* Whether stock perf reads the kept record as it is. */
static bool is_plain_record(const struct ptl_event *event)
{
	switch (event->descriptor.id) {
	case PERF_RECORD_LOST:
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
	case PERF_RECORD_COMM:
	case PERF_RECORD_AUX:
	case PERF_RECORD_ITRACE_START:
	case PERF_RECORD_LOST_SAMPLES:
	case PERF_RECORD_NAMESPACES:
	case PERF_RECORD_KSYMBOL:
	case PERF_RECORD_BPF_EVENT:
	case PERF_RECORD_CGROUP:
	case PERF_RECORD_TEXT_POKE:
		return true;
	default:
		return false;
	}
}

static void put_record(const struct ptl_event *event, struct dump_perf_file *file)
{
	struct dump_perf_place place = place_of(event);

	place.time = dump_perf_time(file, event->time);
	dump_perf_record(file, &place, event->descriptor.id, 0, event->payload, event->payload_size);
}

int dump_perf_events_put(struct dump_perf_events *events, struct dump_perf_file *file, struct ptl_trace *trace,
			 const struct ptl_event *event)
{
	const uint16_t id = event->descriptor.id;
	struct dump_perf_tracepoint *tracepoint;
	struct dump_perf_sample sample = {0};
	bool taken;
	const int status = follow_samples(events, file, event, put_sample, &taken);

	(void)trace;
	if (status || taken)
		return status;
	if (!is_perf(event)) {
		tracepoint = find_tracepoint(events, event);
		if (!tracepoint || !dump_perf_tracepoint_raw(tracepoint, event, &events->raw)) {
			events->others++;
			return 0;
		}
		sample.place = place_of(event);
		find_calls(event, &sample);
		sample.attr = dump_perf_tracepoint_attr(tracepoint);
		sample.ip = sample.call_count ? common_load64(sample.calls) : 0;
		sample.period = 1;
		sample.raw = events->raw.data;
		sample.raw_size = events->raw.size;
		dump_perf_sample(file, &sample);
		return events->raw.failed ? common_fail_memory("a sample", events->raw.size) : 0;
	}
	if (is_plain_record(event))
		put_record(event, file);
	else if (id == PERF_EVENT_SAMPLE_DETAIL)
		events->details++;
	else if (id != PERF_RECORD_ID_INDEX) /* the file has its own */
		events->records++;
	return 0;
}

/* ---- losses -------------------------------------------------------------------------------------- */

void dump_perf_events_lose(struct dump_perf_events *events, struct dump_perf_file *file, const struct ptl_trace *trace,
			   uint64_t *others)
{
	for (size_t i = 0; i < ptl_loss_count(trace); i++) {
		const struct ptl_loss *loss = ptl_loss_at(trace, i);
		const struct ptl_stream *stream = loss->stream == PTL_NO_ID ? NULL
									    : ptl_stream_find(trace, loss->stream);
		const struct dump_perf_place place = {loss->pid, loss->tid, stream ? stream->cpu : PTL_NO_CPU,
						      loss->first_time};
		uint8_t fields[24] = {0};

		if (loss->kind == PTL_LOSS_EVENTS && !events->has_losses) {
			common_store64(fields, 1);
			common_store64(fields + 8, loss->count ? loss->count : 1);
			dump_perf_record(file, &place, PERF_RECORD_LOST, 0, fields, 16);
		} else if (loss->kind == PTL_LOSS_BYTES && !events->has_losses) {
			common_store64(fields + 16, AUX_TRUNCATED);
			dump_perf_record(file, &place, PERF_RECORD_AUX, 0, fields, 24);
		} else if (loss->kind != PTL_LOSS_EVENTS && loss->kind != PTL_LOSS_BYTES &&
			   loss->kind != PTL_LOSS_LEFT_OUT) {
			++*others;
		}
	}
}

void dump_perf_events_report(const struct dump_perf_events *events, struct dump_left_out *left_out)
{
	dump_left_out_add(left_out, events->others, "event of a provider that is no tracepoint",
			  "events of providers that are no tracepoints");
	dump_left_out_add(left_out, events->details, "sample's counters, or fields that do not fit the sample",
			  "samples' counters, or fields that do not fit the samples");
	dump_left_out_add(left_out, events->records, "record of perf that does not fit another file",
			  "records of perf that do not fit another file");
}

void dump_perf_events_free(struct dump_perf_events *events)
{
	for (size_t i = 0; i < events->tracepoint_count; i++)
		dump_perf_tracepoint_free(events->tracepoints[i]);
	free(events->tracepoints);
	for (size_t i = 0; i < events->held_count; i++)
		common_bytes_free(&events->held[i].bytes);
	free(events->held);
	common_arena_free(&events->names);
	common_byte_map_free(&events->samples);
	common_byte_map_free(&events->identities);
	common_bytes_free(&events->raw);
}
