/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the truth file. */
#include "record/capture/truth.h"

#include <stdlib.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/hash_map.h"
#include "record/capture/output.h"

struct record_truth {
	struct ptl_writer *writer;
	struct common_hash_map sizes; /* of definitions, by their stream */
	struct ptl_bytes bytes;
};

int record_truth_open(const char *path, bool force, const struct ptl_machine *machine, struct record_truth **truth)
{
	const struct ptl_writer_options options = {.level = 1, .name = path};
	struct record_truth *made = calloc(1, sizeof(*made));
	int fd = -1, status;

	if (!made)
		return common_fail_memory("truth", sizeof(*made));
	status = record_output_create(path, force, &fd);
	if (status == 0) {
		status = ptl_writer_open(fd, &options, &made->writer);
		if (status < 0)
			close(fd);
	}
	if (status < 0) {
		free(made);
		return status;
	}
	status = ptl_writer_machine(made->writer, machine);
	if (status < 0)
		record_truth_close(made);
	else
		*truth = made;
	return status;
}

static int add_stream(struct record_truth *truth, uint32_t pid, uint32_t tid, uint32_t *id)
{
	struct ptl_stream stream = {.kind = PTL_KIND_TRUTH, .cpu = PTL_NO_CPU, .pid = pid, .tid = tid};
	int status = ptl_writer_stream(truth->writer, &stream);

	*id = stream.id;
	return status;
}

int record_truth_program(struct record_truth *truth, uint32_t pid, uint32_t *definitions)
{
	int status = add_stream(truth, pid, PTL_NO_ID, definitions);

	return status < 0 ? status : common_hash_map_put(&truth->sizes, *definitions, 0);
}

/* Appends what is in truth->bytes to definitions. */
static int append(struct record_truth *truth, uint32_t definitions)
{
	uint64_t *size = common_hash_map_get(&truth->sizes, definitions);

	if (truth->bytes.failed)
		return common_fail_memory("truth", truth->bytes.size);
	if (!size)
		return common_fail(PTL_MISUSE, "definitions %u were not begun", definitions);
	*size += truth->bytes.size;
	return ptl_writer_bytes(truth->writer, definitions, truth->bytes.data, truth->bytes.size, 0);
}

int record_truth_inherit(struct record_truth *truth, uint32_t definitions, uint32_t parent)
{
	const uint64_t *size = common_hash_map_get(&truth->sizes, parent);

	truth->bytes.size = 0;
	common_write_le(&truth->bytes, RECORD_TRUTH_INHERIT, 4);
	common_write_le(&truth->bytes, parent, 4);
	common_write_le(&truth->bytes, size ? *size : 0, 8);
	return append(truth, definitions);
}

int record_truth_block(struct record_truth *truth, uint32_t definitions, uint32_t number, const uint64_t *addresses,
		       size_t count)
{
	truth->bytes.size = 0;
	common_write_le(&truth->bytes, number, 4);
	common_write_le(&truth->bytes, count, 4);
	for (size_t i = 0; i < count; i++)
		common_write_le(&truth->bytes, addresses[i], 8);
	return append(truth, definitions);
}

int record_truth_thread(struct record_truth *truth, uint32_t definitions, uint32_t pid, uint32_t tid, uint32_t *stream)
{
	int status = add_stream(truth, pid, tid, stream);

	return status < 0 ? status : record_truth_words(truth, *stream, &definitions, 1);
}

int record_truth_words(struct record_truth *truth, uint32_t stream, const uint32_t *words, size_t count)
{
	/* There may be billions of them: they are taken as they lie in memory. */
	_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words have the file's byte order");

	return ptl_writer_bytes(truth->writer, stream, words, count * sizeof(*words), 0);
}

int record_truth_close(struct record_truth *truth)
{
	int status;

	if (!truth)
		return 0;
	status = ptl_writer_close(truth->writer);
	common_hash_map_free(&truth->sizes);
	common_bytes_free(&truth->bytes);
	free(truth);
	return status;
}
