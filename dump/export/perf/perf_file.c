/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes records of perf.data as described in tools/perf/Documentation/perf.data-file-format.txt and
 * perf_event_open(2).
 */
#include "dump/export/perf/perf_file.h"

#include <string.h>

#include "common/error.h"
#include "common/text/text.h"
#include "perf/layout.h"

#define HEADER_SIZE 104
#define ATTR_SIZE 112
#define ATTR_ENTRY (ATTR_SIZE + 16) /* an attribute, and the place of its ids */
#define DATA_AT HEADER_SIZE

#define PMU_TYPE 8 /* a possible PMU number of intel_pt; perf reads the number from the same file */
/*
 * Bits of intel_pt's config. The last bits only permit perf to show what the packets have: PTWRITE, power events, event
 * trace.
 */
#define CONFIG_SHOWN (1u << 4 | 1u << 5 | 1u << 12 | 1u << 31)
#define CONFIG_CYC (1u << 1)
#define CONFIG_MTC (1u << 9)
#define CONFIG_TSC (1u << 10)
#define CONFIG_NO_RETURN_COMPRESSION (1u << 11)
#define CONFIG_MTC_FREQUENCY 14
#define CONFIG_CYC_THRESHOLD 19

#define SAMPLE_TYPE 0x10087u /* IP, TID, TIME, CPU, IDENTIFIER */
#define ATTR_SAMPLE_ID_ALL (1u << 18)
#define ATTR_CONTEXT_SWITCH (1u << 26)
#define SAMPLE_ID 1 /* id of the event Intel PT, or of an event without samples */

#define FIRST_EVENT_ID 2

#define SAMPLE_ADDRESS 0x8u
#define SAMPLE_CPU 0x80u
#define SAMPLE_CALLS 0x20u
#define SAMPLE_PERIOD 0x100u
#define SAMPLE_RAW 0x400u

#define CALLS_MAX 1024u /* addresses of a stack */
#define RAW_MAX 32768u  /* bytes of a sample's raw data; a record's size has 16 bits */
#define UPPER_HALF (1ull << 63)
#define CONTEXT_KERNEL ((uint64_t)-128) /* the following addresses of a stack are the kernel's */
#define CONTEXT_USER ((uint64_t)-512)

enum {
	RECORD_MMAP = 1,
	RECORD_COMM = 3,
	RECORD_EXIT = 4,
	RECORD_FORK = 7,
	RECORD_SAMPLE = 9,
	RECORD_MMAP2 = 10,
	RECORD_SWITCH_CPU_WIDE = 15,
	RECORD_AUXTRACE_INFO = 70,
	RECORD_AUXTRACE = 71,
};

#define MISC_KERNEL 1u
#define MISC_USER 2u
#define MISC_COMM_EXEC (1u << 13)
#define MISC_SWITCH_OUT (1u << 13)
#define MISC_MMAP_BUILD_ID (1u << 14)

#define NAME_MAX_SIZE 4096 /* maximum bytes of a file name; a record's size has 16 bits */
#define COMM_SIZE 16

/* Features of the header: bit numbers. */
enum {
	FEATURE_TRACING_DATA = 1,
	FEATURE_HOSTNAME = 3,
	FEATURE_OSRELEASE = 4,
	FEATURE_ARCH = 6,
	FEATURE_NRCPUS = 7,
	FEATURE_CPUDESC = 8,
	FEATURE_CPUID = 9,
	FEATURE_EVENT_DESC = 12,
	FEATURE_BPF_PROG_INFO = 25,
};

/* ---- records ------------------------------------------------------------------------------------- */

void dump_perf_raw(struct dump_perf_file *file, const void *data, size_t size)
{
	fwrite(data, 1, size, file->file);
	file->size += size;
}

static void put_integer(struct dump_perf_file *file, uint64_t value, size_t size)
{
	common_write_le(&file->body, value, size);
}

/* Appends the number of a process or thread. Each virtual machine has numbers of its own. */
static void put_id(struct dump_perf_file *file, uint32_t id)
{
	put_integer(file, dump_perf_guests_machine(file->guests, id) ? id % PTL_MACHINE_IDS : id, 4);
}

