/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the packets of a trace as pcapng. */
#ifndef DUMP_EXPORT_PACKET_PACKET_FILE_H
#define DUMP_EXPORT_PACKET_PACKET_FILE_H

#include "dump/export/export.h"
#include "flow/timeline/timeline.h"

/*
 * Writes the packets of the selected events to run->out. *packets: number of packets. Returns 0, PTL_NO_MEMORY, or
 * a status of ptl_process or dump_output_check.
 */
int dump_packet_file_write(struct dump_run *run, const struct flow_timeline *timeline, uint64_t *packets,
			   struct dump_left_out *left_out);

#endif
