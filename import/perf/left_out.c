/* SPDX-License-Identifier: BSD-2-Clause */
/* Names kinds of records and features as in perf's documentation. */
#include "import/perf/left_out.h"

#include <stdio.h>

#include "common/text/text.h"
#include "import/perf/loss.h"

#define CAUSE_SIZE 128

static const char *const record_names[PERF_RECORD_OWN_END] = {
	[PERF_RECORD_FINISHED_ROUND] = "FINISHED_ROUND",
	[PERF_RECORD_FINISHED_INIT] = "FINISHED_INIT",
	[PERF_RECORD_ID_INDEX] = "ID_INDEX",
	[PERF_RECORD_THREAD_MAP] = "THREAD_MAP",
	[PERF_RECORD_CPU_MAP] = "CPU_MAP",
	[PERF_RECORD_EVENT_UPDATE] = "EVENT_UPDATE",
	[PERF_RECORD_TIME_CONV] = "TIME_CONV",
};

static const char *const feature_names[] = {
	[5] = "VERSION",        [10] = "TOTAL_MEM",    [11] = "CMDLINE",         [13] = "CPU_TOPOLOGY",
	[14] = "NUMA_TOPOLOGY", [15] = "BRANCH_STACK", [16] = "PMU_MAPPINGS",    [17] = "GROUP_DESC",
	[18] = "AUXTRACE",      [19] = "STAT",         [20] = "CACHE",           [21] = "SAMPLE_TIME",
	[22] = "MEM_TOPOLOGY",  [23] = "CLOCKID",      [24] = "DIR_FORMAT",      [26] = "BPF_BTF",
	[27] = "COMPRESSED",    [28] = "CPU_PMU_CAPS", [30] = "HYBRID_TOPOLOGY", [31] = "PMU_CAPS",
};

void perf_left_out_unknown(struct perf_left_out *left_out, uint32_t type)
{
	size_t i = 0;

	while (i < left_out->unknown_types && left_out->unknown[i].type != type)
		i++;
	if (i == PERF_UNKNOWN_TYPES) {
		left_out->more_unknown++;
		return;
	}
	left_out->unknown_types += i == left_out->unknown_types;
	left_out->unknown[i].type = type;
	left_out->unknown[i].count++;
}

/* Writes the name of a record's type: "FINISHED_ROUND", or "type 90". */
static void name_record(uint32_t type, char name[CAUSE_SIZE])
{
	if (type < PERF_RECORD_OWN_END && record_names[type])
		snprintf(name, CAUSE_SIZE, "%s", record_names[type]);
	else
		snprintf(name, CAUSE_SIZE, "type %u", type);
}

static void name_feature(unsigned feature, char name[CAUSE_SIZE])
{
	if (feature < sizeof(feature_names) / sizeof(feature_names[0]) && feature_names[feature])
		snprintf(name, CAUSE_SIZE, "%s", feature_names[feature]);
	else
		snprintf(name, CAUSE_SIZE, "%u", feature);
}

static int write_loss(struct ptl_writer *writer, uint32_t kind, uint64_t count, const char *what, const char *name)
{
	char cause[2 * CAUSE_SIZE];

	snprintf(cause, sizeof(cause), "%s%s", what, name);
	return perf_lose(writer, kind, count, 0, cause);
}

int perf_left_out_write(const struct perf_left_out *left_out, struct ptl_writer *writer)
{
	char name[CAUSE_SIZE];
	int status = 0;

	for (size_t i = 0; !status && i < left_out->unknown_types; i++) {
		name_record(left_out->unknown[i].type, name);
		status = write_loss(writer, PTL_LOSS_EVENTS, left_out->unknown[i].count,
				    "records of an unknown kind: ", name);
	}
	if (!status)
		status = write_loss(writer, PTL_LOSS_EVENTS, left_out->more_unknown,
				    "records of an unknown kind: ", "further types");
	if (!status)
		status = write_loss(writer, PTL_LOSS_LEFT_OUT, left_out->exact, "marks of samples: ", "EXACT_IP");
	for (uint32_t type = 0; !status && type < PERF_RECORD_OWN_END; type++) {
		name_record(type, name);
		status = write_loss(writer, PTL_LOSS_LEFT_OUT, left_out->records[type], "records of perf: ", name);
	}
	for (unsigned i = 0; !status && i < PERF_FEATURES; i++) {
		name_feature(i, name);
		status = write_loss(writer, PTL_LOSS_LEFT_OUT, left_out->features[i], "feature of the header: ", name);
	}
	return status;
}

void perf_left_out_text(const struct perf_left_out *left_out, struct ptl_bytes *text)
{
	const size_t start = text->size;
	char name[CAUSE_SIZE];

	for (uint32_t type = 0; type < PERF_RECORD_OWN_END; type++) {
		if (!left_out->records[type])
			continue;
		name_record(type, name);
		common_text_format(text, "%s%llu %s", text->size > start ? ", " : "",
				   (unsigned long long)left_out->records[type], name);
	}
	if (left_out->exact)
		common_text_format(text, "%s%llu marks EXACT_IP", text->size > start ? ", " : "",
				   (unsigned long long)left_out->exact);
	for (unsigned i = 0; i < PERF_FEATURES; i++) {
		if (!left_out->features[i])
			continue;
		name_feature(i, name);
		common_text_format(text, "%sthe feature %s", text->size > start ? ", " : "", name);
	}
}
