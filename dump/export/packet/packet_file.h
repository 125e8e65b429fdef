/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the packets of a trace as pcapng. */
#ifndef DUMP_EXPORT_PACKET_PACKET_FILE_H
#define DUMP_EXPORT_PACKET_PACKET_FILE_H

#include "dump/export/export.h"
#include "flow/timeline/timeline.h"

/*
 * Writes the packets of the events that the session's options want to session->out. *packets: how many.
 * PTL_NO_MEMORY, and what ptl_process and dump_output_check return.
 */
int dump_packet_file_write(struct dump_session *session, const struct flow_timeline *timeline, uint64_t *packets,
			   struct dump_left_out *left_out);

#endif
