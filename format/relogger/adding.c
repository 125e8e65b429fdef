/* SPDX-License-Identifier: BSD-2-Clause */
/* What callbacks add to the output. */
#include <ptl/relogger.h>

#include "common/error.h"
#include "format/relogger/relogger_internal.h"
#include "format/writer/blob_file.h"

static int check_writer(const struct ptl_relogger *relogger)
{
	return relogger->writer ? 0 : common_fail(PTL_MISUSE, "nothing can be added before begin");
}

int ptl_relogger_machine(struct ptl_relogger *relogger, const struct ptl_machine *machine)
{
	relogger->machines.stated = *machine;
	relogger->machines.has_stated = true;
	return check_writer(relogger);
}

int ptl_relogger_schema(struct ptl_relogger *relogger, const struct ptl_schema *schema)
{
	const int status = check_writer(relogger);

	return status ? status : ptl_writer_schema(relogger->writer, schema);
}

int ptl_relogger_loss(struct ptl_relogger *relogger, const struct ptl_loss *loss)
{
	const int status = check_writer(relogger);

	return status ? status : ptl_writer_loss(relogger->writer, loss);
}

int ptl_relogger_add_provenance(struct ptl_relogger *relogger, const struct ptl_provenance *step)
{
	const int status = check_writer(relogger);

	return status ? status : ptl_writer_provenance(relogger->writer, step);
}

int ptl_relogger_record(struct ptl_relogger *relogger, uint64_t type, const void *body, size_t size)
{
	const int status = check_writer(relogger);

	return status ? status : ptl_writer_record(relogger->writer, type, body, size);
}

int ptl_relogger_blob(struct ptl_relogger *relogger, uint32_t type, const void *data, size_t size,
		      uint8_t hash[PTL_HASH_SIZE])
{
	const int status = check_writer(relogger);

	return status ? status : ptl_writer_blob(relogger->writer, type, data, size, hash);
}

int ptl_relogger_blob_file(struct ptl_relogger *relogger, uint32_t type, int fd, uint64_t offset, uint64_t size,
			   uint8_t hash[PTL_HASH_SIZE])
{
	const int status = check_writer(relogger);

	return status ? status
		      : format_writer_blob_file(relogger->writer, type, fd, offset, size, &relogger->control.cancelled,
						hash);
}
