/* SPDX-License-Identifier: BSD-2-Clause */
/* The fields of the events in which Windows records packets of a network, of whose providers most files have no manifest. */
#ifndef IMPORT_ETL_SCHEMA_PACKET_EVENT_H
#define IMPORT_ETL_SCHEMA_PACKET_EVENT_H

#include "import/etl/schema/schema.h"

/* A new schema for an event of NDIS-PacketCapture or PktMon; *schema is NULL where there is none. PTL_NO_MEMORY. */
int etl_packet_schema(const struct ptl_descriptor *descriptor, struct etl_schema **schema);

#endif