/* Returns the id of the event whose records tell this place. */
static uint64_t event_id(const struct dump_perf_file *file, const struct dump_perf_place *place)
{
	uint32_t machine = dump_perf_guests_machine(file->guests, place->pid);

	if (!machine)
		machine = dump_perf_guests_machine(file->guests, place->cpu);
	return machine ? FIRST_EVENT_ID + file->attr_count + dump_perf_guests_find(file->guests, machine, place->cpu)
		       : SAMPLE_ID;
}

/* Returns the mode of the CPU in a record of this place. */
static uint32_t mode_of(const struct dump_perf_file *file, const struct dump_perf_place *place, uint32_t misc)
{
	const bool kernel = (misc & PERF_MISC_CPUMODE_MASK) == MISC_KERNEL;

	if (event_id(file, place) == SAMPLE_ID)
		return misc;
	return (misc & ~PERF_MISC_CPUMODE_MASK) | (kernel ? PERF_MISC_GUEST_KERNEL : PERF_MISC_GUEST_USER);
}

/* Appends a zero-terminated string, padded to 8 bytes. */
static void put_name(struct dump_perf_file *file, const char *name, size_t most)
{
	const size_t size = strnlen(name, most - 1);

	common_write_bytes(&file->body, name, size);
	do
		put_integer(file, 0, 1);
	while (file->body.size % 8);
}

/* Appends the fields at the end of every kernel record. */
static void put_place(struct dump_perf_file *file, const struct dump_perf_place *place)
{
	put_id(file, place->pid);
	put_id(file, place->tid);
	put_integer(file, place->time, 8);
	put_id(file, place->cpu == PTL_NO_CPU ? 0 : place->cpu);
	put_integer(file, 0, 4);
	put_integer(file, event_id(file, place), 8);
}

static void write_record(struct dump_perf_file *file, uint32_t type, uint32_t misc)
{
	uint8_t head[8];

	common_store32(head, type);
	common_store16(head + 4, (uint16_t)misc);
	common_store16(head + 6, (uint16_t)(sizeof(head) + file->body.size));
	dump_perf_raw(file, head, sizeof(head));
	if (!file->body.failed)
		dump_perf_raw(file, file->body.data, file->body.size);
	file->body.size = 0;
}

void dump_perf_comm(struct dump_perf_file *file, const struct dump_perf_place *place, const char *name, bool exec)
{
	put_id(file, place->pid);
	put_id(file, place->tid);
	put_name(file, name, COMM_SIZE);
	put_place(file, place);
	write_record(file, RECORD_COMM, mode_of(file, place, exec ? MISC_COMM_EXEC : 0));
}

static void fork_or_exit(struct dump_perf_file *file, const struct dump_perf_place *place, uint32_t parent,
			 uint32_t type)
{
	put_id(file, place->pid);
	put_id(file, parent);
	put_id(file, place->tid);
	put_id(file, parent);
	put_integer(file, place->time, 8);
	put_place(file, place);
	write_record(file, type, mode_of(file, place, 0));
}

void dump_perf_fork(struct dump_perf_file *file, const struct dump_perf_place *place, uint32_t parent)
{
	fork_or_exit(file, place, parent, RECORD_FORK);
}

void dump_perf_exit(struct dump_perf_file *file, const struct dump_perf_place *place, uint32_t parent)
{
	fork_or_exit(file, place, parent, RECORD_EXIT);
}

/* Appends build id, protection and flags of a MMAP2 record. */
static void put_build_id(struct dump_perf_file *file, const struct dump_perf_map *map)
{
	put_integer(file, map->has_build_id ? DUMP_PERF_BUILD_ID : 0, 4);
	common_write_bytes(&file->body, map->build_id, DUMP_PERF_BUILD_ID);
	put_integer(file, 5, 4); /* PROT_READ | PROT_EXEC */
	put_integer(file, 2, 4); /* MAP_PRIVATE */
}

void dump_perf_mmap(struct dump_perf_file *file, const struct dump_perf_place *place, const struct dump_perf_map *map)
{
	put_id(file, place->pid);
	put_id(file, place->tid);
	put_integer(file, map->base, 8);
	put_integer(file, map->size, 8);
	put_integer(file, map->offset, 8);
	put_build_id(file, map);
	put_name(file, map->name, NAME_MAX_SIZE);
	put_place(file, place);
	write_record(file, RECORD_MMAP2,
		     mode_of(file, place, MISC_USER | (map->has_build_id ? MISC_MMAP_BUILD_ID : 0)));
}

