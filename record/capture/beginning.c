/* SPDX-License-Identifier: BSD-2-Clause */
/* The records that each file of a capture begins with. */
#include "record/capture/beginning.h"

#include <ptl/kernel.h>

#include "common/error.h"
#include "common/text/quote.h"
#include "common/version.h"
#include "format/writer/pt_filter.h"
#include "record/capture/capture.h"

static int write_schemas(struct record_capture *capture)
{
	size_t count;
	const struct ptl_schema *const *schemas = ptl_kernel_schemas(&count);
	int status = 0;

	for (size_t i = 0; status == 0 && i < count; i++)
		status = ptl_writer_schema(capture->output.writer, schemas[i]);
	return status;
}

int record_capture_write_provenance(const struct record_capture *capture, struct ptl_writer *writer)
{
	char *const *words = capture->settings->command_line;
	struct ptl_bytes command = {0};
	size_t count = 0;
	int status;

	while (words[count])
		count++;
	common_quote_words(&command, count, (const char *const *)words);
	if (command.failed) {
		common_bytes_free(&command);
		return common_fail_memory("command line", 0);
	}
	status = ptl_writer_provenance(writer, &(struct ptl_provenance){
						       .tool = "ptl-record",
						       .version = COMMON_VERSION,
						       .command = (const char *)command.data,
						       .wall_time = capture->machine.wall_start,
						       .rules = "",
					       });
	common_bytes_free(&command);
	if (status == 0 && capture->pt_filters)
		status = format_writer_pt_filters(writer, capture->pt_filters);
	return status;
}

int record_capture_write_beginning(struct record_capture *capture)
{
	int status = ptl_writer_machine(capture->output.writer, &capture->machine);

	if (status == 0)
		status = record_capture_write_provenance(capture, capture->output.writer);
	if (status == 0)
		status = write_schemas(capture);
	/* Makes the file a readable trace from now on, even if the recorder is killed. */
	return status == 0 ? ptl_writer_flush(capture->output.writer) : status;
}
