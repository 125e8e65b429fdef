/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that continue each other: perf record --switch-output. */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/vector.h"
#include "import/perf/import.h"
#include "perf/fields.h"

#define FEATURE_MAX (1u << 20)

/* Whether both files have equal bytes as a feature. Without the feature in both files, they are equal. */
static bool is_same_feature(const struct perf_file *a, const struct perf_file *b, unsigned feature)
{
	const struct perf_section one = perf_file_feature(a, feature), other = perf_file_feature(b, feature);
	uint8_t *bytes;
	bool same;

	if (one.size != other.size || one.size > FEATURE_MAX)
		return false;
	bytes = malloc(2 * one.size + 1);
	same = bytes && !perf_file_read(a, one.offset, bytes, one.size) &&
	       !perf_file_read(b, other.offset, bytes + one.size, one.size) &&
	       !memcmp(bytes, bytes + one.size, one.size);
	free(bytes);
	return same;
}

/* What the first records of a file tell about its recording. */
struct beginning {
	uint64_t time;        /* earliest time; 0: none */
	uint64_t kernel_base; /* address of the kernel's first mapping; 0: no mapping */
};

static int read_beginning(int fd, struct beginning *beginning)
{
	struct perf_attrs attrs = {0};
	struct perf_file *file = NULL;
	struct perf_record record;
	struct perf_mapping mapping;
	struct perf_sample sample;
	size_t body;
	int status = perf_file_open(fd, &file);

	*beginning = (struct beginning){0};
	if (!status)
		status = perf_attrs_read(&attrs, file);
	for (unsigned seen = 0; !status && seen < PERF_LOOK_AHEAD && perf_file_next(file, &record) > 0;) {
		if (record.type >= PERF_RECORD_KERNEL_END || perf_sample_parse(&attrs, &record, &sample, &body))
			continue;
		if (!beginning->kernel_base && record.type == PERF_RECORD_MMAP &&
		    perf_mapping_parse(&record, body, &mapping) && mapping.kernel)
			beginning->kernel_base = mapping.base;
		if (!sample.has_time || !sample.time)
			continue;
		seen++;
		if (!beginning->time || sample.time < beginning->time)
			beginning->time = sample.time;
	}
	perf_attrs_free(&attrs);
	perf_file_close(file);
	return status;
}

/*
 * Whether the file comes from the same command on the same machine, and is not older: after another start, the clock of
 * perf begins again, and the kernel usually has another address. *start is the earliest time of the latest file that has
 * times: perf may end with a file without times.
 */
static bool continues(const struct perf_file *before, int before_fd, const struct perf_file *file, int fd,
		      uint64_t *start)
{
	struct beginning first, next;

	if (perf_file_is_pipe(before) || perf_file_is_pipe(file) ||
	    !is_same_feature(before, file, PERF_FEATURE_HOSTNAME) ||
	    !is_same_feature(before, file, PERF_FEATURE_OSRELEASE) ||
	    !is_same_feature(before, file, PERF_FEATURE_CMDLINE) || read_beginning(before_fd, &first) ||
	    read_beginning(fd, &next) || next.kernel_base != first.kernel_base)
		return false;
	if (first.time)
		*start = first.time;
	if (next.time && next.time < *start)
		return false;
	if (next.time)
		*start = next.time;
	return true;
}

static int add_file(struct perf_import *import, struct perf_file *file)
{
	if (!common_vector_room(&import->series, import->series_count, sizeof(*import->series)))
		return common_fail_memory("a series of perf.data",
					  (import->series_count + 1) * sizeof(*import->series));
	import->series[import->series_count++] = file;
	return 0;
}

int perf_series_next(struct perf_import *import, int before_fd, int fd)
{
	struct perf_file *file = NULL;
	uint64_t start = import->series_start;
	int status = perf_file_open(fd, &file);

	if (!status && continues(import->file, before_fd, file, fd, &start))
		status = add_file(import, file);
	else if (status != PTL_NO_MEMORY) {
		/* The file is an input of its own. */
		perf_file_close(file);
		return 0;
	}
	if (status) {
		perf_file_close(file);
		return status;
	}
	import->file = file;
	import->series_start = start;
	import->first_attr = import->attrs.count;
	status = perf_attrs_read(&import->attrs, file);
	if (!status)
		status = perf_features_read(import);
	return status ? status : 1;
}

bool perf_series_repeats(const struct perf_import *import, const struct perf_record *record,
			 const struct perf_sample *sample)
{
	struct perf_fields fields;

	if (!import->series_count || !perf_is_rundown(import, sample))
		return false;
	switch (record->type) {
	case PERF_RECORD_FORK:
	case PERF_RECORD_COMM:
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return perf_fields_read(record->type, record->misc, record->body, record->size, &fields) &&
		       (fields.pid == UINT32_MAX || perf_process_known(import, fields.pid));
	case PERF_RECORD_KSYMBOL:
	case PERF_RECORD_BPF_EVENT:
	case PERF_RECORD_NAMESPACES:
	case PERF_RECORD_CGROUP:
		return true;
	default:
		return false;
	}
}

void perf_series_close(struct perf_import *import)
{
	for (size_t i = 0; i < import->series_count; i++)
		perf_file_close(import->series[i]);
	free(import->series);
}