void dump_perf_kernel_mmap(struct dump_perf_file *file, const struct dump_perf_map *map, uint32_t machine)
{
	const struct dump_perf_place nowhere = {UINT32_MAX, 0, machine * PTL_MACHINE_IDS, 0};
	const uint32_t misc = MISC_KERNEL | (map->has_build_id ? MISC_MMAP_BUILD_ID : 0);

	put_integer(file, nowhere.pid, 4);
	put_integer(file, nowhere.tid, 4);
	put_integer(file, map->base, 8);
	put_integer(file, map->size, 8);
	put_integer(file, map->offset, 8);
	if (map->has_build_id)
		put_build_id(file, map);
	put_name(file, map->name, NAME_MAX_SIZE);
	put_place(file, &nowhere);
	write_record(file, map->has_build_id ? RECORD_MMAP2 : RECORD_MMAP, mode_of(file, &nowhere, misc));
}

void dump_perf_record(struct dump_perf_file *file, const struct dump_perf_place *place, uint32_t type, uint32_t misc,
		      const void *fields, size_t size)
{
	common_write_bytes(&file->body, fields, size);
	while (file->body.size % 8)
		put_integer(file, 0, 1);
	put_place(file, place);
	write_record(file, type, mode_of(file, place, misc));
}

/* Appends a stack, the innermost address first, with a mark before the addresses of the kernel and of the program. */
static void put_calls(struct dump_perf_file *file, const struct dump_perf_sample *sample)
{
	const size_t count = sample->call_count < CALLS_MAX ? sample->call_count : CALLS_MAX;
	const size_t at = file->body.size;
	uint64_t words = 0, mark = 0;

	put_integer(file, 0, 8);
	for (size_t i = 0; i < count; i++) {
		const uint64_t address = common_load64(sample->calls + 8 * i);
		const uint64_t own = address >= UPPER_HALF ? CONTEXT_KERNEL : CONTEXT_USER;

		/* The calls of a virtual machine have their marks. */
		if (own != mark && !sample->guest) {
			put_integer(file, own, 8);
			words++;
		}
		mark = own;
		put_integer(file, address, 8);
		words++;
	}
	if (!file->body.failed)
		common_store64(file->body.data + at, words);
}

/* Appends raw data. Size and data together are a multiple of 8 bytes. */
static void put_raw(struct dump_perf_file *file, const struct dump_perf_sample *sample)
{
	const size_t size = sample->raw_size < RAW_MAX ? sample->raw_size : RAW_MAX;

	put_integer(file, (4 + size + 7) / 8 * 8 - 4, 4);
	common_write_bytes(&file->body, sample->raw, size);
	while (file->body.size % 8)
		put_integer(file, 0, 1);
}

void dump_perf_sample(struct dump_perf_file *file, const struct dump_perf_sample *sample)
{
	const struct dump_perf_attr *attr = &file->attrs[sample->attr];
	const struct dump_perf_place *place = &sample->place;
	uint32_t misc = sample->ip >= UPPER_HALF ? MISC_KERNEL : MISC_USER;

	put_integer(file, FIRST_EVENT_ID + sample->attr, 8);
	put_integer(file, sample->ip, 8);
	put_integer(file, place->pid, 4);
	put_integer(file, place->tid, 4);
	put_integer(file, place->time, 8);
	if (attr->has_address)
		put_integer(file, sample->address, 8);
	if (attr->has_cpu) {
		put_integer(file, place->cpu == PTL_NO_CPU ? 0 : place->cpu, 4);
		put_integer(file, 0, 4);
	}
	put_integer(file, sample->period, 8);
	if (attr->has_calls)
		put_calls(file, sample);
	if (attr->has_raw)
		put_raw(file, sample);
	dump_perf_detail_put(sample->detail, &attr->shape, &file->body);
	if (sample->guest)
		misc = sample->ip >= UPPER_HALF ? PERF_MISC_GUEST_KERNEL : PERF_MISC_GUEST_USER;
	write_record(file, RECORD_SAMPLE, misc);
}

