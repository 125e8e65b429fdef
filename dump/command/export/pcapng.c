/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump pcapng: network packets, for Wireshark. */
#include "dump/command/commands.h"
#include "dump/export/packet/packet_file.h"
#include "dump/run/run.h"

static int pcapng_run(struct dump_run *run)
{
	struct dump_left_out left_out = {0};
	struct flow_timeline *timeline;
	uint64_t packets = 0;
	int status = dump_export_refuse_terminal(run);

	if (!status)
		status = dump_run_timeline(run, &timeline);
	if (status < 0)
		return status;
	status = dump_packet_file_write(run, timeline, &packets, &left_out);
	if (!status) {
		dump_left_out_report(&left_out);
		analysis_note_lost_events(run->trace);
	}
	if (!status && !packets)
		dump_run_note_nothing(run, "packets of a network", false);
	dump_left_out_free(&left_out);
	flow_timeline_free(timeline);
	return status;
}

const struct dump_command dump_command_pcapng = {
	.name = "pcapng",
	.summary = "packets of a network, for Wireshark and tshark",
	.details =
		"Writes the packets that pktmon or netsh trace of Windows recorded into an .etl file as pcapng, with "
		"their interfaces, and with the process and thread of each packet as its comment.",
	.examples = "ptl-dump pcapng -o trace.pcapng trace.etl\n"
		    "ptl-dump pcapng --time 2s..3s trace.ptl | tshark -r -",
	.takes = DUMP_TAKES_OUTPUT | DUMP_TAKES_PROCESS | DUMP_TAKES_CPU | DUMP_TAKES_TIME | DUMP_TAKES_ETL,
	.options_size = sizeof(struct dump_options),
	.run = pcapng_run,
};
