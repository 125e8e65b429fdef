/* SPDX-License-Identifier: BSD-2-Clause */
/* Schemas of events with network packets. Most files lack the manifests of these providers. */
#ifndef IMPORT_ETL_SCHEMA_PACKET_EVENT_H
#define IMPORT_ETL_SCHEMA_PACKET_EVENT_H

#include "import/etl/schema/schema.h"

/*
 * Makes a new schema for an event of NDIS-PacketCapture or PktMon. *schema is NULL for other events. Returns
 * PTL_NO_MEMORY.
 */
int etl_packet_schema(const struct ptl_descriptor *descriptor, struct etl_schema **schema);

#endif