void dump_perf_switch(struct dump_perf_file *file, const struct dump_perf_place *from, const struct dump_perf_place *to)
{
	put_id(file, to->pid);
	put_id(file, to->tid);
	put_place(file, from);
	write_record(file, RECORD_SWITCH_CPU_WIDE, mode_of(file, from, MISC_SWITCH_OUT));
	put_id(file, from->pid);
	put_id(file, from->tid);
	put_place(file, to);
	write_record(file, RECORD_SWITCH_CPU_WIDE, mode_of(file, to, 0));
}

void dump_perf_packets(struct dump_perf_file *file, uint64_t size, uint64_t position, uint64_t reference,
		       uint32_t number, uint32_t tid, uint32_t cpu)
{
	put_integer(file, size, 8);
	put_integer(file, position, 8);
	put_integer(file, reference, 8);
	put_integer(file, number, 4);
	put_integer(file, tid, 4);
	put_integer(file, cpu, 4);
	put_integer(file, 0, 4);
	write_record(file, RECORD_AUXTRACE, 0);
}

/* ---- parameters for decoding packets ------------------------------------------------------------- */

void dump_perf_index(struct dump_perf_file *file)
{
	const struct dump_perf_guests *guests = file->guests;

	if (!guests->count)
		return;
	put_integer(file, guests->count, 8);
	for (size_t i = 0; i < guests->count; i++) {
		put_integer(file, FIRST_EVENT_ID + file->attr_count + i, 8);
		put_integer(file, i, 8);
		put_integer(file, UINT64_MAX, 8);
		put_integer(file, guests->vcpus[i].tid, 8);
	}
	for (size_t i = 0; i < guests->count; i++) {
		put_integer(file, guests->vcpus[i].pid, 8);
		put_integer(file, guests->vcpus[i].cpu, 8);
	}
	write_record(file, PERF_RECORD_ID_INDEX, 0);
}

static uint64_t config_of(const struct ptl_machine *machine)
{
	uint64_t config = CONFIG_SHOWN | (machine->return_compression ? 0 : CONFIG_NO_RETURN_COMPRESSION);

	if (machine->timing != PTL_TIMING_NONE)
		config |= CONFIG_TSC;
	if (machine->timing == PTL_TIMING_MTC || machine->timing == PTL_TIMING_CYC)
		config |= CONFIG_MTC | (uint64_t)(machine->mtc_frequency & 15) << CONFIG_MTC_FREQUENCY;
	if (machine->timing == PTL_TIMING_CYC)
		config |= CONFIG_CYC | (uint64_t)(machine->cyc_threshold & 15) << CONFIG_CYC_THRESHOLD;
	return config;
}

void dump_perf_begin(struct dump_perf_file *file, const struct ptl_machine *machine, const char *filters)
{
	const bool converts = machine->tsc_multiplier != 0;
	const uint64_t values[] = {
		PMU_TYPE,
		machine->tsc_shift,
		converts ? machine->tsc_multiplier : 1,
		converts ? machine->tsc_zero : 0,
		1, /* the conversion to TSC is known */
		CONFIG_TSC,
		CONFIG_NO_RETURN_COMPRESSION,
		file->switches ? 3 : 0, /* records of all switches of a CPU */
		0,                      /* no snapshots */
		file->per_cpu,
		CONFIG_MTC,
		(uint64_t)15 << CONFIG_MTC_FREQUENCY,
		machine->ctc_numerator,
		machine->ctc_denominator,
		CONFIG_CYC,
		machine->nominal_ratio,
		strlen(filters),
	};
	static const uint8_t nothing[DATA_AT];

	fwrite(nothing, 1, sizeof(nothing), file->file);
	if (!file->has_packets)
		return;
	put_integer(file, 1, 4); /* intel_pt */
	put_integer(file, 0, 4);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		put_integer(file, values[i], 8);
	/* Zero-terminated, padded to 8 bytes. */
	if (*filters) {
		common_write_bytes(&file->body, filters, strlen(filters));
		for (size_t i = strlen(filters); i % 8 || i == strlen(filters); i++)
			put_integer(file, 0, 1);
	}
	write_record(file, RECORD_AUXTRACE_INFO, 0);
	dump_perf_index(file);
}

/* ---- attributes ---------------------------------------------------------------------------------- */

static uint64_t sample_type(const struct dump_perf_attr *attr)
{
	return (SAMPLE_TYPE & ~(attr->has_cpu ? 0 : SAMPLE_CPU)) | SAMPLE_PERIOD |
	       (attr->has_address ? SAMPLE_ADDRESS : 0) | (attr->has_calls ? SAMPLE_CALLS : 0) |
	       (attr->has_raw ? SAMPLE_RAW : 0) | attr->shape.sample_type;
}

/* Returns the number of attributes. Virtual CPUs share the last attribute. */
static size_t count_attrs(const struct dump_perf_file *file)
{
	return file->attr_count + 1 + (file->guests->count != 0);
}

/* Returns the number of ids of an attribute. */
static size_t count_ids(const struct dump_perf_file *file, size_t number)
{
	return number > file->attr_count ? file->guests->count : 1;
}

/*
 * Appends an attribute. Number 0 is Intel PT, or an event without samples; number n is event n - 1; behind the events,
 * the event of virtual CPUs has no samples.
 */
static void put_attr(const struct dump_perf_file *file, struct ptl_bytes *out, const struct ptl_machine *machine,
		     size_t number)
{
	static const struct dump_perf_attr dummy = {.type = DUMP_PERF_SOFTWARE, .config = DUMP_PERF_DUMMY};
	const bool own = number && number <= file->attr_count;
	const struct dump_perf_attr *attr = own                            ? &file->attrs[number - 1]
					    : !number && file->has_packets ? NULL
									   : &dummy;
	const size_t start = out->size;

	common_write_le(out, attr ? attr->type : PMU_TYPE, 4);
	common_write_le(out, ATTR_SIZE, 4);
	common_write_le(out, attr ? attr->config : config_of(machine), 8);
	common_write_le(out, 1, 8);
	common_write_le(out, own ? sample_type(attr) : SAMPLE_TYPE, 8);
	common_write_le(out, 0, 8);
	common_write_le(
		out, ATTR_SAMPLE_ID_ALL | (file->switches || number > file->attr_count ? ATTR_CONTEXT_SWITCH : 0), 8);
	while (out->size - start < ATTR_SIZE)
		common_write_le(out, 0, 8);
	if (!attr || out->failed)
		return;
	common_store64(out->data + start + PERF_ATTR_BRANCHES, attr->shape.branches);
	common_store64(out->data + start + PERF_ATTR_REGS_USER, attr->shape.user_mask);
	common_store64(out->data + start + PERF_ATTR_REGS_INTR, attr->shape.interrupt_mask);
}

/* ---- header and features ------------------------------------------------------------------------- */

/* Appends a string of a feature: size, padded as perf does, then bytes. */
static void feature_text(struct ptl_bytes *text, const char *words)
{
	const size_t size = (strlen(words) + 1 + 63) / 64 * 64;

	common_write_le(text, size, 4);
	common_write_bytes(text, words, strlen(words));
	for (size_t i = strlen(words); i < size; i++)
		common_write_le(text, 0, 1);
}

static void feature_cpuid(struct ptl_bytes *text, const struct ptl_machine *machine)
{
	char words[64];

	snprintf(words, sizeof(words), "%s,%u,%u,%u",
		 machine->vendor == PTL_VENDOR_OTHER ? "AuthenticAMD" : "GenuineIntel", machine->family, machine->model,
		 machine->stepping);
	feature_text(text, words);
}

/* Appends attributes, names and ids of all events. */
static void feature_events(const struct dump_perf_file *file, struct ptl_bytes *text, const struct ptl_machine *machine)
{
	common_write_le(text, count_attrs(file), 4);
	common_write_le(text, ATTR_SIZE, 4);
	for (size_t i = 0; i < count_attrs(file); i++) {
		put_attr(file, text, machine, i);
		common_write_le(text, count_ids(file, i), 4);
		feature_text(text, i && i <= file->attr_count ? file->attrs[i - 1].name
				   : !i && file->has_packets  ? "intel_pt//"
							      : "dummy:u");
		for (size_t j = 0; j < count_ids(file, i); j++)
			common_write_le(text, SAMPLE_ID + i + j, 8);
	}
}

static void feature(const struct dump_perf_file *file, struct ptl_bytes *text, const struct ptl_machine *machine,
		    unsigned which)
{
	switch (which) {
	case FEATURE_TRACING_DATA:
		common_write_bytes(text, file->tracing.data, file->tracing.size);
		break;
	case FEATURE_BPF_PROG_INFO:
		common_write_bytes(text, file->programs.data, file->programs.size);
		break;
	case FEATURE_HOSTNAME:
		feature_text(text, machine->hostname);
		break;
	case FEATURE_OSRELEASE:
		feature_text(text, machine->kernel);
		break;
	case FEATURE_ARCH:
		feature_text(text, "x86_64");
		break;
	case FEATURE_NRCPUS:
		common_write_le(text, machine->cpus, 4);
		common_write_le(text, machine->cpus, 4);
		break;
	case FEATURE_CPUDESC:
		feature_text(text, machine->cpu_name);
		break;
	case FEATURE_EVENT_DESC:
		feature_events(file, text, machine);
		break;
	default:
		feature_cpuid(text, machine);
		break;
	}
}

/* Writes the table of features and the features. Returns the feature bits. */
static uint64_t write_features(struct dump_perf_file *file, const struct ptl_machine *machine)
{
	static const uint8_t features[] = {FEATURE_TRACING_DATA, FEATURE_HOSTNAME,   FEATURE_OSRELEASE,
					   FEATURE_ARCH,         FEATURE_NRCPUS,     FEATURE_CPUDESC,
					   FEATURE_CPUID,        FEATURE_EVENT_DESC, FEATURE_BPF_PROG_INFO};
	const size_t count = sizeof(features) - !file->tracing.size - !file->programs.size;
	const uint64_t at = DATA_AT + file->size + 16 * count;
	struct ptl_bytes text = {0};
	uint64_t bits = 0;

	for (size_t i = 0; i < sizeof(features); i++) {
		const size_t start = text.size;

		feature(file, &text, machine, features[i]);
		if (text.size == start)
			continue;
		put_integer(file, at + start, 8);
		put_integer(file, text.size - start, 8);
		bits |= (uint64_t)1 << features[i];
	}
	file->body.failed |= text.failed;
	if (!file->body.failed) {
		fwrite(file->body.data, 1, file->body.size, file->file);
		fwrite(text.data, 1, text.size, file->file);
	}
	file->body.size = 0;
	common_bytes_free(&text);
	return bits;
}

/* Writes ids and attributes at the end of the file. Returns the offset of the attributes. */
static uint64_t write_attrs(struct dump_perf_file *file, const struct ptl_machine *machine)
{
	const uint64_t at = (uint64_t)ftello(file->file);
	const size_t ids = file->attr_count + 1 + file->guests->count;

	for (size_t i = 0; i < ids; i++)
		put_integer(file, SAMPLE_ID + i, 8);
	for (size_t i = 0; i < count_attrs(file); i++) {
		put_attr(file, &file->body, machine, i);
		put_integer(file, at + 8 * i, 8);
		put_integer(file, 8 * count_ids(file, i), 8);
	}
	if (!file->body.failed)
		fwrite(file->body.data, 1, file->body.size, file->file);
	file->body.size = 0;
	return at + 8 * ids;
}

static void put_header(struct dump_perf_file *file, uint64_t features, uint64_t attrs)
{
	common_write_bytes(&file->body, "PERFILE2", 8);
	put_integer(file, HEADER_SIZE, 8);
	put_integer(file, ATTR_ENTRY, 8);
	put_integer(file, attrs, 8);
	put_integer(file, ATTR_ENTRY * count_attrs(file), 8);
	put_integer(file, DATA_AT, 8);
	put_integer(file, file->size, 8);
	put_integer(file, 0, 8);
	put_integer(file, 0, 8);
	put_integer(file, features, 8);
	for (int i = 0; i < 3; i++)
		put_integer(file, 0, 8);
}

int dump_perf_end(struct dump_perf_file *file, const struct ptl_machine *machine)
{
	const uint64_t features = write_features(file, machine), attrs = write_attrs(file, machine);

	put_header(file, features, attrs);
	if (file->body.failed)
		return common_fail_memory("a record", file->body.size);
	if (fseek(file->file, 0, SEEK_SET) < 0 ||
	    fwrite(file->body.data, 1, file->body.size, file->file) != file->body.size || fflush(file->file) != 0 ||
	    ferror(file->file))
		return common_fail_errno("cannot write the output");
	return 0;
}
